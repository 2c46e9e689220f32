// Populates memory before its first use. A picture has some hundred pages, and the first access to each is a page fault. On the test bed
// these took nine tenths of the time to decode the first pictures. One call populates all pages.
#define _GNU_SOURCE
#include "cplatform.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

// Linux 5.14; in glibc's header since 2.35.
enum { POPULATE_READ = 22, POPULATE_WRITE = 23 };

// The size from which malloc takes memory from the system and gives it back, so that it is new each time.
enum { LARGE = 256 * 1024 };

// The smallest block that may be a plane of a picture to share (arena.c).
enum { PICTURE = 16 * 1024 };

void kiosk_tune_malloc(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, LARGE);
    // Without these settings the heap grows and shrinks by some pages at every packet and item.
    mallopt(M_TOP_PAD, 1024 * 1024);
    mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024);
}

// Returns whether memory belongs to a device that maps it page by page. madvise refuses it, so the kernel has to write to it. Some drivers
// have mapped it already.
static bool is_left_out(void *base, size_t count) {
    if (madvise(base, count, POPULATE_WRITE) == 0 || errno != EINVAL) return false;
    unsigned char isMapped = 0;
    return mincore(base, 1, &isMapped) == 0 && !(isMapped & 1);
}

void kiosk_populate(void *base, size_t count) {
    if (!is_left_out(base, count)) return;
    int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (zeros < 0) return;
    for (size_t done = 0; done < count;) {
        ssize_t step = read(zeros, (char *)base + done, count - done);
        if (step <= 0) break;
        done += (size_t)step;
    }
    close(zeros);
}

void kiosk_populate_without_files(void *base, size_t count) {
    if (!is_left_out(base, count)) return;
    for (size_t done = 0; done < count;) {
        ssize_t step = getrandom((char *)base + done, count - done, 0);
        if (step <= 0) break;
        done += (size_t)step;
    }
}

void kiosk_populate_read(const void *place, size_t count) {
    // The kernel wants the beginning of a page; it rounds up the end by itself.
    size_t before = (uintptr_t)place % (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)madvise((char *)(uintptr_t)place - before, before + count, POPULATE_READ);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif

bool kiosk_is_sanitized(void) {
#ifdef IS_SANITIZED
    return true;
#else
    return false;
#endif
}

#ifndef IS_SANITIZED
// The end of the populated heap; reused memory below it is populated already.
static _Atomic uintptr_t heap_end;

// Replaces glibc's. libavcodec, libavformat and libswscale allocate their pictures and tables with it.
int posix_memalign(void **result, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    int saved = errno;
    if (size >= PICTURE && kiosk_arena_serves_malloc()) {
        void *shared = kiosk_arena_take(alignment, size);
        if (shared) {
            *result = shared;
            return 0;
        }
    }
    void *memory = memalign(alignment, size);
    if (memory && size >= LARGE / 2) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)memory & ~(page - 1), end = ((uintptr_t)memory + size) & ~(page - 1);
        bool isOfHeap = size < LARGE;
        if (!isOfHeap || end > atomic_load(&heap_end)) (void)madvise((void *)begin, end - begin, POPULATE_WRITE);
        if (isOfHeap && end > atomic_load(&heap_end)) atomic_store(&heap_end, end);
    }
    errno = saved;
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}
#endif
