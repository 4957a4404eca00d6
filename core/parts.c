// Devices as parts of one (see bpt/parts.h).
#include "bpt/parts.h"

#include <stdio.h>

#include "bpt/alloc.h"
#include "bpt/backend.h"

enum { MESSAGE_BYTES = 1024 };

typedef struct {
    bpt_device_t *device;
    bpt_status_t status;  // of the last work
    char message[MESSAGE_BYTES];
} part_t;

struct bpt_parts {
    bpt_device_t *whole;
    int count;
    part_t *part;
};

int bpt_parts_most(const bpt_device_t *whole) { return whole->backend->side_by_side && whole->info.units > 1 ? whole->info.units : 1; }

bpt_status_t bpt_parts_open(bpt_device_t *whole, int count, bpt_parts_t **out) {
    const int threads = bpt_parts_most(whole);
    bpt_parts_t *parts;
    BPT_TRY(bpt_alloc(1, sizeof *parts, &parts));
    parts->whole = whole;
    bpt_status_t status = bpt_alloc((size_t)count, sizeof *parts->part, &parts->part);
    for (int i = 0; i < count && status == BPT_OK; ++i) {
        const bpt_device_options_t options = {.threads = threads * (i + 1) / count - threads * i / count};
        status = whole->backend->open(0, &options, &parts->part[i].device);
        if (status == BPT_OK) ++parts->count;
    }
    if (status == BPT_OK)
        *out = parts;
    else
        bpt_parts_close(parts);
    return status;
}

void bpt_parts_close(bpt_parts_t *parts) {
    if (!parts) return;
    for (int i = 0; i < parts->count; ++i) parts->whole->backend->close(parts->part[i].device);
    bpt_free(parts->part);
    bpt_free(parts);
}

int bpt_parts_count(const bpt_parts_t *parts) { return parts->count; }
bpt_device_t *bpt_parts_device(const bpt_parts_t *parts, int part) { return parts->part[part].device; }

typedef struct {
    bpt_parts_t *parts;
    bpt_status_t (*work)(void *user, int part);
    void *user;
} run_t;

// Messages of failures belong to the thread that failed.
static void run_part(void *context, int i) {
    const run_t *run = context;
    part_t *part = &run->parts->part[i];
    part->status = run->work(run->user, i);
    if (part->status != BPT_OK) snprintf(part->message, sizeof part->message, "%s", bpt_error_message());
}

bpt_status_t bpt_parts_run(bpt_parts_t *parts, bpt_status_t (*work)(void *user, int part), void *user) {
    run_t run = {parts, work, user};
    parts->whole->backend->side_by_side(parts->whole, parts->count, run_part, &run);
    for (int i = 0; i < parts->count; ++i)
        if (parts->part[i].status != BPT_OK) return bpt_fail(parts->part[i].status, "%s", parts->part[i].message);
    return BPT_OK;
}
