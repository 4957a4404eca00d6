// Weights as numbers of 8 bits: what the program writes, reads again, computes with, and refuses.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/process.h"

#define ON "--backend cpu --threads 2 --quiet"

static char text[512], run[512], file[512], small[512], back[512];

static int prepare(void **state) {
    (void)state;
    char a[8192] = "";
    for (int i = 0; i < 90; ++i) snprintf(a + strlen(a), sizeof a - strlen(a), "the cat %d sat on the mat and the dog ran away\n", i % 7);
    snprintf(text, sizeof text, "%s", test_file("text.txt", a));
    snprintf(run, sizeof run, "%s", test_path("run"));
    snprintf(file, sizeof file, "%s", test_path("f32.safetensors"));
    snprintf(small, sizeof small, "%s", test_path("q8.safetensors"));
    snprintf(back, sizeof back, "%s", test_path("back"));
    test_succeed("train --data %s --unit byte --out %s --layers 2 --d-model 64 --d-ff 80 --heads 2 --k 2 --context 32 --batch-tokens 256 "
                 "--steps 40 --warmup 4 --lr 0.01 " ON,
                 text, run);
    test_succeed("export %s --out %s --quiet", run, file);
    test_succeed("export %s --weights q8 --out %s --quiet", run, small);
    test_succeed("import %s --out %s --quiet", small, back);
    return 0;
}

static double loss(const char *of, const char *more) {
    char options[700];
    snprintf(options, sizeof options, "--data %s --checkpoint latest %s", text, more);
    return test_evaluate(of, options, "loss");
}

static void a_file_of_8_bits_has_bytes_scales_and_a_quarter_of_the_size(void **state) {
    (void)state;
    bpt_safetensors_t *f;
    size_t long_file, short_file;
    free(test_read_file(file, &long_file)), free(test_read_file(small, &short_file));
    assert_true(short_file < long_file * 4 / 10);  // the vectors and the metadata of a small model weigh more
    assert_ok(bpt_safetensors_open(small, &f));
    int matrices = 0;
    for (size_t i = 0; i < bpt_safetensors_count(f); ++i) {
        const bpt_safetensors_tensor_t *t = bpt_safetensors_at(f, i);
        char scales[128];
        if (t->dtype != BPT_ST_I8) continue;
        snprintf(scales, sizeof scales, "%s.scales", t->name);
        const bpt_safetensors_tensor_t *s = bpt_safetensors_find(f, scales);
        assert_non_null(s);
        assert_int_equal(s->dtype, BPT_ST_F16);
        assert_true(s->shape[0] == t->shape[0] && s->shape[1] == (t->shape[1] + 31) / 32);
        ++matrices;
    }
    // The embedding, which is the head too; a layer's q, k, v, out, two of the feed-forward and the table of relative positions.
    assert_int_equal(matrices, 1 + 2 * 7);
    bpt_safetensors_close(f);
}

static void rounding_at_load_and_at_export_are_the_same_and_lose_little(void **state) {
    (void)state;
    const double f32 = loss(run, ""), q8 = loss(run, "--weights q8");
    assert_true(f32 != q8 && fabs(f32 - q8) < 0.02);
    assert_true(q8 == loss(back, "") && q8 == loss(back, "--weights q8"));
    assert_true(fabs(q8 - loss(run, "--weights q8 --backend ref")) < 1e-4);
}

static char *written(const char *of, const char *more) {
    test_process_t p = test_run_to(0, "generate %s --checkpoint latest --prompt the --max-tokens 60 --temperature 0 %s --quiet", of, more);
    char *out = strdup(p.out);
    test_process_free(&p);
    return out;
}

static void texts_are_the_same_from_bytes_and_from_what_they_stand_for(void **state) {
    (void)state;
    char *bytes = written(back, "--weights q8 --backend cpu --threads 1");
    static const char *const ways[] = {"--weights q8 --backend cpu --threads 2", "--backend cpu", "--weights q8 --backend ref"};
    for (size_t i = 0; i < BPT_COUNT(ways); ++i) {
        char *other = written(back, ways[i]);
        assert_string_equal(other, bytes);
        free(other);
    }
    char *of_run = written(run, "--weights q8 --backend cpu");
    assert_string_equal(of_run, bytes);
    free(of_run), free(bytes);
}

static void what_is_for_use_is_not_trained(void **state) {
    (void)state;
    test_refused(1, "weights of 8 bits", "train --init %s --data %s --steps 1 --out %s " ON, small, text, test_path("never"));
    test_refused(1, "weights of 8 bits", "train --init %s --data %s --steps 1 --out %s " ON, back, text, test_path("never"));
}

// ---- Damage

static const char *broken(size_t at, uint8_t a, uint8_t b) {
    size_t length;
    char *data = test_read_file(small, &length);
    data[at] = (char)a, data[at + 1] = (char)b;
    const char *path = test_path("broken.safetensors");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, length, f), length);
    fclose(f), free(data);
    return path;
}

// Where the data of a tensor begin in the file.
static size_t place_of(const char *suffix) {
    bpt_safetensors_t *f;
    size_t length, place = 0;
    uint64_t header;
    char *data = test_read_file(small, &length);
    memcpy(&header, data, sizeof header);
    free(data);
    assert_ok(bpt_safetensors_open(small, &f));
    for (size_t i = 0; i < bpt_safetensors_count(f); ++i) {
        const bpt_safetensors_tensor_t *t = bpt_safetensors_at(f, i);
        const bool scales = strstr(t->name, ".scales") != NULL;
        if (*suffix ? scales : t->dtype == BPT_ST_I8) place = 8 + header + t->offset;
    }
    bpt_safetensors_close(f);
    assert_true(place > 0);
    return place;
}

static void damaged_bytes_and_scales_are_refused(void **state) {
    (void)state;
    test_refused(1, "not negative", "import %s --out %s --quiet", broken(place_of(".scales"), 0x00, 0x7C), test_path("never"));  // infinite
    test_refused(1, "not negative", "import %s --out %s --quiet", broken(place_of(".scales"), 0x01, 0x7E),
                 test_path("never"));  // no number
    test_refused(1, "not negative", "import %s --out %s --quiet", broken(place_of(".scales"), 0x00, 0xBC), test_path("never"));  // -1
    test_refused(1, "-128", "import %s --out %s --quiet", broken(place_of(""), 0x80, 0x01), test_path("never"));
}

// Copies the file without a tensor's scales, or with scales of another shape.
static const char *reshaped(bool leaves_out) {
    bpt_safetensors_t *f;
    bpt_safetensors_writer_t *w;
    const char *path = test_path("reshaped.safetensors");
    char *room = calloc(1, 1 << 20);
    static const char *const keys[] = {"format", "config", "unit", "lower", "eval_context", "vocab", "reading"};
    bool found = false;
    assert_ok(bpt_safetensors_open(small, &f));
    assert_ok(bpt_safetensors_writer_create(path, &w));
    for (size_t i = 0; i < BPT_COUNT(keys); ++i)
        if (bpt_safetensors_metadata(f, keys[i]))
            assert_ok(bpt_safetensors_writer_metadata(w, keys[i], bpt_safetensors_metadata(f, keys[i])));
    for (int pass = 0; pass < 2; ++pass) {
        found = false;
        for (size_t i = 0; i < bpt_safetensors_count(f); ++i) {
            const bpt_safetensors_tensor_t *t = bpt_safetensors_at(f, i);
            const bool chosen = !found && strstr(t->name, ".scales");
            const int64_t shape[2] = {t->shape[0] * t->shape[1], 1};
            found |= chosen;
            if (chosen && leaves_out) continue;
            if (!pass) {
                assert_ok(bpt_safetensors_writer_declare(w, t->name, t->dtype, t->rank, chosen ? shape : t->shape));
                continue;
            }
            assert_true(t->bytes <= 1 << 20);
            assert_ok(bpt_safetensors_read(f, t, 0, t->count, room));
            assert_ok(bpt_safetensors_writer_data(w, room, t->bytes));
        }
    }
    assert_ok(bpt_safetensors_writer_finish(w));
    bpt_safetensors_writer_destroy(w);
    bpt_safetensors_close(f);
    free(room);
    return path;
}

static void scales_that_are_missing_or_too_few_are_refused(void **state) {
    (void)state;
    test_refused(1, "its scales are missing", "import %s --out %s --quiet", reshaped(true), test_path("never"));
    test_refused(1, "a scale for each block of 32", "import %s --out %s --quiet", reshaped(false), test_path("never"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_8_bits_has_bytes_scales_and_a_quarter_of_the_size),
        cmocka_unit_test(rounding_at_load_and_at_export_are_the_same_and_lose_little),
        cmocka_unit_test(texts_are_the_same_from_bytes_and_from_what_they_stand_for),
        cmocka_unit_test(what_is_for_use_is_not_trained),
        cmocka_unit_test(damaged_bytes_and_scales_are_refused),
        cmocka_unit_test(scales_that_are_missing_or_too_few_are_refused),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
