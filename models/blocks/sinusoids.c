// Sinusoidal positions (see sinusoids.h).
#include "models/blocks/sinusoids.h"

#include <math.h>
#include <string.h>

#include "bpt/alloc.h"

enum { MOST_KEPT = 4096 };  // rows; those of later positions are worked out every time

static void fill_row(uint32_t position, int64_t width, float *row) {
    for (int64_t i = 0; i < width; i += 2) {
        const double angle = (double)position * pow(10000, -(double)i / (double)width);
        row[i] = (float)sin(angle);
        if (i + 1 < width) row[i + 1] = (float)cos(angle);
    }
}

static bpt_status_t keep(bpt_sinusoids_t *s, int64_t count) {
    if (count <= s->count) return BPT_OK;
    BPT_TRY(bpt_realloc(&s->rows, (size_t)(count * s->width), sizeof *s->rows));
    for (; s->count < count; ++s->count) fill_row((uint32_t)s->count, s->width, s->rows + s->count * s->width);
    return BPT_OK;
}

bpt_status_t bpt_sinusoids_write(bpt_sinusoids_t *s, const uint32_t *positions, int64_t n, float *out) {
    int64_t most = 0;
    for (int64_t i = 0; i < n; ++i)
        if (positions[i] < MOST_KEPT && positions[i] >= most) most = positions[i] + 1;
    BPT_TRY(keep(s, most));
    for (int64_t i = 0; i < n; ++i, out += s->width) {
        if (positions[i] == BPT_NO_ROW)
            memset(out, 0, (size_t)s->width * sizeof *out);
        else if (positions[i] < MOST_KEPT)
            memcpy(out, s->rows + positions[i] * s->width, (size_t)s->width * sizeof *out);
        else
            fill_row(positions[i], s->width, out);
    }
    return BPT_OK;
}

bpt_value_t bpt_positions_input(bpt_graph_t *g, const bpt_model_config_t *config, int64_t rows) {
    if (config->positions == BPT_POSITIONS_SINUSOIDAL) return bpt_input(g, "positions", BPT_F32, bpt_shape2(rows, config->d_model));
    return config->positions == BPT_POSITIONS_ABSOLUTE ? bpt_input(g, "positions", BPT_U32, bpt_shape1(rows)) : BPT_NO_VALUE;
}

bpt_status_t bpt_positions_write(bpt_program_t *program, bpt_value_t input, const bpt_model_config_t *config, bpt_sinusoids_t *sinusoids,
                                 const uint32_t *positions, int64_t rows) {
    float *values;
    if (input == BPT_NO_VALUE || config->positions != BPT_POSITIONS_SINUSOIDAL) return bpt_program_write(program, input, positions);
    sinusoids->width = config->d_model;
    BPT_TRY(bpt_alloc((size_t)(rows * config->d_model), sizeof *values, &values));
    bpt_status_t status = bpt_sinusoids_write(sinusoids, positions, rows, values);
    if (status == BPT_OK) status = bpt_program_write(program, input, values);
    bpt_free(values);
    return status;
}
