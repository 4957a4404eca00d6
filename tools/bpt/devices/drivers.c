// The drivers of an API, one by one (see drivers.h).
#include "tools/bpt/devices/drivers.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/gpu/cache.h"
#include "backends/gpu/quirks.h"
#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/machine.h"
#include "bpt/paths.h"
#include "tools/bpt/devices/child.h"

enum { MOST_DEVICES = 32 };

// ---- Selections ------------------------------------------------------------------------------------------------------
// A text for the loader's variables: paths with colons between them, or the path of a folder that is made for it.

static struct {
    pid_t owner;
    char path[16][64];
    int count;
} folders;

static void remove_folder(const char *path) {
    if (bpt_path_remove(path) != BPT_OK) bpt_error_clear();
}

static void remove_folders(void) {
    for (int i = 0; i < folders.count && getpid() == folders.owner; ++i) remove_folder(folders.path[i]);
}

// Until this process ends: a loader may look into it again.
static void keep_folder(const char *path) {
    if (!folders.count) {
        folders.owner = getpid();
        if (atexit(remove_folders)) return;
    }
    if (folders.count < (int)BPT_COUNT(folders.path)) snprintf(folders.path[folders.count++], sizeof *folders.path, "%.63s", path);
}

static bpt_status_t put_into_folder(const char *folder, int i, const bpt_driver_file_t *file) {
    const char *name = strrchr(file->path, '/'), *ending = strrchr(file->path, '.');
    char path[PATH_MAX], line[512];
    const bool registers = ending && !strcmp(ending, ".icd");
    name = name ? name + 1 : file->path;
    snprintf(path, sizeof path, "%s/%02d-%.128s%s", folder, i, name, registers ? "" : ".icd");
    if (registers) {
        char *whole = realpath(file->path, NULL);
        const bool linked = whole && !symlink(whole, path);
        free(whole);
        return linked ? BPT_OK : bpt_fail(BPT_ERR_IO, "cannot make a link to %s in %s", file->path, folder);
    }
    const int length = snprintf(line, sizeof line, "%s\n", file->path);
    return bpt_file_write(path, line, (size_t)length);
}

static bpt_status_t make_folder(const cli_drivers_t *d, const bool *takes, char *folder, size_t bytes) {
    if (!bpt_folder_temporary(folder, bytes)) return bpt_fail(BPT_ERR_IO, "cannot make the folder %s for the list of drivers", folder);
    for (int i = 0; i < d->count; ++i)
        if (takes[i]) BPT_TRY(put_into_folder(folder, i, &d->file[i]));
    return BPT_OK;
}

static bpt_status_t select_drivers(const bpt_loader_t *loader, const cli_drivers_t *d, const bool *takes, char *selection, size_t bytes) {
    selection[0] = '\0';
    if (loader->folder) return make_folder(d, takes, selection, bytes);
    for (int i = 0; i < d->count && loader->lists[0]; ++i) {
        const size_t used = strlen(selection);
        if (takes[i] && used + strlen(d->file[i].path) + 2 < bytes)
            snprintf(selection + used, bytes - used, "%s%s", used ? ":" : "", d->file[i].path);
    }
    return BPT_OK;
}

static void use_selection(const bpt_loader_t *loader, const char *selection) {
    if (!*selection) return;
    for (int i = 0; loader->lists[i]; ++i) (void)setenv(loader->lists[i], selection, 1);
    if (loader->folder) (void)setenv(loader->folder, selection, 1);
    if (loader->further) (void)unsetenv(loader->further);
}

// Where some are left out and some are not.
static bpt_status_t select_others(const bpt_backend_t *backend, cli_drivers_t *d) {
    bool takes[CLI_MAX_DRIVERS];
    const int left_out = cli_drivers_left_out(d);
    for (int i = 0; i < d->count; ++i) takes[i] = !*d->why[i];
    if (!left_out || left_out == d->count) return BPT_OK;
    BPT_TRY(select_drivers(backend->loader, d, takes, d->selection, sizeof d->selection));
    if (backend->loader->folder) keep_folder(d->selection);
    return BPT_OK;
}

// ---- Asking ----------------------------------------------------------------------------------------------------------

typedef struct {
    const bpt_backend_t *backend;
    char selection[4096];
} question_t;

typedef struct {
    int count;
    bpt_device_info_t device[MOST_DEVICES];
} answer_t;

typedef struct {
    question_t question;
    answer_t answer;
    cli_child_t child;
    cli_running_t running;
} one_t;

int cli_drivers_patience(void) {
    enum { USUAL = 20 };
    uint64_t seconds;
    if (bpt_env_number("BPT_DRIVER_SECONDS", USUAL, &seconds) != BPT_OK) seconds = USUAL;  // commands have refused it
    return (int)seconds;
}

static void ask(const void *input, void *result) {
    const question_t *q = input;
    answer_t *a = result;
    use_selection(q->backend->loader, q->selection);
    if (q->backend->enumerate(a->device, MOST_DEVICES, &a->count) != BPT_OK) a->count = 0;  // why, they tell together
    if (a->count > MOST_DEVICES) a->count = MOST_DEVICES;
}

static bpt_status_t start_one(const bpt_backend_t *backend, bool verbose, const cli_drivers_t *d, int i, one_t *one) {
    bool takes[CLI_MAX_DRIVERS] = {false};
    takes[i] = true;
    one->question.backend = backend;
    one->child = (cli_child_t){.work = ask,
                               .input = &one->question,
                               .result = &one->answer,
                               .result_bytes = sizeof one->answer,
                               .seconds = cli_drivers_patience(),
                               .verbose = verbose};
    BPT_TRY(select_drivers(backend->loader, d, takes, one->question.selection, sizeof one->question.selection));
    return cli_child_start(&one->child, &one->running);
}

// A damaged file that yields devices all the same is not as damaged as we thought.
static void judge(cli_drivers_t *d, int i, const answer_t *a, bool done, const char *why) {
    int devices = 0;
    for (int k = 0; done && k < a->count; ++k) devices += *a->device[k].driver != '\0';
    if (!done)
        snprintf(d->why[i], sizeof d->why[i], "%s", why);
    else if (*d->file[i].damage && !devices)
        snprintf(d->why[i], sizeof d->why[i], "%s", d->file[i].damage);
    else
        cli_drivers_know(d, a->device, a->count);
}

static bpt_status_t ask_all(const bpt_backend_t *backend, bool verbose, one_t *ones, cli_drivers_t *d) {
    bpt_status_t status = BPT_OK;
    int started = 0;
    for (; started < d->count && status == BPT_OK; started += status == BPT_OK)
        status = start_one(backend, verbose, d, started, &ones[started]);
    for (int i = 0; i < started; ++i) {
        bool done;
        char why[128];
        if (status == BPT_OK)
            status = cli_child_finish(&ones[i].child, &ones[i].running, &done, why, sizeof why);
        else
            cli_child_end(&ones[i].child, &ones[i].running);
        if (status == BPT_OK) judge(d, i, &ones[i].answer, done, why);
    }
    for (int i = 0; i < d->count && backend->loader->folder; ++i)
        if (*ones[i].question.selection) remove_folder(ones[i].question.selection);
    return status;
}

bpt_status_t cli_drivers_ask(const bpt_backend_t *backend, bool verbose, cli_drivers_t *out) {
    one_t *ones;
    *out = (cli_drivers_t){0};
    if (!backend->loader) return BPT_OK;
    out->count = backend->loader->list(out->file, CLI_MAX_DRIVERS);
    if (out->count < 2) return BPT_OK;
    BPT_TRY(bpt_alloc((size_t)out->count, sizeof *ones, &ones));
    bpt_status_t status = ask_all(backend, verbose, ones, out);
    bpt_free(ones);
    if (status == BPT_OK) status = select_others(backend, out);
    return status;
}

int cli_drivers_left_out(const cli_drivers_t *drivers) {
    int count = 0;
    for (int i = 0; i < drivers->count; ++i) count += *drivers->why[i] != '\0';
    return count;
}

void cli_drivers_describe(const cli_drivers_t *drivers, int i, char *text, size_t bytes) {
    const bpt_driver_file_t *file = &drivers->file[i];
    const bool library = *file->library && strcmp(file->library, file->path) != 0;
    snprintf(text, bytes, "the driver of %s%s%s%s %s", file->path, library ? " (" : "", library ? file->library : "", library ? ")" : "",
             drivers->why[i]);
}

void cli_drivers_know(cli_drivers_t *drivers, const bpt_device_info_t *devices, int count) {
    for (int i = 0; i < count; ++i) {
        int at = 0;
        while (at < CLI_MAX_DRIVER_TEXTS && *drivers->text[at] && strcmp(drivers->text[at], devices[i].driver) != 0) ++at;
        if (at < CLI_MAX_DRIVER_TEXTS) snprintf(drivers->text[at], sizeof *drivers->text, "%s", devices[i].driver);
    }
}

// ---- Using -----------------------------------------------------------------------------------------------------------

// A folder of the cache, or that there is none.
static bool name_folder(const bpt_gpu_variable_t *v, const char **name, char *value, size_t bytes) {
    const char *per = getenv(v->per);
    char *folder = NULL;
    if (!per || !*per || getenv(v->name)) return false;
    bpt_status_t status = bpt_cache_folder(&folder);
    if (status == BPT_OK && folder) status = bpt_folders_create(folder);
    if (status != BPT_OK) {
        bpt_debug("%s: %s", v->name, bpt_error_message());
        bpt_error_clear();
    }
    *name = status == BPT_OK && folder ? v->name : v->instead;
    if (*name == v->name)
        snprintf(value, bytes, "%s/%s%ld", folder, v->value, strtol(per, NULL, 10));
    else
        snprintf(value, bytes, "true");
    bpt_free(folder);
    return true;
}

// A variable that suits one of the drivers and that nobody has set.
static bool find_unset(const bpt_backend_t *backend, const cli_drivers_t *d, const char **name, char *value, size_t bytes) {
    bpt_gpu_variable_t v;
    for (int t = 0; t < CLI_MAX_DRIVER_TEXTS && *d->text[t]; ++t)
        for (int i = 0; bpt_gpu_quirks_variable(backend->name, d->text[t], i, &v); ++i) {
            *name = v.name;
            snprintf(value, bytes, "%s", v.value);
            if (v.per && !name_folder(&v, name, value, bytes)) continue;
            if (!getenv(*name)) return true;
        }
    return false;
}

static const char *ours[16];  // variables that this process has set
static int n_ours;

const char *cli_drivers_users_variable(const char *name) {
    const char *value = getenv(name);
    for (int i = 0; i < n_ours; ++i)
        if (!strcmp(ours[i], name)) return "";
    return value ? value : "";
}

bool cli_drivers_suits(const bpt_backend_t *backend, const cli_drivers_t *drivers) {
    const char *name;
    char value[PATH_MAX];
    return find_unset(backend, drivers, &name, value, sizeof value);
}

void cli_drivers_use(const bpt_backend_t *backend, const cli_drivers_t *drivers) {
    const char *name;
    char value[PATH_MAX];
    if (!backend->loader) return;
    use_selection(backend->loader, drivers->selection);
    while (find_unset(backend, drivers, &name, value, sizeof value) && n_ours < (int)BPT_COUNT(ours)) {
        if (setenv(name, value, 1)) break;
        ours[n_ours++] = name;
    }
}

// ---- Remembering -----------------------------------------------------------------------------------------------------
// Lines of text: "driver <tab> what its devices call it", "out <tab> number <tab> why".

enum { MOST_TEXT = 65536 };

static void put(char *text, const char *format, const char *a, const char *b) {
    const size_t used = strlen(text);
    snprintf(text + used, MOST_TEXT - used, format, a, b);
}

static void put_file(char *text, const char *path) {
    bpt_path_info_t file;
    char numbers[80] = "none";
    if (*path && bpt_path_info(path, &file))
        snprintf(numbers, sizeof numbers, "%lld %lld.%09d", (long long)file.bytes, (long long)file.seconds, (int)file.nanoseconds);
    put(text, "%s %s\n", path, numbers);
}

static void put_nodes(char *text, const char *pattern) {
    char **names;
    size_t count;
    if (bpt_paths_matching(pattern, &names, &count) != BPT_OK) {
        bpt_error_clear();
        return;
    }
    for (size_t i = 0; i < count; ++i) put(text, "%s%s\n", names[i], "");
    bpt_names_free(names, count);
}

static void put_variable(char *text, const char *name) {
    const char *value = getenv(name);
    put(text, "%s=%s\n", name, value ? value : "");
}

// All that decides whether drivers answer.
static bpt_status_t key_of(const bpt_backend_t *backend, const cli_drivers_t *d, bpt_cache_key_t *key) {
    static const char *const asked[] = {"RUSTICL_ENABLE", "RADV_FORCE_FAMILY", "AMDGPU_GPU_ID"};  // of Mesa: which devices there are
    char *text, library[32];
    char system[256];
    BPT_TRY(bpt_alloc(MOST_TEXT, 1, &text));
    for (int i = 0; i < d->count; ++i) {
        put_file(text, d->file[i].path);
        put_file(text, d->file[i].library);
    }
    if (bpt_machine_system(system, sizeof system)) put(text, "%s%s\n", system, "");
    put_nodes(text, "/dev/dri/*");
    put_nodes(text, "/dev/nvidia*");
    put_variable(text, "LD_LIBRARY_PATH");
    put_variable(text, "LD_PRELOAD");
    for (size_t i = 0; i < BPT_COUNT(asked); ++i) put_variable(text, asked[i]);
    snprintf(library, sizeof library, "BPT_%s_LIBRARY", backend->name);
    for (char *p = library; *p; ++p) *p = (char)toupper((unsigned char)*p);
    put_variable(text, library);
    const char *const parts[] = {backend->name, text};
    *key = bpt_cache_key("drivers", parts, (int)BPT_COUNT(parts));
    bpt_free(text);
    return BPT_OK;
}

void cli_drivers_remember(const bpt_backend_t *backend, const cli_drivers_t *drivers) {
    bpt_cache_key_t key;
    char *text, number[16];
    if (!backend->loader || (drivers->count && cli_drivers_left_out(drivers) == drivers->count)) return;
    if (key_of(backend, drivers, &key) != BPT_OK || bpt_alloc(MOST_TEXT, 1, &text) != BPT_OK) {
        bpt_error_clear();
        return;
    }
    for (int i = 0; i < CLI_MAX_DRIVER_TEXTS && *drivers->text[i]; ++i) put(text, "driver\t%s%s\n", drivers->text[i], "");
    for (int i = 0; i < drivers->count; ++i) {
        snprintf(number, sizeof number, "%d", i);
        if (*drivers->why[i]) put(text, "out\t%s\t%s\n", number, drivers->why[i]);
    }
    bpt_cache_put(&key, text, strlen(text));
    bpt_free(text);
}

static void recall_line(const char *line, cli_drivers_t *out) {
    int i = -1, used = 0;
    if (!strncmp(line, "driver\t", 7)) {
        bpt_device_info_t device = {.name = ""};
        snprintf(device.driver, sizeof device.driver, "%s", line + 7);
        cli_drivers_know(out, &device, 1);
    } else if (sscanf(line, "out\t%d\t%n", &i, &used) == 1 && used && i >= 0 && i < out->count) {
        snprintf(out->why[i], sizeof out->why[i], "%s", line + used);
    }
}

bool cli_drivers_recall(const bpt_backend_t *backend, cli_drivers_t *out) {
    bpt_cache_key_t key;
    void *data;
    size_t length;
    char *rest;
    *out = (cli_drivers_t){0};
    if (!backend->loader) return true;
    out->count = backend->loader->list(out->file, CLI_MAX_DRIVERS);
    if (key_of(backend, out, &key) != BPT_OK)
        bpt_error_clear();
    else if (bpt_cache_get(&key, &data, &length)) {
        for (char *line = strtok_r(data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) recall_line(line, out);
        bpt_free(data);
        if (select_others(backend, out) == BPT_OK) return true;
        bpt_error_clear();
    }
    return false;
}
