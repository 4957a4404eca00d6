// Goes on with a text: opens a trained language model, reads a prompt, and prints token after token.
//
//     generate RUN PROMPT [TOKENS]          for example: generate run "ROMEO:" 200
//
// RUN is what `bpt train` or train.c beside this file has written, or a file of `bpt export`. How to build this: README.md here.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpt/alloc.h>
#include <bpt/model.h>

// Draws a token with the probabilities softmax(logits / temperature).
static uint32_t sample(const float *logits, int64_t vocabulary, double temperature) {
    double largest = logits[0], total = 0;
    for (int64_t i = 1; i < vocabulary; ++i) largest = fmax(largest, logits[i]);
    for (int64_t i = 0; i < vocabulary; ++i) total += exp((logits[i] - largest) / temperature);
    double left = rand() / (RAND_MAX + 1.0) * total;
    for (int64_t i = 0; i < vocabulary; ++i) {
        left -= exp((logits[i] - largest) / temperature);
        if (left < 0) return (uint32_t)i;
    }
    return (uint32_t)(vocabulary - 1);
}

static bpt_status_t generate(bpt_model_t *model, const char *prompt, int64_t wanted) {
    bpt_generator_t *generator;
    uint32_t *tokens, token;
    int64_t count;
    const int64_t vocabulary = bpt_model_vocabulary(model);
    float *logits = malloc((size_t)vocabulary * sizeof *logits);  // of the next token
    if (!logits) return bpt_fail(BPT_ERR_NO_MEMORY, "out of memory");

    bpt_status_t status = bpt_model_tokenize(model, prompt, strlen(prompt), &tokens, &count);
    if (status != BPT_OK) return free(logits), status;
    status = bpt_generator_create(model, count + wanted, 1, &generator);
    if (status == BPT_OK) {
        status = bpt_generator_feed(generator, 0, tokens, count, logits);
        for (int64_t i = 0; i < wanted && status == BPT_OK; ++i) {
            char *text;
            size_t bytes;
            token = sample(logits, vocabulary, 0.8);
            status = bpt_model_text(model, &token, 1, true, &text, &bytes);
            if (status != BPT_OK) break;
            fwrite(text, 1, bytes, stdout);
            fflush(stdout);
            bpt_free(text);
            status = bpt_generator_step(generator, &token, logits);
        }
        bpt_generator_destroy(generator);
    }
    bpt_free(tokens);
    free(logits);
    return status;
}

int main(int argc, char **argv) {
    bpt_model_t *model;
    if (argc < 3) return fprintf(stderr, "usage: generate RUN PROMPT [TOKENS]\n"), 2;
    bpt_model_options_t options = bpt_model_options();
    options.backend = "cpu";  // or "opencl", "vulkan", "cuda"

    bpt_status_t status = bpt_model_open(argv[1], &options, &model);
    if (status == BPT_OK) {
        status = generate(model, argv[2], argc > 3 ? atoll(argv[3]) : 200);
        putchar('\n');
        bpt_model_close(model);
    }
    if (status == BPT_OK) return 0;
    fprintf(stderr, "generate: %s\n", bpt_error_message());
    return 1;
}
