// Checksums in JSON objects (see own_checksum.h).
#include "models/train/own_checksum.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpt/alloc.h"

static bpt_status_t set_hash(json_t *o, uint64_t hash) {
    char digits[17];
    snprintf(digits, sizeof digits, "%016" PRIx64, hash);
    return bpt_json_set_text(o, BPT_OWN_CHECKSUM_KEY, digits);
}

static bpt_status_t get_hash(const json_t *o, uint64_t *hash) {
    const char *digits = NULL;
    BPT_TRY(bpt_json_get_text(o, BPT_OWN_CHECKSUM_KEY, &digits));
    if (!digits) return bpt_fail(BPT_ERR_INPUT, "key \"" BPT_OWN_CHECKSUM_KEY "\" is missing");
    if (strlen(digits) != 16 || digits[strspn(digits, "0123456789abcdef")])
        return bpt_fail(BPT_ERR_INPUT, "key \"" BPT_OWN_CHECKSUM_KEY "\" must be 16 hexadecimal digits");
    *hash = strtoull(digits, NULL, 16);
    return BPT_OK;
}

bpt_status_t bpt_json_set_checksum(json_t *object, const char *key, bpt_checksum_t sum) {
    json_t *file = json_object();
    if (json_object_set_new(object, key, file)) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while writing %s", key);
    BPT_TRY(bpt_json_set_u64(file, "bytes", sum.bytes));
    return set_hash(file, sum.xxh3);
}

static bpt_status_t parse_checksum(const json_t *file, bpt_checksum_t *sum) {
    static const char *const known[] = {"bytes", BPT_OWN_CHECKSUM_KEY, NULL};
    if (!json_is_object(file) || bpt_json_unknown_key(file, known) || !json_object_get(file, "bytes"))
        return bpt_fail(BPT_ERR_INPUT, "needs the keys \"bytes\" and \"" BPT_OWN_CHECKSUM_KEY "\", and no others");
    BPT_TRY(bpt_json_get_u64(file, "bytes", &sum->bytes));
    return get_hash(file, &sum->xxh3);
}

bpt_status_t bpt_json_get_checksum(const json_t *object, const char *key, bool *found, bpt_checksum_t *sum) {
    const json_t *file = json_object_get(object, key);
    *found = file != NULL;
    return file ? bpt_context(parse_checksum(file, sum), "key \"%s\"", key) : BPT_OK;
}

static bpt_status_t hash_of(const json_t *o, uint64_t *hash) {
    char *text;
    BPT_TRY(bpt_json_format(o, 0, &text));
    *hash = bpt_checksum_of(text, strlen(text)).xxh3;
    bpt_free(text);
    return BPT_OK;
}

bpt_status_t bpt_json_seal(json_t *object) {
    uint64_t hash;
    BPT_TRY(hash_of(object, &hash));
    return set_hash(object, hash);
}

bpt_status_t bpt_json_unseal(json_t *object, bool *sealed) {
    uint64_t wanted = 0, got;
    *sealed = json_object_get(object, BPT_OWN_CHECKSUM_KEY) != NULL;
    if (!*sealed) return BPT_OK;
    BPT_TRY(get_hash(object, &wanted));
    (void)json_object_del(object, BPT_OWN_CHECKSUM_KEY);
    BPT_TRY(hash_of(object, &got));
    return got == wanted ? BPT_OK
                         : bpt_fail(BPT_ERR_INPUT, "the content does not match its own checksum; it was changed or damaged, copy it again");
}
