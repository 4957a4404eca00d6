// Models of hidden tokens through the program: training, evaluation by masks that stay, resumption bit for bit, the same losses on GPU
// APIs, what starts from them, and what is refused.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "support/check.h"
#include "support/process.h"
#include "support/support.h"

#define SHAPE "--layers 2 --d-model 24 --heads 3 "
#define SMALL SHAPE "--task mlm --unit word --context 24 --batch-tokens 96 --lr 0.01 --seed 3 --quiet "

static const char *const models[] = {"--model bpt --k 2", "--model star --head-dim 8", "--model transformer"};
static char text[400], classes[400], tags[400], pairs[400];

// Each word follows from the one before it, so that hidden ones can be known from their neighbours.
static int setup(void **state) {
    (void)state;
    static char running[40000], labelled[20000], tagged[30000], paired[30000];
    size_t r = 0, l = 0, t = 0, p = 0;
    for (int i = 0; i < 300; ++i) {
        for (int k = 0, word = i % 17; k < 9; ++k, word = (word * 3 + 2) % 17)
            r += (size_t)snprintf(running + r, sizeof running - r, "w%d ", word);
        running[r - 1] = '\n';
    }
    for (int i = 0; i < 80; ++i) {
        l += (size_t)snprintf(labelled + l, sizeof labelled - l, "%s\tw%d w%d new%d\n", i % 2 ? "odd" : "even", i % 17, i % 2, i % 3);
        t += (size_t)snprintf(tagged + t, sizeof tagged - t, "w%d A\nw%d %s\n\n", i % 17, i % 5, i % 5 < 2 ? "A" : "B");
        p += (size_t)snprintf(paired + p, sizeof paired - p, "%s\tw%d w1\tw%d w2\n", i % 3 ? "other" : "same", i % 3, i % 7);
    }
    snprintf(text, sizeof text, "%s", test_file("text.txt", running));
    snprintf(classes, sizeof classes, "%s", test_file("classes.tsv", labelled));
    snprintf(tags, sizeof tags, "%s", test_file("tags.conll", tagged));
    snprintf(pairs, sizeof pairs, "%s", test_file("pairs.tsv", paired));
    return 0;
}

static void remove_run(const char *name) {
    char line[600];
    snprintf(line, sizeof line, "rm -rf '%s'", test_path("%s", name));
    assert_int_equal(system(line), 0);
}

static void same_model(const char *a, const char *b) {
    char *x, *y;
    size_t x_bytes, y_bytes;
    assert_ok(bpt_file_read(test_path("%s/latest/model.safetensors", a), 1 << 24, &x, &x_bytes));
    assert_ok(bpt_file_read(test_path("%s/latest/model.safetensors", b), 1 << 24, &y, &y_bytes));
    assert_int_equal(x_bytes, y_bytes);
    if (memcmp(x, y, x_bytes)) fail_msg("%s and %s have other bits", a, b);
    bpt_free(x), bpt_free(y);
}

static void every_model_learns_and_is_resumed_bit_for_bit(void **state) {
    (void)state;
    static const double most[] = {0.8, 1.6, 2.85};  // nats; of 20 tokens that are as likely: 3.0
    for (size_t m = 0; m < BPT_COUNT(models); ++m) {
        test_succeed("train --data %s --out %s --steps 200 --accumulate 2 " SMALL "%s", text, test_path("whole"), models[m]);
        test_succeed("train --data %s --out %s --steps 200 --stop-at 83 --accumulate 2 " SMALL "%s", text, test_path("parts"), models[m]);
        test_succeed("train --resume --out %s --quiet", test_path("parts"));
        same_model("whole", "parts");
        const double loss = test_evaluate(test_path("whole"), "", "loss");
        assert_true(loss < most[m]);
        assert_true(loss == test_evaluate(test_path("whole"), "", "loss"));  // masks are the same
        assert_true(fabs(test_evaluate(test_path("whole"), "", "perplexity") - exp(loss)) < 1e-6 * exp(loss));
        remove_run("whole"), remove_run("parts");
    }
}

static void gpu_apis_train_as_the_cpu_does(void **state) {
    (void)state;
    static const char *const backends[] = {"ref", "opencl", "vulkan", "cuda"};
    for (size_t m = 0; m < BPT_COUNT(models); ++m) {
        test_succeed("train --backend cpu --data %s --out %s --steps 6 " SMALL "%s", text, test_path("one"), models[m]);
        const double wanted = test_evaluate(test_path("one"), "", "loss");
        for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
            if (!test_backend_usable(backends[b])) continue;
            test_succeed("train --backend %s --data %s --out %s --steps 6 " SMALL "%s", backends[b], text, test_path("other"), models[m]);
            const double got = test_evaluate(test_path("other"), "", "loss");
            if (!(fabs(got - wanted) <= 1e-3 * wanted)) fail_msg("%s on %s: loss %g, on cpu %g", models[m], backends[b], got, wanted);
            remove_run("other");
        }
        remove_run("one");
    }
}

static void other_tasks_start_from_it(void **state) {
    (void)state;
    const struct { const char *task, *data; } tasks[] = {{"classify", classes}, {"tag", tags}, {"pair", pairs}};
    for (size_t m = 0; m < BPT_COUNT(models); ++m) {
        test_succeed("train --data %s --out %s --steps 10 " SMALL "%s", text, test_path("source"), models[m]);
        for (size_t t = 0; t < BPT_COUNT(tasks); ++t)
            for (int match = 0; match < 2; ++match) {
                test_succeed("train --init %s --task %s --data %s --out %s --steps 4 --batch-examples 8 --quiet%s", test_path("source"),
                             tasks[t].task, tasks[t].data, test_path("next"), match ? " --match-vocabulary" : "");
                assert_true(isfinite(test_evaluate(test_path("next"), "", "loss")));
                remove_run("next");
            }
        remove_run("source");
    }
}

// The token that stands for hidden ones is in the vocabulary of words; bytes have zeros in its place.
static void the_vocabulary_has_the_token_that_hides(void **state) {
    (void)state;
    char *vocab;
    size_t bytes;
    test_succeed("train --data %s --out %s --steps 2 --model bpt " SMALL, text, test_path("words"));
    assert_ok(bpt_file_read(test_path("words/vocab.txt"), 1 << 20, &vocab, &bytes));
    assert_true(!strncmp(vocab, "<unk>\n<eos>\n<mask>\n", 19));
    bpt_free(vocab);
    test_succeed("train --task mlm --data %s --out %s --steps 2 --context 32 --batch-tokens 64 --quiet " SHAPE, text, test_path("bytes"));
    assert_true(test_evaluate(test_path("bytes"), "", "bits_per_char") > 0);
    remove_run("words"), remove_run("bytes");
}

static void what_does_not_go_together_is_refused(void **state) {
    (void)state;
    test_refused(2, "cannot be causal", "train --data %s --out %s " SMALL "--model bpt --causal", text, test_path("refused"));
    test_refused(2, "--protocol", "train --data %s --out %s " SMALL "--model bpt --protocol half", text, test_path("refused"));
    test_refused(2, "its trees have labels of whole texts", "train --data %s --out %s " SMALL "--model tree", text, test_path("refused"));
    test_succeed("train --data %s --out %s --steps 2 --model bpt " SMALL, text, test_path("run"));
    test_refused(2, "a model of hidden tokens", "generate %s --prompt w1 --max-tokens 2", test_path("run"));
    remove_run("run");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_learns_and_is_resumed_bit_for_bit),
        cmocka_unit_test(gpu_apis_train_as_the_cpu_does),
        cmocka_unit_test(other_tasks_start_from_it),
        cmocka_unit_test(the_vocabulary_has_the_token_that_hides),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
