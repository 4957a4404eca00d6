// See packings.h. The structs and functions are those of the libraries' headers, of which each says that they stay: zlib 1, liblzma 5,
// bzip2 1.0, zstd 1 and lz4's frames (1.8 and later).
#include "data/text/packings.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/env.h"
#include "bpt/library.h"
#include "bpt/platforms.h"

static unsigned at_most(size_t bytes) { return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX; }

static void moved(bpt_unpacking_t *s, size_t taken, size_t put) {
    s->in += taken;
    s->in_bytes -= taken;
    s->out += put;
    s->room -= put;
}

static bpt_unpacked_t fail(bpt_unpacking_t *s, const char *reason) {
    s->reason = reason;
    return BPT_UNPACK_FAILED;
}

// ---- gzip, by zlib

typedef struct {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *internal, *allocate, *release, *opaque;
    int data_type;
    unsigned long checksum, reserved;
} zlib_stream_t;

static struct {
    int (*open)(zlib_stream_t *stream, int window_bits, const char *version, int stream_bytes);
    int (*run)(zlib_stream_t *stream, int flush);
    int (*close)(zlib_stream_t *stream);
} zlib;

static bpt_status_t open_gzip(void **out) {
    enum { WINDOW_BITS = 15, GZIP = 16 };
    BPT_TRY(bpt_alloc(1, sizeof(zlib_stream_t), out));
    if (!zlib.open(*out, WINDOW_BITS + GZIP, "1", sizeof(zlib_stream_t))) return BPT_OK;
    bpt_free(*out);
    return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while unpacking gzip");
}

static bpt_unpacked_t run_gzip(void *unpacker, bpt_unpacking_t *s) {
    enum { OK = 0, END = 1, NO_MEMORY = -4, NO_PROGRESS = -5 };
    zlib_stream_t *z = unpacker;
    const unsigned in = at_most(s->in_bytes), room = at_most(s->room);
    z->next_in = s->in, z->avail_in = in, z->next_out = s->out, z->avail_out = room;
    const int result = zlib.run(z, 0);
    moved(s, in - z->avail_in, room - z->avail_out);
    if (result == OK || result == NO_PROGRESS) return BPT_UNPACK_MORE;
    if (result == END) return BPT_UNPACK_ENDED;
    return result == NO_MEMORY ? BPT_UNPACK_NO_MEMORY : fail(s, z->message ? z->message : "it needs a dictionary");
}

static void close_gzip(void *unpacker) {
    zlib.close(unpacker);
    bpt_free(unpacker);
}

// ---- xz, by liblzma

typedef struct {
    const uint8_t *next_in;
    size_t avail_in;
    uint64_t total_in;
    uint8_t *next_out;
    size_t avail_out;
    uint64_t total_out;
    const void *allocator;
    void *internal, *reserved[4];
    uint64_t reserved_numbers[2];
    size_t reserved_sizes[2];
    int reserved_kinds[2];
} lzma_stream_t;

static struct {
    int (*open)(lzma_stream_t *stream, uint64_t memory, uint32_t flags);
    int (*run)(lzma_stream_t *stream, int action);
    void (*close)(lzma_stream_t *stream);
} lzma;

static bpt_status_t open_xz(void **out) {
    enum { KNOWN_CHECKS_ONLY = 2 };
    BPT_TRY(bpt_alloc(1, sizeof(lzma_stream_t), out));
    if (!lzma.open(*out, (uint64_t)256 << 20, KNOWN_CHECKS_ONLY)) return BPT_OK;
    bpt_free(*out);
    return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while unpacking xz");
}

static bpt_unpacked_t run_xz(void *unpacker, bpt_unpacking_t *s) {
    enum { OK, END, NO_CHECK, UNKNOWN_CHECK, GET_CHECK, NO_MEMORY, MEMORY_LIMIT, FORMAT, OPTIONS, DATA, NO_PROGRESS };
    lzma_stream_t *x = unpacker;
    x->next_in = s->in, x->avail_in = s->in_bytes, x->next_out = s->out, x->avail_out = s->room;
    const int result = lzma.run(x, 0);
    moved(s, s->in_bytes - x->avail_in, s->room - x->avail_out);
    switch (result) {
    case OK:
    case NO_PROGRESS: return BPT_UNPACK_MORE;
    case END: return BPT_UNPACK_ENDED;
    case NO_MEMORY: return BPT_UNPACK_NO_MEMORY;
    case MEMORY_LIMIT: return fail(s, "its dictionary needs more than 256 MiB of memory");
    case FORMAT: return fail(s, "these bytes are not xz");
    case UNKNOWN_CHECK: return fail(s, "its kind of checksum is not known");
    default: return fail(s, "its bytes are not as they were packed");
    }
}

static void close_xz(void *unpacker) {
    lzma.close(unpacker);
    bpt_free(unpacker);
}

// ---- bzip2

typedef struct {
    const uint8_t *next_in;
    unsigned avail_in, total_in[2];
    uint8_t *next_out;
    unsigned avail_out, total_out[2];
    void *internal, *allocate, *release, *opaque;
} bzip2_stream_t;

static struct {
    int (*open)(bzip2_stream_t *stream, int verbosity, int small);
    int (*run)(bzip2_stream_t *stream);
    int (*close)(bzip2_stream_t *stream);
} bzip2;

static bpt_status_t open_bzip2(void **out) {
    BPT_TRY(bpt_alloc(1, sizeof(bzip2_stream_t), out));
    if (!bzip2.open(*out, 0, 0)) return BPT_OK;
    bpt_free(*out);
    return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while unpacking bzip2");
}

static bpt_unpacked_t run_bzip2(void *unpacker, bpt_unpacking_t *s) {
    enum { OK = 0, END = 4, NO_MEMORY = -3, NO_MAGIC = -5 };
    bzip2_stream_t *b = unpacker;
    const unsigned in = at_most(s->in_bytes), room = at_most(s->room);
    b->next_in = s->in, b->avail_in = in, b->next_out = s->out, b->avail_out = room;
    const int result = bzip2.run(b);
    moved(s, in - b->avail_in, room - b->avail_out);
    if (result == OK) return BPT_UNPACK_MORE;
    if (result == END) return BPT_UNPACK_ENDED;
    if (result == NO_MAGIC) return fail(s, "these bytes are not bzip2");
    return result == NO_MEMORY ? BPT_UNPACK_NO_MEMORY : fail(s, "its bytes are not as they were packed");
}

static void close_bzip2(void *unpacker) {
    bzip2.close(unpacker);
    bpt_free(unpacker);
}

// ---- zstd

typedef struct {
    const void *bytes;
    size_t count, at;
} zstd_in_t;
typedef struct {
    void *bytes;
    size_t count, at;
} zstd_out_t;

static struct {
    void *(*open)(void);
    size_t (*run)(void *stream, zstd_out_t *out, zstd_in_t *in);
    size_t (*close)(void *stream);
    unsigned (*is_error)(size_t result);
    const char *(*error_name)(size_t result);
} zstd;

static bpt_status_t open_zstd(void **out) {
    *out = zstd.open();
    return *out ? BPT_OK : bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while unpacking zstd");
}

static bpt_unpacked_t run_zstd(void *unpacker, bpt_unpacking_t *s) {
    zstd_in_t in = {s->in, s->in_bytes, 0};
    zstd_out_t out = {s->out, s->room, 0};
    const size_t result = zstd.run(unpacker, &out, &in);
    moved(s, in.at, out.at);
    if (zstd.is_error(result)) return fail(s, zstd.error_name(result));
    return result ? BPT_UNPACK_MORE : BPT_UNPACK_ENDED;
}

static void close_zstd(void *unpacker) { (void)zstd.close(unpacker); }

// ---- lz4

static struct {
    size_t (*open)(void **context, unsigned version);
    size_t (*run)(void *context, void *out, size_t *room, const void *in, size_t *in_bytes, const void *options);
    size_t (*close)(void *context);
    unsigned (*is_error)(size_t result);
    const char *(*error_name)(size_t result);
} lz4;

static bpt_status_t open_lz4(void **out) {
    enum { FRAME_VERSION = 100 };
    return lz4.is_error(lz4.open(out, FRAME_VERSION)) ? bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while unpacking lz4") : BPT_OK;
}

static bpt_unpacked_t run_lz4(void *unpacker, bpt_unpacking_t *s) {
    size_t in = s->in_bytes, out = s->room;
    const size_t result = lz4.run(unpacker, s->out, &out, s->in, &in, NULL);
    if (lz4.is_error(result)) return fail(s, lz4.error_name(result));
    moved(s, in, out);
    return result ? BPT_UNPACK_MORE : BPT_UNPACK_ENDED;
}

static void close_lz4(void *unpacker) { (void)lz4.close(unpacker); }

// ---- All of them

enum { GZIP, XZ, ZSTD, BZIP2, LZ4, PACKINGS };

static const bpt_packing_t packings[PACKINGS] = {
    [GZIP] = {"gzip", ".gz", open_gzip, run_gzip, close_gzip},  [XZ] = {"xz", ".xz", open_xz, run_xz, close_xz},
    [ZSTD] = {"zstd", ".zst", open_zstd, run_zstd, close_zstd}, [BZIP2] = {"bzip2", ".bz2", open_bzip2, run_bzip2, close_bzip2},
    [LZ4] = {"lz4", ".lz4", open_lz4, run_lz4, close_lz4},
};

typedef struct {
    const char *name;  // NULL after the last
    void *function;    // the address of a pointer to it
} symbol_t;

static const struct {
    const char *variable;
    bpt_library_t library;
    bpt_need_t need;
    symbol_t symbols[6];
} libraries[PACKINGS] = {
    [GZIP] = {"BPT_ZLIB_LIBRARY",
              BPT_LIBRARY_ZLIB,
              BPT_NEED_ZLIB,
              {{"inflateInit2_", &zlib.open}, {"inflate", &zlib.run}, {"inflateEnd", &zlib.close}}},
    [XZ] = {"BPT_LZMA_LIBRARY",
            BPT_LIBRARY_LZMA,
            BPT_NEED_LZMA,
            {{"lzma_stream_decoder", &lzma.open}, {"lzma_code", &lzma.run}, {"lzma_end", &lzma.close}}},
    [ZSTD] = {"BPT_ZSTD_LIBRARY",
              BPT_LIBRARY_ZSTD,
              BPT_NEED_ZSTD,
              {{"ZSTD_createDStream", &zstd.open},
               {"ZSTD_decompressStream", &zstd.run},
               {"ZSTD_freeDStream", &zstd.close},
               {"ZSTD_isError", &zstd.is_error},
               {"ZSTD_getErrorName", &zstd.error_name}}},
    [BZIP2] = {"BPT_BZIP2_LIBRARY",
               BPT_LIBRARY_BZIP2,
               BPT_NEED_BZIP2,
               {{"BZ2_bzDecompressInit", &bzip2.open}, {"BZ2_bzDecompress", &bzip2.run}, {"BZ2_bzDecompressEnd", &bzip2.close}}},
    [LZ4] = {"BPT_LZ4_LIBRARY",
             BPT_LIBRARY_LZ4,
             BPT_NEED_LZ4,
             {{"LZ4F_createDecompressionContext", &lz4.open},
              {"LZ4F_decompress", &lz4.run},
              {"LZ4F_freeDecompressionContext", &lz4.close},
              {"LZ4F_isError", &lz4.is_error},
              {"LZ4F_getErrorName", &lz4.error_name}}},
};

static void *open_library(int which) {
    const char *other = bpt_env_text(libraries[which].variable);
    return other && !strcmp(other, "none") ? NULL : bpt_library_open(libraries[which].library, other);
}

static bool bind(void *library, const symbol_t *s) {
    for (; s->name; ++s) {
        void *function = bpt_library_symbol(library, s->name);
        if (!function) return false;
        memcpy(s->function, &function, sizeof function);
    }
    return true;
}

static bpt_status_t fail_missing(int which, const char *path) {
    const char *variable = libraries[which].variable, *other = bpt_env_text(variable);
    if (other)
        return bpt_fail(BPT_ERR_UNAVAILABLE, "%s is packed by %s, and %s=%s leaves no library to unpack it; name another one, or unset it",
                        path, packings[which].name, variable, other);
    return bpt_fail(BPT_ERR_UNAVAILABLE, "%s is packed by %s, and the library that unpacks it (%s) is missing; %s, or unpack the file",
                    path, packings[which].name, bpt_library_name(libraries[which].library), bpt_platform_remedy(libraries[which].need));
}

bpt_status_t bpt_packing_load(const bpt_packing_t *packing, const char *path) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static bool bound[PACKINGS];
    const int which = (int)(packing - packings);
    pthread_mutex_lock(&mutex);
    if (!bound[which]) {
        void *library = open_library(which);
        bound[which] = library && bind(library, libraries[which].symbols);
    }
    const bool found = bound[which];
    pthread_mutex_unlock(&mutex);
    return found ? BPT_OK : fail_missing(which, path);
}

// ---- Recognising them

typedef struct {
    const char *front;
    uint8_t bytes;
    uint8_t free_byte, mask;  // of this byte only these bits tell; mask 0: all bytes tell
    int packing;              // PACKINGS: none that is read
    const char *what, *remedy;
} magic_t;

static const magic_t magics[] = {
    {"\x1f\x8b", 2, 0, 0, GZIP, NULL, NULL},
    {"\xfd"
     "7zXZ",
     6, 0, 0, XZ, NULL, NULL},
    {"\x28\xb5\x2f\xfd", 4, 0, 0, ZSTD, NULL, NULL},
    {"\x50\x2a\x4d\x18", 4, 0, 0xf0, ZSTD, NULL, NULL},  // a frame to be skipped, with which parallel zstd begins
    {"BZh1\x31\x41\x59\x26\x53\x59", 10, 3, 0xf0, BZIP2, NULL, NULL},
    {"BZh1\x17\x72\x45\x38\x50\x90", 10, 3, 0xf0, BZIP2, NULL, NULL},  // of nothing
    {"\x04\x22\x4d\x18", 4, 0, 0, LZ4, NULL, NULL},
    {"PK\x03\x04", 4, 0, 0, PACKINGS, "a zip archive of files", "unzip"},
    {"7z\xbc\xaf\x27\x1c", 6, 0, 0, PACKINGS, "a 7z archive of files", "7z x"},
    {"\x1f\x9d", 2, 0, 0, PACKINGS, "packed by compress", "gunzip"},
    {"LZIP\x01", 5, 0, 0, PACKINGS, "packed by lzip", "lzip -d"},
};

static bool agrees(const magic_t *m, const uint8_t *front, size_t bytes) {
    for (size_t i = 0; i < bytes && i < m->bytes; ++i) {
        const uint8_t mask = m->mask && i == m->free_byte ? m->mask : 0xff;
        if ((front[i] ^ (uint8_t)m->front[i]) & mask) return false;
    }
    return true;
}

bpt_status_t bpt_packing_of(const char *path, const uint8_t *front, size_t bytes, const bpt_packing_t **out, bool *undecided) {
    *out = NULL;
    *undecided = false;
    for (size_t i = 0; i < BPT_COUNT(magics); ++i) {
        const magic_t *m = &magics[i];
        if (!agrees(m, front, bytes)) continue;
        if (bytes < m->bytes) {
            *undecided = true;
        } else if (m->packing == PACKINGS) {
            return bpt_fail(BPT_ERR_INPUT, "%s is %s, which is not read; unpack it (%s) and name what was in it", path, m->what, m->remedy);
        } else {
            *out = &packings[m->packing];
            return BPT_OK;
        }
    }
    return BPT_OK;
}

size_t bpt_packing_bare(const char *name) {
    const size_t length = strlen(name);
    for (int i = 0; i < PACKINGS; ++i) {
        const size_t end = strlen(packings[i].suffix);
        if (length > end && !strcmp(name + length - end, packings[i].suffix)) return length - end;
    }
    return length;
}
