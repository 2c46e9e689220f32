#define _GNU_SOURCE
#include "cplatform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// On 32-bit systems with 64-bit times, the call that takes such times.
#if defined(SYS_futex_time64) && defined(_TIME_BITS) && _TIME_BITS == 64 && __SIZEOF_LONG__ == 4
#define FUTEX_CALL SYS_futex_time64
#else
#define FUTEX_CALL SYS_futex
#endif

int kiosk_thread_setup(const char *name, int fifo_priority) {
    struct sched_param parameters = {.sched_priority = fifo_priority};
    pthread_setname_np(pthread_self(), name);
    return pthread_setschedparam(pthread_self(), fifo_priority > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters);
}

void kiosk_thread_give_way(void) {
    // From linux/ioprio.h, which some kernel headers lack.
    enum { WHO_PROCESS = 1, CLASS_IDLE = 3, CLASS_SHIFT = 13 };
    // 0 is the calling thread, although POSIX means the process.
    setpriority(PRIO_PROCESS, 0, 19);
    syscall(SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE << CLASS_SHIFT);
}

void kiosk_thread_come_second(void) {
    enum { WHO_PROCESS = 1, CLASS_BEST_EFFORT = 2, CLASS_SHIFT = 13, LAST = 7 };
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    if (errno == 0) setpriority(PRIO_PROCESS, 0, nice + 10 < 19 ? nice + 10 : 19);
    syscall(SYS_ioprio_set, WHO_PROCESS, 0, CLASS_BEST_EFFORT << CLASS_SHIFT | LAST);
}

void kiosk_thread_run_when_idle(void) {
    struct sched_param parameters = {.sched_priority = 0};
    sched_setscheduler(0, SCHED_IDLE, &parameters);
}

void kiosk_process_leave_idle(void) {
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) return;
    struct sched_param parameters = {.sched_priority = 0};
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
        pid_t task = (pid_t)atoi(entry->d_name);
        if (task <= 0 || sched_getscheduler(task) != SCHED_IDLE) continue;
        sched_setscheduler(task, SCHED_OTHER, &parameters);
        setpriority(PRIO_PROCESS, (id_t)task, 0);
    }
    closedir(tasks);
}

static long futex_wait(const uint32_t *word, uint32_t seen, int64_t deadline_ns, int flags) {
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000), .tv_nsec = (long)(deadline_ns % 1000000000)};
    // The bitset call takes an absolute deadline instead of a span, on CLOCK_MONOTONIC.
    return syscall(FUTEX_CALL, word, FUTEX_WAIT_BITSET | flags, seen, deadline_ns < 0 ? NULL : &deadline, NULL, FUTEX_BITSET_MATCH_ANY);
}

void kiosk_futex_wait(const uint32_t *word, uint32_t seen, int64_t deadline_ns) { futex_wait(word, seen, deadline_ns, FUTEX_PRIVATE_FLAG); }

int kiosk_shared_futex_wait(const uint32_t *word, uint32_t seen, int64_t deadline_ns) {
    if (futex_wait(word, seen, deadline_ns, 0) == 0 || errno == EAGAIN || errno == EINTR) return 0;
    return errno;
}

void kiosk_shared_futex_wake_all(const uint32_t *word) { syscall(FUTEX_CALL, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

void kiosk_futex_wake_all(const uint32_t *word) { syscall(FUTEX_CALL, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL, NULL, 0); }

uint32_t kiosk_futex_value(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }

void kiosk_futex_advance(uint32_t *word) { __atomic_fetch_add(word, 1, __ATOMIC_RELAXED); }

int kiosk_memory_file(const char *name, const void *bytes, size_t count) {
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    for (size_t written = 0; written < count;) {
        ssize_t step = write(file, (const char *)bytes + written, count - written);
        if (step < 0) {
            int error = errno;
            close(file);
            errno = error;
            return -1;
        }
        written += (size_t)step;
    }
    fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return file;
}

int kiosk_shared_file(const char *name, size_t count) {
    // Since Linux 6.3.
    enum { NOEXEC_SEAL = 8 };
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL) file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    if (ftruncate(file, (off_t)count) == 0 && fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) == 0) return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

/// Room for one descriptor, with the alignment of its header.
union descriptor_room {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

ssize_t kiosk_send(int socket, const void *bytes, size_t count, int descriptor) {
    union descriptor_room room;
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        memset(&room, 0, sizeof room);
        message.msg_control = room.bytes;
        message.msg_controllen = sizeof room.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof descriptor);
        memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t kiosk_receive(int socket, void *bytes, size_t count, int *descriptor) {
    union descriptor_room room;
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room.bytes};
    ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (received < 0) return received;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        // Alignment may leave room for two. A peer that sends more descriptors than one must not fill this process with them.
        for (size_t place = CMSG_LEN(0); place + sizeof(int) <= header->cmsg_len; place += sizeof(int)) {
            int sent;
            memcpy(&sent, (char *)header + place, sizeof sent);
            if (place == CMSG_LEN(0)) *descriptor = sent;
            else close(sent);
        }
    }
    return received;
}

long kiosk_file_system(const char *path) {
    struct statfs status;
    return statfs(path, &status) == 0 ? (long)(unsigned int)status.f_type : -1;
}

int kiosk_open_beneath(int root, const char *path) {
    // Without O_NONBLOCK, the open of a FIFO would wait for a writer.
    struct open_how how = {
        .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    int file = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    struct stat status;
    if (file < 0 || (fstat(file, &status) == 0 && S_ISREG(status.st_mode))) return file;
    close(file);
    errno = EINVAL;
    return -1;
}

int kiosk_exchange(const char *a, const char *b) {
    return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

int kiosk_pipe(int *ends, int flags) { return pipe2(ends, flags | O_CLOEXEC); }

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place) {
    (void)status, (void)type, (void)place;
    (void)remove(path);
    return 0;
}

void kiosk_remove_tree(const char *path) {
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

kiosk_name_lookup *kiosk_name_asker;

void kiosk_ask_for_names(kiosk_name_lookup *asker) { kiosk_name_asker = asker; }

bool kiosk_keeps_its_size(int file) {
    struct statfs status;
    if (fstatfs(file, &status) == 0 && status.f_type == DMA_BUF_MAGIC) return true;
    int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && seals & F_SEAL_SHRINK;
}
