// The threads of the cpu backend: loops do every index once, a thread that is held up holds up nobody, a thread that waits sleeps, and
// libraries and signals meet them as one thread.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/host/openmp.h"
#include "backends/host/team.h"
#include "support/check.h"
#include "support/openmp.h"

enum { MOST_THREADS = 9, MOST_ITEMS = 10000 };

static bpt_team_t *make_team(int threads) {
    bpt_team_t *team;
    assert_ok(bpt_team_create(threads, &team));
    assert_int_equal(bpt_team_threads(team), threads);
    return team;
}

static double processor_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void sleep_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

typedef struct {
    atomic_int done[MOST_ITEMS], inside[MOST_THREADS];
    atomic_int twice;  // bodies that ran at the same time with the same thread number
    int threads;
} loop_t;

static void count_index(const void *context, int64_t i, int thread) {
    loop_t *l = (loop_t *)(uintptr_t)context;
    if (thread < 0 || thread >= l->threads || atomic_fetch_add(&l->inside[thread], 1)) atomic_fetch_add(&l->twice, 1);
    atomic_fetch_add(&l->done[i], 1);
    atomic_fetch_sub(&l->inside[thread], 1);
}

static void a_loop_does_every_index_once(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, MOST_ITEMS};
    static loop_t l;
    for (int threads = 1; threads <= MOST_THREADS; ++threads) {
        bpt_team_t *team = make_team(threads);
        for (int repeat = 0; repeat < 50; ++repeat)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
                memset(&l, 0, sizeof l);
                l.threads = threads;
                bpt_team_for(team, sizes[s], count_index, &l);
                assert_int_equal(l.twice, 0);
                for (int64_t i = 0; i < MOST_ITEMS; ++i) assert_int_equal(l.done[i], i < sizes[s]);
                if (repeat % 10 == 0) sleep_ms(1);  // the next loop wakes threads that sleep
            }
        bpt_team_destroy(team);
    }
}

enum { HELD = 100 };

typedef struct {
    atomic_int done;
} held_t;

// Whoever has the index in the middle keeps it until all others are done, those of its own part too.
static void hold_one(const void *context, int64_t i, int thread) {
    (void)thread;
    held_t *h = (held_t *)(uintptr_t)context;
    while (i == HELD / 2 && atomic_load(&h->done) < HELD - 1) sleep_ms(1);
    atomic_fetch_add(&h->done, 1);
}

static void a_thread_that_is_held_up_leaves_its_other_indices_to_the_rest(void **state) {
    (void)state;
    for (int threads = 2; threads <= 4; ++threads) {
        bpt_team_t *team = make_team(threads);
        for (int repeat = 0; repeat < 5; ++repeat) {
            held_t h = {0};
            alarm(60);
            bpt_team_for(team, HELD, hold_one, &h);
            alarm(0);
            assert_int_equal(h.done, HELD);
        }
        bpt_team_destroy(team);
    }
}

enum { ROUNDS = 200 };

typedef struct {
    bpt_team_t *team;
    int threads;
    atomic_int arrived[ROUNDS], early;
} rounds_t;

static void meet(const void *context, int thread) {
    (void)thread;
    rounds_t *r = (rounds_t *)(uintptr_t)context;
    for (int i = 0; i < ROUNDS; ++i) {
        atomic_fetch_add(&r->arrived[i], 1);
        bpt_team_barrier(r->team);
        if (atomic_load(&r->arrived[i]) != r->threads) atomic_fetch_add(&r->early, 1);
    }
}

static void nobody_passes_a_barrier_before_all_have_come(void **state) {
    (void)state;
    bpt_team_t *team = make_team(MOST_THREADS);
    for (int threads = 1; threads <= MOST_THREADS; ++threads) {
        static rounds_t r;
        memset(&r, 0, sizeof r);
        r.team = team, r.threads = threads;
        bpt_team_run(team, threads, meet, &r);
        assert_int_equal(r.early, 0);
        for (int i = 0; i < ROUNDS; ++i) assert_int_equal(r.arrived[i], threads);
    }
    bpt_team_destroy(team);
}

static void sleep_on_the_last(const void *context, int64_t i, int thread) {
    (void)thread;
    if (i == *(const int64_t *)context - 1) sleep_ms(20);
}

// Of processor time, so that other programs make no difference. OpenMP's threads would look for work for most of the two seconds.
static void threads_that_wait_use_no_processor(void **state) {
    (void)state;
    const int threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    bpt_team_t *team = make_team(threads);
    const int64_t items = threads;
    const double before = processor_seconds();
    for (int i = 0; i < 100; ++i) bpt_team_for(team, items, sleep_on_the_last, &items);
    const double used = processor_seconds() - before;
    bpt_team_destroy(team);
    if (used > 0.25 * threads) fail_msg("%d threads that waited two seconds used %.3f s of processors", threads, used);
}

static test_openmp_t openmp;

static void note_openmp(const void *context, int64_t i, int thread) {
    (void)i, (void)thread;
    if (openmp.get_max_threads() == 1) atomic_fetch_add((atomic_int *)(uintptr_t)context, 1);
}

static void libraries_see_one_thread_and_the_caller_keeps_its_own_number(void **state) {
    (void)state;
    openmp = test_openmp();
    bpt_openmp_know(openmp.library);
    openmp.set_num_threads(3);
    bpt_team_t *team = make_team(4);
    atomic_int alone = 0;
    bpt_team_for(team, 1000, note_openmp, &alone);
    assert_int_equal(alone, 1000);
    assert_int_equal(openmp.get_max_threads(), 3);
    bpt_team_destroy(team);
}

static void note_signals(const void *context, int thread) {
    sigset_t mask;
    if (!pthread_sigmask(SIG_SETMASK, NULL, &mask) && sigismember(&mask, SIGINT) == (thread > 0))
        atomic_fetch_add((atomic_int *)(uintptr_t)context, 1);
}

static void signals_go_to_the_caller_not_to_the_team(void **state) {
    (void)state;
    bpt_team_t *team = make_team(4);
    atomic_int right = 0;
    bpt_team_run(team, 4, note_signals, &right);
    assert_int_equal(right, 4);
    bpt_team_destroy(team);
}

static bool overlap(const bpt_team_t *a, const bpt_team_t *b) {
    return bpt_team_first(a) < bpt_team_first(b) + bpt_team_threads(b) && bpt_team_first(b) < bpt_team_first(a) + bpt_team_threads(a);
}

// Teams come and go in any order; numbers that were given back are taken again.
static void no_two_threads_have_the_same_number(void **state) {
    (void)state;
    enum { MOST = 6 };
    bpt_team_t *teams[MOST] = {NULL};
    const int before = bpt_team_numbers();
    for (int turn = 0; turn < 60; ++turn) {
        const int at = turn * 7 % MOST;
        bpt_team_destroy(teams[at]);
        teams[at] = make_team(1 + turn % 4);
        for (int i = 0; i < MOST; ++i) {
            if (!teams[i]) continue;
            assert_true(bpt_team_first(teams[i]) >= 0 && bpt_team_first(teams[i]) + bpt_team_threads(teams[i]) <= bpt_team_numbers());
            for (int k = 0; k < i; ++k)
                if (teams[k]) assert_false(overlap(teams[i], teams[k]));
        }
        assert_true(bpt_team_numbers() <= before + MOST * 8);
    }
    for (int i = 0; i < MOST; ++i) bpt_team_destroy(teams[i]);
    assert_int_equal(bpt_team_numbers(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_threads_have_the_same_number),
        cmocka_unit_test(a_loop_does_every_index_once),
        cmocka_unit_test(a_thread_that_is_held_up_leaves_its_other_indices_to_the_rest),
        cmocka_unit_test(nobody_passes_a_barrier_before_all_have_come),
        cmocka_unit_test(threads_that_wait_use_no_processor),
        cmocka_unit_test(libraries_see_one_thread_and_the_caller_keeps_its_own_number),
        cmocka_unit_test(signals_go_to_the_caller_not_to_the_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
