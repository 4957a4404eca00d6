// libFuzzer: any bytes as the line of an op, or bytes as a choice of its words. What is accepted is printed as a line that says the same
// call again, its work is counted, and its inputs can be filled; anything else is refused in one sentence.
#include <stdlib.h>
#include <string.h>

#include "bpt/line.h"

static void require(bool condition) {
    if (!condition) abort();
}

static const char *const words[] = {
    "matmul",
    "gather",
    "attention",
    "attention_grad",
    "tree_values",
    "segment",
    "xent_grad",
    "adam",
    "layernorm",
    "a=f32[4,6]",
    "b=[6,3]",
    "b=[3,6]",
    "transpose_b",
    "bias",
    "acc",
    "in_place=acc",
    "out=bf16",
    "type=f16",
    "steps=relu",
    "x=f16[5,8]",
    "steps=add@4",
    "p=0.5",
    "table=[9,4]",
    "ids=[5]",
    "indices=zipf",
    "ids=u32[0]",
    "graph=bpt",
    "n=13",
    "k=2",
    "heads=2",
    "head_dim=4",
    "causal",
    "trimmed",
    "root",
    "packed",
    "rel",
    "lse",
    "batch=3",
    "queries=roots",
    "rel_levels=2",
    "q=f32",
    "graph=table",
    "q=[6,8]",
    "kv=[9,16]",
    "table=[6,2,4]",
    "edges=3",
    "back=[9,2,2]",
    "query_edges=4",
    "key_edges=5",
    "kv=[31,8]",
    "weight=[16,2]",
    "trees=[2,4]",
    "depth=2",
    "kind=max",
    "rows=5",
    "ranges=[2,2]",
    "h=bf16[5,4]",
    "w=[7,4]",
    "b",
    "seed=9",
    "graph=window",
    "window=2",
    "zero_spans",
};

static void check(const char *text) {
    bpt_op_line_t line, again;
    const bpt_status_t status = bpt_line_parse(text, &line);
    require(status == BPT_OK || (status == BPT_ERR_USAGE && *bpt_error_message()));
    if (status != BPT_OK) return;
    bpt_strbuf_t once = {.data = NULL}, twice = {.data = NULL};
    double flops, bytes;
    require(bpt_line_print(&line, &once) == BPT_OK && bpt_line_parse(once.data, &again) == BPT_OK);
    require(bpt_line_print(&again, &twice) == BPT_OK && !strcmp(once.data, twice.data));
    require(bpt_line_work(&line, &flops, &bytes) == BPT_OK && flops >= 0 && bytes >= 0);
    for (int i = 0; i < BPT_MAX_INPUTS; ++i) {
        const bpt_operand_t *operand = &line.call.in[i];
        if (!operand->present || bpt_shape_count(&operand->shape) > 100000) continue;
        void *values = malloc((size_t)bpt_shape_count(&operand->shape) * bpt_dtype_size(operand->dtype));
        require(values || !bpt_shape_count(&operand->shape));
        require(bpt_line_fill(&line, i, values) == BPT_OK);
        free(values);
    }
    bpt_strbuf_free(&once), bpt_strbuf_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[2 * BPT_LINE_MOST_BYTES] = "";
    size_t used = 0;
    if (!size) return 0;
    for (size_t i = 1; i < size && used + 32 < sizeof text; ++i) {
        if (data[0] % 4 == 0)
            text[used++] = (char)data[i];
        else
            used += (size_t)strlen(strcat(strcat(text + used, i > 1 ? " " : ""), words[data[i] % BPT_COUNT(words)]));
    }
    text[used] = 0;
    check(text);
    return 0;
}
