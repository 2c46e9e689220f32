#define _GNU_SOURCE
#include "include/sandbox_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/// The child's report.
struct told {
    struct kiosk_sandbox_report report;
    struct kiosk_sandbox_state state;
    bool has_entered;
    long result;
    int error;
};

// ---- Deeds ----

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work_beside(void *count) {
    for (int i = 0; i < 100; i++) {
        char *memory = malloc(10000);
        if (!memory) return NULL;
        memset(memory, i, 10000);
        pthread_mutex_lock(&lock);
        ++*(int *)count;
        pthread_mutex_unlock(&lock);
        free(memory);
    }
    return NULL;
}

static int receive_descriptor(void) {
    char byte;
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (recvmsg(KIOSK_READER_CONTROL, &message, 0) != 1) return -2;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int descriptor = -1;
    if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

static long work(void) {
    pthread_t threads[4];
    int count = 0;
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, work_beside, &count) != 0) return 1;
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    if (count != 400) return 2;
    char *memory = malloc(8 << 20), bytes[16];
    if (!memory) return 3;
    memset(memory, 1, 8 << 20);
    if (!(memory = realloc(memory, 12 << 20))) return 4;
    free(memory);
    struct timespec moment = {0, 1000000};
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes || nanosleep(&moment, NULL) != 0) return 5;
    struct stat status;
    if (fstat(KIOSK_READER_SOURCE, &status) != 0 || status.st_size != sizeof TEST_SANDBOX_SOURCE) return 6;
    if (pread(KIOSK_READER_SOURCE, bytes, sizeof bytes, 0) != sizeof TEST_SANDBOX_SOURCE || strcmp(bytes, TEST_SANDBOX_SOURCE) != 0) return 7;
    if (lseek(KIOSK_READER_SOURCE, 0, SEEK_END) != status.st_size) return 8;
    char *arena = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, KIOSK_READER_ARENA, 0);
    if (arena == MAP_FAILED) return 9;
    arena[0] = 1;
    if (munmap(arena, 4096) != 0) return 10;
    if (send(KIOSK_READER_CONTROL, "a", 1, MSG_NOSIGNAL) != 1 || receive_descriptor() == -2) return 11;
    if (fprintf(stderr, "hello\n") != 6 || isatty(KIOSK_READER_LOG)) return 12;
    if (prctl(PR_SET_NAME, "work", 0, 0, 0) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR) return 13;
    // The filter refuses this call silently
    (void)setpriority(PRIO_PROCESS, 0, 0);
    return 0;
}

static long allocate(void) {
    long megabytes = 0;
    // An optimizing compiler would remove memory that nothing reads
    for (char *volatile memory; megabytes < 100000 && (memory = malloc(1 << 20)); megabytes++) memset(memory, 1, 1 << 20);
    return megabytes;
}

static long receive(void) {
    int first = receive_descriptor(), second = receive_descriptor();
    char bytes[sizeof TEST_SANDBOX_SOURCE];
    if (first >= 0 && (first != KIOSK_READER_GRANTED || pread(first, bytes, sizeof bytes, 0) != sizeof bytes)) return -1;
    return (first >= 0) + (second >= 0);
}

static long fork_with_signals_blocked(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    return fork();
}

static long perform(const struct test_sandbox_trial *trial) {
    const long *a = trial->arguments;
    // Hides the value from the compiler
    void *volatile memory = NULL;
    switch (trial->deed) {
    case TEST_CALL: return syscall(trial->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    case TEST_WORK: return work();
    case TEST_ABORT: abort();
    case TEST_FREE_TWICE:
        memory = malloc(100000);
        free(memory);
        free(memory);
        return 0;
    case TEST_WRITE_NOWHERE: *(volatile char *)memory = 1; return 0;
    case TEST_TRAP: __builtin_trap();
    case TEST_ALLOCATE: return allocate();
    case TEST_FORK: return fork_with_signals_blocked();
    case TEST_RECEIVE: return receive();
    }
    return -1;
}

// ---- The child ----

/// Returns the size of this process's private memory, in bytes.
static uint64_t data_size(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1) pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void run_child(struct told *told, const struct test_sandbox_trial *trial, const int given[5], uint64_t data) {
    // Kills a child that hangs
    alarm(60);
    for (int signal_number = 1; signal_number < 32; signal_number++) {
        if (signal_number != SIGALRM) signal(signal_number, SIG_DFL);
    }
    int moved[5];
    for (int i = 0; i < 5; i++) moved[i] = fcntl(given[i], F_DUPFD, 100);
    for (int i = 0; i < 5; i++) dup2(moved[i], KIOSK_READER_LOG + i);
    struct kiosk_sandbox_limits limits = {.data = data, .grants = trial->grants};
    told->has_entered = kiosk_restrict_process(trial->profile, &limits, &told->state);
    if (told->has_entered && trial->is_filtered) kiosk_filter_calls(trial->profile, &told->report, &told->state);
    if (told->has_entered) {
        errno = 0;
        told->result = perform(trial);
        told->error = errno;
    }
    _exit(0);
}

static int send_descriptor(int socket, int descriptor) {
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {"a", 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

struct test_sandbox_outcome test_in_sandbox(const struct test_sandbox_trial *trial) {
    struct test_sandbox_outcome outcome = {.status = -1};
    int log[2] = {-1, -1}, control[2] = {-1, -1}, memory[3] = {-1, -1, -1};
    struct told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bool is_ready = told != MAP_FAILED && pipe2(log, O_CLOEXEC) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0;
    for (int i = 0; i < 3; i++) {
        memory[i] = memfd_create("trial", MFD_CLOEXEC);
        is_ready = is_ready && memory[i] >= 0 && ftruncate(memory[i], 4096) == 0;
    }
    is_ready = is_ready && ftruncate(memory[2], 0) == 0 && write(memory[2], TEST_SANDBOX_SOURCE, sizeof TEST_SANDBOX_SOURCE) > 0;
    is_ready = is_ready && send_descriptor(control[0], memory[2]) == 0 && send_descriptor(control[0], memory[2]) == 0;
    const int given[5] = {log[1], control[1], memory[0], memory[1], memory[2]};
    uint64_t data = data_size() + ((uint64_t)TEST_SANDBOX_MEGABYTES << 20);
    pid_t child = is_ready ? fork() : -1;
    if (child == 0) run_child(told, trial, given, data);
    outcome.error = errno;
    if (log[1] >= 0) close(log[1]);
    if (child > 0) {
        // Read to the end, which comes when the child ends
        for (size_t length = 0; length < sizeof outcome.log - 1;) {
            ssize_t count = read(log[0], outcome.log + length, sizeof outcome.log - 1 - length);
            if (count <= 0 && (count == 0 || errno != EINTR)) break;
            length += count > 0 ? (size_t)count : 0;
        }
        while (waitpid(child, &outcome.status, 0) < 0 && errno == EINTR) {}
        outcome.result = told->result, outcome.error = told->error;
        outcome.has_entered = told->has_entered;
        outcome.state = told->state;
        outcome.refusals = kiosk_sandbox_refusals(&told->report);
    }
    const int left[] = {log[0], control[0], control[1], memory[0], memory[1], memory[2]};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        if (left[i] >= 0) close(left[i]);
    }
    if (told != MAP_FAILED) munmap(told, sizeof *told);
    return outcome;
}

int test_unlisted_call(size_t index) {
    static const int calls[] = {SYS_getppid, SYS_mknodat, SYS_unlinkat, SYS_umask};
    return index < sizeof calls / sizeof *calls ? calls[index] : -1;
}

bool test_is_sanitized(void) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#endif
#endif
    return false;
}
