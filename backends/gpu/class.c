// Finding the class of a device (see class.h).
#include "backends/gpu/class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum { ANY, AMD, INTEL, NVIDIA, PROCESSOR } vendor_t;

struct bpt_gpu_class {
    const char *name, *like;
    vendor_t vendor;
    uint32_t number, subgroup;
    bool matrix;
    const char *words;
};

static const bpt_gpu_class_t classes[] = {
#define CLASS(...) {__VA_ARGS__},
#include "backends/gpu/classes.def"
#undef CLASS
};

// What names, drivers and features say of a vendor, and what stands before the number of a chip.
static const struct {
    vendor_t vendor;
    const char *words, *number;
    int base;
} vendors[] = {
    {AMD, "amd|radeon|radv|gfx", "gfx", 16},
    {NVIDIA, "nvidia|geforce|quadro|tesla|sm_|cuda|nvrtc", "sm_", 10},
    {INTEL, "intel", NULL, 0},
};

// ---- Words
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// Where a word begins in a text; NULL: nowhere.
static const char *find_word(const char *text, const char *word, size_t length) {
    for (const char *at = text; *at; ++at)
        if ((at == text || !is_letter(at[-1])) && !strncasecmp(at, word, length)) return at;
    return NULL;
}

// The length of the longest of the words that the text has; 0: it has none.
static size_t longest_word(const char *text, const char *words) {
    size_t longest = 0;
    for (const char *word = words; *word;) {
        const size_t length = strcspn(word, "|");
        if (length > longest && find_word(text, word, length)) longest = length;
        word += length + (word[length] == '|');
    }
    return longest;
}

// ---- The nearest class
static const bpt_gpu_class_t *by_name(const char *name) {
    size_t i = 0;
    while (strcmp(classes[i].name, name)) ++i;
    return &classes[i];
}

static const bpt_gpu_class_t *by_number(size_t vendor, const char *text) {
    const bpt_gpu_class_t *found = NULL;
    const char *prefix = vendors[vendor].number, *at = prefix ? find_word(text, prefix, strlen(prefix)) : NULL;
    const unsigned long number = at ? strtoul(at + strlen(prefix), NULL, vendors[vendor].base) : 0;
    for (size_t i = 0; i < BPT_COUNT(classes); ++i) {
        const bpt_gpu_class_t *c = &classes[i];
        if (c->vendor == vendors[vendor].vendor && c->number && c->number <= number && (!found || c->number > found->number)) found = c;
    }
    return found;
}

static const bpt_gpu_class_t *by_word(vendor_t vendor, const char *text) {
    const bpt_gpu_class_t *found = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < BPT_COUNT(classes); ++i) {
        const size_t length = classes[i].vendor == vendor ? longest_word(text, classes[i].words) : 0;
        if (length > longest) longest = length, found = &classes[i];
    }
    return found;
}

// The newest class of a vendor that has what the device shows. A device of no vendor that is known shows its subgroups alone.
static const bpt_gpu_class_t *by_features(vendor_t vendor, const bpt_gpu_info_t *gpu) {
    const bpt_gpu_class_t *found = by_name("gpu");
    for (size_t i = 0; i < BPT_COUNT(classes); ++i) {
        const bpt_gpu_class_t *c = &classes[i];
        const bool subgroup = c->subgroup == gpu->least_subgroup || (!gpu->least_subgroup && vendor != ANY);
        if (c->vendor == vendor && subgroup && (c->matrix || !gpu->fragments.rows || vendor == ANY) && c->like) found = c;
    }
    return found;
}

static const bpt_gpu_class_t *processor_class(const bpt_device_info_t *info) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(info);
    if (bpt_gpu_is_rasterizer(info)) return by_name(gpu.subgroup_size >= 16 ? "rasterizer-16" : "rasterizer");
    return by_name(gpu.vector_lanes >= 16 ? "processor-16" : gpu.vector_lanes >= 8 ? "processor-8" : "processor");
}

const bpt_gpu_class_t *bpt_gpu_class(const bpt_device_info_t *info) {
    const bpt_gpu_info_t gpu = bpt_gpu_info(info);
    char text[sizeof info->name + sizeof info->driver + sizeof info->features + 3];
    if (bpt_gpu_is_processor(info)) return processor_class(info);
    snprintf(text, sizeof text, "%s\n%s\n%s", info->name, info->features, info->driver);
    for (size_t v = 0; v < BPT_COUNT(vendors); ++v) {
        if (!longest_word(text, vendors[v].words)) continue;
        const bpt_gpu_class_t *found = by_number(v, text);
        if (!found) found = by_word(vendors[v].vendor, info->name);
        return found ? found : by_features(vendors[v].vendor, &gpu);
    }
    return by_features(ANY, &gpu);
}

// ---- What it is like
const char *bpt_gpu_class_name(const bpt_gpu_class_t *class) { return class->name; }

const bpt_gpu_class_t *bpt_gpu_class_like(const bpt_gpu_class_t *class) { return class->like ? by_name(class->like) : NULL; }

void bpt_gpu_class_text(const bpt_gpu_class_t *class, char *text, size_t bytes) {
    size_t used = (size_t)snprintf(text, bytes, "%s", class->name);
    const char *between = ": ";
    for (class = bpt_gpu_class_like(class); class && used < bytes; class = bpt_gpu_class_like(class), between = "/")
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", between, class->name);
}

bool bpt_gpu_is_processor(const bpt_device_info_t *info) { return !strcmp(info->type, "software") && !bpt_gpu_info(info).as_gpu; }

bool bpt_gpu_is_rasterizer(const bpt_device_info_t *info) { return strstr(info->name, "llvmpipe") != NULL; }
