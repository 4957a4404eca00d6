// Packed texts: read as what was packed, or refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bpt/alloc.h"
#include "data/examples/split.h"
#include "data/text/input.h"
#include "data/text/packings.h"
#include "data/text/text.h"
#include "packed_texts.h"
#include "packed_zeros.h"
#include "support/check.h"
#include "support/scratch.h"

static char text[PACKED_BYTES + 1];

static int make_text(void **state) {
    (void)state;
    packed_text(text);
    return 0;
}

// Whether the library of a packing is here; a machine may lack it.
static bool have(size_t i) {
    const bpt_packing_t *packing;
    bool undecided;
    assert_ok(bpt_packing_of("front", packed_texts[i].bytes, BPT_PACKING_LOOK, &packing, &undecided));
    assert_non_null(packing);
    assert_string_equal(packing->name, packed_texts[i].name);
    const bool here = bpt_packing_load(packing, "front") == BPT_OK;
    if (!here) print_message("%s is left out: %s\n", packed_texts[i].name, bpt_error_message());
    return here;
}

static const char *write_packed(const void *bytes, size_t count) {
    const char *path = test_path("file");  // its name says nothing
    test_write_file(path, bytes, count);
    return path;
}

static void expect_text(const char *path, size_t times) {
    bpt_text_t *read;
    assert_ok(bpt_text_open(path, &read));
    const bpt_range_t range = bpt_text_range(read);
    assert_int_equal(range.bytes, times * PACKED_BYTES);
    for (size_t i = 0; i < times; ++i) assert_memory_equal(range.data + i * PACKED_BYTES, text, PACKED_BYTES);
    bpt_text_close(read);
}

static void a_missing_library_is_said(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(packed_texts); ++i) {
        char message[64];
        bpt_text_t *read;
        setenv(packed_texts[i].variable, "none", 1);
        snprintf(message, sizeof message, "packed by %s, and %s=none leaves no library", packed_texts[i].name, packed_texts[i].variable);
        assert_fails(bpt_text_open(write_packed(packed_texts[i].bytes, packed_texts[i].count), &read), BPT_ERR_UNAVAILABLE, message);
        unsetenv(packed_texts[i].variable);
    }
}

static void packed_texts_are_known_by_their_bytes(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(packed_texts); ++i)
        if (have(i)) expect_text(write_packed(packed_texts[i].bytes, packed_texts[i].count), 1);
    assert_int_equal(bpt_alloc_live(), live);
}

static void rooms_of_all_sizes_give_the_same_bytes(void **state) {
    (void)state;
    static const size_t rooms[] = {1, 7, 4096, 65536, 1 << 20};
    char *out;
    assert_ok(bpt_alloc(1 << 20, 1, &out));
    for (size_t i = 0; i < BPT_COUNT(packed_texts) * BPT_COUNT(rooms); ++i) {
        const size_t p = i % BPT_COUNT(packed_texts), room = rooms[i / BPT_COUNT(packed_texts)];
        bpt_input_t *input;
        size_t at = 0, got = 1;
        if (!have(p)) continue;
        assert_ok(bpt_input_open(write_packed(packed_texts[p].bytes, packed_texts[p].count), &input));
        while (got) {
            assert_ok(bpt_input_read(input, out, room, &got));
            assert_true(at + got <= PACKED_BYTES);
            assert_memory_equal(out, text + at, got);
            at += got;
        }
        assert_int_equal(at, PACKED_BYTES);
        bpt_input_close(input);
    }
    bpt_free(out);
}

static void blocks_number_the_lines_of_the_text(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(packed_texts); ++i) {
        bpt_text_blocks_t *blocks;
        uint64_t lines = 0;
        if (!have(i)) continue;
        assert_ok(bpt_text_blocks_open(write_packed(packed_texts[i].bytes, packed_texts[i].count), 1000, &blocks));
        for (bool end = false; !end;) {
            bpt_range_t rest, line;
            assert_ok(bpt_text_blocks_next(blocks, &rest, &end));
            while (!end && bpt_range_next_line(&rest, &line)) {
                assert_int_equal(line.line, ++lines);
                assert_memory_equal(line.data, text + (lines - 1) * 32, 31);
            }
        }
        assert_int_equal(lines, PACKED_LINES);
        bpt_text_blocks_close(blocks);
    }
}

// As of a slow sender, byte by byte.
static void a_packed_pipe_is_a_text_too(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(packed_texts); ++i) {
        int ends[2];
        char path[64], out[1 << 12];
        bpt_input_t *input;
        size_t at = 0;
        if (!have(i)) continue;
        assert_int_equal(pipe(ends), 0);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        assert_ok(bpt_input_open(path, &input));
        assert_false(bpt_input_ready(input));
        for (size_t byte = 0; byte < packed_texts[i].count; ++byte) assert_int_equal(write(ends[1], packed_texts[i].bytes + byte, 1), 1);
        close(ends[1]);
        for (size_t got = 1; got; at += got) {
            assert_ok(bpt_input_read(input, out, sizeof out, &got));
            assert_memory_equal(out, text + at, got);
        }
        assert_int_equal(at, PACKED_BYTES);
        bpt_input_close(input);
        close(ends[0]);
    }
}

// As `cat a.gz b.gz` makes them, and as tapes and blocks end.
static void streams_behind_one_another_are_one_text(void **state) {
    (void)state;
    for (size_t i = 0; i < BPT_COUNT(packed_texts); ++i) {
        uint8_t bytes[4096] = {0};
        const size_t count = packed_texts[i].count;
        bpt_text_t *read;
        if (!have(i)) continue;
        memcpy(bytes, packed_texts[i].bytes, count);
        memcpy(bytes + count, packed_texts[i].bytes, count);
        expect_text(write_packed(bytes, 2 * count), 2);
        expect_text(write_packed(bytes, 2 * count + 512), 2);
        memcpy(bytes + 2 * count, "and something else", 18);
        assert_fails(bpt_text_open(write_packed(bytes, 2 * count + 18), &read), BPT_ERR_INPUT, "line 6001 of what is unpacked");
    }
}

static void a_cut_file_is_never_a_shorter_text(void **state) {
    (void)state;
    enum { FRONT = 10 };  // too short to tell what it is
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(packed_texts); ++i)
        for (size_t count = FRONT; have(i) && count < packed_texts[i].count; count += 5) {
            bpt_text_t *read;
            assert_fails(bpt_text_open(write_packed(packed_texts[i].bytes, count), &read), BPT_ERR_INPUT, "data are cut off here; fetch");
        }
    assert_int_equal(bpt_alloc_live(), live);
}

static void a_changed_bit_is_never_another_text(void **state) {
    (void)state;
    enum { MAGIC = 10 };  // without it a file is what it is
    for (size_t i = 0; i < BPT_COUNT(packed_texts); ++i) {
        size_t refused = 0;
        for (size_t bit = 8 * MAGIC; have(i) && bit < 8 * packed_texts[i].count; bit += 13) {
            uint8_t bytes[1024];
            bpt_text_t *read;
            memcpy(bytes, packed_texts[i].bytes, packed_texts[i].count);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            const char *path = write_packed(bytes, packed_texts[i].count);
            if (bpt_text_open(path, &read) == BPT_OK) {  // a bit that means nothing, such as one of the date
                assert_int_equal(bpt_text_range(read).bytes, PACKED_BYTES);
                assert_memory_equal(bpt_text_range(read).data, text, PACKED_BYTES);
                bpt_text_close(read);
            } else {
                ++refused;
            }
        }
        if (have(i)) assert_true(refused > packed_texts[i].count / 4);
    }
}

static const char *write_zeros(size_t packing, size_t times) {
    const size_t count = packed_zeros[packing].count;
    uint8_t *bytes;
    assert_ok(bpt_alloc(times, count, &bytes));
    for (size_t i = 0; i < times; ++i) memcpy(bytes + i * count, packed_zeros[packing].bytes, count);
    const char *path = write_packed(bytes, times * count);
    bpt_free(bytes);
    return path;
}

// A small file that would fill memory and disk is left as soon as it is known; one of 64 MiB is a text, however small it was packed.
static void a_file_that_becomes_far_more_is_refused(void **state) {
    (void)state;
    enum { SMALL = 64 << 20, MOST = 1 << 30 };
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(packed_texts); ++i) {
        bpt_text_t *read;
        char message[96];
        if (!have(i)) continue;
        assert_ok(bpt_text_open(write_zeros(i, SMALL / ZEROS_BYTES), &read));
        assert_int_equal(bpt_text_range(read).bytes, SMALL);
        bpt_text_close(read);
        snprintf(message, sizeof message, "of %s data have become 64 MiB, more than 200 times as much", packed_texts[i].name);
        assert_fails(bpt_text_open(write_zeros(i, MOST / ZEROS_BYTES), &read), BPT_ERR_INPUT, message);
        assert_non_null(strstr(bpt_error_message(), "line 1 of what is unpacked"));
    }
    assert_int_equal(bpt_alloc_live(), live);
}

static void nothing_packed_is_an_empty_file(void **state) {
    (void)state;
    static const uint8_t gzip[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t bzip2[] = {0x42, 0x5a, 0x68, 0x39, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0, 0, 0, 0};
    bpt_text_t *read;
    if (have(0)) assert_fails(bpt_text_open(write_packed(gzip, sizeof gzip), &read), BPT_ERR_INPUT, "is empty");
    if (have(3)) assert_fails(bpt_text_open(write_packed(bzip2, sizeof bzip2), &read), BPT_ERR_INPUT, "is empty");
}

static void archives_of_files_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *front, *message;
    } cases[] = {
        {"PK\x03\x04 and more", "is a zip archive of files, which is not read; unpack it (unzip)"},
        {"7z\xbc\xaf\x27\x1c and more", "is a 7z archive of files"},
        {"\x1f\x9d and more", "is packed by compress, which is not read; unpack it (gunzip)"},
        {"LZIP\x01 and more", "is packed by lzip"},
    };
    bpt_text_t *read;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i)
        assert_fails(bpt_text_open(write_packed(cases[i].front, strlen(cases[i].front)), &read), BPT_ERR_INPUT, cases[i].message);
}

static void a_tar_is_refused_packed_or_not(void **state) {
    (void)state;
    enum { BLOCK = 512 };
    uint8_t file[10 + 5 + BLOCK] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0, 2, 0xff, 0xfd};  // gzip of one stored block
    bpt_text_t *read;
    memcpy(file + 15, "train.txt", 9);
    memcpy(file + 15 + 257, "ustar", 5);
    if (have(0)) assert_fails(bpt_text_open(write_packed(file, sizeof file), &read), BPT_ERR_INPUT, "is a tar archive of files");
    assert_fails(bpt_text_open(write_packed(file + 15, BLOCK), &read), BPT_ERR_INPUT, "is a tar archive of files");
}

static void texts_that_begin_like_packed_ones_are_texts(void **state) {
    (void)state;
    static const char *const texts[] = {"B",
                                        "BZ",
                                        "BZh",
                                        "BZhang went home",
                                        "P",
                                        "PKs",
                                        "7z\n",
                                        "LZIP is a word",
                                        "_*M",
                                        "\xfd"
                                        "7z"};
    for (size_t i = 0; i < BPT_COUNT(texts); ++i) {
        bpt_text_t *read;
        assert_ok(bpt_text_open(write_packed(texts[i], strlen(texts[i])), &read));
        assert_int_equal(bpt_text_range(read).bytes, strlen(texts[i]));
        assert_memory_equal(bpt_text_range(read).data, texts[i], strlen(texts[i]));
        bpt_text_close(read);
    }
}

// A line is given as soon as it is there.
static void what_is_sent_waits_for_no_more(void **state) {
    (void)state;
    static const char *const sent[] = {"B\n", "a\n", "\n", "PK\n"};
    for (size_t i = 0; i < BPT_COUNT(sent); ++i) {
        int ends[2];
        char path[64], out[8];
        bpt_input_t *input;
        size_t got;
        assert_int_equal(pipe(ends), 0);
        snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
        assert_int_equal(write(ends[1], sent[i], strlen(sent[i])), strlen(sent[i]));
        assert_ok(bpt_input_open(path, &input));
        assert_ok(bpt_input_read(input, out, sizeof out, &got));  // its writer is still there
        assert_int_equal(got, strlen(sent[i]));
        assert_false(bpt_input_ready(input));
        bpt_input_close(input);
        close(ends[0]);
        close(ends[1]);
    }
}

static void names_of_packed_files_say_what_they_are(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bpt_format_id_t format;
    } cases[] = {{"a.jsonl.gz", BPT_FORMAT_JSONL},
                 {"a.ndjson.zst", BPT_FORMAT_JSONL},
                 {"a.jsonl.bz2", BPT_FORMAT_JSONL},
                 {"a.jsonl.xz", BPT_FORMAT_JSONL},
                 {"a.jsonl.lz4", BPT_FORMAT_JSONL}};
    bpt_format_id_t format;
    for (size_t i = 0; i < BPT_COUNT(cases); ++i) {
        assert_true(bpt_format_of_file(cases[i].name, &format));
        assert_int_equal(format, cases[i].format);
    }
    assert_false(bpt_format_of_file("a.txt.gz", &format));
    assert_false(bpt_format_of_file("a.jsonl.zip", &format));
    assert_int_equal(bpt_packing_bare("train.txt.gz"), 9);
    assert_int_equal(bpt_packing_bare("train.txt"), 9);
    assert_int_equal(bpt_packing_bare(".gz"), 3);
}

static void packed_parts_of_a_folder_are_found(void **state) {
    (void)state;
    bpt_split_t split;
    const char *folder = test_path("parts");
    if (!have(0) || !have(1) || !have(2)) skip();
    test_make_folder(folder);
    test_write_file(test_path("parts/train.en.gz"), packed_gzip, sizeof packed_gzip);
    test_write_file(test_path("parts/valid.en.xz"), packed_xz, sizeof packed_xz);
    test_write_file(test_path("parts/test.en"), "as it is\n", 9);
    test_write_file(test_path("parts/train.de.zst"), packed_zstd, sizeof packed_zstd);
    assert_ok(bpt_split_open_language(BPT_ONE_PATH(folder), "en", &split));
    assert_int_equal(split.part[BPT_TRAIN].bytes, PACKED_BYTES);
    assert_int_equal(split.part[BPT_VALID].bytes, PACKED_BYTES);
    assert_int_equal(split.part[BPT_TEST].bytes, 9);
    bpt_split_close(&split);
    assert_ok(bpt_split_open_language(BPT_ONE_PATH(folder), "de", &split));
    assert_int_equal(split.part[BPT_TRAIN].bytes, PACKED_BYTES);
    assert_int_equal(split.part[BPT_VALID].bytes, 0);
    bpt_split_close(&split);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_is_said),  // first: a library that is open stays so
        cmocka_unit_test(packed_texts_are_known_by_their_bytes),
        cmocka_unit_test(rooms_of_all_sizes_give_the_same_bytes),
        cmocka_unit_test(blocks_number_the_lines_of_the_text),
        cmocka_unit_test(a_packed_pipe_is_a_text_too),
        cmocka_unit_test(streams_behind_one_another_are_one_text),
        cmocka_unit_test(a_cut_file_is_never_a_shorter_text),
        cmocka_unit_test(a_changed_bit_is_never_another_text),
        cmocka_unit_test(a_file_that_becomes_far_more_is_refused),
        cmocka_unit_test(nothing_packed_is_an_empty_file),
        cmocka_unit_test(archives_of_files_are_refused),
        cmocka_unit_test(a_tar_is_refused_packed_or_not),
        cmocka_unit_test(texts_that_begin_like_packed_ones_are_texts),
        cmocka_unit_test(what_is_sent_waits_for_no_more),
        cmocka_unit_test(names_of_packed_files_say_what_they_are),
        cmocka_unit_test(packed_parts_of_a_folder_are_found),
    };
    return cmocka_run_group_tests_name("packed", tests, make_text, NULL);
}
