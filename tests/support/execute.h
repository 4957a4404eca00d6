// Runs one op call on a device and watches what it must not do: touch memory outside its outputs, change inputs, depend on
// what was in its outputs or scratch, give other bits the next time.
#ifndef BPT_TEST_EXECUTE_H
#define BPT_TEST_EXECUTE_H

#include "bpt/backend.h"
#include "support/case.h"

typedef enum {
    TEST_ALIGNED,    // every operand at a multiple of 64 bytes
    TEST_UNALIGNED,  // every operand at an odd multiple of its element size: views may begin anywhere
} test_placement_t;

// Runs the call of `c` on the inputs of `data`, `times` times in one recorded list; fails the running test when something of
// the above happens. Outputs, and inputs that the op changes, are written back to `data`. BPT_ERR_UNSUPPORTED comes back as status.
bpt_status_t test_execute(bpt_device_t *device, const test_case_t *c, test_placement_t placement, int times,
                          test_data_t *data) BPT_MUST_USE;

// The same for a call that must work: any error fails the running test.
void test_must_execute(bpt_device_t *device, const test_case_t *c, test_data_t *data);

// Compares outputs and changed inputs under the tolerance of the case; returns the worst error as a fraction of what is
// allowed, and fails the running test when that is above 1.
double test_compare(const char *what, const test_case_t *c, const test_data_t *got, const test_data_t *want);
// Fails the running test when outputs or changed inputs differ in a single bit.
void test_same_bits(const char *what, const test_case_t *c, const test_data_t *got, const test_data_t *want);

// Runs the case on the cpu backend with one to five threads; fails the running test when outputs differ in a single bit.
void test_same_bits_with_any_number_of_threads(const test_case_t *c);

// The distance from |x| to the next value of the type.
double test_spacing(bpt_dtype_t dtype, double x);

// The reference device, opened once, closed at exit.
bpt_device_t *test_ref_device(void);

#endif
