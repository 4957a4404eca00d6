// Which rows of attention over a table go by blocks of 16 on a GPU, by the number of work-groups on a driver that only takes notes
// (null_driver.h): a block and head each, or with a row each and all heads.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backends/gpu/backend.h"
#include "bpt/lists.h"
#include "driver/null_driver.h"

enum { HEADS = 4, HEAD_DIM = 8, WIDTH = HEADS * HEAD_DIM, MOST_OPERANDS = BPT_MAX_INPUTS + BPT_MAX_OUTPUTS };

static const bpt_backend_t null_backend = {.version = BPT_BACKEND_VERSION, .name = "null"};

typedef struct {
    const char *type;  // of the device
    int64_t queries, keys, slots, back_slots;
    bpt_table_bounds_t bounds;
    bool gradient, alone, relative;  // alone: rows of a decoder, which do not come in batches
} call_t;

static bpt_operand_t matrix(int64_t rows, int64_t columns) {
    return (bpt_operand_t){.dtype = BPT_F32, .shape = {2, {rows, columns}}, .present = true};
}

static bpt_op_call_t op_of(const call_t *c) {
    const bpt_operand_t q = matrix(c->queries, WIDTH), kv = matrix(c->keys, 2 * WIDTH), lse = matrix(c->queries, HEADS),
                        rel = matrix(9, HEAD_DIM), table = {.dtype = BPT_U32, .shape = {3, {c->queries, c->slots, 4}}, .present = true},
                        back = {.dtype = BPT_U32, .shape = {3, {c->keys, c->back_slots, 2}}, .present = true};
    bpt_op_call_t call = {.op = BPT_OP_ATTENTION, .in = {[0] = q, [1] = kv, [6] = table}, .out[0] = q};
    call.attrs.attention = (bpt_attention_attrs_t){.graph.kind = BPT_INTERVALS_TABLE,
                                                   .bounds = c->bounds,
                                                   .batch = 1,
                                                   .heads = HEADS,
                                                   .head_dim = HEAD_DIM,
                                                   .scale = 1 / sqrtf(HEAD_DIM)};
    if (c->relative) call.in[2] = rel;
    if (!c->alone) call.in[10] = back;
    if (c->gradient) {
        call.op = BPT_OP_ATTENTION_GRAD;
        call.in[7] = call.in[8] = q, call.in[9] = lse, call.out[1] = kv;
        if (c->relative) call.out[2] = rel;
    }
    return call;
}

// Work-groups of dispatch number `index`.
static int64_t groups_of(const call_t *c, int index) {
    bpt_device_t *device;
    bpt_buffer_t *buffer;
    bpt_list_t *list;
    bpt_op_call_t call = op_of(c);
    size_t bytes = 0, scratch = 0;
    memset(&null_notes, 0, sizeof null_notes);
    strncpy(null_notes.type, c->type, sizeof null_notes.type - 1);
    null_notes.max_groups[0] = null_notes.max_groups[1] = null_notes.max_groups[2] = 65535;
    assert_int_equal(bpt_gpu_open(&null_backend, &null_driver, 0, NULL, &device), BPT_OK);
    assert_int_equal(bpt_gpu_op(device, &call, NULL, &scratch), BPT_OK);
    bpt_operand_t *operands[MOST_OPERANDS];
    int n = 0;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) operands[n++] = &call.in[i];
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) operands[n++] = &call.out[i];
    for (int i = 0; i < n; ++i)
        if (operands[i]->present) operands[i]->offset_bytes = bytes, bytes += ((size_t)bpt_shape_count(&operands[i]->shape) * 4 + 255) / 256 * 256;
    assert_int_equal(bpt_gpu_buffer_create(device, bytes + scratch + 256, &buffer), BPT_OK);
    for (int i = 0; i < n; ++i)
        if (operands[i]->present) operands[i]->buffer = buffer;
    call.scratch = (bpt_operand_t){.buffer = buffer, .offset_bytes = bytes, .present = true};
    assert_int_equal(bpt_gpu_list_create(device, &list), BPT_OK);
    null_notes.n_boxes = 0;
    assert_int_equal(bpt_gpu_op(device, &call, list, NULL), BPT_OK);
    assert_int_equal(bpt_gpu_list_seal(list), BPT_OK);
    assert_true(index < null_notes.n_boxes);
    const uint32_t *groups = null_notes.box[index].groups;
    bpt_gpu_list_destroy(device, list);
    bpt_gpu_buffer_destroy(device, buffer);
    bpt_gpu_close(device);
    return (int64_t)groups[0] * groups[1] * groups[2];
}

static void queries_that_share_what_they_read_go_by_blocks(void **state) {
    (void)state;
    enum { N = 100, BLOCKS = 7 };
    const call_t text = {.type = "discrete", .queries = N, .keys = 130, .slots = 1, .back_slots = 1};
    call_t c = text;
    assert_int_equal(groups_of(&c, 0), BLOCKS * HEADS);
    c.type = "software";
    assert_int_equal(groups_of(&c, 0), N);
    c = text, c.alone = true;
    assert_int_equal(groups_of(&c, 0), N);
    c = text, c.relative = true;
    assert_int_equal(groups_of(&c, 0), N);
    c = text, c.slots = 9;
    assert_int_equal(groups_of(&c, 0), N);
    c = text, c.queries = 15;
    assert_int_equal(groups_of(&c, 0), 15);
    // A relay reads its own sentence, which no other one does.
    c = text, c.slots = BPT_LISTS_RELAY_SLOTS, c.bounds = bpt_lists_relay_bounds(30);
    assert_int_equal(groups_of(&c, 0), N);
}

// Behind the sums of dout . out: queries, keys by blocks, and the keys of many edges one by one.
static void both_sides_of_a_gradient_choose_for_themselves(void **state) {
    (void)state;
    enum { N = 96, KEYS = 2 * N + 1 };
    const call_t ring = {.type = "discrete",
                         .queries = N,
                         .keys = KEYS,
                         .slots = BPT_LISTS_RING_SLOTS,
                         .back_slots = BPT_LISTS_RING_BACK_SLOTS,
                         .bounds = bpt_lists_ring_bounds(N, N),
                         .gradient = true};
    assert_int_equal(groups_of(&ring, 1), N / 16 * HEADS);
    assert_int_equal(groups_of(&ring, 2), 2 * N / 16 * HEADS);
    assert_int_equal(groups_of(&ring, 3), 1);  // the relay
    call_t c = ring;
    c.bounds = (bpt_table_bounds_t){.queries = {0}};  // then nothing is known of it
    assert_int_equal(groups_of(&c, 2), (2 * N / 16 + 1) * HEADS);
    c.back_slots = 9;
    assert_int_equal(groups_of(&c, 1), N / 16 * HEADS);
    assert_int_equal(groups_of(&c, 2), KEYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_that_share_what_they_read_go_by_blocks),
        cmocka_unit_test(both_sides_of_a_gradient_choose_for_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
