#define _GNU_SOURCE
#include "cplatform.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>

int kiosk_thread_setup(const char *name, int fifo_priority) {
    struct sched_param parameters = {.sched_priority = fifo_priority};
    pthread_setname_np(pthread_self(), name);
    return pthread_setschedparam(pthread_self(), fifo_priority > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters);
}

void kiosk_tune_malloc(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
}
