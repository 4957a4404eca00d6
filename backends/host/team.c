// Threads that wait for work (team.h).
#include "backends/host/team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backends/host/openmp.h"
#include "backends/host/processors.h"
#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "bpt/thread.h"

// Waking a thread that sleeps takes 5 to 50 microseconds. A thread that looks as long as that before it sleeps never waits for more than
// twice what the best choice would have cost.
static const double SPIN_SECONDS = 50e-6;
enum { LOOKS = 32 };  // between two looks at the clock

// ---- A number that threads wait for ----------------------------------------------------------------------------------
typedef struct {
    _Alignas(64) atomic_uint value;
    atomic_uint sleepers;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} event_t;

static void event_init(event_t *s) {
    atomic_init(&s->value, 0);
    atomic_init(&s->sleepers, 0);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
}

static void event_clear(event_t *s) {
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->changed);
}

static void event_wake(event_t *s) {
    if (!atomic_load(&s->sleepers)) return;
    pthread_mutex_lock(&s->mutex);  // whoever has seen the old value is asleep by now
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static void event_set(event_t *s, unsigned value) {
    atomic_store(&s->value, value);
    event_wake(s);
}

static inline void look_again(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Waits while the value is `old`; returns the new one.
static unsigned event_wait(event_t *s, unsigned old, bool spins) {
    unsigned value = atomic_load(&s->value);
    for (double end = 0; spins && value == old;) {
        for (int i = 0; i < LOOKS && value == old; ++i, value = atomic_load_explicit(&s->value, memory_order_acquire)) look_again();
        const double now = bpt_clock_seconds();
        if (end == 0) end = now + SPIN_SECONDS;
        spins = now < end;
    }
    if (value != old) return value;
    pthread_mutex_lock(&s->mutex);
    atomic_fetch_add(&s->sleepers, 1);
    while ((value = atomic_load(&s->value)) == old) pthread_cond_wait(&s->changed, &s->mutex);
    atomic_fetch_sub(&s->sleepers, 1);
    pthread_mutex_unlock(&s->mutex);
    return value;
}

// ---- The team --------------------------------------------------------------------------------------------------------
// What a thread has to do. Thread 0 sets CALLED; the thread makes BUSY of it when it begins and FREE when it has ended. Thread 0 may
// take a call back that has not begun.
enum { FREE, CALLED, BUSY, ENDED };

typedef struct {
    event_t call;
    bpt_team_t *team;
    pthread_t thread;
    int number;
    _Alignas(64) atomic_llong next;  // of its part of the indices of bpt_team_for
    int64_t end;
} member_t;

struct bpt_team {
    int threads, started;
    int first;         // of its numbers
    bpt_team_t *next;  // the team with the next numbers
    bool spins;
    // The work in hand.
    bpt_team_work_t *work;
    const void *context;
    int active;
    // bpt_team_barrier
    _Alignas(64) atomic_int arrived;
    event_t round;
    member_t *member;
};

static void *serve(void *argument) {
    member_t *self = argument;
    bpt_team_t *team = self->team;
    bpt_openmp_numbers_t before;
    bpt_openmp_alone(&before);  // a device opens its libraries before its team
    for (unsigned state = FREE; state != ENDED;) {
        state = event_wait(&self->call, FREE, team->spins);
        if (state != CALLED || !atomic_compare_exchange_strong(&self->call.value, &state, BUSY)) continue;
        team->work(team->context, self->number);
        event_set(&self->call, FREE);
    }
    return NULL;
}

static bpt_status_t start(bpt_team_t *team) {
    int error = 0;
    for (int i = 1; i < team->threads && !error; ++i) {
        error = bpt_thread_start(&team->member[i].thread, serve, &team->member[i]);
        if (!error) ++team->started;
    }
    if (!error) return BPT_OK;
    return bpt_fail(BPT_ERR_UNAVAILABLE, "thread %d of %d cannot be started: %s; fewer threads may do (--threads)", team->started + 2,
                    team->threads, strerror(error));
}

// All teams, in the order of their numbers.
static bpt_team_t *teams;
static pthread_mutex_t teams_mutex = PTHREAD_MUTEX_INITIALIZER;

// The first numbers in a row that nobody has.
static void take_numbers(bpt_team_t *team) {
    bpt_team_t **place = &teams;
    pthread_mutex_lock(&teams_mutex);
    for (; *place && (*place)->first - team->first < team->threads; place = &(*place)->next)
        team->first = (*place)->first + (*place)->threads;
    team->next = *place;
    *place = team;
    pthread_mutex_unlock(&teams_mutex);
}

static void give_numbers(bpt_team_t *team) {
    bpt_team_t **place = &teams;
    pthread_mutex_lock(&teams_mutex);
    while (*place != team) place = &(*place)->next;
    *place = team->next;
    pthread_mutex_unlock(&teams_mutex);
}

int bpt_team_numbers(void) {
    int numbers = 0;
    pthread_mutex_lock(&teams_mutex);
    for (const bpt_team_t *t = teams; t; t = t->next) numbers = t->first + t->threads;
    pthread_mutex_unlock(&teams_mutex);
    return numbers;
}

int bpt_team_first(const bpt_team_t *team) { return team->first; }

bpt_status_t bpt_team_create(int threads, bpt_team_t **out) {
    char *memory;
    BPT_TRY(bpt_alloc_aligned(sizeof(bpt_team_t) + (size_t)threads * sizeof(member_t), &memory));
    bpt_team_t *team = (bpt_team_t *)(void *)memory;
    *team = (bpt_team_t){.threads = threads, .member = (member_t *)(void *)(memory + sizeof *team)};
    // With more threads than processors, the one that is waited for may need the processor that the waiting one is on.
    team->spins = threads <= bpt_processors();
    event_init(&team->round);
    for (int i = 0; i < threads; ++i) {
        member_t *m = &team->member[i];
        memset(m, 0, sizeof *m);
        m->team = team, m->number = i;
        event_init(&m->call);
    }
    take_numbers(team);
    const bpt_status_t status = start(team);
    if (status == BPT_OK)
        *out = team;
    else
        bpt_team_destroy(team);
    return status;
}

void bpt_team_destroy(bpt_team_t *team) {
    if (!team) return;
    for (int i = 1; i <= team->started; ++i) event_set(&team->member[i].call, ENDED);
    for (int i = 1; i <= team->started; ++i) pthread_join(team->member[i].thread, NULL);
    for (int i = 0; i < team->threads; ++i) event_clear(&team->member[i].call);
    event_clear(&team->round);
    give_numbers(team);
    bpt_free_aligned((char *)team);
}

int bpt_team_threads(const bpt_team_t *team) { return team->threads; }

static void call_members(bpt_team_t *team, int active, bpt_team_work_t *work, const void *context) {
    team->work = work, team->context = context, team->active = active;
    for (int i = 1; i < active; ++i) event_set(&team->member[i].call, CALLED);
    bpt_openmp_numbers_t before;
    bpt_openmp_alone(&before);
    work(context, 0);
    bpt_openmp_restore(&before);
}

// Waits until thread i has done what it was called for.
static void wait_for(bpt_team_t *team, int i) {
    event_t *s = &team->member[i].call;
    for (unsigned state = atomic_load(&s->value); state != FREE;) state = event_wait(s, state, team->spins);
}

void bpt_team_run(bpt_team_t *team, int threads, bpt_team_work_t *work, const void *context) {
    call_members(team, threads, work, context);
    for (int i = 1; i < threads; ++i) wait_for(team, i);
}

void bpt_team_barrier(bpt_team_t *team) {
    const unsigned round = atomic_load(&team->round.value);
    if (atomic_fetch_add(&team->arrived, 1) + 1 < team->active) {
        event_wait(&team->round, round, team->spins);
    } else {
        atomic_store(&team->arrived, 0);
        event_set(&team->round, round + 1);
    }
}

// ---- Loops -----------------------------------------------------------------------------------------------------------
typedef struct {
    bpt_team_t *team;
    bpt_team_body_t *body;
    const void *context;
} loop_t;

static void run_part(const void *context, int thread) {
    const loop_t *l = context;
    bpt_team_t *team = l->team;
    for (int i = 0; i < team->active; ++i) {  // its own part, then what is left of the others'
        member_t *m = &team->member[(thread + i) % team->active];
        const int64_t end = m->end;
        while (atomic_load_explicit(&m->next, memory_order_relaxed) < end) {
            const int64_t index = atomic_fetch_add_explicit(&m->next, 1, memory_order_relaxed);
            if (index < end) l->body(l->context, index, thread);
        }
    }
}

void bpt_team_for(bpt_team_t *team, int64_t n, bpt_team_body_t *body, const void *context) {
    const int active = n < team->threads ? (int)n : team->threads;
    const loop_t loop = {team, body, context};
    for (int i = 0; i < active; ++i) {
        atomic_store_explicit(&team->member[i].next, n * i / active, memory_order_relaxed);
        team->member[i].end = n * (i + 1) / active;
    }
    if (active) call_members(team, active, run_part, &loop);
    for (int i = 1; i < active; ++i) {
        unsigned called = CALLED;  // one that has not begun finds nothing left to do
        if (!atomic_compare_exchange_strong(&team->member[i].call.value, &called, FREE)) wait_for(team, i);
    }
}
