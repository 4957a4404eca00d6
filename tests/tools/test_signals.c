// The program's signal handlers write nothing to the stack that they interrupt (tools/bpt/signals.c says why that matters).
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bpt/options/options.h"
#include "tools/bpt/signals.h"

enum { STACK_BYTES = 256 << 10, PATTERN = 0xA5 };

static unsigned char *stack;

// How far down the stack was ever written to.
static size_t untouched(void) {
    size_t n = 0;
    while (n < STACK_BYTES && stack[n] == PATTERN) ++n;
    return n;
}

typedef struct {
    bool installed;
    size_t before, after;
} result_t;

static void *interrupt_itself(void *context) {
    result_t *result = context;
    result->installed = cli_signals_poll("") == BPT_OK;
    pthread_kill(pthread_self(), 0);  // the same call without a signal, for the depth of the call itself
    result->before = untouched();
    pthread_kill(pthread_self(), SIGTERM);
    result->after = untouched();
    return NULL;
}

static void a_handler_leaves_the_interrupted_stack_alone(void **state) {
    (void)state;
    pthread_attr_t attributes;
    pthread_t thread;
    result_t result = {0};
    assert_int_equal(posix_memalign((void **)&stack, 4096, STACK_BYTES), 0);
    memset(stack, PATTERN, STACK_BYTES);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, interrupt_itself, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    free(stack);
    assert_true(result.installed);
    assert_int_equal(cli_interrupted, 1);
    assert_true(result.before > 0 && result.before < STACK_BYTES);
    assert_int_equal(result.after, result.before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_handler_leaves_the_interrupted_stack_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
