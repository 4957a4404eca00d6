// Recording into a list (list.c): what lowerings emit, cut into submissions later. Knows no API and no op.
#ifndef BPT_GPU_LIST_H
#define BPT_GPU_LIST_H

#include "backends/gpu/driver.h"

// Records one dispatch. `seconds`: its estimated time. `groups` may be any number.
bpt_status_t bpt_gpu_list_dispatch(bpt_list_t *list, const bpt_gpu_dispatch_t *dispatch, int64_t groups, double seconds);
// Records a product by the driver's library in pieces of `rows` rows of c, which the bits of the result may depend on, so that they follow
// from the shape alone; a submission takes whole pieces.
bpt_status_t bpt_gpu_list_product(bpt_list_t *list, const bpt_gpu_product_t *product, int64_t rows, double seconds);
bpt_status_t bpt_gpu_list_op(bpt_list_t *list);  // the next dispatches belong to a new op (timings)

#endif
