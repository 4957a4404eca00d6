// Execution of one call with guards, poison and replay, and comparison of results (see execute.h).
#include "support/execute.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/check.h"

// ---- Placement -------------------------------------------------------------------------------------------------------
// All operands lie in one buffer with guard bytes before, between and after them.

enum { GUARD_BYTES = 128, ALIGNMENT = 64 };

typedef struct {
    size_t in[BPT_MAX_INPUTS], out[BPT_MAX_OUTPUTS], scratch, scratch_bytes, total;
} layout_t;

static size_t place(size_t *total, size_t bytes, size_t alignment, size_t skew) {
    const size_t offset = (*total + GUARD_BYTES + alignment - 1) / alignment * alignment + skew;
    *total = offset + bytes;
    return offset;
}

static layout_t layout_of(const test_case_t *c, size_t scratch_bytes, test_placement_t placement) {
    layout_t layout = {.scratch_bytes = scratch_bytes};
    const bpt_op_call_t *call = &c->call;
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) {
        const size_t skew = placement == TEST_UNALIGNED ? bpt_dtype_size(call->in[i].dtype) * (size_t)(2 * i + 1) : 0;
        if (call->in[i].present) layout.in[i] = place(&layout.total, test_operand_bytes(&call->in[i]), ALIGNMENT, skew);
    }
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) {
        const size_t skew = placement == TEST_UNALIGNED ? bpt_dtype_size(call->out[i].dtype) * (size_t)(2 * i + 3) : 0;
        if (i == 0 && c->shares_input)
            layout.out[0] = layout.in[c->shared_input];
        else if (call->out[i].present)
            layout.out[i] = place(&layout.total, test_operand_bytes(&call->out[i]), ALIGNMENT, skew);
    }
    if (test_is_packed(call)) layout.in[1] = layout.in[0];
    layout.scratch = place(&layout.total, scratch_bytes, BPT_TENSOR_ALIGNMENT, 0);
    layout.total += GUARD_BYTES;
    return layout;
}

// The bytes of the buffer before a run. What scratch holds must not matter: -1 or NaN the first time, other numbers later.
static void write_image(const test_case_t *c, const layout_t *layout, const test_data_t *data, int run, char *image) {
    for (size_t i = 0; i < layout->total; ++i) image[i] = (char)(0xA5 ^ i);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (c->call.out[i].present && !(i == 0 && c->shares_input)) {
            void *poison = malloc(test_operand_bytes(&c->call.out[i]) + 1);  // aligned, unlike its place in the image
            test_poison(&c->call.out[i], poison);
            memcpy(image + layout->out[i], poison, test_operand_bytes(&c->call.out[i]));
            free(poison);
        }
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (c->call.in[i].present) memcpy(image + layout->in[i], data->in[i], test_operand_bytes(&c->call.in[i]));
    if (run == 0) memset(image + layout->scratch, 0xFF, layout->scratch_bytes);
}

// What the op may write, copied from `result` into `image`.
static void take_written(const test_case_t *c, const layout_t *layout, const char *result, char *image) {
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (c->call.out[i].present) memcpy(image + layout->out[i], result + layout->out[i], test_operand_bytes(&c->call.out[i]));
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (c->changed >> i & 1) memcpy(image + layout->in[i], result + layout->in[i], test_operand_bytes(&c->call.in[i]));
    memcpy(image + layout->scratch, result + layout->scratch, layout->scratch_bytes);
}

// Names the operand that holds or comes right before a byte of the buffer.
static void name_place(const test_case_t *c, const layout_t *layout, size_t byte, char *text, size_t capacity) {
    size_t best = 0;
    snprintf(text, capacity, "the guard before all operands");
    for (int i = 0; i < BPT_MAX_INPUTS + BPT_MAX_OUTPUTS; ++i) {
        const bool input = i < BPT_MAX_INPUTS;
        const int slot = input ? i : i - BPT_MAX_INPUTS;
        const bpt_operand_t *operand = input ? &c->call.in[slot] : &c->call.out[slot];
        const size_t offset = input ? layout->in[slot] : layout->out[slot];
        if (!operand->present || offset > byte || offset < best) continue;
        best = offset;
        const size_t inside = byte - offset, bytes = test_operand_bytes(operand);
        if (inside < bytes)
            snprintf(text, capacity, "byte %zu of %s %d", inside, input ? "input" : "output", slot);
        else
            snprintf(text, capacity, "the guard, %zu bytes after the end of %s %d", inside - bytes, input ? "input" : "output", slot);
    }
}

// ---- Runs ------------------------------------------------------------------------------------------------------------

typedef struct {
    bpt_device_t *device;
    bpt_buffer_t *buffer;
    bpt_list_t *list;
} session_t;

static void must(bpt_status_t status, const char *what) {
    if (status != BPT_OK) fail_msg("%s: %s", what, bpt_error_message());
}

static session_t record(bpt_device_t *device, const test_case_t *c, const layout_t *layout) {
    const bpt_backend_t *backend = device->backend;
    session_t s = {.device = device};
    bpt_op_call_t call = c->call;
    must(backend->buffer_create(device, layout->total, &s.buffer), "buffer_create");
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (call.in[i].present) call.in[i].buffer = s.buffer, call.in[i].offset_bytes = layout->in[i];
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (call.out[i].present) call.out[i].buffer = s.buffer, call.out[i].offset_bytes = layout->out[i];
    if (layout->scratch_bytes)
        call.scratch = (bpt_operand_t){s.buffer, layout->scratch, BPT_U32, bpt_shape1((int64_t)(layout->scratch_bytes / 4)), true};
    must(backend->list_create(device, &s.list), "list_create");
    must(backend->op(device, &call, s.list, NULL), "recording");
    must(backend->list_seal(s.list), "list_seal");
    return s;
}

static void run_once(const session_t *s, const char *image, char *result, size_t bytes) {
    const bpt_backend_t *backend = s->device->backend;
    bpt_ticket_t ticket;
    must(backend->write(s->device, s->buffer, 0, image, bytes), "write");
    must(backend->submit(s->device, s->list, &ticket), "submit");
    must(backend->wait(s->device, ticket, UINT64_MAX), "wait");
    must(backend->read(s->device, s->buffer, 0, result, bytes), "read");
}

static void check_untouched(const test_case_t *c, const layout_t *layout, const char *image, const char *result) {
    size_t byte = 0;
    while (byte < layout->total && image[byte] == result[byte]) ++byte;
    if (byte == layout->total) return;
    char where[128];
    name_place(c, layout, byte, where, sizeof where);
    fail_msg("the op wrote where it must not: %s", where);
}

// No element of an output may still hold the poison that it held before the run.
static void check_written(const test_case_t *c, const layout_t *layout, const char *result) {
    for (int o = 0; o < BPT_MAX_OUTPUTS; ++o) {
        const bpt_operand_t *operand = &c->call.out[o];
        if (!operand->present || (o == 0 && c->shares_input)) continue;
        const size_t size = bpt_dtype_size(operand->dtype), bytes = test_operand_bytes(operand);
        _Alignas(8) char poison[8];
        bpt_operand_t one = *operand;
        one.shape = bpt_shape1(1);
        test_poison(&one, poison);
        for (size_t i = 0; i < bytes; i += size)
            if (!memcmp(result + layout->out[o] + i, poison, size)) fail_msg("element %zu of output %d was not written", i / size, o);
    }
}

bpt_status_t test_execute(bpt_device_t *device, const test_case_t *c, test_placement_t placement, int times, test_data_t *data) {
    const bpt_backend_t *backend = device->backend;
    size_t scratch_bytes = 0;
    const bpt_status_t status = backend->op(device, &c->call, NULL, &scratch_bytes);
    if (status == BPT_ERR_UNSUPPORTED) return status;
    must(status, "dry run");
    const layout_t layout = layout_of(c, (scratch_bytes + 3) / 4 * 4, placement);
    session_t s = record(device, c, &layout);
    char *image = malloc(layout.total), *result = malloc(layout.total), *first = malloc(layout.total);
    for (int t = 0; t < times; ++t) {
        write_image(c, &layout, data, t, image);
        if (t == 2) {  // the third time on what the second left behind
            take_written(c, &layout, first, image);
            for (int i = 0; i < BPT_MAX_INPUTS; ++i)
                if (c->call.in[i].present) memcpy(image + layout.in[i], data->in[i], test_operand_bytes(&c->call.in[i]));
        }
        run_once(&s, image, result, layout.total);
        take_written(c, &layout, result, image);
        check_untouched(c, &layout, image, result);
        if (t == 0) check_written(c, &layout, result);
        if (t == 0) memcpy(first, result, layout.total);
        memcpy(result + layout.scratch, first + layout.scratch, layout.scratch_bytes);  // scratch may differ
        if (memcmp(first, result, layout.total)) fail_msg("run %d of the same list gave other bits than the first", t + 1);
    }
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (c->call.out[i].present) memcpy(data->out[i], first + layout.out[i], test_operand_bytes(&c->call.out[i]));
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (c->changed >> i & 1) memcpy(data->in[i], first + layout.in[i], test_operand_bytes(&c->call.in[i]));
    free(image), free(result), free(first);
    backend->list_destroy(device, s.list);
    backend->buffer_destroy(device, s.buffer);
    return BPT_OK;
}

void test_must_execute(bpt_device_t *device, const test_case_t *c, test_data_t *data) {
    must(test_execute(device, c, TEST_ALIGNED, 1, data), c->name);
}

// ---- Comparison ------------------------------------------------------------------------------------------------------

double test_spacing(bpt_dtype_t dtype, double x) {
    static const int digits[] = {24, 8, 11, 32}, lowest[] = {-149, -133, -24, 0};
    int exponent;
    frexp(x, &exponent);
    const int e = exponent - digits[dtype];
    return ldexp(1, x == 0 || e < lowest[dtype] ? lowest[dtype] : e);
}

static bool same_value(double got, double want) { return got == want || (isnan(got) && isnan(want)); }

static double compare_operand(const char *what, const char *kind, int slot, const bpt_operand_t *operand, const void *got, const void *want,
                              double tolerance, double least) {
    const int64_t count = bpt_shape_count(&operand->shape);
    double largest = least, worst = 0;
    for (int64_t i = 0; i < count; ++i) {
        const double x = fabs(test_load(operand, want, i));
        if (isfinite(x) && x > largest) largest = x;
    }
    for (int64_t i = 0; i < count; ++i) {
        const double g = test_load(operand, got, i), w = test_load(operand, want, i);
        if (same_value(g, w)) continue;
        const double allowed =
            tolerance == TEST_EXACT || operand->dtype == BPT_U32 ? 0 : test_spacing(operand->dtype, w) + tolerance * 0x1p-24 * largest;
        const double error = fabs(g - w) / allowed;  // infinite or NaN where it must be exact, or one of the two is not finite
        if (!(error <= 1))
            fail_msg("%s: %s %d, element %lld of %lld: got %.9g, expected %.9g (error %.3g of what is allowed)", what, kind, slot,
                     (long long)i, (long long)count, g, w, error);
        if (error > worst) worst = error;
    }
    return worst;
}

double test_compare(const char *what, const test_case_t *c, const test_data_t *got, const test_data_t *want) {
    double worst = 0;
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) {
        if (!c->call.out[i].present) continue;
        const double error =
            compare_operand(what, "output", i, &c->call.out[i], got->out[i], want->out[i], c->tolerance + c->more[i], c->least);
        if (error > worst) worst = error;
    }
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) {
        if (!(c->changed >> i & 1)) continue;
        const double error = compare_operand(what, "changed input", i, &c->call.in[i], got->in[i], want->in[i], c->tolerance, c->least);
        if (error > worst) worst = error;
    }
    return worst;
}

static void same_bits(const char *what, const char *kind, int slot, const bpt_operand_t *operand, const void *got, const void *want) {
    const size_t bytes = test_operand_bytes(operand), size = bpt_dtype_size(operand->dtype);
    if (!memcmp(got, want, bytes)) return;
    size_t i = 0;
    while (((const char *)got)[i] == ((const char *)want)[i]) ++i;
    const int64_t element = (int64_t)(i / size);
    fail_msg("%s: %s %d, element %lld: %.9g and %.9g must have the same bits", what, kind, slot, (long long)element,
             test_load(operand, got, element), test_load(operand, want, element));
}

void test_same_bits(const char *what, const test_case_t *c, const test_data_t *got, const test_data_t *want) {
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (c->call.out[i].present) same_bits(what, "output", i, &c->call.out[i], got->out[i], want->out[i]);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i)
        if (c->changed >> i & 1) same_bits(what, "changed input", i, &c->call.in[i], got->in[i], want->in[i]);
}

// ---- The reference device --------------------------------------------------------------------------------------------

static bpt_device_t *ref_device;
static void close_ref(void) {
    if (ref_device) ref_device->backend->close(ref_device);
}

bpt_device_t *test_ref_device(void) {
    extern const bpt_backend_t bpt_ref_backend;
    if (!ref_device) {
        must(bpt_ref_backend.open(0, NULL, &ref_device), "opening ref");
        atexit(close_ref);
    }
    return ref_device;
}

void test_same_bits_with_any_number_of_threads(const test_case_t *c) {
    const bpt_backend_t *cpu = bpt_backend_find("cpu");
    test_data_t first;
    for (int threads = 1; threads <= 5; ++threads) {
        const bpt_device_options_t options = {.threads = threads};
        bpt_device_t *device;
        test_data_t data;
        test_data_create(c, &data);
        assert_ok(cpu->open(0, &options, &device));
        test_must_execute(device, c, &data);
        cpu->close(device);
        if (threads == 1) {
            first = data;
            continue;
        }
        test_same_bits(c->name, c, &data, &first);
        test_data_destroy(&data);
    }
    test_data_destroy(&first);
}
