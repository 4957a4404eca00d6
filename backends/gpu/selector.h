// The selector (selector.def): which blueprint a device takes for a problem, and which others `bpt tune` may find faster there. A problem
// says what is asked, without the data. Knows no API.
#ifndef BPT_GPU_SELECTOR_H
#define BPT_GPU_SELECTOR_H

#include "backends/gpu/blueprint.h"
#include "backends/gpu/class.h"

typedef enum {
#define PROBLEM(id, name, kernels, lines) BPT_PROBLEM_##id,
#define SELECT(class, problem, blueprints)
#include "backends/gpu/selector.def"
#undef PROBLEM
#undef SELECT
    BPT_PROBLEM_COUNT
} bpt_problem_t;

typedef struct {
    const char *name, *kernels, *lines;
} bpt_problem_info_t;
extern const bpt_problem_info_t bpt_problems[BPT_PROBLEM_COUNT];

// What the device's class takes.
bpt_blueprint_t bpt_select(const bpt_device_info_t *info, bpt_problem_t problem);
// All that may be measured for it, the one that it takes first, each once; how many.
enum { BPT_MOST_CANDIDATES = 32 };
int bpt_select_candidates(const bpt_device_info_t *info, bpt_problem_t problem, bpt_blueprint_t out[BPT_MOST_CANDIDATES]);
// The texts of these, with blanks between them.
void bpt_select_text(const bpt_device_info_t *info, bpt_problem_t problem, char *text, size_t bytes);
// What the device lacks for a blueprint, "" if nothing. Limits of 0 are not known.
void bpt_blueprint_lacks(const bpt_blueprint_t *b, const bpt_gpu_info_t *gpu, char *why, size_t bytes);

#endif
