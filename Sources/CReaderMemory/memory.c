// Replaces glibc's free(3) and realloc(3) in kiosk-reader. There posix_memalign(3) takes large blocks from an arena
// (Sources/CPlatform/arena.c), and these recognize such blocks.
#include "creadermemory.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cplatform.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif

// Sanitizers replace these functions themselves.
#if defined(__GLIBC__) && !defined(IS_SANITIZED)
extern void __libc_free(void *);
extern void *__libc_realloc(void *, size_t);

const bool kiosk_frees_arena = true;

void free(void *memory) {
    if (kiosk_arena_owns(memory)) {
        int saved = errno;
        kiosk_arena_free(memory);
        errno = saved;
        return;
    }
    __libc_free(memory);
}

void *realloc(void *memory, size_t size) {
    if (!kiosk_arena_owns(memory)) return __libc_realloc(memory, size);
    if (size == 0) {
        free(memory);
        return NULL;
    }
    size_t room = kiosk_arena_room(memory);
    if (size <= room && size >= room / 2) return memory;
    void *other = malloc(size);
    if (!other) return NULL;
    memcpy(other, memory, size < room ? size : room);
    free(memory);
    return other;
}
#endif

void kiosk_use_reader_memory(void) {}
