// Texts through a translator, however many and however long: those of like length side by side, the sentences of documents behind those
// before them. For <bpt/model.h>, for `bpt translate` and for the validation of a translator.
#ifndef BPT_MODELS_API_TRANSLATE_TEXTS_H
#define BPT_MODELS_API_TRANSLATE_TEXTS_H

#include "data/examples/examples.h"
#include "models/decode/translate.h"

enum { BPT_MOST_SENTENCES = 128 };  // of a segment of a document

typedef struct {
    const uint32_t *tokens;           // its end among them, as the model was trained
    int64_t count;                    // 0: a blank line, which has no translation and ends a document
    const bpt_example_node_t *nodes;  // of the tree over it, of models that read trees
    uint64_t n_nodes;
} bpt_source_text_t;

typedef struct bpt_text_translator bpt_text_translator_t;
// `longest` of the options is not looked at: programs are made when they are needed. With `documents` one text goes at once (texts 1). The
// runner must outlive it, its parameters must not change.
bpt_status_t bpt_text_translator_create(bpt_runner_t *runner, const bpt_translator_options_t *options,
                                        bpt_text_translator_t **out) BPT_MUST_USE;
void bpt_text_translator_destroy(bpt_text_translator_t *translator);

// Called once for each text that has tokens, in any order; what was found, best first, is valid during the call: as many as `n_best` of the
// options asks for, or as the search has found if these are fewer; of sentences of documents one. Ends the work when it fails.
typedef bpt_status_t (*bpt_on_translation_t)(void *user, int64_t text, const bpt_hypothesis_t *found, int count);

// Each text alone. A translation does not depend on the others.
bpt_status_t bpt_text_translator_run(bpt_text_translator_t *translator, const bpt_source_text_t *texts, int64_t count,
                                     bpt_on_translation_t on_translation, void *user) BPT_MUST_USE;
// A segment of a document and the one before it, at most 2 BPT_MOST_SENTENCES sentences in all; found[i] for i < n_given are the
// translations of the segment before, the others are set and valid until the next call; after a failure those below *n_known, which is the
// sentence that failed.
bpt_status_t bpt_text_translator_run_segment(bpt_text_translator_t *translator, const bpt_source_text_t *sentences, int64_t count,
                                             int64_t n_given, bpt_hypothesis_t *found, int64_t *n_known) BPT_MUST_USE;
// Documents with a blank text behind each, the last one perhaps without. Segments are closed as bpt_segment_closes says. A failure names
// the text; on_translation was called for those before it. `lost` not NULL: texts of a segment that the model's positions have no room for
// are no failure, but get empty translations and are counted there.
bpt_status_t bpt_text_translator_run_documents(bpt_text_translator_t *translator, const bpt_source_text_t *texts, int64_t count,
                                               int64_t context_tokens, bpt_on_translation_t on_translation, void *user,
                                               int64_t *lost) BPT_MUST_USE;

// Makes its tokens a copy, freed with bpt_free.
bpt_status_t bpt_hypothesis_copy(bpt_hypothesis_t *hypothesis) BPT_MUST_USE;

// Whether a segment of so many source tokens and sentences is closed; context_tokens as in data/examples/parallel.h.
bool bpt_segment_closes(int64_t tokens, int64_t sentences, int64_t context_tokens);

// The text of a translation, NUL-terminated; freed with bpt_free.
bpt_status_t bpt_translation_text(const bpt_vocab_t *vocab, const bpt_hypothesis_t *found, char **out) BPT_MUST_USE;

#endif
