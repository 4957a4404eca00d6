// One op call on one device, once, compared with the reference backend: for scripts that count what kernels do, or how far off their
// results are. The call is a line as bpt/line.h has it.
//
//   op_call BACKEND LINE       for example  op_call opencl 'attention graph=bpt n=128 k=4 causal heads=1 head_dim=32 type=f32'
//   op_call BACKEND LINE IN OUT
//
// IN is a safetensors file with inputs in place of the line's, in0, in1, .. by their slots; "-": there is none. The outputs are written to
// OUT as out0, out1, .., and are not compared. Of attention in one sequence OUT also says who reads whom: edges, a byte for each query row
// and key row.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpt/intervals.h"
#include "bpt/safetensors.h"
#include "support/execute.h"

static void must(bpt_status_t status, const char *what) {
    if (status == BPT_OK) return;
    fprintf(stderr, "op_call: %s: %s\n", what, bpt_error_message());
    exit(1);
}

static bpt_device_t *open_device(const char *name) {
    const bpt_backend_t *backend = bpt_backend_find(name);
    bpt_device_info_t infos[8];
    bpt_device_t *device;
    int count = 0;
    if (!backend) must(bpt_fail(BPT_ERR_USAGE, "no such backend in this build"), name);
    must(backend->enumerate(infos, (int)BPT_COUNT(infos), &count), name);
    for (int i = 0; i < count && i < (int)BPT_COUNT(infos); ++i) {
        if (!infos[i].usable) continue;
        must(backend->open(i, NULL, &device), name);
        return device;
    }
    must(bpt_fail(BPT_ERR_UNSUPPORTED, "%s", count > 0 ? infos[0].reason : "no device"), name);
    return NULL;
}

// ---- Arrays from and to files
static bpt_safetensors_dtype_t stored_type(bpt_dtype_t dtype) {
    return dtype == BPT_F32 ? BPT_ST_F32 : dtype == BPT_F16 ? BPT_ST_F16 : dtype == BPT_BF16 ? BPT_ST_BF16 : BPT_ST_U32;
}

static void read_inputs(const char *path, const test_case_t *c, test_data_t *data) {
    bpt_safetensors_t *file;
    must(bpt_safetensors_open(path, &file), path);
    for (size_t i = 0; i < bpt_safetensors_count(file); ++i) {
        const bpt_safetensors_tensor_t *tensor = bpt_safetensors_at(file, i);
        int slot = -1;
        const bool named = sscanf(tensor->name, "in%d", &slot) == 1 && slot >= 0 && slot < BPT_MAX_INPUTS;
        const bpt_operand_t *operand = named ? &c->call.in[slot] : NULL;
        if (!named || !operand->present || stored_type(operand->dtype) != tensor->dtype || test_operand_bytes(operand) != tensor->bytes)
            must(bpt_fail(BPT_ERR_INPUT, "'%s' is no input of the line with this type and size", tensor->name), path);
        must(bpt_safetensors_read(file, tensor, 0, tensor->count, data->in[slot]), path);
    }
    bpt_safetensors_close(file);
}

// Who reads whom, in one sequence; NULL: the call is another one.
static unsigned char *edges_of(const bpt_op_call_t *call, int64_t size[2]) {
    const bpt_attention_attrs_t *a = &call->attrs.attention;
    const bool attends = call->op == BPT_OP_ATTENTION || call->op == BPT_OP_ATTENTION_GRAD;
    if (!attends || bpt_intervals_is_table(&a->graph) || a->batch != 1 || a->queries == BPT_QUERIES_ROOTS || a->zero_spans) return NULL;
    size[1] = bpt_node_count(&a->graph);
    size[0] = a->queries == BPT_QUERIES_LEAVES ? a->graph.n : size[1];
    unsigned char *edges = calloc((size_t)(size[0] * size[1]), 1);
    for (int64_t query = 0; edges && query < size[0]; ++query) {
        bpt_slot_t slots[BPT_MAX_SLOTS];
        const int count = bpt_intervals_keys(&a->graph, a->graph.n, query, slots);
        for (int s = 0; s < count; ++s)
            for (int64_t key = slots[s].begin; key < slots[s].end; ++key) edges[query * size[1] + key] = 1;
    }
    return edges;
}

static void write_outputs(const char *path, const test_case_t *c, const test_data_t *data) {
    bpt_safetensors_writer_t *writer;
    int64_t size[2];
    unsigned char *edges = edges_of(&c->call, size);
    must(bpt_safetensors_writer_create(path, &writer), path);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i) {
        const bpt_operand_t *o = &c->call.out[i];
        char name[16];
        snprintf(name, sizeof name, "out%d", i);
        if (o->present) must(bpt_safetensors_writer_declare(writer, name, stored_type(o->dtype), o->shape.rank, o->shape.dim), path);
    }
    if (edges) must(bpt_safetensors_writer_declare(writer, "edges", BPT_ST_U8, 2, size), path);
    for (int i = 0; i < BPT_MAX_OUTPUTS; ++i)
        if (c->call.out[i].present) must(bpt_safetensors_writer_data(writer, data->out[i], test_operand_bytes(&c->call.out[i])), path);
    if (edges) must(bpt_safetensors_writer_data(writer, edges, (size_t)(size[0] * size[1])), path);
    must(bpt_safetensors_writer_finish(writer), path);
    bpt_safetensors_writer_destroy(writer);
    free(edges);
}

// ---- The call
static void compare(bpt_device_t *device, const test_case_t *c, const test_data_t *got) {
    test_data_t want;
    test_data_create(c, &want);
    must(test_execute(test_ref_device(), c, TEST_ALIGNED, 1, &want), "ref");
    printf("%s on %s, %s: error %.2f of what is allowed\n", bpt_op_name(c->call.op), device->info.name, device->info.driver,
           test_compare("against ref", c, got, &want));
    test_data_destroy(&want);
}

int main(int argc, char **argv) {
    bpt_op_line_t line;
    test_case_t c;
    test_data_t got;
    if (argc != 3 && argc != 5)
        must(bpt_fail(BPT_ERR_USAGE, "wants a backend and a line, and at most two files: op_call opencl 'copy source=f32[128]'"), "usage");
    must(bpt_line_parse(argv[2], &line), "line");
    bpt_device_t *device = open_device(argv[1]);
    test_case_of_line(&c, &line);
    test_data_create(&c, &got);
    if (argc == 5 && strcmp(argv[3], "-")) read_inputs(argv[3], &c, &got);
    must(test_execute(device, &c, TEST_ALIGNED, 1, &got), device->info.name);
    if (argc == 5)
        write_outputs(argv[4], &c, &got);
    else
        compare(device, &c, &got);
    test_data_destroy(&got);
    device->backend->close(device);
    return 0;
}
