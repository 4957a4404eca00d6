// libFuzzer: any text as the config.json of a run, as `bpt train --resume` and the readers of runs take it, and as a file for --config.
// What is accepted is written as values that give the same options.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "bpt/log.h"
#include "tools/bpt/options/options.h"

static void require(bool condition) {
    if (!condition) abort();
}

typedef struct {
    int fd;
    char path[32];
} file_t;

static file_t file_of(const void *bytes, size_t length) {
    file_t f = {.fd = memfd_create("config.json", MFD_CLOEXEC)};
    require(f.fd >= 0 && (!length || write(f.fd, bytes, length) == (ssize_t)length));
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    return f;
}

static bpt_status_t read_options(const file_t *file, bool of_run, cli_options_t *o) {
    require(cli_options_init(o, CLI_TRAIN, "train") == BPT_OK);
    return cli_options_from_file(o, file->path, of_run ? CLI_FROM_RUN : CLI_FROM_FILE, !of_run);
}

static char *text_of(const cli_options_t *o) {
    json_t *object;
    char *text;
    require(cli_options_to_json(o, &object) == BPT_OK && bpt_json_format(object, 2, &text) == BPT_OK);
    json_decref(object);
    return text;
}

static void check_accepted(const cli_options_t *o) {
    char *first = text_of(o);
    const file_t file = file_of(first, strlen(first));
    cli_options_t again, resumed;
    require(read_options(&file, true, &again) == BPT_OK);
    char *second = text_of(&again);
    require(!strcmp(first, second));
    require(cli_options_init(&resumed, CLI_TRAIN, "train") == BPT_OK && cli_options_resume(&resumed, file.path) == BPT_OK);
    bpt_free(first);
    bpt_free(second);
    cli_options_destroy(&again);
    cli_options_destroy(&resumed);
    close(file.fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bpt_log_set_level(BPT_LOG_OFF);
    const file_t file = file_of(data, size);
    for (int of_run = 0; of_run < 2; ++of_run) {
        cli_options_t o;
        const bpt_status_t status = read_options(&file, of_run, &o);
        require(status == BPT_OK || (status == (of_run ? BPT_ERR_INPUT : BPT_ERR_USAGE) && *bpt_error_message()));
        if (status == BPT_OK) check_accepted(&o);
        cli_options_destroy(&o);
    }
    close(file.fd);
    require(bpt_alloc_live() == 0);
    return 0;
}
