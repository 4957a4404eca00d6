// gzip by hand (gzip.h): RFC 1952 around stored blocks of RFC 1951.
#include "support/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"

static uint32_t checksum(const uint8_t *bytes, size_t length) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < length; ++i) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static uint8_t *put(uint8_t *at, uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) *at++ = (uint8_t)(number >> 8 * i);
    return at;
}

void test_write_gzip(const char *path, const void *bytes, size_t length) {
    enum { MOST = 65535 };
    static const uint8_t head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    uint8_t *file = malloc(length + 5 * (length / MOST + 1) + sizeof head + 8), *at = file;
    if (!file) abort();
    memcpy(at, head, sizeof head);
    at += sizeof head;
    for (size_t done = 0, part; done == 0 || done < length; done += part) {
        part = length - done < MOST ? length - done : MOST;
        at = put(at, done + part == length, 1);
        at = put(put(at, (uint32_t)part, 2), ~(uint32_t)part, 2);
        memcpy(at, (const uint8_t *)bytes + done, part);
        at += part;
        if (!part) break;
    }
    at = put(put(at, checksum(bytes, length), 4), (uint32_t)length, 4);
    test_write_file(path, file, (size_t)(at - file));
    free(file);
}
