// The writer of attention graphs: every format shows exactly the edges of the graph, and failures to write are reported.
#include "bpt/alloc.h"
#include "bpt/intervals_writer.h"
#include "unit/interval_edges.h"

static const bpt_intervals_t graphs[] = {
    {BPT_INTERVALS_BPT, .k = 1, .rel_levels = 1, .n = 1},
    {BPT_INTERVALS_BPT, .causal = true, .k = 1, .rel_levels = 3, .n = 5},
    {BPT_INTERVALS_BPT, .k = 2, .rel_levels = 3, .n = 8},
    {BPT_INTERVALS_BPT, .reference_rule = true, .k = 3, .rel_levels = 2, .n = 61},
    {BPT_INTERVALS_BPT, .causal = true, .reference_rule = true, .k = 2, .n = 33},
    {BPT_INTERVALS_SEGTREE, .rel_levels = 4, .n = 19},
    {BPT_INTERVALS_SEGTREE, .causal = true, .span_self = true, .rel_levels = 2, .n = 37},
    {BPT_INTERVALS_DENSE, .root = true, .rel_levels = 4, .n = 30},
    {BPT_INTERVALS_DENSE, .causal = true, .n = 20},
    {BPT_INTERVALS_WINDOW, .root = true, .window = 3, .rel_levels = 3, .n = 40},
    {BPT_INTERVALS_SPARSE, .causal = true, .root = true, .stride = 7, .tail = 2, .n = 40},
};

// The whole output as a string; the caller frees it.
static char *written(const bpt_intervals_t *g, bpt_intervals_format_t format) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(bpt_intervals_write(g, format, out), BPT_OK);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strlen(text), size);
    return text;
}

static int64_t edges_of(const bpt_intervals_t *g) {
    int64_t all, contextual;
    bpt_intervals_count(g, g->n, &all, &contextual);
    return all;
}

static int occurrences(const char *text, const char *word) {
    int count = 0;
    for (; (text = strstr(text, word)); text += strlen(word)) ++count;
    return count;
}

static void csv_of_a_small_graph_is_the_worked_example(void **state) {
    (void)state;
    char *text = written(&graphs[1], BPT_INTERVALS_FORMAT_CSV);
    assert_string_equal(text, "dst,src,rel\n"
                              "0,0,0\n1,0,1\n1,1,0\n2,0,2\n2,1,1\n2,2,0\n3,2,1\n3,3,0\n3,5,5\n4,2,2\n4,3,1\n4,4,0\n4,5,5\n"
                              "5,0,-1\n5,1,-1\n6,2,-1\n6,3,-1\n7,4,-1\n8,0,-1\n8,1,-1\n8,2,-1\n8,3,-1\n9,4,-1\n"
                              "10,0,-1\n10,1,-1\n10,2,-1\n10,3,-1\n10,4,-1\n");
    free(text);
}

static void csv_lists_every_edge_once_in_order_with_its_row(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(graphs); ++i) {
        char *text = written(&graphs[i], BPT_INTERVALS_FORMAT_CSV), *line = strchr(text, '\n') + 1;
        const int64_t nodes = bpt_node_count(&graphs[i]);
        int64_t last = -1, count = 0;
        for (; *line; line = strchr(line, '\n') + 1, ++count) {
            int query, key, row;
            assert_int_equal(sscanf(line, "%d,%d,%d\n", &query, &key, &row), 3);
            assert_int_equal(bpt_intervals_rel_row(&graphs[i], graphs[i].n, query, key), row);
            assert_true(query * nodes + key > last);
            last = query * nodes + key;
        }
        assert_int_equal(count, edges_of(&graphs[i]));
        free(text);
    }
}

static void text_draws_one_sign_for_every_edge(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(graphs); ++i) {
        char *text = written(&graphs[i], BPT_INTERVALS_FORMAT_TEXT), *matrix = strstr(text, "no edge\n");
        assert_non_null(matrix);
        matrix += strlen("no edge\n");
        int64_t signs = 0;
        for (const char *c = matrix; *c; ++c) signs += !!strchr("o<>+", *c);
        assert_int_equal(signs, edges_of(&graphs[i]));
        const int64_t nodes = bpt_node_count(&graphs[i]);
        int64_t cells = signs;
        for (const char *c = matrix; *c; ++c) cells += *c == '.';
        assert_int_equal(cells, nodes * nodes);
        free(text);
    }
}

static void text_lists_the_intervals_of_a_query(void **state) {
    (void)state;
    char *text = written(&graphs[2], BPT_INTERVALS_FORMAT_TEXT);
    assert_non_null(
        strstr(text, "bpt graph, paper rule, k = 2, both sides, n = 8\n15 nodes on 4 levels, 76 edges (44 contextual), 19 rows"));
    assert_non_null(strstr(text, "\n     5 5         5 r0  2..4 r3..1  L1:0 r7  6..7 r4..5\n"));
    assert_non_null(strstr(text, "\n    13 L2:1      4..7\n"));
    assert_non_null(strstr(text, "\n     5 .."));  // and the matrix
    free(text);
    const bpt_intervals_t large = {BPT_INTERVALS_BPT, .causal = true, .k = 2, .rel_levels = 9, .n = 400};
    text = written(&large, BPT_INTERVALS_FORMAT_TEXT);
    assert_null(strstr(text, "Adjacency"));
    free(text);
}

static void picture_of_a_small_graph_colours_the_area_of_its_edges(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(graphs); ++i) {
        char *text = written(&graphs[i], BPT_INTERVALS_FORMAT_SVG);
        int64_t area = 0, pixels = 0;
        for (const char *at = text; (at = strstr(at, "<path fill=\"#")); ++at) {
            const char *end = strstr(at, "\"/>");
            for (const char *move = at; (move = strchr(move, 'M')) && move < end; ++move) {
                int x, y, width, height, back;
                assert_int_equal(sscanf(move, "M%d %dh%dv%dh-%dz", &x, &y, &width, &height, &back), 5);
                assert_int_equal(width, back);
                area += (int64_t)width * height;
                pixels = height;
            }
        }
        assert_true(pixels > 0);
        assert_int_equal(area, edges_of(&graphs[i]) * pixels * pixels);
        free(text);
    }
}

static void pictures_are_whole_and_smaller_than_two_megabytes(void **state) {
    (void)state;
    const bpt_intervals_t large[] = {
        {BPT_INTERVALS_BPT, .causal = true, .k = 4, .n = 8192},
        {BPT_INTERVALS_BPT, .k = 64, .n = 8192},
        {BPT_INTERVALS_BPT, .reference_rule = true, .k = 1, .n = 100003},
        {BPT_INTERVALS_SEGTREE, .span_self = true, .n = 65537},
        {BPT_INTERVALS_DENSE, .causal = true, .root = true, .n = 5000},
        {BPT_INTERVALS_WINDOW, .window = 7, .n = 1000},
        {BPT_INTERVALS_SPARSE, .causal = true, .stride = 128, .tail = 8, .n = 8192},
        {BPT_INTERVALS_BPT, .k = 3, .n = 140},
    };
    for (size_t i = 0; i < BPT_COUNT(large); ++i) {
        char *text = written(&large[i], BPT_INTERVALS_FORMAT_SVG);
        assert_in_range(strlen(text), 1000, 2000000);
        assert_true(strncmp(text, "<svg xmlns=", 11) == 0);
        assert_string_equal(text + strlen(text) - 7, "</svg>\n");
        assert_int_equal(occurrences(text, "<g"), occurrences(text, "</g>"));
        assert_int_equal(occurrences(text, "<text"), occurrences(text, "</text>"));
        assert_int_equal(occurrences(text, "\"") % 2, 0);
        assert_int_equal(occurrences(text, "<title>"), 1);
        free(text);
    }
}

static void a_full_disk_is_an_error_and_ends_the_writing(void **state) {
    (void)state;
    const bpt_intervals_t endless = {BPT_INTERVALS_DENSE, .n = 1 << 20};  // 2^40 edges: only an early end gets through
    for (int format = BPT_INTERVALS_FORMAT_CSV; format <= BPT_INTERVALS_FORMAT_SVG; ++format)
        for (int whole = 0; whole < 2; ++whole) {
            if (whole == 0 && format == BPT_INTERVALS_FORMAT_SVG) continue;  // reads the graph before it writes
            FILE *full = fopen("/dev/full", "w");
            if (!full) skip();
            assert_int_equal(bpt_intervals_write(whole ? &graphs[2] : &endless, (bpt_intervals_format_t)format, full), BPT_ERR_IO);
            assert_non_null(strstr(bpt_error_message(), "No space left on device"));
            fclose(full);
        }
}

static void what_has_no_rule_or_no_memory_is_refused(void **state) {
    (void)state;
    const bpt_intervals_t table = {BPT_INTERVALS_TABLE, .n = 4}, empty = {BPT_INTERVALS_BPT, .k = 0, .n = 4};
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_int_equal(bpt_intervals_write(&table, BPT_INTERVALS_FORMAT_CSV, out), BPT_ERR_USAGE);
    assert_int_equal(bpt_intervals_write(&empty, BPT_INTERVALS_FORMAT_TEXT, out), BPT_ERR_USAGE);
    assert_int_equal(bpt_intervals_write(&graphs[2], (bpt_intervals_format_t)9, out), BPT_ERR_USAGE);
    const size_t live = bpt_alloc_live();
    bpt_alloc_fail_after(1);
    assert_int_equal(bpt_intervals_write(&graphs[2], BPT_INTERVALS_FORMAT_SVG, out), BPT_ERR_NO_MEMORY);
    bpt_alloc_fail_after(0);
    assert_int_equal(bpt_intervals_write(&graphs[2], BPT_INTERVALS_FORMAT_SVG, out), BPT_OK);
    assert_int_equal(bpt_alloc_live(), live);
    fclose(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_of_a_small_graph_is_the_worked_example),
        cmocka_unit_test(csv_lists_every_edge_once_in_order_with_its_row),
        cmocka_unit_test(text_draws_one_sign_for_every_edge),
        cmocka_unit_test(text_lists_the_intervals_of_a_query),
        cmocka_unit_test(picture_of_a_small_graph_colours_the_area_of_its_edges),
        cmocka_unit_test(pictures_are_whole_and_smaller_than_two_megabytes),
        cmocka_unit_test(a_full_disk_is_an_error_and_ends_the_writing),
        cmocka_unit_test(what_has_no_rule_or_no_memory_is_refused),
    };
    return cmocka_run_group_tests_name("intervals_writer", tests, NULL, NULL);
}
