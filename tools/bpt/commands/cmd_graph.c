// `bpt graph`: the attention graph of a model for one length, as edges, ranges or a picture. Knows graphs, no tensors.
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/intervals_writer.h"
#include "data/examples/trees.h"
#include "models/config/params_of.h"
#include "models/kinds/kind.h"
#include "tools/bpt/options/command.h"

static bpt_status_t write_table(const cli_options_t *o) {
    bpt_lists_t lists = {0};
    bpt_lists_groups_t groups;
    bpt_status_t status = bpt_kind_of(&o->model)->table(&o->model, o->tool.n, &lists, &groups);
    if (status == BPT_OK) status = bpt_lists_write(&lists, &groups, o->tool.format, stdout);
    bpt_free(lists.table);
    return status;
}

// ---- Trees

static bpt_status_t read_tree(const char *text, bpt_examples_t *out) {
    const bpt_examples_options_t options = {.format = BPT_FORMAT_TREES, .trees = true};
    const bpt_range_t range = bpt_range_of("--tree", text, strlen(text));
    bpt_vocab_t *vocab;
    BPT_TRY(bpt_vocab_create(BPT_UNIT_WORD, false, &vocab));
    bpt_status_t status = bpt_examples_scan(&range, &options, vocab, NULL);
    if (status == BPT_OK) status = bpt_vocab_freeze(vocab);
    if (status == BPT_OK) status = bpt_examples_read(&range, &options, vocab, NULL, out);
    bpt_vocab_destroy(vocab);
    if (status != BPT_OK || out->count == 1) return status;
    bpt_examples_free(out);
    return bpt_fail(BPT_ERR_USAGE, "--tree has several trees; give one");
}

static bpt_status_t make_tree(uint32_t n, bpt_examples_t *out) {
    out->n_tokens = n;
    return bpt_trees_make(BPT_TREES_BALANCED, n, &out->trees.nodes);
}

static bpt_status_t write_tree(const cli_options_t *o, const bpt_examples_t *e) {
    const uint32_t n = (uint32_t)e->n_tokens, m = (uint32_t)e->trees.nodes.count;
    bpt_lists_t lists = {0};
    bpt_lists_groups_t groups;
    uint32_t *links;
    BPT_TRY(bpt_alloc(3 * (size_t)(n + m), sizeof *links, &links));
    bpt_trees_link(e->trees.nodes.items, m, n, 0, n, links);
    bpt_status_t status = bpt_kind_of(&o->model)->tree_table(&o->model, n, m, links, &lists, &groups);
    if (status == BPT_OK) status = bpt_lists_write(&lists, &groups, o->tool.format, stdout);
    bpt_free(lists.table);
    bpt_free(links);
    return status;
}

static bpt_status_t run_tree(const cli_options_t *o) {
    bpt_examples_t e = {0};
    bpt_status_t status = *o->tool.tree ? read_tree(o->tool.tree, &e) : make_tree((uint32_t)o->tool.n, &e);
    if (status == BPT_OK) status = write_tree(o, &e);
    bpt_examples_free(&e);
    return status;
}

static bpt_status_t run_graph(cli_options_t *o) {
    BPT_TRY(cli_options_check_fit(o));
    if (bpt_kind_of(&o->model)->tree_table) return run_tree(o);
    if (bpt_kind_of(&o->model)->table) return write_table(o);
    cli_options_fill_stride(o);
    if (!o->model.rel_levels) o->model.rel_levels = bpt_kind_of(&o->model)->rel_levels(&o->model, o->tool.n);
    const bpt_intervals_t graph = bpt_model_intervals(&o->model, o->tool.n);
    BPT_TRY(bpt_intervals_check(&graph));
    return bpt_intervals_write(&graph, o->tool.format, stdout);
}

const cli_command_t cli_command_graph = {
    .bit = CLI_GRAPH,
    .name = "graph",
    .arguments = "",
    .purpose = "show which nodes attend to which",
    .description = "Nodes are numbered level by level: leaves first, the root last. The format csv has one edge a line, "
                   "`dst,src,rel`, sorted by dst and src: dst attends to src, and rel is the row of the table of relative "
                   "positions, or -1 if the edge has none. Of a star, nodes are the satellites 0 to n-1, their embeddings n to 2n-1 and "
                   "the relay 2n; a satellite of a very short text reads a neighbour several times. Of a tree, nodes are the words, then "
                   "the nodes above them, children before parents. Causal models compute only those "
                   "spans that some leaf attends to; the graph is shown with all spans.",
    .examples = "  bpt graph --model bpt --n 16 --k 2 --causal --format text\n"
                "  bpt graph --n 8192 --k 4 --causal | wc -l\n"
                "  bpt graph --model segtree --n 64 --format svg > segtree.svg\n"
                "  bpt graph --model star --n 12 --format text\n"
                "  bpt graph --model tree --tree '(S (NP the cat) (VP sat (PP on (NP the mat))))' --format text\n",
    .run = run_graph,
};
