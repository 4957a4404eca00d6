// Tags that are not those of spans (see span_check.h).
#include "tools/bpt/corpus/span_check.h"

#include <inttypes.h>
#include <string.h>

#include "bpt/log.h"
#include "models/config/config_names.h"
#include "models/tasks/task.h"

static const char remedy[] = "such tags are O and B- I- E- S- (or B- I- L- U-, or B- M- E- S-) with a type, or all of them without";

static const char *const *names_of(const bpt_labels_t *labels) { return (const char *const *)labels->name; }

static bool has_tags(const bpt_task_spec_t *task) { return task->labelled && task->per_token; }

// Whether --best-by names a measure of spans.
static bool needs_spans(const cli_options_t *o) {
    const bpt_task_spec_t *task = bpt_task_of(&o->model);
    const int metric = bpt_task_metric(task, bpt_best_by_names[o->train.best_by]);
    return metric >= 0 && task->metrics[metric].spans;
}

static bpt_status_t find(const bpt_range_t *text, const bpt_examples_options_t *options, const char *label, uint64_t *line) {
    return bpt_examples_find_tag(text, options, &(bpt_word_t){label, strlen(label)}, line);
}

bpt_status_t cli_spans_check(const cli_options_t *o, const bpt_range_t *text, const bpt_examples_options_t *options,
                             const bpt_labels_t *labels) {
    bool most;
    uint64_t line;
    const int64_t count = (int64_t)labels->count;
    if (!has_tags(bpt_task_of(&o->model)) || bpt_spans_are_tags(names_of(labels), count)) return BPT_OK;
    const int64_t misfit = bpt_spans_misfit(names_of(labels), count, &most);
    const bool needed = needs_spans(o) && !o->run.resume;
    if (!needed && (!most || misfit < 0)) return BPT_OK;
    const char *tag = labels->name[misfit < 0 ? 0 : misfit];
    BPT_TRY(find(text, options, tag, &line));
    if (needed)
        return bpt_fail(BPT_ERR_INPUT,
                        "%s: line %" PRIu64 ": '%s' is not a tag of spans%s, which --best-by %s needs: %s; correct it, or choose --best-by "
                        "accuracy",
                        text->path, line, tag, most ? " as the others are" : "", bpt_best_by_names[o->train.best_by], remedy);
    bpt_warn("%s: line %" PRIu64 ": '%s' is not a tag of spans as the others are, so there is no F1: %s", text->path, line, tag, remedy);
    return BPT_OK;
}

bpt_status_t cli_spans_check_valid(const cli_options_t *o, const char *path, const bpt_examples_t *e, const bpt_labels_t *labels) {
    if (!needs_spans(o) || o->run.resume) return BPT_OK;
    for (uint64_t i = 0; i < e->n_tokens; ++i)
        if (e->labels.of[i] >= labels->count || strcmp(labels->name[e->labels.of[i]], "O") != 0) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: every tag of the validation part is O, so --best-by %s cannot choose: it has no span to find; choose "
                    "--best-by accuracy or loss",
                    path, bpt_best_by_names[o->train.best_by]);
}

void cli_spans_explain(const bpt_task_spec_t *task, const bpt_labels_t *labels) {
    bool most;
    if (!has_tags(task) || bpt_spans_are_tags(names_of(labels), (int64_t)labels->count)) return;
    const int64_t misfit = bpt_spans_misfit(names_of(labels), (int64_t)labels->count, &most);
    if (most && misfit >= 0)
        bpt_warn("the model has the tag '%s', which is not a tag of spans as the others are, so there is no F1: %s", labels->name[misfit],
                 remedy);
}
