// Two models on the same examples (see answers_right.h).
#include "tools/bpt/report/answers_right.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "bpt/rng.h"
#include "data/score/mcnemar.h"

static bpt_status_t find(cli_answers_right_t *a, size_t example, cli_answer_right_t **out) {
    while (a->room <= example) {
        const size_t before = a->room;
        BPT_TRY(bpt_grow(&a->of, a->room, &a->room, sizeof *a->of));
        memset(a->of + before, 0, (a->room - before) * sizeof *a->of);
    }
    if (a->count <= example) a->count = example + 1;
    *out = &a->of[example];
    **out = (cli_answer_right_t){0, true, true};
    return BPT_OK;
}

static void add_target(cli_answer_right_t *answer, const char *const *labels, const bpt_batch_t *batch, const uint32_t *best, int64_t t) {
    const uint32_t label = bpt_batch_label(batch, t);
    answer->labels = bpt_mix64(answer->labels ^ bpt_hash_string(labels[label]));  // two runs may number one name differently
    answer->right &= label == best[t];
}

bpt_status_t cli_answers_right_add(cli_answers_right_t *a, const bpt_task_spec_t *task, const char *const *labels, const bpt_batch_t *batch,
                                   const uint32_t *best) {
    const int64_t texts = bpt_task_texts(task);
    cli_answer_right_t *answer;
    for (int64_t e = 0; e < batch->n_real / texts; ++e) {
        if (!task->per_token && !(batch->weights[e] > 0) && bpt_batch_knows(batch, e)) continue;
        BPT_TRY(find(a, batch->sequences[e * texts] / (size_t)texts, &answer));
        if (!task->per_token) add_target(answer, labels, batch, best, e);
        for (uint32_t i = 0; task->per_token && i < batch->side[0].lengths[e]; ++i)
            add_target(answer, labels, batch, best, (int64_t)batch->side[0].start[e] + i);
    }
    return BPT_OK;
}

void cli_answers_right_free(cli_answers_right_t *a) {
    bpt_free(a->of);
    *a = (cli_answers_right_t){0};
}

static bpt_status_t write_right(const cli_answers_right_t *a, json_t *list) {
    for (size_t e = 0; e < a->count; ++e) {
        json_t *item = a->of[e].counted ? json_integer(a->of[e].right) : json_null();
        if (json_array_append_new(list, item))
            return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing which answers are right");
    }
    return BPT_OK;
}

bpt_status_t cli_answers_right_write(const cli_answers_right_t *a, const char *path) {
    json_t *list = json_array();
    bpt_status_t status =
        list ? write_right(a, list) : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing which answers are right");
    if (status == BPT_OK) status = bpt_json_write(path, list);
    json_decref(list);
    return status;
}

// ---- The test

bpt_status_t cli_mcnemar(const cli_answers_right_t *first, const cli_answers_right_t *second, const char *const runs[2],
                         cli_mcnemar_t *out) {
    *out = (cli_mcnemar_t){0};
    if (first->count != second->count)
        return bpt_fail(BPT_ERR_INPUT, "%s was evaluated on %zu texts and %s on %zu: name the same data for both by --data", runs[0],
                        first->count, runs[1], second->count);
    for (size_t e = 0; e < first->count; ++e) {
        const cli_answer_right_t *a = &first->of[e], *b = &second->of[e];
        if (a->counted != b->counted || a->labels != b->labels)
            return bpt_fail(BPT_ERR_INPUT, "example %zu has other labels for %s than for %s: name the same data for both by --data", e + 1,
                            runs[0], runs[1]);
        if (!a->counted) continue;
        out->both += a->right && b->right;
        out->first_only += a->right && !b->right;
        out->second_only += !a->right && b->right;
        out->neither += !a->right && !b->right;
    }
    out->p = bpt_mcnemar(out->first_only, out->second_only);
    return BPT_OK;
}

const char *cli_mcnemar_unit(const bpt_task_spec_t *task) { return task->per_token ? "sequences of tags" : task->counted; }

void cli_mcnemar_print(const cli_mcnemar_t *m, const bpt_task_spec_t *task) {
    printf("mcnemar      p = %.6g: of %" PRId64 " %s only the first run has %" PRId64 " right, only the second %" PRId64 "\n", m->p,
           m->both + m->first_only + m->second_only + m->neither, cli_mcnemar_unit(task), m->first_only, m->second_only);
}

bpt_status_t cli_mcnemar_to_json(const cli_mcnemar_t *m, const bpt_task_spec_t *task, const char *const runs[2], json_t *object) {
    BPT_TRY(bpt_json_set_text(object, "test", "mcnemar"));
    BPT_TRY(bpt_json_set_name(object, "first", runs[0]));
    BPT_TRY(bpt_json_set_name(object, "second", runs[1]));
    BPT_TRY(bpt_json_set_text(object, "counted", cli_mcnemar_unit(task)));
    BPT_TRY(bpt_json_set_int(object, "both", m->both));
    BPT_TRY(bpt_json_set_int(object, "first_only", m->first_only));
    BPT_TRY(bpt_json_set_int(object, "second_only", m->second_only));
    BPT_TRY(bpt_json_set_int(object, "neither", m->neither));
    return bpt_json_set_real(object, "p_value", m->p);
}
