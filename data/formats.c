// The list of formats (see formats.h).
#include "data/formats.h"

#include <string.h>

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

static bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), wanted = strlen(end);
    return length > wanted && !strcmp(text + length - wanted, end);
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
