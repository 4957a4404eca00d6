// Muon through the program: resumed bit for bit, the same losses on GPU APIs, precisions, and what is refused.
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
#include "support/batches.h"
#include "support/check.h"
#include "support/process.h"
#include "support/support.h"

#define SMALL \
    "--k 2 --layers 2 --d-model 24 --d-ff 48 --heads 3 --context 32 --batch-tokens 64 --lr 0.01 --seed 3 --quiet --optimizer muon "

static char text[400];

static int setup(void **state) {
    (void)state;
    enum { BYTES = 8000 };
    static char content[BYTES + 1];
    test_gen_text(5, content, BYTES);
    snprintf(text, sizeof text, "%s", test_file("text.txt", content));
    return 0;
}

static void remove_run(const char *name) {
    char line[600];
    snprintf(line, sizeof line, "rm -rf '%s'", test_path("%s", name));
    assert_int_equal(system(line), 0);
}

static void same_file(const char *a, const char *b, const char *file) {
    char *x, *y;
    size_t x_bytes, y_bytes;
    assert_ok(bpt_file_read(test_path("%s/latest/%s", a, file), 1 << 24, &x, &x_bytes));
    assert_ok(bpt_file_read(test_path("%s/latest/%s", b, file), 1 << 24, &y, &y_bytes));
    assert_int_equal(x_bytes, y_bytes);
    if (memcmp(x, y, x_bytes)) fail_msg("%s and %s have other bits in %s", a, b, file);
    bpt_free(x), bpt_free(y);
}

static void a_run_with_muon_is_resumed_bit_for_bit(void **state) {
    (void)state;
    static const char *const more[] = {"", "--accumulate 3 --clip 0.1", "--precision bf16 --weight-decay 0.1",
                                       "--precision f16 --threads 1", "--recompute --momentum 0.8"};
    for (size_t i = 0; i < BPT_COUNT(more); ++i) {
        test_succeed("train --data %s --out %s --steps 16 " SMALL "%s", text, test_path("whole"), more[i]);
        test_succeed("train --data %s --out %s --steps 16 --stop-at 5 " SMALL "%s", text, test_path("parts"), more[i]);
        test_succeed("train --resume --out %s --stop-at 16 --quiet", test_path("parts"));
        same_file("whole", "parts", "model.safetensors");
        same_file("whole", "parts", "optimizer.safetensors");
        remove_run("whole"), remove_run("parts");
    }
}

static void gpu_apis_train_as_the_cpu_does(void **state) {
    (void)state;
    static const char *const backends[] = {"ref", "opencl", "vulkan", "cuda"};
    static const char *const models[] = {"--model bpt --k 2", "--model transformer", "--model segtree"};
    for (size_t m = 0; m < BPT_COUNT(models); ++m) {
        const char *options = SMALL + strlen("--k 2 ");
        test_succeed("train --backend cpu --data %s --out %s --steps 6 %s%s", text, test_path("one"), options, models[m]);
        const double wanted = test_evaluate(test_path("one"), "", "loss");
        for (size_t b = 0; b < BPT_COUNT(backends); ++b) {
            if (!test_backend_usable(backends[b])) continue;
            test_succeed("train --backend %s --data %s --out %s --steps 6 %s%s", backends[b], text, test_path("other"), options, models[m]);
            const double got = test_evaluate(test_path("other"), "", "loss");
            if (!(fabs(got - wanted) <= 1e-3 * wanted)) fail_msg("%s on %s: loss %g, on cpu %g", models[m], backends[b], got, wanted);
            remove_run("other");
        }
        remove_run("one");
    }
}

// Bytes one by one have 2.93 nats in this text, known by their neighbours less.
static void a_model_learns(void **state) {
    (void)state;
    test_succeed("train --data %s --out %s --steps 240 " SMALL, text, test_path("learns"));
    assert_true(test_evaluate(test_path("learns"), "", "loss") < 2.3);
    remove_run("learns");
}

static void what_does_not_go_together_is_refused(void **state) {
    (void)state;
    test_succeed("train --data %s --out %s --steps 2 " SMALL, text, test_path("run"));
    test_refused(2, "--optimizer cannot change when a run is resumed: it was 'muon', not 'adam'",
                 "train --resume --out %s --optimizer adam --steps 4", test_path("run"));
    test_refused(2, "--momentum cannot change when a run is resumed", "train --resume --out %s --momentum 0.5 --steps 4", test_path("run"));
    test_refused(2, "--momentum is for --optimizer muon, and this is --optimizer adamw",
                 "train --data %s --out %s --optimizer adamw --momentum 0.9", text, test_path("refused"));
    test_refused(2, "--momentum", "train --data %s --out %s --optimizer muon --momentum 1", text, test_path("refused"));
    remove_run("run");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_with_muon_is_resumed_bit_for_bit),
        cmocka_unit_test(gpu_apis_train_as_the_cpu_does),
        cmocka_unit_test(a_model_learns),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
