// All batches of a source (see each_batch.h).
#include "models/run/each_batch.h"

bpt_status_t bpt_each_batch(bpt_batch_source_t *source, bpt_each_batch_fn_t visit, void *user) {
    BPT_TRY(source->seek(source, 0));
    for (int64_t number = 0;; ++number) {
        bpt_batch_t batch;
        bool end = false;
        BPT_TRY(source->next(source, &batch, &end));
        if (end) return BPT_OK;
        BPT_TRY(visit(user, number, &batch));
    }
}
