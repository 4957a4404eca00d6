// Writing, finding and deleting the checkpoints of a run (see run_dir.h).
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/log.h"
#include "bpt/paths.h"
#include "models/train/run_dir_internal.h"

// "step-N", N in its one decimal form; -1 for any other name.
static int64_t step_of(const char *name) {
    if (strncmp(name, "step-", 5)) return -1;
    const char *digits = name + 5;
    const size_t length = strlen(digits);
    if (length == 0 || length > 18 || digits[strspn(digits, "0123456789")] || (digits[0] == '0' && length > 1)) return -1;
    return strtoll(digits, NULL, 10);
}

static int ascending(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

bpt_status_t bpt_run_checkpoint_list(const bpt_run_t *run, int64_t **steps, size_t *count) {
    *steps = NULL;
    *count = 0;
    if (!bpt_folder_exists(run->checkpoints)) return BPT_OK;
    char **names;
    size_t n_names;
    BPT_TRY(bpt_folder_list(run->checkpoints, &names, &n_names));
    const bpt_status_t status = bpt_alloc(n_names, sizeof **steps, steps);
    for (size_t i = 0; i < n_names && status == BPT_OK; ++i)
        if (step_of(names[i]) >= 0) (*steps)[(*count)++] = step_of(names[i]);
    bpt_names_free(names, n_names);
    if (*count) qsort(*steps, *count, sizeof **steps, ascending);
    return status;
}

bpt_status_t bpt_run_has_checkpoints(const bpt_run_t *run, bool *out) {
    int64_t *steps;
    size_t count;
    BPT_TRY(bpt_run_checkpoint_list(run, &steps, &count));
    bpt_free(steps);
    *out = count > 0;
    return BPT_OK;
}

// ---- writing

bpt_status_t bpt_run_checkpoint_begin(bpt_run_t *run, int64_t step, const char **folder) {
    if (!run->lock) return bpt_fail(BPT_ERR_INTERNAL, "%s is open for reading only", run->path);
    bpt_run_checkpoint_abandon(run);
    char *path;
    BPT_TRY(bpt_path_format(&path, "%s/.tmp-step-%" PRId64, run->checkpoints, step));
    bpt_status_t status = bpt_path_remove(path);
    if (status == BPT_OK) status = bpt_folder_create(path);
    if (status != BPT_OK) {
        bpt_free(path);
        return status;
    }
    run->begun = path;
    run->begun_step = step;
    *folder = path;
    return BPT_OK;
}

bool bpt_run_clean_up(const char *path) {
    char reason[1024];
    snprintf(reason, sizeof reason, "%s", bpt_error_message());
    if (bpt_path_remove(path) == BPT_OK) return true;
    (void)!bpt_fail(BPT_ERR_IO, "%s", reason);
    return false;
}

void bpt_run_checkpoint_abandon(bpt_run_t *run) {
    if (!run->begun) return;
    bpt_run_clean_up(run->begun);  // what stays is removed when the run is opened the next time
    bpt_free(run->begun);
    run->begun = NULL;
}

bool bpt_run_is_link(const char *path) {
    char target[4096];
    return bpt_link_read(path, target, sizeof target);
}

// The folder that a link's target stands for.
static void resolve(const bpt_run_t *run, const char *target, char *there, size_t bytes) {
    const bool absolute = bpt_path_is_absolute(target);
    snprintf(there, bytes, "%s%s%s", absolute ? "" : run->path, absolute ? "" : "/", target);
}

bool bpt_run_leads(const bpt_run_t *run, const char *link) {
    char target[4096], there[8192];
    if (!bpt_link_read(link, target, sizeof target)) return bpt_folder_exists(link);
    resolve(run, target, there, sizeof there);
    return bpt_folder_exists(there);
}

int64_t bpt_run_linked_step(const char *link) {
    char target[4096];
    return bpt_link_read(link, target, sizeof target) ? bpt_run_checkpoint_step(target) : -1;
}

// The link is read once: a trainer may let it move on in between.
int64_t bpt_run_own_linked_step(const bpt_run_t *run, const char *link) {
    char target[4096], there[8192], own[8192];
    if (!bpt_link_read(link, target, sizeof target)) return -1;
    const int64_t step = bpt_run_checkpoint_step(target);
    resolve(run, target, there, sizeof there);
    snprintf(own, sizeof own, "%s/step-%" PRId64, run->checkpoints, step);
    return step >= 0 && bpt_paths_same(there, own) ? step : -1;
}

// Renamed first, so that a checkpoint that is half deleted never looks like one.
static bpt_status_t delete_checkpoint(const bpt_run_t *run, int64_t step) {
    char *path, *doomed;
    BPT_TRY(bpt_path_format(&path, "%s/step-%" PRId64, run->checkpoints, step));
    bpt_status_t status = bpt_path_format(&doomed, "%s/.tmp-old-%" PRId64, run->checkpoints, step);
    if (status == BPT_OK) {
        status = bpt_path_remove(doomed);
        if (status == BPT_OK) status = bpt_folder_rename(path, doomed);
        if (status == BPT_OK) status = bpt_path_remove(doomed);
        bpt_free(doomed);
    }
    bpt_free(path);
    return status;
}

static bpt_status_t prune(const bpt_run_t *run, int64_t keep) {
    const int64_t latest = bpt_run_linked_step(run->latest), best = bpt_run_linked_step(run->best);
    int64_t *steps;
    size_t count;
    BPT_TRY(bpt_run_checkpoint_list(run, &steps, &count));
    bpt_status_t status = BPT_OK;
    for (size_t i = count; i-- > 0 && status == BPT_OK;) {
        if (steps[i] == latest || steps[i] == best || keep-- > 0) continue;
        status = delete_checkpoint(run, steps[i]);
    }
    bpt_free(steps);
    return status;
}

// `best` first: killed in between, the run goes on from the older `latest` and finds the same best again.
static bpt_status_t swap_links(const bpt_run_t *run, bool is_best, const char *target) {
    if (is_best) BPT_TRY(bpt_link_swap(run->best, target));
    return bpt_link_swap(run->latest, target);
}

static bpt_status_t publish(const bpt_run_t *run, bool is_best) {
    char target[64], *final;
    bool later;
    snprintf(target, sizeof target, "checkpoints/step-%" PRId64, run->begun_step);
    BPT_TRY(bpt_folder_sync(run->begun));
    if (bpt_file_exists(run->metrics)) BPT_TRY(bpt_file_sync(run->metrics));  // resuming from here takes its lines for granted
    BPT_TRY(bpt_run_has_checkpoints(run, &later));
    // Links to a first checkpoint lead nowhere until it has its name, which makes the run: killed before, there is none, and the same
    // command begins anew.
    if (!later && !is_best) BPT_TRY(bpt_path_remove(run->best));  // of a run that was killed then
    if (!later) BPT_TRY(swap_links(run, is_best, target));
    BPT_TRY(bpt_path_format(&final, "%s/%s", run->path, target));
    const bpt_status_t status = bpt_folder_rename(run->begun, final);
    bpt_free(final);
    BPT_TRY(status);
    return later ? swap_links(run, is_best, target) : BPT_OK;
}

bpt_status_t bpt_run_checkpoint_commit(bpt_run_t *run, bool is_best, int64_t keep) {
    if (!run->begun) return bpt_fail(BPT_ERR_INTERNAL, "%s: no checkpoint was begun", run->path);
    const bpt_status_t status = publish(run, is_best);
    bpt_run_checkpoint_abandon(run);  // after a success only what a replaced checkpoint of the same step left
    BPT_TRY(status);
    if (prune(run, keep) != BPT_OK) bpt_warn("an old checkpoint stays: %s", bpt_error_message());
    return BPT_OK;
}

// ---- finding

// "checkpoints 5, 10", the last six at most and none of step `but`; "no checkpoint at all".
static bpt_status_t list_text(const bpt_run_t *run, int64_t but, char *text, size_t bytes) {
    int64_t *steps;
    size_t count, n = 0;
    BPT_TRY(bpt_run_checkpoint_list(run, &steps, &count));
    for (size_t i = 0; i < count; ++i)
        if (steps[i] != but) steps[n++] = steps[i];
    snprintf(text, bytes, "no checkpoint at all");
    const size_t first = n > 6 ? n - 6 : 0;
    for (size_t i = first, used = 0; i < n && used < bytes; ++i)
        used += (size_t)snprintf(text + used, bytes - used, "%s%" PRId64,
                                 i > first ? ", "
                                 : first   ? "checkpoints .., "
                                           : "checkpoints ",
                                 steps[i]);
    bpt_free(steps);
    return BPT_OK;
}

int64_t bpt_run_checkpoint_step(const char *folder) { return step_of(bpt_path_name(folder)); }

bpt_status_t bpt_run_checkpoint_others(const bpt_run_t *run, const char *folder, char *text, size_t bytes) {
    return list_text(run, bpt_run_checkpoint_step(folder), text, bytes);
}

static bpt_status_t missing(const bpt_run_t *run, const char *what) {
    char there[160];
    BPT_TRY(list_text(run, -1, there, sizeof there));
    return bpt_fail(BPT_ERR_INPUT, "%s has no checkpoint \"%.100s\"; it has %s", run->path, what, there);
}

// A link whose checkpoint was deleted or not copied, or that leads to another run: no other checkpoint is what it promises.
static bpt_status_t stray(const bpt_run_t *run, const char *link) {
    char there[160];
    bool any;
    BPT_TRY(bpt_run_has_checkpoints(run, &any));
    if (!any) return missing(run, "latest");  // a trainer that was killed before its first checkpoint
    BPT_TRY(list_text(run, -1, there, sizeof there));
    return bpt_fail(BPT_ERR_INPUT, "%s leads to no checkpoint of this run, which has %s: choose one, or delete the link", link, there);
}

bpt_status_t bpt_run_checkpoint_find(const bpt_run_t *run, const char *which, char **folder) {
    if (!which) which = bpt_run_leads(run, run->best) || bpt_run_is_link(run->best) ? "best" : "latest";
    const char *link = !strcmp(which, "best") ? run->best : !strcmp(which, "latest") ? run->latest : NULL;
    char name[64];
    snprintf(name, sizeof name, "step-%s", which);
    // A link is followed here, as it may move on while the files behind it are read.
    const int64_t step = link ? bpt_run_own_linked_step(run, link) : step_of(name);
    if (step < 0 && link && bpt_run_is_link(link)) return stray(run, link);
    char *path;
    if (step >= 0)
        BPT_TRY(bpt_path_format(&path, "%s/step-%" PRId64, run->checkpoints, step));
    else if (link)
        BPT_TRY(bpt_strdup(link, &path));  // a copied run may have folders where links were
    else
        return bpt_fail(BPT_ERR_USAGE, "\"%.100s\" is not a checkpoint; give best, latest or a step number", which);
    if (bpt_folder_exists(path)) {
        *folder = path;
        return BPT_OK;
    }
    bpt_free(path);
    return missing(run, which);
}
