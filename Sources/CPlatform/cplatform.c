#define _GNU_SOURCE
#include "cplatform.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int kiosk_thread_setup(const char *name, int fifo_priority) {
    struct sched_param parameters = {.sched_priority = fifo_priority};
    pthread_setname_np(pthread_self(), name);
    return pthread_setschedparam(pthread_self(), fifo_priority > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters);
}

void kiosk_thread_give_way(void) {
    // linux/ioprio.h, which is not in every set of kernel headers.
    enum { WHO_PROCESS = 1, CLASS_IDLE = 3, CLASS_SHIFT = 13 };
    // 0 is the calling thread, although POSIX means the process.
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE << CLASS_SHIFT);
}

void kiosk_tune_malloc(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
}
