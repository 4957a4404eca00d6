// Several processes that train together (see team.h).
#include "tools/bpt/commands/team.h"

#include <jansson.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/checksum.h"
#include "bpt/json.h"
#include "bpt/log.h"
#include "bpt/machine.h"
#include "tools/bpt/options/options.h"

static bpt_ranks_t *joined;
static bool together = true;  // so far every failure came to all ranks

// ---- Joining

// Cores for one of `ranks` processes. mpirun has given each its own, or all of them may use all cores.
static int64_t own_cores(int ranks) {
    int numbers[4096];
    const int mine = bpt_machine_own_processors(numbers, (int)BPT_COUNT(numbers));
    if (mine < bpt_machine_processors()) return mine;
    return mine / ranks > 0 ? mine / ranks : 1;
}

bpt_status_t cli_team_join(cli_options_t *o, bpt_ranks_t **out) {
    *out = NULL;
    if (o->run.team == CLI_TEAM_NONE && o->run.shard_optimizer)
        return bpt_fail(BPT_ERR_USAGE, "--shard-optimizer shares the optimizer's state out to the ranks of --team, and there is no team");
    if (o->run.team == CLI_TEAM_NONE && o->run.split_sequence)
        return bpt_fail(BPT_ERR_USAGE, "--split-sequence shares each sequence out to the ranks of --team, and there is no team");
    if (o->run.team == CLI_TEAM_NONE) return BPT_OK;
    BPT_TRY(bpt_ranks_join_mpi(&joined));
    *out = joined;
    const int rank = bpt_ranks_rank(joined), size = bpt_ranks_size(joined), local = bpt_ranks_local_size(joined);
    o->global.device_turn = bpt_ranks_local_rank(joined);
    if (local > 1 && !o->global.threads) o->global.threads = own_cores(local);
    if (rank && !o->global.verbose) {
        bpt_log_set_level(BPT_LOG_ERROR);
        o->global.quiet = true;
    }
    if (size == 1)
        bpt_warn("--team mpi has one rank; start several with mpirun -n N bpt train --team mpi ..");
    else
        bpt_info("team: %d ranks, %d of them on this machine", size, local);
    return BPT_OK;
}

bpt_status_t cli_team_agree(bpt_status_t status) { return bpt_ranks_agree(joined, status); }

// ---- What must be the same

typedef enum { PROGRAM, SETTINGS, DATA, VOCABULARY, N_ITEMS } item_t;

static const char *const differs[N_ITEMS] = {
    [PROGRAM] = "is another build of bpt; install the same one on all machines",
    [SETTINGS] = "has other options; give all ranks the same ones",
    [DATA] = "has read other training data from --data; give all ranks the same files",
    [VOCABULARY] = "has another vocabulary or other labels; give all ranks the same files",
};

// How a rank differs from rank 0, NULL if it does not. Of other data other options follow: the size of the vocabulary, defaults.
static const char *difference(const bpt_checksum_t *mine, const bpt_checksum_t *first) {
    bool other[N_ITEMS];
    for (int i = 0; i < N_ITEMS; ++i) other[i] = !bpt_checksum_equal(&mine[i], &first[i]);
    if (!other[PROGRAM] && other[SETTINGS] && other[DATA])
        return "has other options, or other training data in --data; give all ranks the same ones";
    for (int i = 0; i < N_ITEMS; ++i)
        if (other[i]) return differs[i];
    return NULL;
}

static bpt_status_t sum_of_program(bpt_checksum_t *out) {
    char program[4096];
    if (!bpt_machine_program(program, sizeof program) || bpt_checksum_read(program, out) != BPT_OK)
        *out = bpt_checksum_of(BPT_VERSION_STRING, strlen(BPT_VERSION_STRING));
    return BPT_OK;
}

// Paths and devices may differ from machine to machine.
static bpt_status_t sum_of_settings(const cli_options_t *o, bpt_checksum_t *out) {
    static const char *const of_machine[] = {"data",   "init",    "vectors",   "subword_model", "backend",
                                             "device", "threads", "submit_ms", "max_mem",       "products"};
    json_t *settings;
    char *text = NULL;
    BPT_TRY(cli_options_to_json(o, &settings));
    for (size_t i = 0; i < BPT_COUNT(of_machine); ++i) json_object_del(settings, of_machine[i]);
    const bpt_status_t status = bpt_json_format(settings, 0, &text);
    if (status == BPT_OK) *out = bpt_checksum_of(text, strlen(text));
    bpt_free(text);
    json_decref(settings);
    return status;
}

static void add_vocabulary(bpt_hasher_t *hasher, const bpt_vocab_t *vocab) {
    for (int64_t i = 0; vocab && i < bpt_vocab_size(vocab); ++i) {
        size_t bytes;
        const char *token = bpt_vocab_token(vocab, (uint32_t)i, &bytes);
        bpt_hasher_add(hasher, token, bytes);
        bpt_hasher_add(hasher, "\n", 1);
    }
}

static bpt_status_t sum_of_vocabulary(const cli_corpus_t *corpus, bpt_checksum_t *out) {
    bpt_hasher_t *hasher;
    BPT_TRY(bpt_hasher_create(&hasher));
    add_vocabulary(hasher, corpus->vocab);
    add_vocabulary(hasher, corpus->source_vocab);
    for (size_t i = 0; i < corpus->labels.count; ++i) bpt_hasher_add(hasher, corpus->labels.name[i], strlen(corpus->labels.name[i]) + 1);
    *out = bpt_hasher_sum(hasher);
    bpt_hasher_destroy(hasher);
    return BPT_OK;
}

static bpt_status_t check_micro_batches(const cli_options_t *o, int size) {
    if (o->data.batch_examples || o->run.split_sequence || o->train.accumulate >= size) return BPT_OK;
    return bpt_fail(BPT_ERR_USAGE,
                    "a step has %lld micro-batch%s and there are %d ranks, each of which takes at least one; give --accumulate %d (with "
                    "--batch-tokens divided by %d, for steps of the same size)",
                    (long long)o->train.accumulate, o->train.accumulate == 1 ? "" : "es", size, size, size);
}

bpt_status_t cli_team_compare(const cli_options_t *o, const cli_corpus_t *corpus) {
    const int size = bpt_ranks_size(joined);
    bpt_checksum_t mine[N_ITEMS], (*all)[N_ITEMS];
    if (size == 1) return BPT_OK;
    BPT_TRY(check_micro_batches(o, size));
    BPT_TRY(sum_of_program(&mine[PROGRAM]));
    BPT_TRY(sum_of_settings(o, &mine[SETTINGS]));
    mine[DATA] = bpt_checksum_of(corpus->fingerprint, strlen(corpus->fingerprint));
    BPT_TRY(sum_of_vocabulary(corpus, &mine[VOCABULARY]));
    BPT_TRY(bpt_alloc((size_t)size, sizeof *all, &all));
    bpt_status_t status = bpt_ranks_gather(joined, mine, sizeof mine, all);
    for (int rank = 1; rank < size && status == BPT_OK; ++rank) {
        const char *how = difference(all[rank], all[0]);
        if (how) status = bpt_fail(BPT_ERR_USAGE, "%s %s", bpt_ranks_name(joined, rank), how);
    }
    bpt_free(all);
    return status;
}

// ---- The end

bpt_status_t cli_team_finish(bpt_status_t status, bool of_all) {
    if (!joined || status == BPT_OK) return status;
    together = of_all;
    return together ? status : bpt_context(status, "%s", bpt_ranks_name(joined, bpt_ranks_rank(joined)));
}

bool cli_team_is_silent(void) { return together && bpt_ranks_rank(joined) > 0; }

void cli_team_end(int exit_status) {
    if (exit_status && !together) bpt_ranks_abort(joined, exit_status);
    bpt_ranks_leave(joined);
    joined = NULL;
}
