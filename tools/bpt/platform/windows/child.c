// Work that may crash or hang, in a thread of its own (see tools/bpt/devices/child.h): Windows starts no copy of a process. The thread of a
// crash ends, and one that hangs is left alone; both may hold what later work needs, so that the program does better to end soon. The works
// run one after the other, as drivers are not asked from two threads at once.
#include "tools/bpt/devices/child.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "bpt/alloc.h"
#include "bpt/clock.h"
#include "tools/bpt/options/options.h"
#include "tools/bpt/signals.h"

#include <windows.h>  // last: it defines "near" and "far"

typedef struct {
    cli_child_t child;  // its input and result are copies
    HANDLE thread, input_came, done;
    bool wanted, finished;
    DWORD exception;  // that ended the thread; 0: none
} job_t;

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static DWORD slot = TLS_OUT_OF_INDEXES;  // of each thread: its job

static bool is_crash(DWORD code) {
    return code == EXCEPTION_ACCESS_VIOLATION || code == EXCEPTION_ILLEGAL_INSTRUCTION || code == EXCEPTION_STACK_OVERFLOW ||
           code == EXCEPTION_INT_DIVIDE_BY_ZERO || code == EXCEPTION_IN_PAGE_ERROR || code == EXCEPTION_PRIV_INSTRUCTION;
}

static LONG CALLBACK end_thread(EXCEPTION_POINTERS *pointers) {
    job_t *job = TlsGetValue(slot);
    if (!job || !is_crash(pointers->ExceptionRecord->ExceptionCode)) return EXCEPTION_CONTINUE_SEARCH;
    job->exception = pointers->ExceptionRecord->ExceptionCode;
    pthread_mutex_unlock(&turn);
    SetEvent(job->done);
    ExitThread(1);
}

static DWORD WINAPI work(void *user) {
    job_t *job = user;
    if (job->child.input_bytes) WaitForSingleObject(job->input_came, INFINITE);
    if (!job->wanted) return 0;
    pthread_mutex_lock(&turn);
    TlsSetValue(slot, job);
    job->child.work(job->child.input, job->child.result);
    TlsSetValue(slot, NULL);
    pthread_mutex_unlock(&turn);
    job->finished = true;
    SetEvent(job->done);
    return 0;
}

static bool prepare(void) {
    if (slot != TLS_OUT_OF_INDEXES) return true;
    slot = TlsAlloc();
    return slot != TLS_OUT_OF_INDEXES && AddVectoredExceptionHandler(0, end_thread);
}

static void free_job(job_t *job) {
    if (job->thread) CloseHandle(job->thread);
    if (job->input_came) CloseHandle(job->input_came);
    if (job->done) CloseHandle(job->done);
    if (job->child.input_bytes) bpt_free((void *)job->child.input);
    bpt_free(job->child.result);
    bpt_free(job);
}

bpt_status_t cli_child_start(const cli_child_t *child, cli_running_t *out) {
    job_t *job;
    BPT_TRY(bpt_alloc(1, sizeof *job, &job));
    job->child = *child;
    job->child.input_bytes = 0;
    bpt_status_t status = bpt_alloc(child->result_bytes, 1, &job->child.result);
    if (status == BPT_OK && child->input_bytes) status = bpt_alloc(child->input_bytes, 1, (void *)&job->child.input);
    if (status == BPT_OK) job->child.input_bytes = child->input_bytes;
    job->wanted = !child->input_bytes;
    if (status == BPT_OK) {
        job->input_came = CreateEventA(NULL, TRUE, FALSE, NULL);
        job->done = CreateEventA(NULL, TRUE, FALSE, NULL);
        if (prepare() && job->input_came && job->done) job->thread = CreateThread(NULL, 0, work, job, 0, NULL);
        if (!job->thread) status = bpt_fail(BPT_ERR_IO, "cannot start a thread (error %lu)", GetLastError());
    }
    if (status == BPT_OK)
        *out = (cli_running_t){.shared = job};
    else
        free_job(job);
    return status;
}

void cli_child_send(const cli_child_t *child, const cli_running_t *running, const void *input) {
    job_t *job = running->shared;
    memcpy((void *)job->child.input, input, child->input_bytes);
    job->wanted = true;
    SetEvent(job->input_came);
}

static void explain(int seconds, bool timed_out, DWORD exception, char *why, size_t bytes) {
    if (timed_out)
        snprintf(why, bytes, "did not answer within %d seconds", seconds);
    else
        snprintf(why, bytes, "crashed (exception %08lx)", exception);
}

static bool wait_for(HANDLE done, int seconds) {
    enum { LOOK_MS = 100 };
    for (const double end = bpt_clock_seconds() + seconds; !cli_interrupted && bpt_clock_seconds() < end;)
        if (WaitForSingleObject(done, LOOK_MS) == WAIT_OBJECT_0) return true;
    return WaitForSingleObject(done, 0) == WAIT_OBJECT_0;
}

bool cli_child_wait(const cli_running_t *running, double seconds) {
    const job_t *job = running->shared;
    return WaitForSingleObject(job->done, (DWORD)(seconds * 1000)) == WAIT_OBJECT_0;
}

const void *cli_child_result(const cli_running_t *running) {
    const job_t *job = running->shared;
    return job->child.result;
}

// A thread that still works keeps its job.
bpt_status_t cli_child_finish(const cli_child_t *child, cli_running_t *running, bool *done, char *why, size_t why_bytes) {
    job_t *job = running->shared;
    const bool ended = wait_for(job->done, child->seconds);
    *done = ended && job->finished;
    memcpy(child->result, job->child.result, child->result_bytes);
    if (!*done && !cli_interrupted) explain(child->seconds, !ended, job->exception, why, why_bytes);
    if (ended) {
        WaitForSingleObject(job->thread, INFINITE);
        free_job(job);
    }
    return *done || !cli_interrupted ? BPT_OK : bpt_fail(BPT_ERR_INTERRUPTED, "stopped while a driver was asked");
}

void cli_child_end(const cli_child_t *child, cli_running_t *running) {
    job_t *job = running->shared;
    if (child->input_bytes && !job->wanted) {
        SetEvent(job->input_came);
        WaitForSingleObject(job->thread, INFINITE);
        free_job(job);
    }
}

bpt_status_t cli_child_run(const cli_child_t *child, bool *done, char *why, size_t why_bytes) {
    cli_running_t running;
    BPT_TRY(cli_child_start(child, &running));
    return cli_child_finish(child, &running, done, why, why_bytes);
}
