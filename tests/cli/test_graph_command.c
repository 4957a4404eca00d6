// `bpt graph`: the numbers of edges that the papers' rules give, in a form that scripts rely on.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/process.h"

typedef struct {
    int64_t all, contextual;  // contextual: neither a node itself (row 0) nor a span and its leaves (-1)
} count_t;

// strtoll, but for sanitizers that walk to the end of megabytes of text at every call.
static int64_t number_at(char *text, char **end) {
    const bool negative = *text == '-';
    int64_t value = 0;
    for (*end = text + negative; **end >= '0' && **end <= '9'; ++*end) value = value * 10 + (**end - '0');
    return negative ? -value : value;
}

// Counts the edges and checks the order by dst, then src.
static count_t count_edges(const char *options) {
    char line[256];
    snprintf(line, sizeof line, "graph %s", options);
    test_process_t p = test_run_line(line);
    if (p.exit_status || p.err_length) fail_msg("bpt %s: exit %d, %s", line, p.exit_status, p.err);
    assert_memory_equal(p.out, "dst,src,rel\n", 12);
    count_t count = {0};
    int64_t last_dst = -1, last_src = -1;
    for (char *row = p.out + 12, *end; *row; row = end + 1) {
        const int64_t dst = number_at(row, &end), src = number_at(end + 1, &end), rel = number_at(end + 1, &end);
        if (*end != '\n' || dst < last_dst || (dst == last_dst && src <= last_src)) fail_msg("%s: bad row %.40s", line, row);
        last_dst = dst, last_src = src;
        ++count.all;
        count.contextual += rel > 0;
    }
    test_process_free(&p);
    return count;
}

static void edges_are_as_many_as_published(void **state) {
    (void)state;
    static const struct {
        const char *options;
        int64_t all, contextual;  // all -1: not published
    } cases[] = {
        {"--n 8192 --k 1 --causal", -1, 135184},
        {"--n 8192 --k 4 --causal", -1, 344274},
        {"--n 512 --k 64 --causal", -1, 68000},
        {"--n 1024 --k 64 --causal", -1, 187200},
        {"--n 8 --k 1 --causal --rule reference", 49, 17},
        {"--n 8 --k 2 --causal --rule reference", 54, 22},
        {"--n 8 --k 1 --rule reference", 66, 34},
        {"--n 8 --k 2 --rule reference", 76, 44},
        {"--n 100 --k 4 --rule reference", -1, 2817},
        {"--n 512 --k 64 --rule reference", 140912, 135792},
        {"--n 7 --model transformer", 49, 42},
        {"--n 7 --model transformer --causal", 28, 21},
        {"--n 7 --model transformer --attention window --window 2 --causal", 18, 11},
        {"--n 1 --k 4", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const count_t got = count_edges(cases[i].options);
        if (got.contextual != cases[i].contextual || (cases[i].all >= 0 && got.all != cases[i].all))
            fail_msg("%s: %lld edges, %lld contextual", cases[i].options, (long long)got.all, (long long)got.contextual);
    }
}

// Each of the 7 spans over 8 leaves gets an edge, and the rows of the 24 edges span <- leaf then matter.
static void spans_of_a_segtree_may_read_themselves(void **state) {
    (void)state;
    const count_t without = count_edges("--model segtree --n 8"), with = count_edges("--model segtree --n 8 --span-self");
    assert_int_equal(with.all - without.all, 7);
    assert_int_equal(with.contextual - without.contextual, 24);
}

static void rows_of_relative_positions_follow_rel_levels(void **state) {
    (void)state;
    test_process_t a = test_run_line("graph --n 64 --k 1 --causal --rel-levels 1"),
                   b = test_run_line("graph --n 64 --k 1 --causal --rel-levels 20");
    assert_null(strstr(a.out, ",5\n"));      // one level of 2(k+1) rows
    assert_non_null(strstr(b.out, ",5\n"));  // level 1, left
    test_process_free(&a), test_process_free(&b);
}

static void text_and_picture_are_written(void **state) {
    (void)state;
    test_process_t text = test_run_line("graph --n 8 --k 2 --format text"), picture = test_run_line("graph --n 300 --k 2 --format svg");
    assert_int_equal(text.exit_status, 0);
    assert_non_null(strstr(text.out, "k = 2"));
    assert_int_equal(picture.exit_status, 0);
    assert_non_null(strstr(picture.out, "<svg"));
    assert_non_null(strstr(picture.out, "</svg>"));
    test_process_free(&text), test_process_free(&picture);
}

static int64_t edges_of_line(const char *line) {
    test_process_t p = test_run_line(line);
    int64_t lines = 0;
    assert_int_equal(p.exit_status, 0);
    for (const char *c = p.out; *c; ++c) lines += *c == '\n';
    test_process_free(&p);
    return lines - 1;
}

// Guo et al. 2019: five edges a satellite, and n + 1 of the relay; of very short texts a neighbour is read several times.
static void a_star_has_six_edges_a_token(void **state) {
    (void)state;
    static const int lengths[] = {1, 2, 3, 50, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        char line[100];
        const int n = lengths[i];
        snprintf(line, sizeof line, "graph --model star --n %d", n);
        assert_int_equal(edges_of_line(line), 6 * n + 1);
        snprintf(line, sizeof line, "graph --model star --n %d --no-ring", n);
        assert_int_equal(edges_of_line(line), 4 * n + 1);
        snprintf(line, sizeof line, "graph --model star --n %d --no-radical", n);
        assert_int_equal(edges_of_line(line), 5 * n + 1);
    }
    test_process_t ring = test_run_line("graph --model star --n 3"), text = test_run_line("graph --model star --n 4 --format text"),
                   picture = test_run_line("graph --model star --n 700 --format svg");
    assert_string_equal(ring.out, "dst,src,rel\n0,0,-1\n0,1,-1\n0,2,-1\n0,3,-1\n0,6,-1\n1,0,-1\n1,1,-1\n1,2,-1\n1,4,-1\n1,6,-1\n"
                                  "2,0,-1\n2,1,-1\n2,2,-1\n2,5,-1\n2,6,-1\n6,0,-1\n6,1,-1\n6,2,-1\n6,6,-1\n");
    assert_non_null(strstr(text.out, "9 nodes, 25 edges"));
    assert_true(strstr(picture.out, "<svg") && strstr(picture.out, "</svg>"));
    test_process_free(&ring), test_process_free(&text), test_process_free(&picture);
}

static void graphs_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"--n 0", "--n must be at least 1"},
                                           {"--k 0", "--k must be at least 1"},
                                           {"--n 100000000", "--n must be at least 1"},
                                           {"--rule released", "--rule must be paper or reference"},
                                           {"--model bpt --span-self", "--span-self is for --model segtree"},
                                           {"--model segtree --k 4", "--k is for --model bpt"},
                                           {"--model transformer --window 3", "--window is for --attention window"},
                                           {"--format png", "--format must be csv, text or svg"},
                                           {"--model star --k 3", "--k is for --model bpt"},
                                           {"--no-ring", "--ring is for --model star"},
                                           {"--causal yes", "unexpected argument 'yes'"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[256];
        snprintf(line, sizeof line, "graph %s", cases[i][0]);
        test_process_t p = test_run_line(line);
        if (p.exit_status != 2 || p.out_length || !strstr(p.err, cases[i][1])) fail_msg("bpt %s: exit %d, %s", line, p.exit_status, p.err);
        test_process_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_are_as_many_as_published),
        cmocka_unit_test(spans_of_a_segtree_may_read_themselves),
        cmocka_unit_test(rows_of_relative_positions_follow_rel_levels),
        cmocka_unit_test(text_and_picture_are_written),
        cmocka_unit_test(a_star_has_six_edges_a_token),
        cmocka_unit_test(graphs_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
