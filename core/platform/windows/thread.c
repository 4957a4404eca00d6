// Threads (see bpt/thread.h): Ctrl-C comes to a thread of the system's.
#include "bpt/thread.h"

int bpt_thread_start(pthread_t *thread, void *(*work)(void *user), void *user) { return pthread_create(thread, NULL, work, user); }
