// Assertions of our own on top of cmocka's (include <cmocka.h> first).
#ifndef BPT_TEST_CHECK_H
#define BPT_TEST_CHECK_H

#include "bpt/status.h"

// The call succeeds; else the test fails with the message of the error.
#define assert_ok(call)                                                       \
    do {                                                                      \
        if ((call) != BPT_OK) fail_msg("%s: %s", #call, bpt_error_message()); \
    } while (0)

// The call fails with this status and a message that holds `part`.
#define assert_fails(call, status, part)                                                                                    \
    do {                                                                                                                    \
        const bpt_status_t check_status = (call);                                                                           \
        if (check_status != (status) || !strstr(bpt_error_message(), (part)))                                               \
            fail_msg("%s: got %s, \"%s\", wanted %s and \"%s\"", #call, bpt_status_name(check_status), bpt_error_message(), \
                     bpt_status_name(status), (part));                                                                      \
    } while (0)

#endif
