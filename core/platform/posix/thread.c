// Threads (see bpt/thread.h).
#include "bpt/thread.h"

#include <signal.h>

int bpt_thread_start(pthread_t *thread, void *(*work)(void *user), void *user) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, NULL, work, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
