// Simulates a failing disk, for LD_PRELOAD: calls on files in one folder block for ever, are late, fail or return less than requested.
//
//   FAULTY_FOLDER   the folder; calls on other files work as usual
//   FAULTY_WHEN     a file; calls are faulty only while its first byte is not 0. Without it, always
//   FAULTY_BLOCK    "open": opening blocks; "read": reads beyond byte FAULTY_FROM block; "all": every call blocks
//   FAULTY_FROM     a byte offset
//   FAULTY_DELAY    the maximum delay of each call, in milliseconds
//   FAULTY_FAIL     the number of reads in a thousand that fail with EIO
//   FAULTY_SHORT    the number of reads in a thousand that return less than requested
//   FAULTY_SEED     the seed of the three above
//
// Only the end of the process ends a thread that blocks here. The thread receives no signals, like one in the kernel's
// uninterruptible sleep.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "faulty_files.h"

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

// The first byte of FAULTY_WHEN, mapped while the process may still open files.
static const volatile char *when;

__attribute__((constructor)) static void mapWhen(void) {
    const char *path = getenv("FAULTY_WHEN");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *byte = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    if (byte != MAP_FAILED) when = byte;
    syscall(SYS_close, fd);
}

static int isInFolder(const char *path) {
    const char *folder = getenv("FAULTY_FOLDER");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int isTime(void) { return !getenv("FAULTY_WHEN") || (when && *when); }

static int isFaulty(const char *path) { return isInFolder(path) && isTime(); }

// Files opened by name in the folder. A sandboxed process cannot read a descriptor's name.
static struct {
    dev_t device;
    ino_t inode;
} known[64];
static _Atomic int knownCount;

static void note(int fd, const char *path) {
    struct stat status;
    if (fd < 0 || !isInFolder(path) || fstat(fd, &status) != 0) return;
    int place = atomic_fetch_add(&knownCount, 1) % 64;
    known[place].device = status.st_dev;
    known[place].inode = status.st_ino;
}

static int isFaultyDescriptor(int fd) {
    char link[64], path[PATH_MAX];
    struct stat status;
    if (!getenv("FAULTY_FOLDER") || !isTime() || fstat(fd, &status) != 0) return 0;
    for (int place = 0; place < 64; place++)
        if (known[place].inode && known[place].device == status.st_dev && known[place].inode == status.st_ino) return 1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return isInFolder(path);
}

static void block(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    for (;;) {
        struct timespec day = {86400, 0};
        nanosleep(&day, NULL);
    }
}

static uint64_t draw(void) {
    static _Atomic uint64_t count;
    uint64_t x = (uint64_t)number("FAULTY_SEED") * 0x9E3779B97F4A7C15u + atomic_fetch_add(&count, 1) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static void delay(void) {
    long most = number("FAULTY_DELAY");
    if (most <= 0) return;
    uint64_t ms = draw() % (uint64_t)(most + 1);
    struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static int blocks(const char *what) {
    const char *chosen = getenv("FAULTY_BLOCK");
    return chosen && (strcmp(chosen, what) == 0 || strcmp(chosen, "all") == 0);
}

static void beforePath(const char *path, const char *what) {
    if (!isFaulty(path)) return;
    if (blocks(what)) block();
    delay();
}

/// Returns how many of `count` bytes at `offset` to read; -1 if the read fails.
static ssize_t beforeRead(int fd, size_t count, off_t offset) {
    if (!isFaultyDescriptor(fd)) return (ssize_t)count;
    if (blocks("read") && offset + (off_t)count > number("FAULTY_FROM")) block();
    delay();
    if ((long)(draw() % 1000) < number("FAULTY_FAIL")) {
        errno = EIO;
        return -1;
    }
    if (count > 1 && (long)(draw() % 1000) < number("FAULTY_SHORT")) return (ssize_t)(1 + draw() % count);
    return (ssize_t)count;
}

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...) {                                                   \
        va_list arguments;                                                                         \
        va_start(arguments, flags);                                                                \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;               \
        va_end(arguments);                                                                         \
        beforePath(path, "open");                                                                  \
        int fd = REAL(int, name, const char *, int, ...)(path, flags, mode);                       \
        note(fd, path);                                                                            \
        return fd;                                                                                 \
    }
OPEN(open)
OPEN(open64)

#define FOPEN(name)                                                                                \
    FILE *name(const char *path, const char *mode) {                                               \
        beforePath(path, "open");                                                                          \
        return REAL(FILE *, name, const char *, const char *)(path, mode);                         \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define STAT(name, type)                                                                           \
    int name(const char *restrict path, struct type *restrict result) {                            \
        beforePath(path, "look");                                                                          \
        return REAL(int, name, const char *, struct type *)(path, result);                         \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

int access(const char *path, int mode) {
    beforePath(path, "look");
    return REAL(int, access, const char *, int)(path, mode);
}

ssize_t read(int fd, void *bytes, size_t count) {
    ssize_t left = beforeRead(fd, count, (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR));
    return left < 0 ? -1 : REAL(ssize_t, read, int, void *, size_t)(fd, bytes, (size_t)left);
}

#define PREAD(name, type)                                                                          \
    ssize_t name(int fd, void *bytes, size_t count, type offset) {                                 \
        ssize_t left = beforeRead(fd, count, offset);                                              \
        return left < 0 ? -1 : REAL(ssize_t, name, int, void *, size_t, type)(fd, bytes, (size_t)left, offset); \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)
