// Files of rows whose number is known last (see bpt/rows_file.h): the header has a fixed size, blanks at its end, and is written again at
// the end. Offsets wait in a file without a name.
#include "bpt/rows_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "bpt/strbuf.h"

enum { HEADER_BYTES = 4096, NPY_BYTES = 128, COPY_BYTES = 1 << 13 };

struct bpt_rows_file {
    bpt_rows_t rows;
    bool npy;
    char *path;
    bpt_file_writer_t *file;
    FILE *offsets;  // the second array so far, NULL: there is none
    int64_t row_values, count;
    uint64_t groups, sum;
};

static bool ends_in(const char *path, const char *suffix) {
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && !strcasecmp(path + length - end, suffix);
}

static bpt_status_t append_shape(const bpt_rows_file_t *f, bpt_strbuf_t *out) {
    BPT_TRY(bpt_strbuf_printf(out, "%" PRId64, f->count));
    for (int i = 0; i < f->rows.rank; ++i) BPT_TRY(bpt_strbuf_printf(out, ", %" PRId64, f->rows.shape[i]));
    return BPT_OK;
}

// Blanks up to `bytes`, of which the last one is `last`.
static bpt_status_t pad(bpt_strbuf_t *out, size_t bytes, char last) {
    while (out->length + 1 < bytes) BPT_TRY(bpt_strbuf_append(out, " ", 1));
    return bpt_strbuf_append(out, &last, 1);
}

static bpt_status_t npy_header(const bpt_rows_file_t *f, bpt_strbuf_t *out) {
    static const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, NPY_BYTES - 10, 0};
    BPT_TRY(bpt_strbuf_append(out, magic, sizeof magic));
    BPT_TRY(bpt_strbuf_printf(out, "{'descr': '<f4', 'fortran_order': False, 'shape': ("));
    BPT_TRY(append_shape(f, out));
    BPT_TRY(bpt_strbuf_printf(out, "), }"));
    return pad(out, NPY_BYTES, '\n');
}

static bpt_status_t safetensors_header(const bpt_rows_file_t *f, bpt_strbuf_t *out) {
    const uint64_t length = HEADER_BYTES - 8, bytes = (uint64_t)(f->count * f->row_values) * sizeof(float);
    BPT_TRY(bpt_strbuf_append(out, (const char *)&length, sizeof length));
    BPT_TRY(bpt_strbuf_printf(out, "{"));
    if (f->rows.key) BPT_TRY(bpt_strbuf_printf(out, "\"__metadata__\":{\"%s\":\"%s\"},", f->rows.key, f->rows.value));
    BPT_TRY(bpt_strbuf_printf(out, "\"%s\":{\"dtype\":\"F32\",\"shape\":[", f->rows.name));
    BPT_TRY(append_shape(f, out));
    BPT_TRY(bpt_strbuf_printf(out, "],\"data_offsets\":[0,%" PRIu64 "]}", bytes));
    if (f->offsets)
        BPT_TRY(bpt_strbuf_printf(out, ",\"%s\":{\"dtype\":\"U64\",\"shape\":[%" PRIu64 "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                                  f->rows.offsets, f->groups + 1, bytes, bytes + 8 * (f->groups + 1)));
    BPT_TRY(bpt_strbuf_printf(out, "}"));
    return pad(out, HEADER_BYTES, ' ');
}

// First one without rows, to be written over.
static bpt_status_t put_header(bpt_rows_file_t *f, bool first) {
    bpt_strbuf_t header = {0};
    bpt_status_t status = f->npy ? npy_header(f, &header) : safetensors_header(f, &header);
    if (status == BPT_OK && first) status = bpt_file_writer_write(f->file, header.data, header.length);
    if (status == BPT_OK) status = bpt_file_writer_patch(f->file, 0, header.data, header.length);
    bpt_strbuf_free(&header);
    return status;
}

static bpt_status_t put_offset(bpt_rows_file_t *f) {
    if (fwrite(&f->sum, sizeof f->sum, 1, f->offsets) == 1) return BPT_OK;
    return bpt_fail(BPT_ERR_IO, "cannot write the offsets for %s into a temporary file: the disk of the temporary folder is full", f->path);
}

static bpt_status_t open_offsets(bpt_rows_file_t *f) {
    if (!f->rows.offsets) return BPT_OK;
    if (f->npy) return bpt_fail(BPT_ERR_USAGE, "%s: a .npy file has one array and no offsets; name a .safetensors file", f->path);
    f->offsets = tmpfile();
    return f->offsets ? put_offset(f) : bpt_fail(BPT_ERR_IO, "no temporary file can be made for the offsets of %s", f->path);
}

bpt_status_t bpt_rows_file_open(const char *path, const bpt_rows_t *rows, bpt_rows_file_t **out) {
    bpt_rows_file_t *f;
    if (!ends_in(path, ".npy") && !ends_in(path, ".safetensors"))
        return bpt_fail(BPT_ERR_USAGE, "%s: the name says the format; end it in .npy or .safetensors", path);
    BPT_TRY(bpt_alloc(1, sizeof *f, &f));
    f->rows = *rows;
    f->npy = ends_in(path, ".npy");
    f->row_values = rows->shape[0] * (rows->rank > 1 ? rows->shape[1] : 1);
    bpt_status_t status = bpt_strdup(path, &f->path);
    if (status == BPT_OK) status = open_offsets(f);
    if (status == BPT_OK) status = bpt_file_writer_open(path, &f->file);
    if (status == BPT_OK) status = put_header(f, true);
    if (status == BPT_OK)
        *out = f;
    else
        bpt_rows_file_close(f);
    return status;
}

bpt_status_t bpt_rows_file_write(bpt_rows_file_t *f, const float *rows, int64_t count) {
    f->count += count;
    return bpt_file_writer_write(f->file, rows, (size_t)(count * f->row_values) * sizeof *rows);
}

bpt_status_t bpt_rows_file_count(bpt_rows_file_t *f, int64_t count) {
    f->sum += (uint64_t)count;
    ++f->groups;
    return f->offsets ? put_offset(f) : BPT_OK;
}

static bpt_status_t copy_offsets(bpt_rows_file_t *f) {
    char buffer[COPY_BYTES];
    if (fflush(f->offsets) || fseek(f->offsets, 0, SEEK_SET))
        return bpt_fail(BPT_ERR_IO, "the offsets for %s cannot be written to a temporary file: the disk of the temporary folder is full",
                        f->path);
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, f->offsets));) BPT_TRY(bpt_file_writer_write(f->file, buffer, got));
    return ferror(f->offsets) ? bpt_fail(BPT_ERR_IO, "the offsets for %s cannot be read from a temporary file", f->path) : BPT_OK;
}

bpt_status_t bpt_rows_file_finish(bpt_rows_file_t *f) {
    if (!f->count) return bpt_fail(BPT_ERR_INPUT, "there are no texts, so %s would be empty; it was not written", f->path);
    if (f->offsets) BPT_TRY(copy_offsets(f));
    BPT_TRY(put_header(f, false));
    return bpt_file_writer_commit(f->file);
}

void bpt_rows_file_close(bpt_rows_file_t *f) {
    if (!f) return;
    bpt_file_writer_close(f->file);
    if (f->offsets) fclose(f->offsets);
    bpt_free(f->path);
    bpt_free(f);
}
