// Files of an evaluation (see eval_files.h).
#include "tools/bpt/report/eval_files.h"

#include <inttypes.h>
#include <math.h>

#include <jansson.h>

#include "bpt/file.h"
#include "bpt/json.h"
#include "bpt/strbuf.h"

bpt_status_t cli_write_nll(const char *path, const float *nll, size_t count) {
    bpt_strbuf_t text = {0};
    bpt_file_writer_t *file;
    BPT_TRY(bpt_file_writer_open(path, &file));
    bpt_status_t status = bpt_strbuf_printf(&text, "[");
    for (size_t i = 0; i < count && status == BPT_OK; ++i) {
        status = isfinite(nll[i]) ? bpt_strbuf_printf(&text, "%s%.9g", i ? ", " : "", (double)nll[i])
                                  : bpt_fail(BPT_ERR_NUMERIC, "the negative log-likelihood of place %zu is not finite", i);
        if (status != BPT_OK || text.length < 65536) continue;
        status = bpt_file_writer_write(file, text.data, text.length);
        bpt_strbuf_clear(&text);
    }
    if (status == BPT_OK) status = bpt_strbuf_printf(&text, "]\n");
    if (status == BPT_OK) status = bpt_file_writer_write(file, text.data, text.length);
    if (status == BPT_OK) status = bpt_file_writer_commit(file);
    bpt_strbuf_free(&text);
    bpt_file_writer_close(file);
    return status;
}

bpt_status_t cli_write_predictions(const char *path, const float *values, int64_t examples, int64_t outputs) {
    json_t *all = json_array();
    bpt_status_t status = all ? BPT_OK : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing predictions");
    for (int64_t e = 0; e < examples && status == BPT_OK; ++e) {
        json_t *row = json_array();
        for (int64_t i = 0; i < outputs && status == BPT_OK; ++i)
            if (json_array_append_new(row, json_real((double)values[e * outputs + i])))
                status = bpt_fail(BPT_ERR_NUMERIC, "number %" PRId64 " of example %" PRId64 " is not finite", i, e);
        if (json_array_append_new(all, row)) status = bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing predictions");
    }
    if (status == BPT_OK) status = bpt_json_write(path, all);
    json_decref(all);
    return status;
}
