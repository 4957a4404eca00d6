// The self-test of `bpt doctor` on devices with one wrong op each: it must name that op and blame no other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/kinds/kind.h"
#include "tools/bpt/devices/selftest.h"

static bool ran[BPT_OP_COUNT];  // on the device below
static bpt_op_t wrong;          // the op that the device below gets wrong; BPT_OP_COUNT: none

// The reference backend, but for one op that is recorded with other attributes.
static bpt_status_t op(bpt_device_t *device, const bpt_op_call_t *call, bpt_list_t *list, size_t *scratch_bytes) {
    bpt_op_call_t other = *call;
    ran[call->op] = true;
    if (call->op == wrong) switch (wrong) {
        case BPT_OP_LAYERNORM: other.attrs.layernorm.eps = 0.3f; break;
        case BPT_OP_ATTENTION:
        case BPT_OP_ATTENTION_GRAD: other.attrs.attention.scale *= 1.2f; break;
        case BPT_OP_ADAM: other.attrs.adam.beta1 = 0.5f; break;
        case BPT_OP_ADD_ROWS: other.attrs.rows.row = 0; break;
        case BPT_OP_SEGMENT:
        case BPT_OP_SEGMENT_GRAD:
            if (other.attrs.segment.kind == BPT_SEGMENT_MEAN) other.attrs.segment.kind = BPT_SEGMENT_SUM;
            break;
        case BPT_OP_TREE_VALUES:
        case BPT_OP_TREE_VALUES_GRAD: other.attrs.tree_values.counts_leaf ^= true; break;
        case BPT_OP_FILL: other.attrs.fill.value += 1; break;
        default: fail();
        }
    return bpt_backend_find("ref")->op(device, &other, list, scratch_bytes);
}

static bpt_backend_t broken;

static bpt_status_t open_broken(int index, const bpt_device_options_t *options, bpt_device_t **out) {
    BPT_TRY(bpt_backend_find("ref")->open(index, options, out));
    (*out)->backend = &broken;
    return BPT_OK;
}

static void run_in(bpt_dtype_t precision, bpt_op_t op_at_fault, cli_selftest_t *result) {
    wrong = op_at_fault;
    broken = *bpt_backend_find("ref");
    broken.open = open_broken;
    broken.op = op;
    cli_selftest(&broken, 0, precision, 1, NULL, result);
    assert_string_equal(result->problem, "");
}

static void run(bpt_op_t op_at_fault, cli_selftest_t *result) { run_in(BPT_F32, op_at_fault, result); }

static void a_sound_device_passes(void **state) {
    (void)state;
    cli_selftest_t t;
    run(BPT_OP_COUNT, &t);
    assert_true(t.count >= 20);
    assert_int_equal(t.failed, 0);
}

static void every_kind_of_model_is_tried(void **state) {
    (void)state;
    cli_selftest_t t;
    run(BPT_OP_COUNT, &t);
    assert_true(t.count < CLI_MAX_SELFTESTS);  // none was left out
    for (int kind = 0; kind < BPT_N_KINDS; ++kind) {
        const char *name = bpt_kinds[kind]->name;
        bool tried = false;
        for (int i = 0; i < t.count; ++i) tried |= !strncmp(t.result[i].name, name, strlen(name)) && t.result[i].name[strlen(name)] == ' ';
        if (!tried) fail_msg("the self-test has no model %s", name);
    }
}

static void every_op_is_tried(void **state) {
    (void)state;
    static const bpt_op_t ops[] = {
#define BPT_OP(id, name, family) BPT_OP_##id,
#include "bpt/ops.def"
#undef BPT_OP
    };
    cli_selftest_t t;
    memset(ran, 0, sizeof ran);
    run(BPT_OP_COUNT, &t);
    run_in(BPT_BF16, BPT_OP_COUNT, &t);  // casts
    for (size_t i = 0; i < BPT_COUNT(ops); ++i)
        if (!ran[ops[i]]) fail_msg("the self-test has no op %s", bpt_op_name(ops[i]));
}

static void the_op_at_fault_is_named(void **state) {
    (void)state;
    static const bpt_op_t ops[] = {BPT_OP_LAYERNORM,   BPT_OP_ATTENTION,       BPT_OP_ATTENTION_GRAD, BPT_OP_ADAM,
                                   BPT_OP_ADD_ROWS,    BPT_OP_SEGMENT,         BPT_OP_SEGMENT_GRAD,   BPT_OP_FILL,
                                   BPT_OP_TREE_VALUES, BPT_OP_TREE_VALUES_GRAD};
    for (size_t i = 0; i < BPT_COUNT(ops); ++i) {
        cli_selftest_t t;
        char wanted[64];
        run(ops[i], &t);
        assert_true(t.failed > 0);
        snprintf(wanted, sizeof wanted, "a result of op %s is off by", bpt_op_name(ops[i]));
        int first = 0;
        while (!*t.result[first].detail) ++first;
        if (!strstr(t.result[first].detail, wanted)) fail_msg("%s: %s", bpt_op_name(ops[i]), t.result[first].detail);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_device_passes),
        cmocka_unit_test(every_kind_of_model_is_tried),
        cmocka_unit_test(every_op_is_tried),
        cmocka_unit_test(the_op_at_fault_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
