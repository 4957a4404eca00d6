// Presets: the settings of the papers (and one for newcomers) as overrides of the option table. Where the papers and the
// released configurations are known to differ the paper is followed. Knows no command.
//
// Sources: Ye et al. 2019, "BP-Transformer: modelling long-range context via binary partitioning", tables 7-10, and its released
// configurations; Ye et al. 2019, "SegTree-Transformer", section 4. rel-levels is the released `clip_dist` + 1.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bpt/options/options.h"

enum { PAIR_BYTES = 64 };

#define SMALL                                                                                                              \
    "task=lm model=bpt unit=byte layers=4 d-model=192 d-ff=768 heads=4 k=4 context=256 batch-tokens=4096 dropout-input=0 " \
    "dropout-hidden=0 dropout-attention=0 dropout-head=0 lr=0.002 schedule=cosine warmup=50 clip=1 steps=600 eval-every=200 log-every=10"

// Character models: 12 layers, windows that overlap by half, deep supervision, second halves scored.
#define CHAR_MODEL                                                                                                       \
    "task=lm model=bpt layers=12 d-model=512 d-ff=2048 heads=8 tied=yes dropout-input=0.1 dropout-hidden=0.1 "           \
    "dropout-attention=0.1 dropout-head=0.1 deep-supervision=yes protocol=half beta1=0.9 beta2=0.98 eps=1e-8 clip=0.25 " \
    "schedule=cosine warmup=4000 save-every=2000 log-every=50 "
#define ENWIK8 CHAR_MODEL "unit=byte k=64 epochs=72 "
#define TEXT8 CHAR_MODEL "unit=char k=64 "

// Word models: windows that do not overlap. (The released code moves them by half their length and trains on every token twice an epoch;
// --stride 160 does that.)
#define WORD_MODEL                                                                                                            \
    "task=lm model=bpt unit=word layers=6 d-model=320 d-ff=1024 heads=8 k=4 rel-levels=5 tied=yes dropout-input=0.5 "         \
    "dropout-hidden=0.1 dropout-attention=0.1 dropout-head=0.5 context=320 batch-tokens=5120 eval-context=320 protocol=half " \
    "beta1=0.9 beta2=0.98 eps=1e-8 clip=0.25 lr=0.001 schedule=plateau lr-decay=0.5 warmup=1600 epochs=25"

// SegTree: disjoint chunks, lower case, L2 on weights.
#define SEGTREE                                                                                                                \
    "task=lm model=segtree unit=word lower=yes d-model=320 d-ff=1024 heads=8 tied=yes dropout-input=0.5 dropout-hidden=0.1 "   \
    "dropout-attention=0.1 dropout-head=0.5 protocol=chunks beta1=0.9 beta2=0.999 eps=1e-8 weight-decay=5e-5 clip=2 lr=0.001 " \
    "schedule=plateau lr-decay=0.5 warmup=400 epochs=50 "
#define SEGTREE_70 SEGTREE "context=70 batch-tokens=4480 "
#define SEGTREE_320 SEGTREE "context=320 batch-tokens=5120 "

// Classifiers: both sides, frozen GloVe vectors, vocabulary of all files, L2 on weights, no clipping.
#define CLASSIFIER                                                                                                                    \
    "task=classify model=bpt unit=word lower=yes vocab-scope=all causal=no rule=paper d-model=300 d-ff=600 heads=6 freeze-embed=yes " \
    "freeze-rel=no beta1=0.9 beta2=0.999 eps=1e-8 weight-decay=5e-5 clip=0 warmup=0 dropout-attention=0.3 dropout-hidden=0.1 "        \
    "word-dropout=0 "
#define SST5                                                                                                                           \
    CLASSIFIER "subtrees=yes layers=4 dropout-input=0.4 dropout-head=0.4 batch-examples=1024 batch-tokens=32768 lr=0.00025 epochs=40 " \
               "schedule=exponential "
#define IMDB \
    CLASSIFIER "layers=5 dropout-input=0.5 dropout-head=0.5 batch-examples=32 batch-tokens=16384 lr=0.0001 epochs=40 schedule=constant "
// Of two CPU cores: the whole text is the maximum over its words, no L2, Adam with a falling rate; found on validation data.
#define CLASSIFIER_SMALL CLASSIFIER "pool=max weight-decay=0 clip=5 dropout-attention=0 schedule=cosine warmup=100 best-by=accuracy "
#define SST5_SMALL                                                                                                                         \
    CLASSIFIER_SMALL "subtrees=yes layers=2 d-mlp=200 dropout-input=0.4 dropout-head=0.4 batch-examples=256 batch-tokens=16384 lr=0.0005 " \
                     "epochs=3 "
#define IMDB_SMALL                                                                                                                \
    CLASSIFIER_SMALL                                                                                                              \
    "layers=3 d-model=128 d-ff=256 heads=4 truncate=512 dropout-input=0.4 dropout-head=0.5 batch-examples=32 batch-tokens=16384 " \
    "lr=0.001 epochs=4 "

// Star-Transformer (Guo et al. 2019, tables 1 to 6) and the Transformer with the same head. The paper gives sizes, Adam, fixed vectors and
// a cut at 256 tokens; number of cycles, rates and dropout are those of its authors' library, or were chosen on validation data.
#define ADAM_CLIPPED "beta1=0.9 beta2=0.999 eps=1e-8 clip=5 "
#define STAR_TEXT                                                                                            \
    "unit=word lower=yes vocab-scope=all causal=no layers=2 d-model=300 heads=6 d-mlp=200 freeze-embed=yes " \
    "dropout-attention=0 word-dropout=0 " ADAM_CLIPPED
#define STAR "model=star head-dim=50 positions=none pool=relay-max "
#define TRANSFORMER "model=transformer attention=dense positions=absolute pool=max d-ff=600 dropout-hidden=0.1 "
// Tree Transformer (Nguyen et al. 2020), as large as the two above, with a loss of every word and phrase.
#define TREE "model=tree head-dim=50 positions=sinusoidal pool=root d-ff=600 d-mlp=0 dropout-hidden=0.1 "
#define TREE_SST                                                                                                                 \
    STAR_TEXT "task=classify vertex-loss=all batch-examples=32 batch-tokens=8192 lr=0.0005 schedule=cosine warmup=100 epochs=8 " \
              "best-by=accuracy dropout-input=0.4 dropout-head=0.4 freeze-embed=no embed-scale=yes " TREE
#define SUM                                                                                                                             \
    "task=regress layers=2 d-model=100 heads=10 n=200 sum=10 d-input=10 examples=10000 batch-examples=128 batch-tokens=25600 lr=0.001 " \
    "beta1=0.9 beta2=0.98 eps=1e-8 schedule=cosine warmup=100 clip=1 epochs=20 dropout-input=0 dropout-attention=0 dropout-head=0 "
#define PHRASES                                                                                                                 \
    STAR_TEXT "task=classify subtrees=yes batch-examples=256 batch-tokens=16384 lr=0.0005 schedule=cosine warmup=100 epochs=5 " \
              "best-by=accuracy dropout-input=0.4 dropout-head=0.4 "
#define REVIEWS                                                                                                                        \
    STAR_TEXT "task=classify label-column=2 text-column=3 truncate=256 batch-examples=16 batch-tokens=8192 lr=0.0005 schedule=cosine " \
              "warmup=100 epochs=15 best-by=accuracy dropout-input=0.5 dropout-head=0.5 "
#define INFERENCE                                                                                                                      \
    "unit=word lower=yes strip-punctuation=yes vocab-scope=all causal=no task=pair freeze-embed=yes dropout-attention=0 " ADAM_CLIPPED \
    "word-dropout=0 batch-examples=128 batch-tokens=8192 lr=0.0005 schedule=cosine warmup=200 epochs=15 best-by=accuracy "             \
    "dropout-input=0.3 "                                                                                                               \
    "dropout-head=0.3 "
#define TAGS                                                                                               \
    "unit=word vocab-scope=all causal=no task=tag layers=2 d-model=300 heads=6 d-mlp=200 freeze-embed=no " \
    "dropout-attention=0 word-dropout=0 " ADAM_CLIPPED                                                     \
    "batch-examples=32 batch-tokens=8192 lr=0.001 schedule=cosine warmup=200 epochs=10 dropout-input=0.4 dropout-head=0.3 "
#define ENTITIES TAGS "tag-scheme=bioes best-by=f1 "
#define SPEECH TAGS "label-column=upos best-by=accuracy "
// A tag depends on what is left and what is right of a word, which a ring of neighbours alone does not tell apart.
#define IN_ORDER "positions=sinusoidal "
// Of docs/papers.md's small tables: what their search chose, a minute or two of one core. `tools/scripts/papers report` compares them.
#define TINY "d-model=128 heads=4 layers=2 d-ff=256 d-mlp=64 epochs=6 lr=0.002 dropout-hidden=0 dropout-head=0 "
#define BPT_SMALL "model=bpt k=2 layers=3 d-ff=600 dropout-hidden=0.1 "

// Translators (Ye et al. 2019, 4.3 and table 10, and the released configurations: rel-levels is `clip_dist` + 1; Vaswani et al. 2017). The
// small ones train to their end on two CPU cores.
#define TRANSLATOR "task=translate unit=subword shared=all smoothing=0.1 beta1=0.9 beta2=0.98 eps=1e-9 keep=10 "
#define TRANSLATOR_BASE                                                                                           \
    TRANSLATOR "layers=6 dec-layers=6 d-model=512 d-ff=2048 heads=8 clip=0 dropout-input=0.1 dropout-hidden=0.1 " \
               "dropout-attention=0.1 dropout-head=0 schedule=noam "
#define TRANSLATOR_SMALL                                                                                 \
    TRANSLATOR "heads=4 clip=1 dropout-input=0.1 dropout-hidden=0.1 dropout-attention=0 dropout-head=0 " \
               "schedule=inverse-sqrt warmup=2000 "
#define FROM_TREES "model=bpt rule=paper "
#define FROM_ALL "model=transformer attention=dense positions=sinusoidal "
#define MULTI30K TRANSLATOR_BASE "subwords=10000 batch-examples=128 lr-factor=1 warmup=4000 weight-decay=5e-5 epochs=40 "
#define MULTI30K_SMALL TRANSLATOR_SMALL "subwords=9000 layers=4 dec-layers=4 d-model=128 d-ff=256 lr=0.005 batch-examples=128 epochs=40 "
#define IWSLT TRANSLATOR_BASE "subwords=32000 lr-factor=1 warmup=8000 "
#define IWSLT_SMALL TRANSLATOR_SMALL "subwords=8000 layers=3 dec-layers=3 d-model=256 d-ff=1024 lr=0.003 batch-examples=64 epochs=20 "
#define WMT TRANSLATOR_BASE "subwords=32000 batch-examples=1024 lr-factor=2 warmup=4000 epochs=40 "

#define SEGTREE_SIZES(corpus, about)                                                                             \
    {"segtree-" corpus "-70-3", "SegTree on " about ", 3 layers, chunks of 70", SEGTREE_70 "layers=3"},          \
        {"segtree-" corpus "-70-4", "SegTree on " about ", 4 layers, chunks of 70", SEGTREE_70 "layers=4"},      \
        {"segtree-" corpus "-70-5", "SegTree on " about ", 5 layers, chunks of 70", SEGTREE_70 "layers=5"},      \
        {"segtree-" corpus "-70-6", "SegTree on " about ", 6 layers, chunks of 70", SEGTREE_70 "layers=6"},      \
        {"segtree-" corpus "-320-3", "SegTree on " about ", 3 layers, chunks of 320", SEGTREE_320 "layers=3"},   \
        {"segtree-" corpus "-320-4", "SegTree on " about ", 4 layers, chunks of 320", SEGTREE_320 "layers=4"},   \
        {"segtree-" corpus "-320-5", "SegTree on " about ", 5 layers, chunks of 320", SEGTREE_320 "layers=5"}, { \
        "segtree-" corpus "-320-6", "SegTree on " about ", 6 layers, chunks of 320", SEGTREE_320 "layers=6"      \
    }

// Windows of n leaves that move by n/2; 32,768 leaves a batch, 65,536 for the longest.
#define WINDOW_512 "context=512 stride=256 eval-context=1024 rel-levels=3 batch-tokens=32768 lr=0.00041 "
#define WINDOW_1024 "context=1024 stride=512 eval-context=2048 rel-levels=4 batch-tokens=32768 lr=0.00041 "
#define WINDOW_2048 "context=2048 stride=1024 eval-context=4096 rel-levels=5 batch-tokens=32768 lr=0.00041 "
#define WINDOW_4096 "context=4096 stride=2048 eval-context=8192 rel-levels=6 batch-tokens=32768 lr=0.00041 "
#define WINDOW_8192 "context=8192 stride=4096 eval-context=8192 rel-levels=7 batch-tokens=65536 lr=0.00058 "

const cli_preset_t cli_presets[] = {
    {"small", "byte model for any text: minutes on two cores", SMALL},
    {"ptb-6", "BPT on Penn Treebank, 6 layers, k = 4, disjoint windows (released code: --stride 160)", WORD_MODEL},
    {"wiki-6", "BPT on WikiText-2, 6 layers, k = 4, disjoint windows (released code: --stride 160)", WORD_MODEL},
    {"enwik8-512", "BPT on enwik8, windows of 512, k = 64", ENWIK8 WINDOW_512 "steps=400000 eval-every=66000"},
    {"enwik8-1024", "BPT on enwik8, windows of 1024, k = 64", ENWIK8 WINDOW_1024 "steps=400000 eval-every=66000"},
    {"enwik8-2048", "BPT on enwik8, windows of 2048, k = 64", ENWIK8 WINDOW_2048 "steps=400000 eval-every=66000"},
    {"enwik8-4096", "BPT on enwik8, windows of 4096, k = 64", ENWIK8 WINDOW_4096 "steps=400000 eval-every=66000"},
    {"enwik8-8192", "BPT on enwik8, windows of 8192, k = 64", ENWIK8 WINDOW_8192 "steps=200000 eval-every=33000"},
    {"text8-512", "BPT on text8, windows of 512, k = 64", TEXT8 WINDOW_512 "steps=400000 epochs=72 eval-every=66000"},
    {"text8-1024", "BPT on text8, windows of 1024, k = 64", TEXT8 WINDOW_1024 "steps=600000 epochs=108 eval-every=99000"},
    {"text8-2048", "BPT on text8, windows of 2048, k = 64", TEXT8 WINDOW_2048 "steps=600000 epochs=108 eval-every=99000"},
    {"text8-4096", "BPT on text8, windows of 4096, k = 64", TEXT8 WINDOW_4096 "steps=600000 epochs=108 eval-every=99000"},
    {"text8-8192", "BPT on text8, windows of 8192, k = 64", TEXT8 WINDOW_8192 "steps=400000 epochs=144 eval-every=66000"},
    {"sst5-1", "BPT on SST-5 trees, k = 1", SST5 "k=1 rel-levels=4 lr-decay=0.97"},
    {"sst5-2", "BPT on SST-5 trees, k = 2", SST5 "k=2 rel-levels=3 lr-decay=0.98"},
    {"sst5-4", "BPT on SST-5 trees, k = 4", SST5 "k=4 rel-levels=2 lr-decay=0.99"},
    {"sst5-8", "BPT on SST-5 trees, k = 8", SST5 "k=8 rel-levels=2 lr-decay=0.99"},
    {"sst5-16", "BPT on SST-5 trees, k = 16", SST5 "k=16 rel-levels=2 lr-decay=1"},
    {"sst5-2-small", "BPT on SST-5 trees, k = 2: two cores", SST5_SMALL "k=2 rel-levels=3"},
    {"imdb-1", "BPT on IMDB reviews, k = 1", IMDB "k=1 rel-levels=8"},
    {"imdb-2", "BPT on IMDB reviews, k = 2", IMDB "k=2 rel-levels=7"},
    {"imdb-4", "BPT on IMDB reviews, k = 4", IMDB "k=4 rel-levels=6"},
    {"imdb-8", "BPT on IMDB reviews, k = 8", IMDB "k=8 rel-levels=5"},
    {"imdb-16", "BPT on IMDB reviews, k = 16", IMDB "k=16 rel-levels=4"},
    {"imdb-32", "BPT on IMDB reviews, k = 32", IMDB "k=32 rel-levels=3"},
    {"imdb-64", "BPT on IMDB reviews, k = 64", IMDB "k=64 rel-levels=2"},
    {"imdb-4-small", "BPT on IMDB reviews, k = 4: two cores", IMDB_SMALL "k=4 rel-levels=6"},
    {"bpt-imdb-tiny", "BPT on IMDB reviews, k = 4, width 64: two minutes on one core",
     IMDB_SMALL "k=4 rel-levels=6 truncate=256 layers=2 d-model=64 d-ff=128 d-mlp=64 dropout-input=0.2 batch-examples=16 batch-tokens=8192 "
                "epochs=2 dropout-hidden=0 dropout-head=0"},
    SEGTREE_SIZES("ptb", "Penn Treebank"),
    SEGTREE_SIZES("wiki", "WikiText-2"),
    {"star-sum", "Star-Transformer on Masked Summation (--data summation)", SUM "model=star head-dim=10 positions=none pool=relay-max"},
    {"star-sst5", "Star-Transformer on SST-5 trees", PHRASES STAR},
    {"tree-sst", "Tree Transformer on SST-5 trees, all words and phrases", TREE_SST},
    {"tree-sst-tiny", "Tree Transformer on SST-5 trees, width 64: minutes on one core",
     TREE_SST "d-model=64 d-embed=64 heads=4 d-ff=128 head-dim=16 epochs=12 lr=0.002 dropout-input=0.1 dropout-head=0.1"},
    {"star-mtl", "Star-Transformer on a domain of MTL-16 (--where 1=DOMAIN)", REVIEWS STAR},
    {"star-snli", "Star-Transformer on pairs of sentences, SNLI",
     INFERENCE "model=star layers=2 d-model=600 heads=6 head-dim=100 d-mlp=600 positions=none pool=relay-max"},
    {"star-snli-tiny", "Star-Transformer on pairs of sentences, SNLI, width 128: two minutes on one core",
     INFERENCE "model=star layers=2 d-model=128 heads=4 head-dim=32 d-mlp=128 positions=none pool=relay-max batch-examples=64 epochs=4 "
               "lr=0.0015 dropout-head=0"},
    {"star-pos", "Star-Transformer on parts of speech, CoNLL-U files", SPEECH STAR IN_ORDER},
    {"star-ner", "Star-Transformer on named entities, CoNLL files", ENTITIES STAR IN_ORDER},
    {"star-ner-crf", "Star-Transformer on named entities with characters and a CRF, CoNLL files", ENTITIES STAR "ngram-max=4 crf=yes"},
    {"transformer-sum", "Transformer on Masked Summation (--data summation)",
     SUM "model=transformer attention=dense positions=none pool=max d-ff=400 dropout-hidden=0"},
    {"transformer-sst5", "Transformer on SST-5 trees", PHRASES TRANSFORMER},
    {"transformer-mtl", "Transformer on a domain of MTL-16 (--where 1=DOMAIN)",
     REVIEWS TRANSFORMER "dropout-input=0.3 dropout-hidden=0 dropout-head=0"},
    {"transformer-mtl-tiny", "Transformer on a domain of MTL-16, width 64: seconds on one core",
     REVIEWS TRANSFORMER "truncate=64 d-model=64 heads=4 d-ff=128 d-mlp=64 dropout-input=0.3 dropout-hidden=0 dropout-head=0 "
                         "batch-examples=32 warmup=50 lr=0.003 epochs=5"},
    {"transformer-snli", "Transformer on pairs of sentences, SNLI", INFERENCE TRANSFORMER "layers=2 d-model=300 heads=6 d-mlp=600"},
    {"transformer-pos", "Transformer on parts of speech, CoNLL-U files", SPEECH TRANSFORMER IN_ORDER},
    {"transformer-ner", "Transformer on named entities, CoNLL files", ENTITIES TRANSFORMER IN_ORDER},
    {"bpt-snli", "BPT on pairs of sentences, SNLI: 3 layers, then 3 in which the sentences read each other",
     INFERENCE BPT_SMALL "k=4 match-layers=3 d-model=300 heads=6 d-mlp=600 pool=root"},
    {"bpt-ner", "BPT on named entities, CoNLL files", ENTITIES BPT_SMALL},
    {"bpt-ner-tiny", "BPT on named entities, width 128: two minutes on one core", ENTITIES BPT_SMALL "freeze-embed=yes " TINY},
    {"bpt-pos", "BPT on parts of speech, CoNLL-U files", SPEECH BPT_SMALL},
    {"bpt-pos-tiny", "BPT on parts of speech, width 128: two minutes on one core", SPEECH BPT_SMALL "freeze-embed=yes " TINY},
    {"bpt-multi30k", "BPT translates Multi30k, k = 4", MULTI30K FROM_TREES "k=4 rel-levels=3"},
    {"bpt-multi30k-small", "BPT translates Multi30k, k = 4: two cores", MULTI30K_SMALL FROM_TREES "k=4 rel-levels=3"},
    {"bpt-multi30k-tiny", "BPT translates Multi30k, 2 + 2 layers of 96: minutes on one core",
     MULTI30K_SMALL FROM_TREES
     "k=4 rel-levels=3 subwords=3000 layers=2 dec-layers=2 d-model=96 d-ff=192 schedule=cosine warmup=300 lr=0.006 "
     "epochs=4"},
    {"bpt-iwslt-0", "BPT translates talks, sentences alone, k = 4", IWSLT FROM_TREES "k=4 rel-levels=3 batch-examples=100 epochs=40"},
    {"bpt-iwslt-32", "BPT translates talks, context of 32 tokens, k = 4",
     IWSLT FROM_TREES "k=4 rel-levels=3 context-tokens=32 batch-examples=64 epochs=30"},
    {"bpt-iwslt-64", "BPT translates talks, context of 64 tokens, k = 4",
     IWSLT FROM_TREES "k=4 rel-levels=4 context-tokens=64 batch-examples=32 epochs=30"},
    {"bpt-iwslt-128", "BPT translates talks, context of 128 tokens, k = 4",
     IWSLT FROM_TREES "k=4 rel-levels=5 context-tokens=128 batch-examples=16 epochs=30"},
    {"bpt-iwslt-small", "BPT translates talks (--context-tokens N), k = 4: two cores", IWSLT_SMALL FROM_TREES "k=4"},
    {"bpt-wmt-1", "BPT translates WMT14, k = 1", WMT FROM_TREES "k=1 rel-levels=5"},
    {"bpt-wmt-2", "BPT translates WMT14, k = 2", WMT FROM_TREES "k=2 rel-levels=4"},
    {"bpt-wmt-4", "BPT translates WMT14, k = 4", WMT FROM_TREES "k=4 rel-levels=3"},
    {"bpt-wmt-8", "BPT translates WMT14, k = 8", WMT FROM_TREES "k=8 rel-levels=2"},
    {"transformer-multi30k", "Transformer translates Multi30k", MULTI30K FROM_ALL},
    {"transformer-multi30k-small", "Transformer translates Multi30k: two cores", MULTI30K_SMALL FROM_ALL},
    {"transformer-iwslt-0", "Transformer translates talks, sentences alone", IWSLT FROM_ALL "batch-examples=128 epochs=40"},
    {"transformer-iwslt-32", "Transformer translates talks, context of 32 tokens",
     IWSLT FROM_ALL "context-tokens=32 batch-examples=64 epochs=30"},
    {"transformer-iwslt-64", "Transformer translates talks, context of 64 tokens",
     IWSLT FROM_ALL "context-tokens=64 batch-examples=32 epochs=30"},
    {"transformer-iwslt-128", "Transformer translates talks, context of 128 tokens",
     IWSLT FROM_ALL "context-tokens=128 batch-examples=16 epochs=30"},
    {"transformer-iwslt-small", "Transformer translates talks (--context-tokens N): two cores", IWSLT_SMALL FROM_ALL},
    {"transformer-wmt", "Transformer translates WMT14", WMT FROM_ALL},
    {"tree-multi30k-small", "Tree Transformer translates Multi30k, trees beside the text: two cores", MULTI30K_SMALL "model=tree"},
    {"tree-iwslt", "Tree Transformer translates talks, trees beside the text",
     "task=translate unit=subword subwords=32000 model=tree layers=6 dec-layers=6 d-model=512 d-ff=1024 heads=4 shared=all smoothing=0.1 "
     "dropout-input=0.3 "
     "dropout-hidden=0.3 dropout-attention=0.2 dropout-head=0 lr=0.0005 schedule=inverse-sqrt warmup=4000 beta2=0.98 weight-decay=0.0001 "
     "batch-tokens=4096 steps=61000"},
    {NULL, NULL, NULL},
};

static const cli_preset_t *find(const char *name) {
    for (const cli_preset_t *preset = cli_presets; preset->name; ++preset)
        if (!strcmp(preset->name, name)) return preset;
    return NULL;
}

static bpt_status_t unknown_preset(const char *name) {
    cli_suggestion_t nearest = {.word = name};
    char hint[64];
    for (const cli_preset_t *p = cli_presets; p->name; ++p) cli_suggest(&nearest, p->name);
    const char *text = cli_suggest_text(&nearest, "", hint, sizeof hint);
    return bpt_fail(BPT_ERR_USAGE, "unknown preset '%s'%s", name, *text ? text : "; `bpt presets` lists them");
}

// The next "key=value" of a preset in two strings; false at the end.
static bool next_pair(const char **values, char pair[PAIR_BYTES], char **value) {
    const size_t length = strcspn(*values, " ");
    if (!length) return false;
    snprintf(pair, PAIR_BYTES, "%.*s", (int)length, *values);
    *values += length + strspn(*values + length, " ");
    *value = strchr(pair, '=');
    if (*value) *(*value)++ = 0;
    return true;
}

// 0 when the preset has no context.
static int64_t context_of(const cli_preset_t *preset) {
    char pair[PAIR_BYTES], *value;
    for (const char *p = preset->values; next_pair(&p, pair, &value);)
        if (value && !strcmp(pair, "context")) return strtoll(value, NULL, 10);
    return 0;
}

// What belongs to the preset's window belongs to one of `context` leaves in the same proportion: a twice as long one moves twice as far
// and has one more level of relative positions.
static void follow_context(const char *key, char value[PAIR_BYTES], int64_t from, int64_t context) {
    int64_t number = strtoll(value, NULL, 10);
    if (!strcmp(key, "stride")) {
        number = number * context / from;
        if (number < 1) number = 1;
    } else if (!strcmp(key, "eval-context")) {
        number = number * context / from;
        number += number % 2;  // protocols with overlapping windows cut it in half
    } else if (!strcmp(key, "rel-levels")) {
        for (; from < context; from *= 2) ++number;
        for (; from >= 2 * context && number > 1; from /= 2) --number;
    } else {
        return;
    }
    snprintf(value, PAIR_BYTES, "%lld", (long long)number);
}

bpt_status_t cli_preset_apply(cli_options_t *o, const char *name) {
    const cli_preset_t *preset = find(name);
    return preset ? cli_preset_take(o, preset) : unknown_preset(name);
}

bpt_status_t cli_preset_take(cli_options_t *o, const cli_preset_t *preset) {
    const int64_t from = context_of(preset);
    const bool moved = from && cli_option_source(o, "context") > CLI_FROM_PRESET && o->data.context != from;
    char pair[PAIR_BYTES], number[PAIR_BYTES], *value;
    for (const char *p = preset->values; next_pair(&p, pair, &value);) {
        const cli_option_t *option = cli_option_find(o->command, pair);
        if (!option || !value) return bpt_fail(BPT_ERR_INTERNAL, "preset %s has a wrong entry %s", preset->name, pair);
        snprintf(number, sizeof number, "%s", value);
        if (moved) follow_context(pair, number, from, o->data.context);
        BPT_TRY(cli_option_set(o, option, number, CLI_FROM_PRESET, pair));
    }
    return BPT_OK;
}

bpt_status_t cli_preset_to_json(const cli_preset_t *preset, json_t *object) {
    cli_options_t o;
    bpt_status_t status = cli_options_init(&o, CLI_TRAIN, "train");
    if (status == BPT_OK) status = cli_preset_apply(&o, preset->name);
    for (int i = 0; i < cli_option_count && status == BPT_OK; ++i)
        if (o.source[i] == CLI_FROM_PRESET) status = cli_option_to_json(&o, &cli_option_table[i], object);
    cli_options_destroy(&o);
    return status;
}
