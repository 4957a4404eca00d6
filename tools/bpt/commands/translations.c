// The translations of a line (see translations.h).
#include "tools/bpt/commands/translations.h"

#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "bpt/alloc.h"
#include "bpt/json.h"
#include "models/api/translate_texts.h"
#include "tools/bpt/output.h"

bpt_status_t cli_translations_make(const bpt_vocab_t *vocab, const bpt_hypothesis_t *found, int count, cli_translations_t *out) {
    *out = (cli_translations_t){0};
    BPT_TRY(bpt_alloc((size_t)count, sizeof *out->items, &out->items));
    for (; out->count < count; ++out->count) {
        cli_translation_t *t = &out->items[out->count];
        t->score = found[out->count].score;
        BPT_TRY(bpt_translation_text(vocab, &found[out->count], &t->text));
    }
    return BPT_OK;
}

void cli_translations_free(cli_translations_t *t) {
    for (int i = 0; i < t->count; ++i) bpt_free(t->items[i].text);
    bpt_free(t->items);
    *t = (cli_translations_t){0};
}

static bpt_status_t no_memory(void) { return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing a result"); }

static bpt_status_t set(json_t *object, const cli_translation_t *t) {
    BPT_TRY(bpt_json_set_text(object, "translation", t->text));
    return bpt_json_set_real(object, "score", t->score);
}

static bpt_status_t set_all(json_t *object, const cli_translations_t *t) {
    json_t *list = json_array();
    if (json_object_set_new(object, "n_best", list)) return no_memory();
    for (int i = 0; i < t->count; ++i) {
        json_t *one = json_object();
        if (json_array_append_new(list, one)) return no_memory();
        BPT_TRY(set(one, &t->items[i]));
    }
    return BPT_OK;
}

static bpt_status_t print_json(const cli_options_t *o, const cli_translations_t *t) {
    json_t *object = json_object();
    bpt_status_t status = BPT_OK;
    if (t->count)
        status = set(object, &t->items[0]);
    else if (json_object_set_new(object, "translation", json_null()))
        status = no_memory();
    if (status == BPT_OK && o->use.n_best) status = set_all(object, t);
    if (status == BPT_OK) status = cli_print_json(object, 0);
    json_decref(object);
    return status;
}

bpt_status_t cli_translations_print(const cli_options_t *o, uint64_t line, const cli_translations_t *t) {
    if (o->use.json) return print_json(o, t);
    if (!o->use.n_best) {
        if (t->count) fputs(t->items[0].text, stdout);
        putchar('\n');
        return BPT_OK;
    }
    if (!t->count) printf("%" PRIu64 "\t\t\n", line);
    for (int i = 0; i < t->count; ++i) printf("%" PRIu64 "\t%.9g\t%s\n", line, t->items[i].score, t->items[i].text);
    return BPT_OK;
}
