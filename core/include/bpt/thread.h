// Threads that are no business of signals.
#ifndef BPT_THREAD_H
#define BPT_THREAD_H

#include <pthread.h>

#include "bpt/base.h"

BPT_BEGIN_DECLS

// As pthread_create with its usual attributes; signals are left to the program's own threads. 0 or an errno value.
BPT_API int bpt_thread_start(pthread_t *thread, void *(*work)(void *user), void *user) BPT_MUST_USE;

BPT_END_DECLS

#endif
