// The list of formats (see formats.h).
#include "data/examples/formats.h"

#include <string.h>

#include "bpt/alloc.h"
#include "data/text/packings.h"

#define BPT_FORMAT(id, name, what) extern const bpt_format_t bpt_format_##name;
#include "data/readers/formats.def"
#undef BPT_FORMAT

static const bpt_format_t *const formats[] = {
#define BPT_FORMAT(id, name, what) [BPT_FORMAT_##id] = &bpt_format_##name,
#include "data/readers/formats.def"
#undef BPT_FORMAT
};

const char *const bpt_format_names[] = {
#define BPT_FORMAT(id, name, what) [BPT_FORMAT_##id] = #name,
#include "data/readers/formats.def"
#undef BPT_FORMAT
    [BPT_N_FORMATS] = NULL,
};

const bpt_format_t *bpt_format_of(bpt_format_id_t id) { return formats[id]; }

// Of the name of a packed file what is in front of .gz and its like.
static bool ends_with(const char *name, const char *end) {
    const size_t length = bpt_packing_bare(name), wanted = strlen(end);
    return length > wanted && !strncmp(name + length - wanted, end, wanted);
}

bool bpt_format_of_file(const char *path, bpt_format_id_t *out) {
    for (int f = 0; f < BPT_N_FORMATS; ++f)
        for (const char *const *end = formats[f]->suffixes; end && *end; ++end)
            if (ends_with(path, *end)) {
                *out = (bpt_format_id_t)f;
                return true;
            }
    return false;
}

// ---- Running text

enum { BLOCK_BYTES = 1 << 20 };

// In blocks: neither the file nor its text need fit in memory.
static bpt_status_t write_blocks(bpt_text_blocks_t *blocks, const bpt_running_t *how, bpt_store_t *out) {
    for (;;) {
        bpt_range_t lines;
        bool end;
        BPT_TRY(bpt_text_blocks_next(blocks, &lines, &end));
        if (end) return BPT_OK;
        BPT_TRY(formats[how->format]->write_running(&lines, how, out));
    }
}

// The file may be larger than memory, as any text.
static bpt_status_t write_whole(const char *path, const bpt_running_t *how, bpt_store_t *out) {
    bpt_text_t *text;
    BPT_TRY(bpt_text_open(path, &text));
    const bpt_range_t range = bpt_text_range(text);
    const bpt_status_t status = formats[how->format]->write_running(&range, how, out);
    bpt_text_close(text);
    return status;
}

static bpt_status_t write_file(const char *path, const bpt_running_t *how, bpt_store_t *out) {
    bpt_text_blocks_t *blocks;
    if (formats[how->format]->running_whole) return write_whole(path, how, out);
    BPT_TRY(bpt_text_blocks_open(path, BLOCK_BYTES, &blocks));
    const bpt_status_t status = write_blocks(blocks, how, out);
    bpt_text_blocks_close(blocks);
    return status;
}

bpt_status_t bpt_running_open(const bpt_paths_t *paths, const bpt_running_t *how, bpt_text_t **out) {
    bpt_store_t bytes = {0};
    uint64_t *begin;
    bpt_status_t status = BPT_OK;
    if (!how || !formats[how->format]->write_running) return bpt_text_open_files(paths, out);
    BPT_TRY(bpt_alloc(paths->count, sizeof *begin, &begin));
    for (size_t i = 0; i < paths->count && status == BPT_OK; ++i) {
        begin[i] = bpt_store_size(&bytes);
        status = write_file(paths->path[i], how, &bytes);
    }
    if (status == BPT_OK)
        status = bpt_text_make(paths, begin, &bytes, out);
    else
        bpt_store_free(&bytes);
    bpt_free(begin);
    return status;
}
