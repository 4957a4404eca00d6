// Packings: ways in which one file is made smaller (gzip, xz, zstd, bzip2, lz4), each with the library that unpacks it. A library is opened
// when the first such file is read; nothing of its headers is needed to build. Knows bytes, no files.
#ifndef BPT_DATA_PACKINGS_H
#define BPT_DATA_PACKINGS_H

#include "bpt/status.h"

// Bytes that go into an unpacker and come out of it; each pointer moves on by what was taken or put there.
typedef struct {
    const uint8_t *in;
    size_t in_bytes;
    uint8_t *out;
    size_t room;
    const char *reason;  // of a failure; stays valid until the unpacker is closed
} bpt_unpacking_t;

typedef enum {
    BPT_UNPACK_MORE,      // what went in may be too little for more
    BPT_UNPACK_ENDED,     // the packed stream has ended, its checksum is right; behind it another one may begin
    BPT_UNPACK_FAILED,    // the stream is damaged, or needs too much memory
    BPT_UNPACK_NO_MEMORY  // there is none left
} bpt_unpacked_t;

typedef struct bpt_packing bpt_packing_t;
struct bpt_packing {
    const char *name, *suffix;
    bpt_status_t (*open)(void **unpacker);  // for one stream, once the library is there
    bpt_unpacked_t (*run)(void *unpacker, bpt_unpacking_t *step);
    void (*close)(void *unpacker);
};

enum { BPT_PACKING_LOOK = 16 };  // bytes at the front of a file that tell

// How the file is packed that begins so; NULL: it is not. *undecided: that takes more bytes than these. A file that is an archive of files
// or packed in another way is BPT_ERR_INPUT with what to do.
bpt_status_t bpt_packing_of(const char *path, const uint8_t *front, size_t bytes, const bpt_packing_t **out, bool *undecided) BPT_MUST_USE;
// Opens the library. BPT_ERR_UNAVAILABLE says what to install.
bpt_status_t bpt_packing_load(const bpt_packing_t *packing, const char *path) BPT_MUST_USE;
// The length of a file's name without the ending of a packing: 9 of train.txt.gz.
size_t bpt_packing_bare(const char *name);

#endif
