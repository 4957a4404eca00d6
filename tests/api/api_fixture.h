// Runs that the program has trained in a few steps, opened through the library.
#ifndef BPT_TEST_API_FIXTURE_H
#define BPT_TEST_API_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first.
#include <cmocka.h>

#include "bpt/alloc.h"
#include "models/api/model.h"
#include "support/check.h"
#include "support/process.h"

static char api_lm[512], api_classifier[512];

static inline int api_train_models(void **state) {
    (void)state;
    static char bytes[3001], lines[8192];
    char text[512], examples[512];
    size_t used = 0;
    for (int i = 0; i < 3000; ++i) bytes[i] = (char)('a' + i % 7 + (i / 50) % 3);
    for (int i = 0; i < 120; ++i)
        used += (size_t)snprintf(lines + used, sizeof lines - used, i % 2 ? "bad\tawful dull film %d\n" : "good\tfine warm play of %d\n",
                                 i % 10);
    snprintf(text, sizeof text, "%s", test_file("text.txt", bytes));
    snprintf(examples, sizeof examples, "%s", test_file("examples.tsv", lines));
    snprintf(api_lm, sizeof api_lm, "%s", test_path("lm"));
    snprintf(api_classifier, sizeof api_classifier, "%s", test_path("classifier"));
    test_succeed(
        "train --data %s --out %s --layers 2 --d-model 16 --heads 2 --k 2 --context 32 --batch-tokens 128 --steps 30 --lr 0.01 --backend "
        "cpu --quiet",
        text, api_lm);
    test_succeed(
        "train --task classify --data %s --out %s --layers 2 --d-model 16 --heads 2 --k 2 --batch-examples 16 --steps 30 --lr 0.01 "
        "--backend cpu --quiet",
        examples, api_classifier);
    return 0;
}

static inline bpt_model_t *api_open(const char *path) {
    bpt_model_t *model = NULL;
    assert_ok(bpt_model_open(path, NULL, &model));
    return model;
}

#endif
