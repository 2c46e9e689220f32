// Counts the uses of a simulated device by all processes, as a kernel would, in memory shared with forked processes.
#pragma once
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

struct process_count {
    _Atomic int pid, used;
};
enum { PROCESS_COUNTS = 64 };
static struct process_count *process_counts;

// Runs in the parent before it forks
__attribute__((constructor)) static void make_process_counts(void) {
    void *memory = mmap(NULL, PROCESS_COUNTS * sizeof *process_counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    process_counts = memory == MAP_FAILED ? NULL : memory;
}

// A process that has ended uses nothing. The sandbox allows this call
static inline int is_alive(int pid) { return pid != 0 && sched_getscheduler(pid) >= 0; }

static inline int used_by_others(void) {
    int sum = 0;
    for (int i = 0; process_counts && i < PROCESS_COUNTS; i++) {
        int pid = process_counts[i].pid;
        if (pid != getpid() && is_alive(pid)) sum += process_counts[i].used;
    }
    return sum;
}

static inline void tell_used(int used) {
    for (int i = 0; process_counts && i < PROCESS_COUNTS; i++) {
        int pid = process_counts[i].pid;
        if (pid != getpid() && (is_alive(pid) || !atomic_compare_exchange_strong(&process_counts[i].pid, &pid, getpid()))) continue;
        process_counts[i].used = used;
        return;
    }
}
