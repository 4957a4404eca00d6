// A graph as the attention kernels see it (cl/include/intervals.h). Knows no device.
#ifndef BPT_GPU_LOWER_ATTENTION_GRAPH_H
#define BPT_GPU_LOWER_ATTENTION_GRAPH_H

#include "bpt/intervals.h"

enum { BPT_GPU_MAX_RANGES = 112 };  // of a query or a key

// The int4 that the kernels' functions take: kind and GRAPH_ bits, n, k or window, rel_levels.
void bpt_gpu_graph_words(const bpt_intervals_t *g, int32_t word[4]);

#endif
