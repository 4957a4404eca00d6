// Checksums in JSON objects: of a file as an object of its own, and of the object that holds it, so that a changed file gives itself away.
#ifndef BPT_TRAIN_OWN_CHECKSUM_H
#define BPT_TRAIN_OWN_CHECKSUM_H

#include "bpt/checksum.h"
#include "bpt/json.h"

// A checksum under a key: {"bytes": 12, "xxh3": "0123456789abcdef"}; a JSON number does not hold 64 bits.
bpt_status_t bpt_json_set_checksum(json_t *object, const char *key, bpt_checksum_t sum) BPT_MUST_USE;
// *found = false: there is no such key.
bpt_status_t bpt_json_get_checksum(const json_t *object, const char *key, bool *found, bpt_checksum_t *sum) BPT_MUST_USE;

#define BPT_OWN_CHECKSUM_KEY "xxh3"
// The checksum of the object's text on one line without this key, as its last key.
bpt_status_t bpt_json_seal(json_t *object) BPT_MUST_USE;
// BPT_ERR_INPUT unless the content is what was sealed; *sealed = false: there is no such key. The key is taken out.
bpt_status_t bpt_json_unseal(json_t *object, bool *sealed) BPT_MUST_USE;

#endif
