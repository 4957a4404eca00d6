// Word vectors from the files of --vectors (see word_vectors.h).
#include "tools/bpt/corpus/word_vectors.h"

#include <inttypes.h>

#include "bpt/alloc.h"
#include "bpt/log.h"

// The only file is as wide as the embedding, where that is known: it may be a pipe, which can be read only once.
static bpt_status_t width_of(const cli_options_t *o, size_t file, int64_t *columns) {
    *columns = o->model.d_embed;
    return *columns && o->data.vectors.count == 1 ? BPT_OK : bpt_vectors_dimension(o->data.vectors.item[file], columns);
}

bpt_status_t cli_vectors_width(const cli_options_t *o, int64_t *columns) {
    bpt_strbuf_t sum = {0};
    bpt_status_t status = BPT_OK;
    *columns = 0;
    for (size_t i = 0; i < o->data.vectors.count && status == BPT_OK; ++i) {
        int64_t width = 0;
        status = width_of(o, i, &width);
        *columns += width;
        if (status == BPT_OK) status = bpt_strbuf_printf(&sum, "%s%" PRId64, i ? " + " : "", width);
    }
    if (status == BPT_OK && o->model.d_embed && *columns != o->model.d_embed)
        status = bpt_fail(BPT_ERR_USAGE,
                          "--vectors: %s = %" PRId64 " numbers side by side where the model's embedding has %d; set --d-embed %" PRId64,
                          sum.data, *columns, o->model.d_embed, *columns);
    bpt_strbuf_free(&sum);
    return status;
}

static void report(const cli_options_t *o, const char *path, const bpt_vectors_found_t *found) {
    if (!found->words)
        bpt_warn("no word of the data has a vector in %s; is it of another language, or does it want --lower?", path);
    else if (o->data.unknown_vectors == BPT_UNKNOWN_RANDOM)
        bpt_info("vectors for %" PRId64 " of %" PRId64
                 " words (as written, else in lower case), random numbers of deviation %.4g for the others: %s",
                 found->words, o->model.vocab, found->deviation, path);
    else
        bpt_info("vectors for %" PRId64 " of %" PRId64 " words (as written, else in lower case), zero for the others: %s", found->words,
                 o->model.vocab, path);
}

// One sentence on all that is odd in a file.
static bpt_status_t warn_of_odd(const char *path, const bpt_vectors_found_t *f) {
    bpt_strbuf_t text = {0};
    bpt_status_t status = BPT_OK;
    if (f->without_word)
        status = bpt_strbuf_printf(&text, "; %" PRId64 " vector%s of a blank or an empty word left out, the first in line %" PRIu64,
                                   f->without_word, f->without_word == 1 ? "" : "s", f->first_without_word);
    if (status == BPT_OK && f->repeated)
        status =
            bpt_strbuf_printf(&text, "; %" PRId64 " vector%s of words that had one left out", f->repeated, f->repeated == 1 ? "" : "s");
    if (status == BPT_OK && f->promised >= 0 && f->promised != f->lines)
        status = bpt_strbuf_printf(&text, "; its first line says %" PRId64 " vectors, there are %" PRId64, f->promised, f->lines);
    if (status == BPT_OK && text.length) bpt_warn("%s: %s", path, text.data + 2);
    bpt_strbuf_free(&text);
    return status;
}

bpt_status_t cli_vectors_read(const cli_options_t *o, const bpt_vocab_t *vocab, float **rows) {
    bpt_vectors_place_t place = {.stride = o->model.d_embed, .unknown = o->data.unknown_vectors, .seed = o->train.seed};
    BPT_TRY(bpt_alloc((size_t)(o->model.vocab * place.stride), sizeof **rows, rows));
    place.rows = *rows;
    for (size_t i = 0; i < o->data.vectors.count; ++i, place.column += place.dimension) {
        const char *path = o->data.vectors.item[i];
        bpt_vectors_found_t found;
        BPT_TRY(width_of(o, i, &place.dimension));
        if (place.dimension > place.stride - place.column)
            return bpt_fail(BPT_ERR_INPUT, "%s changed while it was read; start again", path);
        BPT_TRY(bpt_vectors_read(path, vocab, &place, &found));
        report(o, path, &found);
        BPT_TRY(warn_of_odd(path, &found));
    }
    return BPT_OK;
}
