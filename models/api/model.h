// Trained models for C and C++ programs: open a run or a model file, logits, classes of texts and of pairs, tags of tokens, numbers, states
// of tokens and texts, generation token by token, translation, and training. Installed as <bpt/model.h>; docs/examples/ shows it at work.
//
// Tokens are numbers in [0, vocabulary); bpt_model_tokenize makes them of text and bpt_model_text makes text of them. Arrays are dense, the
// last dimension runs fastest; numbers are f32 whatever the precision of the model. B is the number of sequences, d the width of the model
// (d_model), V its vocabulary, C its classes, tags or numbers.
//
// Errors: every function that can fail returns bpt_status_t; bpt_error_message() then has one sentence for this thread (bpt/status.h).
// A null pointer where one is needed, a token that is not in the vocabulary, a sequence that is too long, a function that is not for the
// task of the model: BPT_ERR_USAGE, and nothing has happened. A result that is not finite: BPT_ERR_NUMERIC. *out is set on success only;
// arrays of results hold nothing of use after a failure.
//
// Ownership: what a function makes belongs to the caller, who gives it back by the function that is named beside it. What a function
// returns by pointer belongs to the model and is valid until it is closed. Arguments are borrowed for the duration of the call.
//
// Threads: a model, with its generators, is for one thread at a time, any thread: it is not bound to the one that opened it. Different
// models may be used at the same time; each opens a device of its own.
//
// Compatibility: a program sets the `version` of every options struct by the function that makes its defaults, so that a library which
// knows another layout refuses it (BPT_ERR_USAGE). Other languages, which cannot call inline functions, have bpt_model_options_set and its
// like at the end.
//
// The model: Ye et al. 2019, "BP-Transformer: Modelling Long-Range Context via Binary Partitioning".
#ifndef BPT_MODEL_H
#define BPT_MODEL_H

#include "bpt/dtype.h"
#include "bpt/status.h"

BPT_BEGIN_DECLS

#define BPT_MODEL_VERSION 6  // of the structs of this header

typedef struct bpt_model bpt_model_t;

// ---- Opening ----------------------------------------------------------------------------------------------------------

typedef struct {
    uint32_t version;        // BPT_MODEL_VERSION
    int32_t device;          // number of the device within its backend, as `bpt devices` lists them
    const char *backend;     // "cpu", "opencl", "vulkan", "cuda", "ref"; never replaced by another one
    bpt_dtype_t precision;   // of products of matrices and of what attention reads: BPT_F32, BPT_BF16, BPT_F16
    int32_t threads;         // cpu: 0 = all
    double submit_ms;        // GPUs: longest submission; 0 = what suits the device
    uint64_t memory_bytes;   // GPUs: most to use of its memory; 0 = all
    int64_t batch_tokens;    // tokens, padding included, that go through the model at once where several sequences are given
    const char *checkpoint;  // of a run: "best", "latest", a step; NULL: best if there is one, else latest
    // Training. `trains`: the state of training is needed: a run's is read (one without any is refused), a model file begins at step 0.
    // What follows is not read from a run: who goes on with one gives what it was trained with.
    bool trains;
    // "adam" (Kingma & Ba 2015); "adamw": weights decay by themselves (Loshchilov & Hutter 2019); "muon" (Jordan et al. 2024): the weight
    // matrices of layers go by their momentum made orthogonal, all else by AdamW. Borrowed by the call that opens the model.
    const char *optimizer;
    bool freeze_embed, freeze_rel;  // the embedding, the tables of relative positions stay as they are
    bool recompute;                 // less memory, more time: forget what only the backward pass needs and compute it again
    double beta1, beta2, eps, weight_decay;
    double momentum;  // of muon: share of the old momentum in the new one
    // Use, not training: matrices are rounded to numbers of 8 bits (`bpt export --weights q8` writes them so). The cpu then writes texts
    // faster; other backends compute with what the bytes stand for.
    bool weights_q8;
    // Runs or model files, of any kinds and sizes, that answer together with the model: probabilities are the means of theirs, predicted
    // numbers likewise, and logits the logarithms of these means. They need the same task, tokens and labels, no CRF, and are opened on the
    // same device, runs at their best checkpoint. States are those of the first model, and it is what is saved. Not with `trains`.
    const char *const *with;  // [with_count], borrowed by bpt_model_open; NULL: none
    int64_t with_count;
} bpt_model_options_t;

// The defaults: cpu, f32, all threads, 8192 tokens at once; Adam with 0.9, 0.98, 1e-8, no weight decay; momentum 0.95.
static inline bpt_model_options_t bpt_model_options(void) {
    bpt_model_options_t o;
    o.version = BPT_MODEL_VERSION;
    o.device = 0;
    o.backend = "cpu";
    o.precision = BPT_F32;
    o.threads = 0;
    o.submit_ms = 0;
    o.memory_bytes = 0;
    o.batch_tokens = 8192;
    o.checkpoint = NULL;
    o.trains = o.freeze_embed = o.freeze_rel = o.recompute = o.weights_q8 = false;
    o.with = NULL;
    o.with_count = 0;
    o.optimizer = "adam";
    o.beta1 = 0.9, o.beta2 = 0.98, o.eps = 1e-8, o.weight_decay = 0, o.momentum = 0.95;
    return o;
}

// `path`: a run (a folder that `bpt train` or `bpt import` wrote), or a model file (of `bpt export` or bpt_model_save). Files are checked
// as every command checks them. BPT_ERR_INPUT: a file is damaged, or of something else; BPT_ERR_IO: it cannot be read;
// BPT_ERR_UNAVAILABLE: no such backend or device; BPT_ERR_UNSUPPORTED: it lacks the precision. `options` NULL: the defaults.
BPT_API bpt_status_t bpt_model_open(const char *path, const bpt_model_options_t *options, bpt_model_t **out) BPT_MUST_USE;

// A new model, for training (`trains` is taken for granted). `config`: a JSON object with the keys of the model part of a run's
// config.json, for example {"model": "bpt", "task": "lm", "layers": 4, "d_model": 128, "d_ff": 512, "heads": 4, "k": 4, "rel_levels": 20,
// "vocab": 256}; and "unit": how it reads text, "byte" (256 tokens) or "ids" (the default: token numbers). A wrong key or value is
// BPT_ERR_INPUT and named. The initial values are a pure function of configuration and seed.
BPT_API bpt_status_t bpt_model_create(const char *config, uint64_t seed, const bpt_model_options_t *options,
                                      bpt_model_t **out) BPT_MUST_USE;

// NULL is fine. Generators of the model must have been destroyed.
BPT_API void bpt_model_close(bpt_model_t *model);

// ---- What a model is --------------------------------------------------------------------------------------------------

// The configuration as JSON on one line: the model part of config.json.
BPT_API const char *bpt_model_config(const bpt_model_t *model);
BPT_API int64_t bpt_model_vocabulary(const bpt_model_t *model);  // V; of a translator that of its translations
// C: the classes of a classifier, the tags of a tagger, the numbers that a model gives for a text; 0: a language model, a translator.
BPT_API int64_t bpt_model_classes(const bpt_model_t *model);
BPT_API int64_t bpt_model_texts(const bpt_model_t *model);       // sequences of an example: 2 for a classifier of pairs, else 1
BPT_API int64_t bpt_model_inputs(const bpt_model_t *model);      // numbers of a vector, of models that read vectors; 0: it reads tokens
BPT_API int64_t bpt_model_width(const bpt_model_t *model);       // d
BPT_API int64_t bpt_model_parameters(const bpt_model_t *model);  // numbers that are trained, and frozen ones
BPT_API int64_t bpt_model_step(const bpt_model_t *model);        // optimiser steps so far; of the checkpoint where one was opened
BPT_API const char *bpt_model_label(const bpt_model_t *model, int64_t label);  // name of a class or tag, NULL: it has none

// Token numbers of a text by the run's vocabulary (of a translator that of its translations): bytes, characters (UTF-8), words or subwords;
// or decimal numbers where the model has no vocabulary. *tokens is freed with bpt_free (bpt/alloc.h). BPT_ERR_INPUT: a token that the
// vocabulary does not have, with its line.
BPT_API bpt_status_t bpt_model_tokenize(const bpt_model_t *model, const char *text, size_t bytes, uint32_t **tokens,
                                        int64_t *count) BPT_MUST_USE;
// The text of tokens, NUL-terminated (a text of bytes may hold others); freed with bpt_free. `continues`: it follows other text, so that a
// word begins with a blank.
BPT_API bpt_status_t bpt_model_text(const bpt_model_t *model, const uint32_t *tokens, int64_t count, bool continues, char **text,
                                    size_t *bytes) BPT_MUST_USE;

// ---- Inference --------------------------------------------------------------------------------------------------------

// B sequences one behind the other: sequence 0 is tokens[0 .. lengths[0] - 1], and so on. N is the sum of the lengths.
// Pairs are two sequences of the list, 2p and 2p + 1 for pair p, so that B is even. Where a function gives something of each example, there
// are E = B / bpt_model_texts(model) of them. Models that read character n-grams beside the words (ngram_max) need the text of the words:
// they cannot be used here, and every function says so.
typedef struct {
    const uint32_t *tokens;  // [N]; NULL for models that read vectors
    const int64_t *lengths;  // [B], each at least 1
    int64_t count;           // B, at least 1
    const float *vectors;    // [N, bpt_model_inputs(model)], finite, of models that read vectors in place of tokens; else NULL
} bpt_sequences_t;

// What comes next, for language models: logits [N, V], row i of what follows token i, given the tokens of its sequence up to it.
BPT_API bpt_status_t bpt_model_logits(bpt_model_t *model, const bpt_sequences_t *sequences, float *logits) BPT_MUST_USE;
// The class of each text or of each pair of texts, for classifiers: logits [E, C]. Softmax makes probabilities of them.
BPT_API bpt_status_t bpt_model_classify(bpt_model_t *model, const bpt_sequences_t *sequences, float *logits) BPT_MUST_USE;
// Temperature calibration (Guo et al. 2017): the temperature, between 0.01 and 100, that logits [count, C] are to be divided by so that
// softmax gives the labels [count], of data that the model was not trained on, the highest likelihood. BPT_ERR_USAGE: null pointers, no
// rows, a label that is not below C; BPT_ERR_NUMERIC: a logit is not finite.
BPT_API bpt_status_t bpt_fit_temperature(const float *logits, const uint32_t *labels, int64_t count, int64_t classes,
                                         double *temperature) BPT_MUST_USE;
// The tag of each token, for taggers: tags [N], the most likely tag of each token or, where the model has a CRF, those of the most likely
// sequence of tags (Viterbi); logits [N, C], the scores of each tag without the transitions of a CRF. NULL: not wanted; not both.
BPT_API bpt_status_t bpt_model_tag(bpt_model_t *model, const bpt_sequences_t *sequences, uint32_t *tags, float *logits) BPT_MUST_USE;
// The n best sequences of tags of each sequence, for taggers, most probable first: tags [N n], those of sequence b in a block [n, L] of its
// length L, behind the blocks of the sequences before it; log_probabilities [B, n] in nats, -INFINITY where there are fewer sequences of
// tags (whose tags are then 0). The first is that of bpt_model_tag. n from 1 to 1024.
BPT_API bpt_status_t bpt_model_tag_n_best(bpt_model_t *model, const bpt_sequences_t *sequences, int32_t n, uint32_t *tags,
                                          double *log_probabilities) BPT_MUST_USE;
// The numbers of each text, for models of task regress: numbers [B, C].
BPT_API bpt_status_t bpt_model_predict(bpt_model_t *model, const bpt_sequences_t *sequences, float *numbers) BPT_MUST_USE;
// States behind the last layer: embeddings of tokens and texts. tokens [N, d]: of each token. texts [B, d]: of each whole sequence, which
// the head reads, of models that learn one: classifiers, also of pairs, and models that give numbers. relays [B, d]: of the relay node of
// each sequence, of Star-Transformers of any task. NULL: not wanted; not all.
BPT_API bpt_status_t bpt_model_encode(bpt_model_t *model, const bpt_sequences_t *sequences, float *tokens, float *texts,
                                      float *relays) BPT_MUST_USE;
// The vector of each sequence, for models of any task, also translators (of the texts that they read): vectors [B, d]. TEXT: what the head
// reads, as `texts` above. MEAN, MAX: the mean, or the largest of each number, of the states of its tokens. FIRST, LAST: the state of its
// first or last token; in a causal model only the last one knows the whole sequence. ROOT: of the node over all of it, in models that pool
// by it. RELAY: of the relay node. BPT_ERR_USAGE, with those that it has: a model that does not have this one.
typedef enum {
    BPT_POOLED_TEXT,
    BPT_POOLED_MEAN,
    BPT_POOLED_MAX,
    BPT_POOLED_FIRST,
    BPT_POOLED_LAST,
    BPT_POOLED_ROOT,
    BPT_POOLED_RELAY
} bpt_pooled_t;
BPT_API bpt_status_t bpt_model_embed(bpt_model_t *model, const bpt_sequences_t *sequences, bpt_pooled_t which, float *vectors) BPT_MUST_USE;
// How likely sequences are, for language models: nll [N - B], the negative log-likelihood in nats of the tokens 2, 3, .. of each sequence
// given those before. Sequences of one token have none; BPT_ERR_INPUT when no sequence has any.
BPT_API bpt_status_t bpt_model_score(bpt_model_t *model, const bpt_sequences_t *sequences, float *nll) BPT_MUST_USE;

// ---- Generation -------------------------------------------------------------------------------------------------------

// Texts side by side that a language model goes on with, token by token, with cached keys and values. Choosing the next token is the
// caller's.
typedef struct bpt_generator bpt_generator_t;

#define BPT_REST 0xFFFFFFFFu  // bpt_generator_step: this text rests

// `texts` texts with room for `capacity` tokens each. Memory is taken as texts grow. The parameters must not change while there is a
// generator: bpt_model_train_step and bpt_model_recover refuse.
BPT_API bpt_status_t bpt_generator_create(bpt_model_t *model, int64_t capacity, int64_t texts, bpt_generator_t **out) BPT_MUST_USE;
BPT_API void bpt_generator_destroy(bpt_generator_t *generator);  // NULL is fine; before the model is closed
// Appends tokens to one text (a prompt). logits [V] of what follows the last of them; NULL: not wanted. BPT_ERR_USAGE when they do not fit:
// nothing is appended.
BPT_API bpt_status_t bpt_generator_feed(bpt_generator_t *generator, int64_t text, const uint32_t *tokens, int64_t count,
                                        float *logits) BPT_MUST_USE;
// Appends tokens[t] to every text t at once, BPT_REST: none. logits [texts, V]; rows of texts that rest say nothing.
BPT_API bpt_status_t bpt_generator_step(bpt_generator_t *generator, const uint32_t *tokens, float *logits) BPT_MUST_USE;
BPT_API int64_t bpt_generator_length(const bpt_generator_t *generator, int64_t text);  // tokens so far
// Forgets the tokens of a text from `length` on.
BPT_API bpt_status_t bpt_generator_rewind(bpt_generator_t *generator, int64_t text, int64_t length) BPT_MUST_USE;

// Choosing the next token as `bpt generate` does it: with the same options and numbers of draws, the same tokens.
typedef struct {
    uint32_t version;       // BPT_MODEL_VERSION
    double temperature;     // softmax(logits / temperature); 0: always the most likely token (the smallest number of equals)
    int64_t top_k;          // only so many of the most likely tokens; 0: all
    double top_p;           // of these only the most likely that together have this share (Holtzman et al. 2020); 1: all
    double min_p;           // of these only the ones at least so likely, as a share of the likeliest (Nguyen et al. 2024); 0: all
    double repeat_penalty;  // of tokens in the window a positive logit is divided by it, a negative one multiplied (Keskar et al. 2019);
                            // 1: none
    int64_t repeat_window;  // tokens at the end of the text; 0: all
    int64_t no_repeat;      // n: no token by which n tokens side by side would come a second time in the text; 0: any
    uint64_t seed;
} bpt_sampling_options_t;

// The defaults of `bpt generate`: temperature 1, all tokens, no penalty (a window of 64), seed 1.
static inline bpt_sampling_options_t bpt_sampling_options(void) {
    bpt_sampling_options_t o;
    o.version = BPT_MODEL_VERSION;
    o.temperature = o.top_p = o.repeat_penalty = 1;
    o.top_k = 0;
    o.min_p = 0;
    o.repeat_window = 64;
    o.no_repeat = 0;
    o.seed = 1;
    return o;
}

typedef struct bpt_token_sampler bpt_token_sampler_t;
// `options` NULL: the defaults. BPT_ERR_USAGE: a value that makes no sense. The model must outlive it.
BPT_API bpt_status_t bpt_token_sampler_create(const bpt_model_t *model, const bpt_sampling_options_t *options,
                                              bpt_token_sampler_t **out) BPT_MUST_USE;
BPT_API void bpt_token_sampler_destroy(bpt_token_sampler_t *sampler);  // NULL is fine
// Draw number `draw` (0, 1, .. of a text) from logits [V]; text [count]: the tokens so far, which the penalty and
// no_repeat look at. BPT_ERR_INPUT: no_repeat leaves no token.
BPT_API bpt_status_t bpt_token_sampler_draw(bpt_token_sampler_t *sampler, const float *logits, const uint32_t *text, int64_t count,
                                            uint64_t draw, uint32_t *token) BPT_MUST_USE;

// ---- Translation ------------------------------------------------------------------------------------------------------

// Beam search (Sutskever et al. 2014), as `bpt translate` does it.
typedef struct {
    uint32_t version;        // BPT_MODEL_VERSION
    int32_t beam;            // translations of a text that are followed at the same time, at most 1024; 1: always the most likely token
    double length_penalty;   // a: a translation of n tokens, its end included, has the score log-probability / n^a; 0 to 100
    double max_length_a;     // a translation of a text of n tokens, its end included, has at most max_length_a n + max_length_b tokens, and
    int64_t max_length_b;    // never more than 512, or than the model has positions; 0 to 1000, and 0 to 512
    bool no_unknown;         // never write the sign for an unknown token
    int64_t min_tokens;      // a translation does not end before it has so many tokens, unless its longest length ends it; 0 to 511
    int64_t no_repeat;       // n: a translation never has n tokens side by side twice, and ends where that leaves it no token; 0: it may
    int64_t batch;           // texts that are translated side by side: more are faster and take more memory; the results are the same
    int64_t context_tokens;  // 0: each text alone. Else texts are sentences of documents, in their order, and an empty text ends a
                             // document: each is translated behind those before it, as many as such a model was trained with
                             // (`--context-tokens`)
} bpt_translate_options_t;

// The defaults of `bpt translate`: a beam of 5, length penalty 1, at most 1.2 n + 10 tokens, 16 texts side by side.
static inline bpt_translate_options_t bpt_translate_options(void) {
    bpt_translate_options_t o;
    o.version = BPT_MODEL_VERSION;
    o.beam = 5;
    o.length_penalty = 1;
    o.max_length_a = 1.2;
    o.max_length_b = 10;
    o.no_unknown = false;
    o.min_tokens = o.no_repeat = 0;
    o.batch = 16;
    o.context_tokens = 0;
    return o;
}

typedef struct {
    char *text;    // NUL-terminated UTF-8, words with blanks between them, subwords joined; "" for a text without words
    double score;  // see length_penalty, in nats; 0 for a text without words
} bpt_translation_t;

// Translates texts by a translator (`--task translate`) that reads words or subwords: one line of UTF-8 each, tokenised as the training
// texts were. translations[count] are the caller's, who frees what they hold by bpt_translations_free, also after a failure: then those
// that were made before it are there, and the text of the others is NULL. `options` NULL: the defaults. BPT_ERR_USAGE: also a text that has
// a line end, models that read trees. BPT_ERR_INPUT: a text that is not UTF-8, has a word that the vocabulary lacks and no sign stands for,
// or has no room in the model's positions behind the texts of its document before it; the message says which.
BPT_API bpt_status_t bpt_model_translate(bpt_model_t *model, const char *const *texts, int64_t count,
                                         const bpt_translate_options_t *options, bpt_translation_t *translations) BPT_MUST_USE;
// The same with the n best translations of each text that the search has found, best first: translations[count * n], n of each text, the
// text NULL where the search has found fewer. n from 1 to the beam; texts alone (context_tokens 0). They are freed as above, count * n of
// them. The first of each text is that of bpt_model_translate. Of a text without words the first is "" and the others are NULL.
BPT_API bpt_status_t bpt_model_translate_n_best(bpt_model_t *model, const char *const *texts, int64_t count, int32_t n,
                                                const bpt_translate_options_t *options, bpt_translation_t *translations) BPT_MUST_USE;
BPT_API void bpt_translations_free(bpt_translation_t *translations, int64_t count);  // NULL is fine
// How likely given translations are: nll [count], the negative log-likelihood in nats of translation i given text i, the sum over its
// tokens and its end, each given those before it; tokens [count], how many they are, NULL: not wanted. Each text alone. Errors as above;
// no text may be without words.
BPT_API bpt_status_t bpt_model_score_translations(bpt_model_t *model, const char *const *texts, const char *const *translations,
                                                  int64_t count, double *nll, int64_t *tokens) BPT_MUST_USE;

// ---- Training ---------------------------------------------------------------------------------------------------------

// What goes through the model at once. Sequences are padded to `length`; those of Star-Transformers lie one behind the other, and only
// their end is padded. A pair (length, count) that comes for the first time compiles programs, so there should be few.
typedef struct {
    bpt_sequences_t sequences;  // language models: a sequence of m + 1 tokens trains m, each given those before it
    const uint32_t *labels;     // below C: [E] of classifiers, [N] of taggers; else NULL
    const float *values;        // [B, C], finite: the numbers that are right, of models that give numbers; else NULL
    // Tokens that there is room for: in each sequence; 0: the smallest of 1, 2, 3, 4, 6, 8, 12, 16, .. that suits the longest. Of
    // Star-Transformers in all sequences together; 0: the next multiple of an eighth of a power of two, as `bpt train` chooses it.
    int64_t length;
} bpt_micro_batch_t;

// The schedule is the caller's: these are the values of one step.
typedef struct {
    uint32_t version;  // BPT_MODEL_VERSION
    double lr;         // learning rate
    double clip;       // longest gradient, 0: none
    uint64_t seed;     // of dropout, with the number of the step
    // [C], above 0, what each class or tag counts in the loss: the mean of weight * nll. NULL: 1 each. Not of a CRF.
    const float *class_weights;
} bpt_train_options_t;

static inline bpt_train_options_t bpt_train_options(double lr) {
    bpt_train_options_t o;
    o.version = BPT_MODEL_VERSION;
    o.lr = lr;
    o.clip = 0;
    o.seed = 1;
    o.class_weights = NULL;
    return o;
}

typedef struct {
    double loss;  // before the step: the mean over tokens or examples of the nll in nats (with a CRF: of a text's tags, over the texts)
                  // or, of models that give numbers, of the squared error
    double grad_norm;  // before clipping
    bool updated;      // false, f16 only: the scaled gradient was not finite; nothing was changed, the next step scales less
} bpt_train_result_t;

// One optimiser step on the mean loss over all micro-batches together: as many as do not fit in memory at once (accumulation). A model
// that was opened or created with `trains`. BPT_ERR_NUMERIC: a loss or gradient is not finite; the parameters are as before. `result` may
// be NULL.
BPT_API bpt_status_t bpt_model_train_step(bpt_model_t *model, const bpt_micro_batch_t *micro_batches, int64_t count,
                                          const bpt_train_options_t *options, bpt_train_result_t *result) BPT_MUST_USE;

// One safetensors file with the weights, the configuration, vocabulary and labels: what `bpt export` writes and `bpt import` reads.
// Replaced atomically.
BPT_API bpt_status_t bpt_model_save(bpt_model_t *model, const char *path) BPT_MUST_USE;
// A checkpoint in a run that every command of `bpt` reads, with the state of training where the model has one. The first call makes the
// folder, which must be new or empty, or goes on with the run that the model was opened from (with `trains`); later calls with the same
// path add a checkpoint and delete the one before. The run is locked for other writers until the model is closed or saves to another path.
BPT_API bpt_status_t bpt_model_save_run(bpt_model_t *model, const char *path) BPT_MUST_USE;

// After BPT_ERR_DEVICE_LOST from any function: opens the device again, with shorter submissions, and loads what the model was opened
// from or, if that is later, what bpt_model_save_run wrote last; a new model that was never saved has its initial values. Training goes on
// after bpt_model_step(model). BPT_ERR_DEVICE_LOST when it was lost too often to be tried again. Generators must be destroyed first.
BPT_API bpt_status_t bpt_model_recover(bpt_model_t *model) BPT_MUST_USE;

// ---- Defaults for other languages: what the inline functions return ------------------------------------------------------

BPT_API void bpt_model_options_set(bpt_model_options_t *options);
BPT_API void bpt_sampling_options_set(bpt_sampling_options_t *options);
BPT_API void bpt_translate_options_set(bpt_translate_options_t *options);
BPT_API void bpt_train_options_set(bpt_train_options_t *options, double lr);

BPT_END_DECLS

#endif
