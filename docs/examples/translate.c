// Translates a text: reads standard input line by line, and prints the translation of each line and its score.
//
//     translate RUN [BEAM] < FILE           for example: echo "a dog runs ." | translate run 5
//
// RUN is a translator that `bpt train --task translate` has written, or a file of `bpt export`. How to build this: README.md here.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpt/model.h>

// Lines that are given together are translated side by side, which is faster.
enum { LINES = 64, BYTES = 4096 };

static bpt_status_t translate(bpt_model_t *model, const bpt_translate_options_t *options) {
    static char lines[LINES][BYTES];
    const char *texts[LINES];
    bpt_translation_t found[LINES];
    for (int count = LINES; count == LINES;) {
        for (count = 0; count < LINES && fgets(lines[count], BYTES, stdin); ++count) {
            lines[count][strcspn(lines[count], "\n")] = 0;
            texts[count] = lines[count];
        }
        if (!count) return BPT_OK;
        bpt_status_t status = bpt_model_translate(model, texts, count, options, found);
        for (int i = 0; i < count && found[i].text; ++i) printf("%.4f\t%s\n", found[i].score, found[i].text);
        bpt_translations_free(found, count);
        if (status != BPT_OK) return status;
    }
    return BPT_OK;
}

int main(int argc, char **argv) {
    bpt_model_t *model;
    if (argc < 2) return fprintf(stderr, "usage: translate RUN [BEAM] < FILE\n"), 2;
    bpt_model_options_t options = bpt_model_options();
    options.backend = "cpu";  // or "opencl", "vulkan", "cuda"
    bpt_translate_options_t search = bpt_translate_options();
    if (argc > 2) search.beam = atoi(argv[2]);

    bpt_status_t status = bpt_model_open(argv[1], &options, &model);
    if (status == BPT_OK) {
        status = translate(model, &search);
        bpt_model_close(model);
    }
    if (status == BPT_OK) return 0;
    fprintf(stderr, "translate: %s\n", bpt_error_message());
    return 1;
}
