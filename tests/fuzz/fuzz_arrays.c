// libFuzzer: any bytes as a safetensors file of examples that are arrays. What is accepted is finite, and parts of it are copies.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpt/alloc.h"
#include "data/batches/arrays.h"
#include "data/batches/examples_source.h"

static void require(bool condition) {
    if (!condition) abort();
}

static void check(const bpt_examples_t *e) {
    require(e->count >= 1 && e->vectors.columns >= 1 && e->values.columns >= 1 && e->offsets[e->count] == e->n_tokens);
    for (uint64_t i = 0; i < e->n_tokens * (uint64_t)e->vectors.columns; ++i) require(isfinite(e->vectors.of[i]));
    for (uint64_t i = 0; i < e->count * (uint64_t)e->values.columns; ++i) require(isfinite(e->values.of[i]));
    for (uint64_t i = 0; i < e->count; ++i) require(e->offsets[i + 1] - e->offsets[i] == e->offsets[1]);
}

// The examples from `first` on are of one part.
static void check_part(const bpt_examples_t *all, uint64_t first) {
    bpt_examples_t part;
    bpt_cut_t cut = {.count = all->count};
    require(bpt_alloc(all->count, 1, &cut.part) == BPT_OK);
    for (uint64_t e = first; e < all->count; ++e) cut.part[e] = BPT_VALID;
    require(bpt_arrays_part(all, &cut, BPT_VALID, &part) == BPT_OK);
    bpt_free(cut.part);
    check(&part);
    const uint64_t numbers = all->offsets[1] * (uint64_t)all->vectors.columns, values = (uint64_t)all->values.columns;
    require(!memcmp(part.vectors.of, all->vectors.of + first * numbers, part.count * numbers * sizeof *part.vectors.of));
    require(!memcmp(part.values.of, all->values.of + first * values, part.count * values * sizeof *part.values.of));
    bpt_examples_free(&part);
}

// Every example comes once, with its numbers and its values.
static void check_batches(const bpt_examples_t *e, bool packed) {
    bpt_batch_source_t *source;
    uint64_t seen = 0;
    const uint64_t numbers = e->offsets[1] * (uint64_t)e->vectors.columns, values = (uint64_t)e->values.columns;
    require(bpt_examples_eval_source(e, &(bpt_batching_t){.batch_tokens = 64, .packed = packed}, &source) == BPT_OK);
    for (;;) {
        bpt_batch_t b;
        bool end = false;
        require(source->next(source, &b, &end) == BPT_OK);
        if (end) break;
        for (int64_t s = 0; s < b.n_real; ++s, ++seen) {
            const float *row = b.side[0].numbers + b.side[0].start[s] * (uint64_t)e->vectors.columns;
            require(b.sequences[s] < e->count && b.side[0].lengths[s] == e->offsets[1]);
            require(!memcmp(row, e->vectors.of + b.sequences[s] * numbers, numbers * sizeof *row));
            require(!memcmp(b.values + (uint64_t)s * values, e->values.of + b.sequences[s] * values, values * sizeof *row));
        }
    }
    require(seen == e->count);
    source->destroy(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int fd = memfd_create("input", MFD_CLOEXEC);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    bpt_examples_t examples;
    const bpt_status_t status = bpt_arrays_read(path, &examples);
    require(status == BPT_OK || (status == BPT_ERR_INPUT && *bpt_error_message()));
    if (status == BPT_OK) {
        check(&examples);
        check_part(&examples, examples.count / 2);
        check_batches(&examples, false);
        check_batches(&examples, true);
        bpt_examples_free(&examples);
    }
    close(fd);
    require(bpt_alloc_live() == 0);
    return 0;
}
