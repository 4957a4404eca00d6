// The decoder of one model: what decode/decode.h says of decoders whose runner no other has joined. Functions are those of the same names
// there.
#ifndef BPT_MODELS_DECODE_LONE_DECODER_H
#define BPT_MODELS_DECODE_LONE_DECODER_H

#include "models/run/runner.h"

typedef struct bpt_lone_decoder bpt_lone_decoder_t;

// What bpt_decoder_fork does.
typedef struct {
    int64_t from, to, first;
} bpt_fork_t;

// BPT_ERR_USAGE unless such a model writes texts.
bpt_status_t bpt_decode_check_model(const bpt_model_config_t *config) BPT_MUST_USE;

bpt_status_t bpt_lone_decoder_create(bpt_runner_t *runner, struct bpt_device *device, const bpt_lone_decoder_t *weights, int64_t capacity,
                                     int64_t sequences, bpt_lone_decoder_t **out) BPT_MUST_USE;
void bpt_lone_decoder_destroy(bpt_lone_decoder_t *decoder);
bpt_status_t bpt_lone_decoder_feed(bpt_lone_decoder_t *decoder, int64_t sequence, const uint32_t *tokens, int64_t count,
                                   float *logits) BPT_MUST_USE;
// bpt_decoder_step_rows.
bpt_status_t bpt_lone_decoder_step(bpt_lone_decoder_t *decoder, const uint32_t *tokens, const float **rows) BPT_MUST_USE;
int64_t bpt_lone_decoder_length(const bpt_lone_decoder_t *decoder, int64_t sequence);
uint64_t bpt_lone_decoder_device_bytes(const bpt_lone_decoder_t *decoder);
uint64_t bpt_lone_decoder_moved_bytes(const bpt_lone_decoder_t *decoder);
void bpt_lone_decoder_rewind(bpt_lone_decoder_t *decoder, int64_t sequence, int64_t length);
bpt_status_t bpt_lone_decoder_read(bpt_lone_decoder_t *decoder, const bpt_batch_t *batch, int64_t sequences_per_text) BPT_MUST_USE;
void bpt_lone_decoder_attend(bpt_lone_decoder_t *decoder, int64_t sequence, uint32_t begin, uint32_t end);
bpt_status_t bpt_lone_decoder_fork(bpt_lone_decoder_t *decoder, const bpt_fork_t *forks, int64_t count) BPT_MUST_USE;

#endif
