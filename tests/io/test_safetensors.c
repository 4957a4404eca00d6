// Safetensors files: what is written reads back, conversions, files of other programs, and a table of broken files.
#include <fcntl.h>
#include <math.h>
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
#include "bpt/dtype.h"
#include "bpt/file.h"
#include "bpt/safetensors.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/support.h"

static void what_is_written_reads_back_bit_for_bit(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    const float weights[6] = {1, -0.0f, 3.25f, INFINITY, 1e-40f, -7};
    const int64_t scalar = -5000000000, shape[2] = {2, 3}, empty[2] = {4, 0};
    const uint8_t odd[3] = {1, 2, 255};
    bpt_safetensors_writer_t *w;
    assert_ok(bpt_safetensors_writer_create(test_path("a.safetensors"), &w));
    assert_ok(bpt_safetensors_writer_metadata(w, "format", "bpt"));
    assert_ok(bpt_safetensors_writer_metadata(w, "text", "quotes \" and ü"));
    assert_ok(bpt_safetensors_writer_declare(w, "odd", BPT_ST_U8, 1, (int64_t[]){3}));
    assert_ok(bpt_safetensors_writer_declare(w, "w", BPT_ST_F32, 2, shape));
    assert_ok(bpt_safetensors_writer_declare(w, "empty", BPT_ST_F32, 2, empty));
    assert_ok(bpt_safetensors_writer_declare(w, "step", BPT_ST_I64, 0, NULL));
    assert_ok(bpt_safetensors_writer_data(w, odd, sizeof odd));
    assert_ok(bpt_safetensors_writer_data(w, weights, 10));  // in pieces that split an element
    assert_ok(bpt_safetensors_writer_data(w, (const char *)weights + 10, sizeof weights - 10));
    assert_ok(bpt_safetensors_writer_data(w, &scalar, 8));
    assert_false(bpt_file_exists(test_path("a.safetensors")));
    assert_ok(bpt_safetensors_writer_finish(w));
    bpt_safetensors_writer_destroy(w);

    char *raw = test_read_file(test_path("a.safetensors"), NULL);
    uint64_t header;
    memcpy(&header, raw, 8);
    assert_int_equal(header % 8, 0);
    free(raw);

    bpt_safetensors_t *f;
    assert_ok(bpt_safetensors_open(test_path("a.safetensors"), &f));
    assert_int_equal(bpt_safetensors_count(f), 4);
    assert_string_equal(bpt_safetensors_metadata(f, "format"), "bpt");
    assert_string_equal(bpt_safetensors_metadata(f, "text"), "quotes \" and ü");
    assert_null(bpt_safetensors_metadata(f, "absent"));
    assert_null(bpt_safetensors_find(f, "absent"));
    assert_string_equal(bpt_safetensors_at(f, 0)->name, "odd");
    float got[6];
    const bpt_safetensors_tensor_t *t = bpt_safetensors_find(f, "w");  // at an odd offset
    assert_non_null(t);
    assert_int_equal(t->rank, 2);
    assert_int_equal(t->shape[1], 3);
    assert_ok(bpt_safetensors_read_f32(f, t, 0, 6, got));
    assert_memory_equal(got, weights, sizeof weights);
    assert_ok(bpt_safetensors_read_f32(f, t, 4, 2, got));
    assert_memory_equal(got, weights + 4, 8);
    assert_int_equal(bpt_safetensors_read_f32(f, t, 4, 3, got), BPT_ERR_INTERNAL);
    int64_t step;
    t = bpt_safetensors_find(f, "step");
    assert_int_equal(t->rank, 0);
    assert_ok(bpt_safetensors_read(f, t, 0, 1, &step));
    assert_int_equal(step, scalar);
    assert_int_equal(bpt_safetensors_read_f32(f, t, 0, 1, got), BPT_ERR_INPUT);
    assert_int_equal(bpt_safetensors_find(f, "empty")->count, 0);
    bpt_safetensors_close(f);
    assert_int_equal(bpt_alloc_live(), live);
}

static void halves_and_doubles_become_floats(void **state) {
    (void)state;
    enum { N = 5000 };  // more than one chunk of the conversion
    static uint16_t f16[N], bf16[N];
    static double f64[N];
    static float got[N];
    for (int i = 0; i < N; ++i) {
        f16[i] = bpt_to_f16((float)i / 8);
        bf16[i] = bpt_to_bf16((float)i / 8);
        f64[i] = i * 1.1;
    }
    bpt_safetensors_writer_t *w;
    assert_ok(bpt_safetensors_writer_create(test_path("h.safetensors"), &w));
    assert_ok(bpt_safetensors_writer_declare(w, "f16", BPT_ST_F16, 1, (int64_t[]){N}));
    assert_ok(bpt_safetensors_writer_declare(w, "bf16", BPT_ST_BF16, 1, (int64_t[]){N}));
    assert_ok(bpt_safetensors_writer_declare(w, "f64", BPT_ST_F64, 1, (int64_t[]){N}));
    assert_ok(bpt_safetensors_writer_data(w, f16, sizeof f16));
    assert_ok(bpt_safetensors_writer_data(w, bf16, sizeof bf16));
    assert_ok(bpt_safetensors_writer_data(w, f64, sizeof f64));
    assert_ok(bpt_safetensors_writer_finish(w));
    bpt_safetensors_writer_destroy(w);
    bpt_safetensors_t *f;
    assert_ok(bpt_safetensors_open(test_path("h.safetensors"), &f));
    assert_ok(bpt_safetensors_read_f32(f, bpt_safetensors_find(f, "f16"), 0, N, got));
    for (int i = 0; i < N; ++i) assert_true(got[i] == bpt_from_f16(f16[i]));
    assert_ok(bpt_safetensors_read_f32(f, bpt_safetensors_find(f, "bf16"), 0, N, got));
    for (int i = 0; i < N; ++i) assert_true(got[i] == bpt_from_bf16(bf16[i]));
    assert_ok(bpt_safetensors_read_f32(f, bpt_safetensors_find(f, "f64"), 1, N - 1, got));
    for (int i = 1; i < N; ++i) assert_true(got[i - 1] == (float)f64[i]);
    bpt_safetensors_close(f);
}

// Files of every type of the format open; the numbers of some types can be read.
static void every_type_of_the_format_is_known(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int bytes;  // of eight elements
        bool numbers;
    } types[] = {{"F32", 32, true},     {"F16", 16, true},         {"BF16", 16, true},        {"F64", 64, true},     {"U8", 8, false},
                 {"U16", 16, false},    {"U32", 32, false},        {"U64", 64, false},        {"I8", 8, false},      {"I16", 16, false},
                 {"I32", 32, false},    {"I64", 64, false},        {"BOOL", 8, false},        {"C64", 64, false},    {"F8_E4M3", 8, false},
                 {"F8_E5M2", 8, false}, {"F8_E4M3FNUZ", 8, false}, {"F8_E5M2FNUZ", 8, false}, {"F8_E8M0", 8, false}, {"F6_E2M3", 6, false},
                 {"F6_E3M2", 6, false}, {"F4", 4, false}};
    for (size_t i = 0; i < BPT_COUNT(types); ++i) {
        char bytes[512] = {0}, wanted[128], raw[64];
        const int n = snprintf(bytes + 8, sizeof bytes - 8,
                               "{\"first\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[0,%d]},"
                               "\"next\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[%d,%d]}}",
                               types[i].type, types[i].bytes, types[i].bytes, types[i].bytes + 4);
        const uint64_t length = (uint64_t)n;
        const float next = 1.5f;
        memcpy(bytes, &length, 8);
        memset(bytes + 8 + length, 0x11, (size_t)types[i].bytes);
        memcpy(bytes + 8 + length + (size_t)types[i].bytes, &next, 4);
        test_write_file(test_path("type"), bytes, 8 + length + (size_t)types[i].bytes + 4);
        bpt_safetensors_t *f;
        float got[8];
        assert_ok(bpt_safetensors_open(test_path("type"), &f));
        const bpt_safetensors_tensor_t *t = bpt_safetensors_find(f, "first");
        assert_string_equal(bpt_safetensors_dtype_name(t->dtype), types[i].type);
        assert_int_equal(bpt_safetensors_dtype_bits(t->dtype), types[i].bytes);  // eight elements have as many bytes as one has bits
        assert_int_equal(t->bytes, types[i].bytes);
        assert_ok(bpt_safetensors_read(f, t, 4, 4, raw));
        for (int b = 0; b < types[i].bytes / 2; ++b) assert_int_equal(raw[b], 0x11);
        assert_ok(bpt_safetensors_read_f32(f, bpt_safetensors_find(f, "next"), 0, 1, got));
        assert_true(got[0] == next);
        assert_int_equal(bpt_safetensors_read_f32(f, t, 0, 8, got), types[i].numbers ? BPT_OK : BPT_ERR_INPUT);
        snprintf(wanted, sizeof wanted, "tensor \"first\" has type %s, which is not supported; convert it to F32", types[i].type);
        if (!types[i].numbers) assert_non_null(strstr(bpt_error_message(), wanted));
        assert_int_equal(bpt_safetensors_read(f, t, 1, 1, raw), types[i].bytes % 8 ? BPT_ERR_INTERNAL : BPT_OK);
        bpt_safetensors_close(f);
    }
}

static void writer_refuses_what_it_was_not_told(void **state) {
    (void)state;
    bpt_safetensors_writer_t *w;
    assert_ok(bpt_safetensors_writer_create(test_path("r.safetensors"), &w));
    assert_ok(bpt_safetensors_writer_declare(w, "x", BPT_ST_F32, 1, (int64_t[]){2}));
    assert_int_equal(bpt_safetensors_writer_declare(w, "x", BPT_ST_F32, 1, (int64_t[]){2}), BPT_ERR_INPUT);
    assert_int_equal(bpt_safetensors_writer_declare(w, "__metadata__", BPT_ST_F32, 0, NULL), BPT_ERR_INPUT);
    assert_int_equal(bpt_safetensors_writer_declare(w, "y", BPT_ST_F32, 1, (int64_t[]){-1}), BPT_ERR_INPUT);
    assert_int_equal(bpt_safetensors_writer_declare(w, "y", BPT_ST_F32, 2, (int64_t[]){INT64_MAX, 2}), BPT_ERR_INPUT);
    assert_int_equal(bpt_safetensors_writer_declare(w, "\xff", BPT_ST_F32, 0, NULL), BPT_ERR_INPUT);
    assert_int_equal(bpt_safetensors_writer_metadata(w, "k", "\xff"), BPT_ERR_INPUT);
    const float data[3] = {0};
    assert_ok(bpt_safetensors_writer_data(w, data, 4));
    assert_int_equal(bpt_safetensors_writer_finish(w), BPT_ERR_INTERNAL);
    assert_int_equal(bpt_safetensors_writer_data(w, data, 8), BPT_ERR_INTERNAL);
    assert_int_equal(bpt_safetensors_writer_declare(w, "late", BPT_ST_F32, 0, NULL), BPT_ERR_INTERNAL);
    bpt_safetensors_writer_destroy(w);
    assert_false(bpt_file_exists(test_path("r.safetensors")));
    char **names;
    size_t count;
    assert_ok(bpt_folder_list(test_scratch_dir(), &names, &count));
    for (size_t i = 0; i < count; ++i) assert_true(strncmp(names[i], ".tmp", 4) != 0);
    bpt_names_free(names, count);
}

// ---- broken files: header text, header length (0 = that of the text), bytes of data, and a part of the message

#define ENTRY(name, shape, from, to) "\"" name "\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" #from "," #to "]}"
static const struct {
    const char *what, *header;
    uint64_t length;
    size_t data;
    const char *message;
} broken[] = {
    {"header longer than the file", "{" ENTRY("a", "1", 0, 4) "}", 5000, 4, "longer than the file"},
    {"header over 100 MB", "{}", 100000001, 0, "at most 100 MB"},
    {"header of 2^64 - 1 bytes", "{}", UINT64_MAX, 0, "at most 100 MB"},
    {"a text", "{}", 0x6120747865742061, 0, "it is a text"},
    {"header cut in the middle", "{" ENTRY("a", "1", 0, 4) "}", 20, 4, "not valid JSON"},
    {"empty header", "", 0, 4, "does not begin with {"},
    {"not JSON", "hello world, this is text", 0, 0, "does not begin with {"},
    {"array as header", "[1,2]", 0, 0, "does not begin with {"},
    {"blank before the header", " {}", 0, 0, "does not begin with {"},
    {"text after the header", "{} x", 0, 0, "not valid JSON"},
    {"invalid UTF-8", "{\"a\xff\":1}", 0, 0, "unable to decode"},
    {"nested too deep", "{\"a\":[[[[[[[[[[[", 0, 0, "not valid JSON"},
    {"duplicate name", "{" ENTRY("a", "1", 0, 4) "," ENTRY("a", "1", 4, 8) "}", 0, 8, "duplicate"},
    {"duplicate key", "{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 0, 4, "duplicate"},
    {"entry is a number", "{\"a\":1}", 0, 4, "not an object"},
    {"unknown key", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"strides\":[1]}}", 0, 4, "unknown key \"strides\""},
    {"no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 0, 4, "\"dtype\" is missing"},
    {"unknown dtype", "{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 0, 4, "unknown dtype \"F31\""},
    {"type of a later format", "{\"a\":{\"dtype\":\"F8_E3M4\",\"shape\":[4],\"data_offsets\":[0,4]}}", 0, 4, "unknown dtype \"F8_E3M4\""},
    {"type in small letters", "{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 0, 4, "unknown dtype \"f32\""},
    {"three elements of 4 bits", "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 0, 2,
     "3 elements of 4 bits do not fill whole bytes"},
    {"two elements of 6 bits", "{\"a\":{\"dtype\":\"F6_E2M3\",\"shape\":[2],\"data_offsets\":[0,2]}}", 0, 2,
     "2 elements of 6 bits do not fill whole bytes"},
    {"a byte for each element of 4 bits", "{\"a\":{\"dtype\":\"F4\",\"shape\":[4],\"data_offsets\":[0,4]}}", 0, 4, "need 2"},
    {"bits overflow 64 bits", "{\"a\":{\"dtype\":\"F4\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]}}", 0, 0, "too large"},
    {"no shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 0, 4, "\"shape\" is missing"},
    {"negative size", "{" ENTRY("a", "-1", 0, 4) "}", 0, 4, "not a size"},
    {"fractional size", "{" ENTRY("a", "1.0", 0, 4) "}", 0, 4, "not a size"},
    {"nine dimensions", "{" ENTRY("a", "1,1,1,1,1,1,1,1,1", 0, 4) "}", 0, 4, "at most 8"},
    {"shape overflows 64 bits", "{" ENTRY("a", "4294967296,4294967296", 0, 0) "}", 0, 0, "too large"},
    {"bytes overflow 64 bits", "{" ENTRY("a", "4611686018427387904", 0, 0) "}", 0, 0, "too large"},
    {"hidden overflow behind a zero", "{" ENTRY("a", "0,4294967296,4294967296", 0, 0) "}", 0, 0, "too large"},
    {"integer over 64 bits", "{" ENTRY("a", "99999999999999999999", 0, 4) "}", 0, 4, "not valid JSON"},
    {"no offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, 4, "\"data_offsets\" is missing"},
    {"three offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 0, 8, "\"data_offsets\" is missing"},
    {"offset is a text", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[\"0\",4]}}", 0, 4, "\"data_offsets\" is missing"},
    {"offsets out of range", "{" ENTRY("a", "2", 0, 8) "}", 0, 4, "not inside"},
    {"offsets far out of range", "{" ENTRY("a", "1", 9223372036854775803, 9223372036854775807) "}", 0, 4, "not inside"},
    {"offsets backwards", "{" ENTRY("a", "1", 4, 0) "}", 0, 4, "not inside"},
    {"negative offset", "{" ENTRY("a", "1", -4, 0) "}", 0, 4, "not inside"},
    {"bytes do not match the shape", "{" ENTRY("a", "2", 0, 4) "}", 0, 4, "need 8"},
    {"overlap", "{" ENTRY("a", "2", 0, 8) "," ENTRY("b", "2", 4, 12) "}", 0, 12, "overlap"},
    {"two tensors at one place", "{" ENTRY("a", "2", 0, 8) "," ENTRY("b", "2", 0, 8) "}", 0, 8, "overlap"},
    {"gap", "{" ENTRY("a", "1", 0, 4) "," ENTRY("b", "1", 8, 12) "}", 0, 12, "gap of 4"},
    {"gap at the start", "{" ENTRY("a", "1", 4, 8) "}", 0, 8, "gap of 4"},
    {"bytes after the last tensor", "{" ENTRY("a", "1", 0, 4) "}", 0, 5, "1 bytes after"},
    {"data without tensors", "{}", 0, 16, "16 bytes after"},
    {"metadata is an array", "{\"__metadata__\":[]}", 0, 0, "not an object"},
    {"metadata value is a number", "{\"__metadata__\":{\"epoch\":3}}", 0, 0, "metadata \"epoch\" is not a text"},
};

static void every_broken_file_is_refused_with_its_reason(void **state) {
    (void)state;
    const size_t live = bpt_alloc_live();
    for (size_t i = 0; i < BPT_COUNT(broken); ++i) {
        char bytes[1024] = {0};
        const size_t text = strlen(broken[i].header);
        const uint64_t length = broken[i].length ? broken[i].length : text;
        memcpy(bytes, &length, 8);
        memcpy(bytes + 8, broken[i].header, text);
        const char *path = test_path("broken.safetensors");
        test_write_file(path, bytes, 8 + text + broken[i].data);
        bpt_safetensors_t *f = NULL;
        const bpt_status_t status = bpt_safetensors_open(path, &f);
        if (status != BPT_ERR_INPUT || !strstr(bpt_error_message(), broken[i].message) || !strstr(bpt_error_message(), path))
            fail_msg("%s: %s: %s", broken[i].what, bpt_status_name(status), bpt_error_message());
    }
    assert_int_equal(bpt_alloc_live(), live);
}

static void every_truncation_of_a_file_is_refused(void **state) {
    (void)state;
    const char *header = "{" ENTRY("a", "1", 0, 4) "," ENTRY("b", "2", 4, 12) "}";
    char bytes[256];
    const uint64_t length = strlen(header);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    memset(bytes + 8 + length, 0, 12);
    bpt_safetensors_t *f;
    for (size_t size = 0; size < 8 + length + 12; ++size) {
        test_write_file(test_path("cut"), bytes, size);
        assert_int_equal(bpt_safetensors_open(test_path("cut"), &f), BPT_ERR_INPUT);
    }
    test_write_file(test_path("cut"), bytes, 8 + length + 12);
    assert_ok(bpt_safetensors_open(test_path("cut"), &f));
    // A file that shrinks after it was opened is an error too, not a crash.
    test_write_file(test_path("cut"), bytes, 8 + length + 2);
    float x[2];
    assert_int_equal(bpt_safetensors_read(f, bpt_safetensors_find(f, "b"), 0, 2, x), BPT_ERR_INPUT);
    bpt_safetensors_close(f);
}

static void places_beyond_4_gib_are_read(void **state) {
    (void)state;
    const char *header = "{\"big\":{\"dtype\":\"U8\",\"shape\":[5368709120],\"data_offsets\":[0,5368709120]},"
                         "\"tail\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[5368709120,5368709128]}}";
    const uint64_t length = strlen(header), data = 8 + length;
    const float wanted[2] = {1.5f, -2};
    const int fd = open(test_path("large"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(pwrite(fd, &length, 8, 0) + pwrite(fd, header, length, 8), 8 + length);
    if (ftruncate(fd, (off_t)(data + 5368709128)) || pwrite(fd, wanted, 8, (off_t)(data + 5368709120)) != 8) {
        print_message("no room for a sparse file of 5 GiB: left out\n");
        close(fd);
        unlink(test_path("large"));
        skip();
    }
    assert_int_equal(pwrite(fd, "z", 1, (off_t)(data + 4294967299)), 1);
    close(fd);
    bpt_safetensors_t *f;
    float got[2];
    char byte = 0;
    assert_ok(bpt_safetensors_open(test_path("large"), &f));
    assert_ok(bpt_safetensors_read_f32(f, bpt_safetensors_find(f, "tail"), 0, 2, got));
    assert_memory_equal(got, wanted, 8);
    assert_ok(bpt_safetensors_read(f, bpt_safetensors_find(f, "big"), 4294967299, 1, &byte));
    assert_int_equal(byte, 'z');
    bpt_safetensors_close(f);
    unlink(test_path("large"));
}

static void what_is_no_file_is_refused(void **state) {
    (void)state;
    bpt_safetensors_t *f;
    assert_int_equal(bpt_safetensors_open(test_path("absent"), &f), BPT_ERR_IO);
    assert_int_equal(bpt_safetensors_open(test_scratch_dir(), &f), BPT_ERR_IO);
}

static void failing_allocations_leak_nothing(void **state) {
    (void)state;
    const char *header = "{" ENTRY("a", "1", 0, 4) "}";
    char bytes[256];
    const uint64_t length = strlen(header);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    test_write_file(test_path("ok"), bytes, 8 + length + 4);
    const size_t live = bpt_alloc_live();
    bpt_status_t status = BPT_ERR_NO_MEMORY;
    for (size_t nth = 1; status != BPT_OK; ++nth) {
        bpt_safetensors_t *f = NULL;
        bpt_alloc_fail_after(nth);
        status = bpt_safetensors_open(test_path("ok"), &f);
        bpt_alloc_fail_after(0);
        if (status == BPT_OK)
            bpt_safetensors_close(f);
        else
            assert_int_equal(status, BPT_ERR_NO_MEMORY);
        assert_int_equal(bpt_alloc_live(), live);
    }
}

static void files_of_other_programs_are_read(void **state) {
    (void)state;
    if (!test_shared_dir()) skip();
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/golden", test_shared_dir());
    char **names;
    size_t count, read = 0;
    assert_ok(bpt_folder_list(folder, &names, &count));
    for (size_t i = 0; i < count; ++i) {
        if (!strstr(names[i], ".safetensors")) continue;
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        bpt_safetensors_t *f;
        assert_ok(bpt_safetensors_open(path, &f));
        if (!strstr(names[i], ".grad.")) assert_string_equal(bpt_safetensors_metadata(f, "format"), "bpt");
        for (size_t t = 0; t < bpt_safetensors_count(f); ++t) {
            const bpt_safetensors_tensor_t *tensor = bpt_safetensors_at(f, t);
            float *data = calloc((size_t)tensor->count, sizeof *data);
            assert_ok(bpt_safetensors_read_f32(f, tensor, 0, tensor->count, data));
            for (int64_t e = 0; e < tensor->count; ++e) assert_true(isfinite(data[e]));
            free(data);
        }
        bpt_safetensors_close(f);
        ++read;
    }
    bpt_names_free(names, count);
    assert_true(read > 0);
}

// Whether all of it was read before, in order or not, or nothing.
static void the_checksum_of_a_file_is_that_of_its_bytes(void **state) {
    (void)state;
    static float values[50000];
    for (size_t i = 0; i < BPT_COUNT(values); ++i) values[i] = (float)i;
    const char *path = test_path("summed.safetensors");
    bpt_safetensors_writer_t *w;
    assert_ok(bpt_safetensors_writer_create(path, &w));
    assert_ok(bpt_safetensors_writer_metadata(w, "format", "bpt"));
    assert_ok(bpt_safetensors_writer_declare(w, "a", BPT_ST_F32, 1, (int64_t[]){20000}));
    assert_ok(bpt_safetensors_writer_declare(w, "b", BPT_ST_F32, 1, (int64_t[]){30000}));
    assert_ok(bpt_safetensors_writer_data(w, values, sizeof values));
    assert_ok(bpt_safetensors_writer_finish(w));
    const bpt_checksum_t written = bpt_safetensors_writer_checksum(w);
    bpt_safetensors_writer_destroy(w);

    size_t length;
    char *bytes = test_read_file(path, &length);
    const bpt_checksum_t whole = bpt_checksum_of(bytes, length);
    bpt_checksum_t sum;
    free(bytes);
    assert_true(bpt_checksum_equal(&written, &whole));
    assert_ok(bpt_checksum_read(path, &sum));
    assert_true(bpt_checksum_equal(&sum, &whole));
    static const struct {
        const char *tensor;
        int64_t first, count;
    } reads[][3] = {
        {{"a", 0, 20000}, {"b", 0, 10000}, {"b", 10000, 20000}}, {{"b", 5, 7}, {"a", 0, 20000}, {"b", 0, 3}}, {{"b", 0, 30000}}, {{0}}};
    for (size_t c = 0; c < BPT_COUNT(reads); ++c) {
        bpt_safetensors_t *f;
        assert_ok(bpt_safetensors_open_hashed(path, &f));
        for (int i = 0; i < 3 && reads[c][i].tensor; ++i)
            assert_ok(bpt_safetensors_read(f, bpt_safetensors_find(f, reads[c][i].tensor), reads[c][i].first, reads[c][i].count, values));
        assert_ok(bpt_safetensors_checksum(f, &sum));
        assert_true(bpt_checksum_equal(&sum, &whole));
        bpt_safetensors_close(f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back_bit_for_bit),      cmocka_unit_test(halves_and_doubles_become_floats),
        cmocka_unit_test(writer_refuses_what_it_was_not_told),         cmocka_unit_test(every_broken_file_is_refused_with_its_reason),
        cmocka_unit_test(every_truncation_of_a_file_is_refused),       cmocka_unit_test(places_beyond_4_gib_are_read),
        cmocka_unit_test(what_is_no_file_is_refused),  cmocka_unit_test(failing_allocations_leak_nothing),
        cmocka_unit_test(every_type_of_the_format_is_known),           cmocka_unit_test(files_of_other_programs_are_read),
        cmocka_unit_test(the_checksum_of_a_file_is_that_of_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
