// Texts as bytes, unpacked on the way (input.h).
#include "data/text/input.h"

#include <string.h>

#include "bpt/alloc.h"
#include "bpt/file.h"
#include "data/text/packings.h"

enum { BUFFER_BYTES = 1 << 16, TAR_AT = 257, HEAD_BYTES = TAR_AT + 5 };
// Texts become 3 to 50 times as small; what is packed to less than this share may be a small file that was made to fill memory and disk.
enum { MOST_RATIO = 200, FREE_BYTES = 64 << 20 };

struct bpt_input {
    bpt_file_reader_t *file;
    char *name;
    uint8_t *buffer;  // of the file: from `at` on `held` bytes that are still to be given or unpacked
    size_t at, held;
    bool looked, ended;            // the first bytes were looked at; the file has ended
    const bpt_packing_t *packing;  // NULL: none
    void *unpacker;                // of the stream that is being unpacked; NULL between two
    bool full;                     // it filled the room that it had, so it may have more
    uint64_t line;                 // of the unpacked text that comes next
    uint64_t packed, unpacked;     // bytes that went into unpackers and came out of them
    uint64_t given;                // bytes of the text so far, up to those of the head
    char head[HEAD_BYTES];         // the first of them
};

bpt_status_t bpt_input_open(const char *path, bpt_input_t **out) {
    const bool standard_input = !strcmp(path, "-");
    bpt_input_t *n;
    BPT_TRY(bpt_alloc(1, sizeof *n, &n));
    n->line = 1;
    bpt_status_t status = bpt_strdup(standard_input ? "standard input" : path, &n->name);
    if (status == BPT_OK) status = bpt_alloc(BUFFER_BYTES, 1, &n->buffer);
    if (status == BPT_OK) status = bpt_file_reader_open(standard_input ? "/dev/stdin" : path, &n->file);
    if (status == BPT_OK)
        *out = n;
    else
        bpt_input_close(n);
    return status;
}

void bpt_input_close(bpt_input_t *n) {
    if (!n) return;
    if (n->unpacker) n->packing->close(n->unpacker);
    bpt_file_reader_close(n->file);
    bpt_free(n->buffer);
    bpt_free(n->name);
    bpt_free(n);
}

const char *bpt_input_name(const bpt_input_t *n) { return n->name; }

bool bpt_input_ready(const bpt_input_t *n) { return n->held || n->full || bpt_file_reader_ready(n->file); }

// More bytes of the file behind those that are held.
static bpt_status_t fill(bpt_input_t *n) {
    size_t got;
    if (!n->held) n->at = 0;
    BPT_TRY(bpt_file_reader_read(n->file, n->buffer + n->at + n->held, BUFFER_BYTES - n->at - n->held, &got));
    n->held += got;
    n->ended = got == 0;
    return BPT_OK;
}

// Reads no further than it takes to tell, so that a line that was typed or sent is not kept waiting for the next one.
static bpt_status_t look(bpt_input_t *n) {
    for (bool undecided = true; undecided && !n->ended;) {
        BPT_TRY(fill(n));
        BPT_TRY(bpt_packing_of(n->name, n->buffer, n->held, &n->packing, &undecided));
    }
    n->looked = true;
    return n->packing ? bpt_packing_load(n->packing, n->name) : BPT_OK;
}

// A tar archive says so behind the name of its first file.
static bpt_status_t refuse_archive(bpt_input_t *n, const void *bytes, size_t count) {
    if (n->given >= HEAD_BYTES) return BPT_OK;
    const size_t room = HEAD_BYTES - (size_t)n->given;
    memcpy(n->head + n->given, bytes, count < room ? count : room);
    n->given += count;
    if (n->given < HEAD_BYTES || memcmp(n->head + TAR_AT, "ustar", 5)) return BPT_OK;
    return bpt_fail(BPT_ERR_INPUT, "%s is a tar archive of files, which is not read; unpack it (tar xf) and name what was in it", n->name);
}

static void take(bpt_input_t *n, size_t bytes) {
    n->at += bytes;
    n->held -= bytes;
}

// ---- Unpacking

static bpt_status_t fail_damaged(const bpt_input_t *n, const char *reason) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu of what is unpacked: the %s data are damaged (%s); fetch or pack the file anew", n->name,
                    (unsigned long long)n->line, n->packing->name, reason);
}

static bpt_status_t fail_cut(const bpt_input_t *n) {
    return bpt_fail(BPT_ERR_INPUT, "%s: line %llu of what is unpacked: the %s data are cut off here; fetch or pack the file anew", n->name,
                    (unsigned long long)n->line, n->packing->name);
}

static bpt_status_t fail_ratio(const bpt_input_t *n) {
    return bpt_fail(BPT_ERR_INPUT,
                    "%s: line %llu of what is unpacked: %llu KiB of %s data have become %llu MiB, more than %d times as much, as of a file that "
                    "is made to fill a disk; if this is your text, unpack it (%s -d) and name the unpacked file",
                    n->name, (unsigned long long)n->line, (unsigned long long)(n->packed + 1023) >> 10, n->packing->name,
                    (unsigned long long)n->unpacked >> 20, MOST_RATIO, n->packing->name);
}

// Whether another stream begins; zeros between or behind streams fill up blocks and mean nothing.
static bpt_status_t next_stream(bpt_input_t *n, bool *end) {
    for (;;) {
        while (n->held && !n->buffer[n->at]) take(n, 1);
        if (n->held || n->ended) break;
        BPT_TRY(fill(n));
    }
    *end = !n->held;
    return *end ? BPT_OK : n->packing->open(&n->unpacker);
}

// One step of the unpacker.
static bpt_status_t step(bpt_input_t *n, uint8_t *out, size_t room, size_t *got) {
    bpt_unpacking_t s = {.in = n->buffer + n->at, .in_bytes = n->held, .out = out, .room = room};
    const bpt_unpacked_t result = n->packing->run(n->unpacker, &s);
    *got = room - s.room;
    const bool idle = s.in_bytes == n->held && !*got;
    n->packed += n->held - s.in_bytes;
    n->unpacked += *got;
    take(n, n->held - s.in_bytes);
    n->full = !s.room;
    if (result == BPT_UNPACK_FAILED) return fail_damaged(n, s.reason);
    if (result == BPT_UNPACK_NO_MEMORY) return bpt_fail(BPT_ERR_NO_MEMORY, "out of host memory while unpacking %s", n->name);
    if (n->unpacked > FREE_BYTES && n->unpacked / MOST_RATIO > n->packed) return fail_ratio(n);
    if (result == BPT_UNPACK_ENDED) {
        n->packing->close(n->unpacker);
        n->unpacker = NULL;
        n->full = false;
    } else if (idle && n->held) {
        return fail_damaged(n, "it goes on without an end");
    } else if (idle && n->ended) {
        return fail_cut(n);
    }
    return BPT_OK;
}

static bpt_status_t unpack(bpt_input_t *n, uint8_t *out, size_t room, size_t *got) {
    bool end = false;
    for (*got = 0; !*got;) {
        if (!n->unpacker) BPT_TRY(next_stream(n, &end));
        if (end) return BPT_OK;
        if (!n->held && !n->ended && !n->full) BPT_TRY(fill(n));
        BPT_TRY(step(n, out, room, got));
    }
    for (size_t i = 0; i < *got; ++i) n->line += out[i] == '\n';
    return BPT_OK;
}

static bpt_status_t read_plain(bpt_input_t *n, void *buffer, size_t room, size_t *got) {
    if (!n->held && !n->ended) return bpt_file_reader_read(n->file, buffer, room, got);
    *got = n->held < room ? n->held : room;
    memcpy(buffer, n->buffer + n->at, *got);
    take(n, *got);
    return BPT_OK;
}

bpt_status_t bpt_input_read(bpt_input_t *n, void *buffer, size_t room, size_t *got) {
    if (!n->looked) BPT_TRY(look(n));
    BPT_TRY(n->packing ? unpack(n, buffer, room, got) : read_plain(n, buffer, room, got));
    return refuse_archive(n, buffer, *got);
}
