// Writes what a stack of layers reads into the inputs of a program (see encoder.h).
#include "bpt/alloc.h"
#include "models/graph/encoder.h"

// In buckets they are the same for every batch (NULL), padding included; packed rows have those of their sequences. A bucket may be longer
// than the table of absolute positions, which then has zeros for the padding.
static bpt_status_t write_positions(const bpt_encoder_t *e, bpt_program_t *program, bpt_sinusoids_t *sinusoids, const bpt_batch_t *batch) {
    const bpt_side_t *side = batch ? &batch->side[e->stack.side] : NULL;
    const bpt_model_config_t *c = e->options.config;
    const int64_t most = c->positions == BPT_POSITIONS_ABSOLUTE ? c->max_positions : (int64_t)BPT_NO_ROW;
    const int64_t begin = e->options.split.rank * e->n;  // of the own range of shared sequences
    uint32_t *positions;
    BPT_TRY(bpt_alloc((size_t)e->leaf_rows, sizeof *positions, &positions));
    for (int64_t i = 0; i < e->leaf_rows; ++i) positions[i] = e->n && begin + i % e->n < most ? (uint32_t)(begin + i % e->n) : BPT_NO_ROW;
    for (int64_t s = 0; side && s < e->batch; ++s)
        for (uint32_t i = 0; i < side->lengths[s]; ++i) positions[side->start[s] + i] = i;
    const bpt_status_t status = bpt_positions_write(program, e->in.positions, c, sinusoids, positions, e->leaf_rows);
    bpt_free(positions);
    return status;
}

static bpt_status_t write_group_columns(const bpt_encoder_t *e, bpt_program_t *program) {
    const bpt_pieces_t *pieces = &e->pieces;
    const int64_t d = e->options.config->d_model;
    uint32_t *columns;
    BPT_TRY(bpt_alloc((size_t)(pieces->head_groups * d), sizeof *columns, &columns));
    bpt_pieces_columns(pieces, d, columns);
    const bpt_status_t status = bpt_program_write(program, pieces->group_columns, columns);
    bpt_free(columns);
    return status;
}

// The inputs that no batch changes.
bpt_status_t bpt_encoder_write_constants(const bpt_encoder_t *e, bpt_program_t *program, bpt_sinusoids_t *sinusoids) {
    if (e->source) BPT_TRY(bpt_encoder_write_constants(e->source, program, sinusoids));
    if (e->pieces.group_columns != BPT_NO_VALUE) BPT_TRY(write_group_columns(e, program));
    for (int i = 0; i < BPT_OWN_INPUTS; ++i)
        if (e->own[i].constant) BPT_TRY(bpt_program_write(program, e->own[i].value, e->own[i].data));
    return e->in.positions != BPT_NO_VALUE && e->n ? write_positions(e, program, sinusoids, NULL) : BPT_OK;
}

// What a stack reads, and what the one before it does.
bpt_status_t bpt_encoder_write(const bpt_encoder_t *e, bpt_program_t *program, bpt_sinusoids_t *sinusoids, const bpt_batch_t *batch,
                               const uint32_t rng[2]) {
    const bpt_side_t *side = &batch->side[e->stack.side];
    if (e->source) BPT_TRY(bpt_encoder_write(e->source, program, sinusoids, batch, rng));
    BPT_TRY(e->layers->stage(e, batch));
    BPT_TRY(bpt_program_write(program, e->in.tokens, side->tokens));
    BPT_TRY(bpt_program_write(program, e->in.numbers, side->numbers));
    BPT_TRY(bpt_program_write(program, e->in.ngrams.bag, side->bag));
    BPT_TRY(bpt_program_write(program, e->in.ngrams.ranges, side->bag_ranges));
    BPT_TRY(bpt_program_write(program, e->in.lengths, side->lengths));
    if (e->in.positions != BPT_NO_VALUE && !e->n) BPT_TRY(write_positions(e, program, sinusoids, batch));
    for (int i = 0; i < BPT_OWN_INPUTS; ++i)
        if (!e->own[i].constant) BPT_TRY(bpt_program_write(program, e->own[i].value, e->own[i].data));
    return bpt_program_write(program, e->in.rng, rng);
}
