// `bpt devices`: every backend and its devices. Each backend is asked in a child process with a time limit, so that a driver
// that crashes or hangs is a line of the report and not the end of it. Knows backends only through backends/backend.h.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "backends/backend.h"
#include "bpt/alloc.h"
#include "bpt/json.h"
#include "tools/bpt/program.h"

enum { MAX_DEVICES = 32, PROBE_SECONDS = 20 };

// What the child sends back.
typedef struct {
    bpt_status_t status;
    int count;
    char message[512];
    bpt_device_info_t infos[MAX_DEVICES];
} probe_t;

// ---- Probing
static void child(const bpt_backend_t *backend, int out, bool verbose) {
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0 && !verbose) dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    static probe_t probe;
    probe.status = backend->enumerate(probe.infos, MAX_DEVICES, &probe.count);
    if (probe.count > MAX_DEVICES) probe.count = MAX_DEVICES;
    if (probe.status != BPT_OK) snprintf(probe.message, sizeof probe.message, "%s", bpt_error_message());
    const char *p = (const char *)&probe;
    for (size_t left = sizeof probe; left;) {
        const ssize_t n = write(out, p, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(1);
        p += n, left -= (size_t)n;
    }
    _exit(0);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Reads the child's report; true when it is whole before the time is up.
static bool receive(int in, probe_t *probe, bool *timed_out) {
    const double end = now() + PROBE_SECONDS;
    char *p = (char *)probe;
    for (size_t left = sizeof *probe; left;) {
        const double remaining = end - now();
        struct pollfd wait = {.fd = in, .events = POLLIN};
        const int ready = remaining > 0 ? poll(&wait, 1, (int)(remaining * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        *timed_out = ready == 0;
        if (ready <= 0) return false;
        const ssize_t n = read(in, p, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        p += n, left -= (size_t)n;
    }
    return true;
}

static void explain(probe_t *probe, bool timed_out, int exit_status) {
    *probe = (probe_t){.status = BPT_ERR_UNAVAILABLE};
    if (timed_out)
        snprintf(probe->message, sizeof probe->message, "its driver did not answer within %d seconds", PROBE_SECONDS);
    else if (WIFSIGNALED(exit_status))
        snprintf(probe->message, sizeof probe->message, "its driver crashed with signal %d (%s) while devices were listed",
                 WTERMSIG(exit_status), strsignal(WTERMSIG(exit_status)));
    else
        snprintf(probe->message, sizeof probe->message, "its driver ended the process (exit status %d) while devices were listed",
                 WEXITSTATUS(exit_status));
}

static bpt_status_t probe_backend(const bpt_backend_t *backend, bool verbose, probe_t *probe) {
    int ends[2];
    if (pipe(ends)) return bpt_fail(BPT_ERR_IO, "cannot open a pipe to probe backend %s: %s", backend->name, strerror(errno));
    fflush(stdout);
    const pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]), close(ends[1]);
        return bpt_fail(BPT_ERR_IO, "cannot start a process to probe backend %s: %s", backend->name, strerror(errno));
    }
    if (!pid) {
        close(ends[0]);
        child(backend, ends[1], verbose);
    }
    close(ends[1]);
    bool timed_out = false;
    const bool whole = receive(ends[0], probe, &timed_out);
    close(ends[0]);
    if (timed_out) kill(pid, SIGKILL);
    int exit_status = 0;
    while (waitpid(pid, &exit_status, 0) < 0 && errno == EINTR) {
    }
    if (!whole) explain(probe, timed_out, exit_status);
    return BPT_OK;
}

// ---- Output
static void size_text(uint64_t bytes, char *buffer, size_t capacity) {
    if (!bytes || bytes >= (uint64_t)1 << 60)
        snprintf(buffer, capacity, "-");
    else if (bytes >= (uint64_t)1 << 30)
        snprintf(buffer, capacity, "%.1f GiB", (double)bytes / (1 << 30));
    else
        snprintf(buffer, capacity, "%.0f MiB", (double)bytes / (1 << 20));
}

static void print_table(const char *backend, const char *description, const probe_t *probe) {
    printf("%s: %s\n", backend, description);
    if (probe->status != BPT_OK)
        printf("  not usable: %s\n", probe->message);
    else if (!probe->count)
        printf("  no device\n");
    for (int i = 0; i < probe->count; ++i) {
        const bpt_device_info_t *d = &probe->infos[i];
        char memory[32], buffer[32];
        size_text(d->memory_bytes, memory, sizeof memory);
        size_text(d->max_buffer_bytes, buffer, sizeof buffer);
        printf("  %d  %s\n", i, d->name);
        printf("     type %s, %d unit%s, memory %s, largest buffer %s, precision f32%s%s\n", d->type, d->units, d->units == 1 ? "" : "s",
               memory, buffer, d->bf16 ? " bf16" : "", d->f16 ? " f16" : "");
        printf("     driver %s%s%s\n", d->driver, *d->features ? ", features " : "", d->features);
        if (!d->usable) printf("     not usable: %s\n", d->reason);
    }
}

static bpt_status_t fill_device(json_t *object, int index, const bpt_device_info_t *d) {
    BPT_TRY(bpt_json_set_int(object, "index", index));
    BPT_TRY(bpt_json_set_text(object, "name", d->name));
    BPT_TRY(bpt_json_set_text(object, "type", d->type));
    BPT_TRY(bpt_json_set_text(object, "driver", d->driver));
    BPT_TRY(bpt_json_set_text(object, "features", d->features));
    BPT_TRY(bpt_json_set_u64(object, "memory_bytes", d->memory_bytes));
    BPT_TRY(bpt_json_set_u64(object, "max_buffer_bytes", d->max_buffer_bytes));
    BPT_TRY(bpt_json_set_int(object, "units", d->units));
    BPT_TRY(bpt_json_set_bool(object, "bf16", d->bf16));
    BPT_TRY(bpt_json_set_bool(object, "f16", d->f16));
    BPT_TRY(bpt_json_set_bool(object, "usable", d->usable));
    return bpt_json_set_text(object, "reason", d->reason);
}

static bpt_status_t fill_backend(json_t *object, const char *backend, const char *description, const probe_t *probe) {
    BPT_TRY(bpt_json_set_text(object, "backend", backend));
    BPT_TRY(bpt_json_set_text(object, "description", description));
    BPT_TRY(bpt_json_set_text(object, "reason", probe->status == BPT_OK ? "" : probe->message));
    json_t *devices = json_array();
    if (json_object_set_new(object, "devices", devices)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
    for (int i = 0; i < probe->count; ++i) {
        json_t *device = json_object();
        if (json_array_append_new(devices, device)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
        BPT_TRY(fill_device(device, i, &probe->infos[i]));
    }
    return BPT_OK;
}

// Adds one backend to the report: printed at once as text, collected in `list` as JSON.
static bpt_status_t add(json_t *list, const char *backend, const char *description, const probe_t *probe) {
    if (!list) {
        print_table(backend, description, probe);
        return BPT_OK;
    }
    json_t *object = json_object();
    if (json_array_append_new(list, object)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
    return fill_backend(object, backend, description, probe);
}

static bpt_status_t list_all(const cli_options_t *o, json_t *list, probe_t *probe) {
    const char *only = o->global.backend;
    const bool all = !strcmp(only, "auto");
    for (int i = 0; bpt_backends[i]; ++i) {
        if (!all && strcmp(only, bpt_backends[i]->name)) continue;
        BPT_TRY(probe_backend(bpt_backends[i], o->global.verbose, probe));
        BPT_TRY(add(list, bpt_backends[i]->name, bpt_backends[i]->description, probe));
    }
    const cli_option_t *option = cli_option_find(CLI_DEVICES, "backend");
    for (int i = 1; option->choices[i]; ++i) {  // 0 is auto
        const char *name = option->choices[i];
        if (bpt_backend_find(name) || (!all && strcmp(only, name))) continue;
        *probe = (probe_t){.status = BPT_ERR_UNAVAILABLE};
        snprintf(probe->message, sizeof probe->message, "this program was built without it");
        BPT_TRY(add(list, name, "not built in", probe));
    }
    return BPT_OK;
}

static bpt_status_t run_devices(cli_options_t *o) {
    probe_t *probe;
    json_t *list = NULL;
    char *text = NULL;
    BPT_TRY(bpt_alloc(1, sizeof *probe, &probe));
    bpt_status_t status = BPT_OK;
    if (o->use.json && !(list = json_array())) status = bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while listing devices");
    if (status == BPT_OK) status = list_all(o, list, probe);
    if (status == BPT_OK && list) status = bpt_json_format(list, 2, &text);
    if (status == BPT_OK && list) printf("%s\n", text);
    bpt_free(text);
    json_decref(list);
    bpt_free(probe);
    return status;
}

const cli_command_t cli_command_devices = {
    .bit = CLI_DEVICES,
    .name = "devices",
    .arguments = "",
    .purpose = "list backends and devices, and why one cannot be used",
    .description = "Every backend is asked in a process of its own, so a driver that crashes is reported and does no harm. "
                   "--backend NAME asks only that one; --verbose shows what drivers print.",
    .examples = "  bpt devices\n  bpt devices --json\n",
    .run = run_devices,
};
