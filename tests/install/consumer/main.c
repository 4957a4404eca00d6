// The smallest program that uses an installed libbpt: header, library and its dependencies must be found. Used by tests/install/run.cmake.
#include <stdio.h>

#include <bpt/backend.h>
#include <bpt/intervals.h>

int main(void) {
    const bpt_intervals_t graph = {.kind = BPT_INTERVALS_BPT, .causal = true, .k = 2, .n = 64};
    int64_t all, contextual;
    if (bpt_backend_check(bpt_backends[0], BPT_BACKEND_VERSION) != BPT_OK) return fprintf(stderr, "%s\n", bpt_error_message()), 1;
    if (bpt_intervals_check(&graph) != BPT_OK) return fprintf(stderr, "%s\n", bpt_error_message()), 1;
    bpt_intervals_count(&graph, graph.n, &all, &contextual);
    printf("bpt %s: %s, %lld edges\n", BPT_VERSION_STRING, bpt_backends[0]->name, (long long)all);
    return all > contextual && contextual > 0 && bpt_backend_find("cpu") ? 0 : 1;
}
