// Opening, locking and cleaning a run directory (see run_dir.h); checkpoints are in run_checkpoint.c.
#include "models/train/run_dir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/log.h"
#include "bpt/paths.h"
#include "models/train/run_dir_internal.h"

static void free_names(bpt_run_t *run) {
    char **const names[] = {&run->path,    &run->config,      &run->vocab,  &run->source_vocab, &run->labels, &run->subwords,
                            &run->metrics, &run->checkpoints, &run->latest, &run->best,         &run->stop};
    for (size_t i = 0; i < BPT_COUNT(names); ++i) {
        bpt_free(*names[i]);
        *names[i] = NULL;
    }
}

static bpt_status_t format_names(bpt_run_t *run, const char *path) {
    size_t length = strlen(path);
    while (length > 1 && bpt_path_separates(path[length - 1])) --length;
    const int shown = (int)length;
    BPT_TRY(bpt_path_format(&run->path, "%.*s", shown, path));
    BPT_TRY(bpt_path_format(&run->config, "%.*s/config.json", shown, path));
    BPT_TRY(bpt_path_format(&run->vocab, "%.*s/vocab.txt", shown, path));
    BPT_TRY(bpt_path_format(&run->source_vocab, "%.*s/source_vocab.txt", shown, path));
    BPT_TRY(bpt_path_format(&run->labels, "%.*s/labels.txt", shown, path));
    BPT_TRY(bpt_path_format(&run->subwords, "%.*s/subword.model", shown, path));
    BPT_TRY(bpt_path_format(&run->metrics, "%.*s/metrics.jsonl", shown, path));
    BPT_TRY(bpt_path_format(&run->checkpoints, "%.*s/checkpoints", shown, path));
    BPT_TRY(bpt_path_format(&run->latest, "%.*s/latest", shown, path));
    BPT_TRY(bpt_path_format(&run->best, "%.*s/best", shown, path));
    return bpt_path_format(&run->stop, "%.*s/stop", shown, path);
}

static bpt_status_t make(const char *path, bpt_run_t **out) {
    bpt_run_t *run;
    BPT_TRY(bpt_alloc(1, sizeof *run, &run));
    const bpt_status_t status = format_names(run, path);
    if (status != BPT_OK) {
        bpt_run_close(run);
        return status;
    }
    *out = run;
    return BPT_OK;
}

// Files that belong to a run beside its checkpoints. A file that is missing here would keep a run from being made again.
enum { N_FILES = 9 };
static void list_files(const bpt_run_t *run, const char *paths[N_FILES]) {
    const char *const all[N_FILES] = {run->config,  run->vocab,  run->source_vocab, run->subwords, run->labels,
                                      run->metrics, run->latest, run->best,         run->stop};
    memcpy(paths, all, sizeof all);
}

static bpt_status_t remove_files(const bpt_run_t *run) {
    const char *paths[N_FILES];
    list_files(run, paths);
    for (int i = 0; i < N_FILES; ++i) BPT_TRY(bpt_path_remove(paths[i]));
    return BPT_OK;
}

static bool is_temporary(const char *name) { return !strncmp(name, ".tmp-", 5); }

static bool is_ours(const bpt_run_t *run, const char *name) {
    const char *paths[N_FILES];
    bool ours = is_temporary(name) || !strcmp(name, ".lock") || !strcmp(name, bpt_path_name(run->checkpoints));
    list_files(run, paths);
    for (int i = 0; i < N_FILES; ++i) ours |= !strcmp(name, bpt_path_name(paths[i]));
    return ours;
}

// The first name in the folder that is not of a run, freed with bpt_free; NULL: there is none.
static bpt_status_t find_foreign(const bpt_run_t *run, char **name) {
    char **names;
    size_t count;
    *name = NULL;
    BPT_TRY(bpt_folder_list(run->path, &names, &count));
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < count && !*name && status == BPT_OK; ++i)
        if (!is_ours(run, names[i])) status = bpt_strdup(names[i], name);
    bpt_names_free(names, count);
    return status;
}

// Whether the folder that is locked still has its name.
static bool is_in_place(const bpt_run_t *run) {
    char *moved;
    const bool same = bpt_folder_lock_find(run->lock, run->path, &moved) == BPT_OK && !moved;
    if (moved) bpt_free(moved);
    return same;
}

static bpt_status_t remove_all(const bpt_run_t *run) {
    char *foreign;
    if (!is_in_place(run)) return BPT_OK;
    BPT_TRY(find_foreign(run, &foreign));
    const bool whole = run->made && !foreign;
    bpt_free(foreign);
    if (whole) return bpt_path_remove(run->path);
    BPT_TRY(remove_files(run));
    return bpt_path_remove(run->checkpoints);
}

// A run that was refused or could not be written leaves nothing behind, so that the same command can be tried again.
static void remove_beginnings(const bpt_run_t *run) {
    char reason[1024];
    if (!run->begins || bpt_run_leads(run, run->latest)) return;
    snprintf(reason, sizeof reason, "%s", bpt_error_message());
    if (remove_all(run) != BPT_OK) bpt_warn("%s is left over from a run that did not begin; delete it", run->path);
    bpt_error_clear();
    if (*reason) (void)!bpt_fail(BPT_ERR_IO, "%s", reason);  // why it came to nothing is what is said
}

void bpt_run_keep_folder(bpt_run_t *run) { run->begins = false; }

void bpt_run_close(bpt_run_t *run) {
    if (!run) return;
    bpt_run_checkpoint_abandon(run);
    remove_beginnings(run);
    if (run->lock) bpt_folder_lock_remove(run->lock, run->stop);  // what asked for the end that has come
    bpt_folder_lock_release(run->lock);
    free_names(run);
    bpt_free(run);
}

static bpt_status_t rename_files(bpt_run_t *run, const char *path) {
    bpt_run_t named = {0};
    const bpt_status_t status = format_names(&named, path);
    if (status != BPT_OK) {
        free_names(&named);
        return status;
    }
    bpt_warn("%s is now called %s; the run goes on there", run->path, named.path);
    named.lock = run->lock, named.made = run->made, named.begins = run->begins, named.begun = run->begun,
    named.begun_step = run->begun_step;
    free_names(run);
    *run = named;
    return BPT_OK;
}

bpt_status_t bpt_run_follow(bpt_run_t *run, bool *moved) {
    char *path;
    *moved = false;
    if (!run->lock) return BPT_OK;
    BPT_TRY(bpt_folder_lock_find(run->lock, run->path, &path));
    if (path) {
        const bpt_status_t status = rename_files(run, path);
        bpt_free(path);
        BPT_TRY(status);
        *moved = true;
    }
    bool created;
    BPT_TRY(bpt_folder_lock_ensure(run->lock, run->checkpoints, &created));
    if (!created) return BPT_OK;  // else there is room again for what can still be saved
    return bpt_fail(BPT_ERR_IO, "files of %s were deleted while it was trained; start again in a new folder, or with --init %s", run->path,
                    run->path);
}

const bpt_folder_lock_t *bpt_run_lock(const bpt_run_t *run) { return run->lock; }
const char *bpt_run_path(const bpt_run_t *run) { return run->path; }
const char *bpt_run_config_path(const bpt_run_t *run) { return run->config; }
const char *bpt_run_vocab_path(const bpt_run_t *run) { return run->vocab; }
const char *bpt_run_source_vocab_path(const bpt_run_t *run) { return run->source_vocab; }
const char *bpt_run_subwords_path(const bpt_run_t *run) { return run->subwords; }
const char *bpt_run_labels_path(const bpt_run_t *run) { return run->labels; }
const char *bpt_run_metrics_path(const bpt_run_t *run) { return run->metrics; }

bpt_status_t bpt_run_require_space(const bpt_run_t *run, uint64_t bytes) {
    return bpt_disk_require(run->path, bytes, "the next checkpoint");
}

// ---- what a folder holds

// Checkpoints, or what a copy without links has in their place.
static bpt_status_t check_no_checkpoint(const bpt_run_t *run) {
    bool taken;
    BPT_TRY(bpt_run_has_checkpoints(run, &taken));
    const char *const links[] = {run->latest, run->best};
    for (size_t i = 0; i < BPT_COUNT(links); ++i) taken |= bpt_run_leads(run, links[i]) && bpt_run_linked_step(links[i]) < 0;
    if (!taken) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE, "%s already holds a run; choose another folder, or go on with it by bpt train --resume", run->path);
}

static bpt_status_t check_nothing_foreign(const bpt_run_t *run) {
    char *name;
    BPT_TRY(find_foreign(run, &name));
    if (!name) return BPT_OK;
    const bpt_status_t status =
        bpt_fail(BPT_ERR_USAGE, "%s is not empty and not a run (it holds \"%.100s\"); choose a new folder", run->path, name);
    bpt_free(name);
    return status;
}

// ---- cleaning, under the lock

static bpt_status_t remove_temporaries(const char *folder) {
    char **names;
    size_t count;
    BPT_TRY(bpt_folder_list(folder, &names, &count));
    bpt_status_t status = BPT_OK;
    for (size_t i = 0; i < count && status == BPT_OK; ++i) {
        if (!is_temporary(names[i])) continue;
        char *path;
        BPT_TRY_GOTO(bpt_path_format(&path, "%s/%s", folder, names[i]), done);
        status = bpt_path_remove(path);
        bpt_free(path);
    }
done:
    bpt_names_free(names, count);
    return status;
}

static bpt_status_t clean(const bpt_run_t *run) {
    BPT_TRY(bpt_run_drop_old_stop(run));
    BPT_TRY(bpt_folder_create(run->checkpoints));
    BPT_TRY(remove_temporaries(run->checkpoints));
    return remove_temporaries(run->path);
}

static bpt_status_t check_is_link(const bpt_run_t *run, const char *path) {
    if (!bpt_run_leads(run, path) || bpt_run_own_linked_step(run, path) >= 0) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s must be a link to a checkpoint of this run (was it copied without its links?); delete it", path);
}

// The best checkpoint is lost, but not the training: the next better one is `best` again.
static bpt_status_t mend_best(const bpt_run_t *run) {
    if (bpt_run_leads(run, run->best) || !bpt_run_is_link(run->best)) return BPT_OK;
    bpt_warn("%s led to no checkpoint and is removed; the next one that is better than all before is best again", run->best);
    return bpt_path_remove(run->best);
}

// A person may delete links and folders.
static bpt_status_t mend_links(const bpt_run_t *run) {
    BPT_TRY(check_is_link(run, run->best));
    BPT_TRY(check_is_link(run, run->latest));
    BPT_TRY(mend_best(run));
    if (bpt_run_leads(run, run->latest)) return BPT_OK;
    int64_t *steps;
    size_t count;
    BPT_TRY(bpt_run_checkpoint_list(run, &steps, &count));
    char target[64];
    snprintf(target, sizeof target, "checkpoints/step-%" PRId64, count ? steps[count - 1] : 0);
    bpt_free(steps);
    bpt_warn("%s led nowhere; it is now the last checkpoint, %s", run->latest, target);
    return bpt_link_swap(run->latest, target);
}

// ---- opening

static bpt_status_t lock(bpt_run_t *run, bool made) {
    const bpt_status_t status = bpt_folder_lock_acquire(run->path, &run->lock);
    if (status != BPT_OK && made) bpt_folder_drop(run->path);  // it goes if it is empty
    return status;
}

static bpt_status_t create(bpt_run_t *run) {
    const bool there = bpt_folder_exists(run->path);
    BPT_TRY(bpt_folders_create(run->path));
    BPT_TRY(check_nothing_foreign(run));  // before the lock, which is a file in the folder
    BPT_TRY(lock(run, !there));
    run->made = !there;
    BPT_TRY(check_no_checkpoint(run));
    run->begins = true;
    BPT_TRY(clean(run));
    return remove_files(run);
}

static bpt_status_t check_is_run(const bpt_run_t *run) {
    if (bpt_file_exists(run->path))
        return bpt_fail(BPT_ERR_INPUT, "%s is a file, not a run; bpt import makes a run of an exported model", run->path);
    if (!bpt_folder_exists(run->path))
        return bpt_fail(BPT_ERR_INPUT, "%s is not a run: there is no such folder; check the path", run->path);
    if (bpt_file_exists(run->config)) return BPT_OK;
    if (errno == EACCES) return bpt_fail(BPT_ERR_IO, "%s: no permission to look into this folder; ask its owner", run->path);
    return bpt_fail(BPT_ERR_INPUT, "%s is not a run: it has no config.json; check the path", run->path);
}

static bpt_status_t resume(bpt_run_t *run) {
    BPT_TRY(check_is_run(run));
    BPT_TRY(bpt_folder_lock_acquire(run->path, &run->lock));
    BPT_TRY(clean(run));
    bool any;
    BPT_TRY(bpt_run_has_checkpoints(run, &any));
    if (!any) return bpt_fail(BPT_ERR_INPUT, "%s has no checkpoint to go on from; start it again without --resume", run->path);
    return mend_links(run);
}

static bpt_status_t open_with(bpt_status_t (*prepare)(bpt_run_t *), const char *path, bpt_run_t **out) {
    bpt_run_t *run;
    BPT_TRY(make(path, &run));
    const bpt_status_t status = prepare(run);
    if (status == BPT_OK)
        *out = run;
    else
        bpt_run_close(run);
    return status;
}

static bpt_status_t look(bpt_run_t *run) { return check_is_run(run); }

bpt_status_t bpt_run_create(const char *path, bpt_run_t **out) { return open_with(create, path, out); }
bpt_status_t bpt_run_resume(const char *path, bpt_run_t **out) { return open_with(resume, path, out); }
bpt_status_t bpt_run_open(const char *path, bpt_run_t **out) { return open_with(look, path, out); }
