// Trains a small BP-Transformer on the bytes of a text and saves a run that `bpt eval` and `bpt generate` accept.
//
//     train TEXT RUN [STEPS]          for example: train shakespeare.txt run 500
//
// How to build this: README.md here.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpt/model.h>

enum { CONTEXT = 128, BATCH = 8 };  // tokens that the model sees at once, and texts side by side

static const char configuration[] =
    "{\"model\": \"bpt\", \"task\": \"lm\", \"unit\": \"byte\", \"vocab\": 256, \"layers\": 2, \"d_model\": 64, \"d_ff\": 256,"
    " \"heads\": 4, \"k\": 4, \"rel_levels\": 12}";

static unsigned char *read_file(const char *path, long *bytes) {
    FILE *file = fopen(path, "rb");
    unsigned char *data = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0 && (*bytes = ftell(file)) >= 0) {
        rewind(file);
        data = malloc((size_t)*bytes + 1);
        if (data && fread(data, 1, (size_t)*bytes, file) != (size_t)*bytes) free(data), data = NULL;
    }
    if (file) fclose(file);
    return data;
}

// One batch: windows from random places of the text, each one token longer than the context, as the last one is only a target.
static bpt_micro_batch_t make_batch(const unsigned char *text, long bytes, uint32_t *tokens, int64_t *lengths) {
    for (int b = 0; b < BATCH; ++b) {
        const long start = (long)((double)rand() / ((double)RAND_MAX + 1) * (double)(bytes - CONTEXT));
        lengths[b] = CONTEXT + 1;
        for (int i = 0; i <= CONTEXT; ++i) tokens[b * (CONTEXT + 1) + i] = text[start + i];
    }
    return (bpt_micro_batch_t){.sequences = {.tokens = tokens, .lengths = lengths, .count = BATCH}};
}

static bpt_status_t train(bpt_model_t *model, const unsigned char *text, long bytes, int steps) {
    static uint32_t tokens[BATCH * (CONTEXT + 1)];
    static int64_t lengths[BATCH];
    for (int step = 0; step < steps; ++step) {
        const bpt_micro_batch_t batch = make_batch(text, bytes, tokens, lengths);
        bpt_train_result_t result;
        // The schedule is yours: here a warm-up, then half a cosine.
        const double warm = step < 20 ? (step + 1) / 20.0 : 1;
        bpt_train_options_t options = bpt_train_options(0.003 * warm * (1 + cos(3.14159265 * step / steps)) / 2);
        options.clip = 0.5;
        const bpt_status_t status = bpt_model_train_step(model, &batch, 1, &options, &result);
        if (status != BPT_OK) return status;
        if (step % 10 == 0 || step + 1 == steps) printf("step %d: %.3f bits per byte\n", step + 1, result.loss / log(2));
    }
    return BPT_OK;
}

int main(int argc, char **argv) {
    long bytes;
    bpt_model_t *model;
    if (argc < 3) return fprintf(stderr, "usage: train TEXT RUN [STEPS]\n"), 2;
    unsigned char *text = read_file(argv[1], &bytes);
    if (!text || bytes <= CONTEXT) return fprintf(stderr, "train: %s cannot be read or is too short\n", argv[1]), free(text), 1;

    bpt_model_options_t options = bpt_model_options();
    options.backend = "cpu";  // or "opencl", "vulkan", "cuda"
    bpt_status_t status = bpt_model_create(configuration, 1, &options, &model);
    if (status == BPT_OK) {
        status = bpt_model_save_run(model, argv[2]);  // a folder that cannot be had is found now, not after the work
        if (status == BPT_OK) status = train(model, text, bytes, argc > 3 ? atoi(argv[3]) : 500);
        if (status == BPT_OK) status = bpt_model_save_run(model, argv[2]);
        bpt_model_close(model);
    }
    free(text);
    if (status == BPT_OK) return 0;
    fprintf(stderr, "train: %s\n", bpt_error_message());
    return 1;
}
