// Memory for a reader's pictures, shared with its player. The player makes it and maps it read-only; the reader gives it to its allocator.
// So libavcodec and libavformat draw where the player looks, wherever they allocate, and no picture is copied. The table of blocks is
// beside it, in the reader's private memory.
//
// The allocator is first-fit, in whole units. A unit is not a page: the kernel's pages have 4, 16 or 64 KiB (a Raspberry Pi 5 has 16), and
// one page may hold several blocks. Only madvise(2) works on pages, and on whole ones. A reader has some hundred blocks at most: smaller
// memory is ordinary.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cplatform.h"

// A unit has 4 KiB: no page is smaller, and every page is a multiple.
enum { UNIT = 4 << 10, MOST_BLOCKS = 4096, POPULATE_WRITE = 23 };

// In address order, without gaps.
struct block {
    uint32_t units;
    bool is_taken;
};

static struct {
    unsigned char *base;
    size_t size;
    // The page size of this kernel, in bytes.
    size_t page;
    // The end of the populated pages, on a page boundary.
    size_t touched;
    size_t count;
    struct block blocks[MOST_BLOCKS];
} arena;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool kiosk_arena_attach(void *base, size_t size) {
    arena.page = (size_t)sysconf(_SC_PAGESIZE);
    if (arena.base || (uintptr_t)base % arena.page != 0 || size / UNIT == 0 || size / UNIT > UINT32_MAX) return false;
    arena.blocks[0] = (struct block){(uint32_t)(size / UNIT), false};
    arena.count = 1;
    arena.size = size / UNIT * UNIT;
    arena.base = base;
    return true;
}

bool kiosk_arena_owns(const void *place) { return (uintptr_t)place - (uintptr_t)arena.base < arena.size; }

ptrdiff_t kiosk_arena_offset(const void *place, size_t count) {
    size_t offset = (uintptr_t)place - (uintptr_t)arena.base;
    return offset < arena.size && count <= arena.size - offset ? (ptrdiff_t)offset : -1;
}

// Inserts a block after `index`.
static void insert(size_t index, struct block block) {
    memmove(&arena.blocks[index + 2], &arena.blocks[index + 1], (arena.count - index - 1) * sizeof(struct block));
    arena.blocks[index + 1] = block;
    arena.count++;
}

static void remove_block(size_t index) {
    memmove(&arena.blocks[index], &arena.blocks[index + 1], (arena.count - index - 1) * sizeof(struct block));
    arena.count--;
}

void *kiosk_arena_take(size_t alignment, size_t size) {
    if (arena.size == 0 || alignment > UNIT || size == 0 || size > arena.size) return NULL;
    uint32_t units = (uint32_t)((size + UNIT - 1) / UNIT);
    void *found = NULL;
    pthread_mutex_lock(&lock);
    size_t place = 0;
    for (size_t index = 0; index < arena.count; place += (size_t)arena.blocks[index].units * UNIT, index++) {
        struct block *block = &arena.blocks[index];
        if (block->is_taken || block->units < units) continue;
        if (block->units > units) {
            if (arena.count == MOST_BLOCKS) break;
            insert(index, (struct block){block->units - units, false});
            block->units = units;
        }
        block->is_taken = true;
        found = arena.base + place;
        size_t end = place + (size_t)units * UNIT;
        if (end > arena.touched) {
            size_t begin = place > arena.touched ? place - place % arena.page : arena.touched;
            int saved = errno;
            (void)madvise(arena.base + begin, end - begin, POPULATE_WRITE);
            errno = saved;
            arena.touched = (end + arena.page - 1) / arena.page * arena.page;
        }
        break;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

// Returns the taken block that begins at a place of the arena; MOST_BLOCKS if there is none. With the lock held.
static size_t block_at(const void *memory) {
    size_t wanted = (uintptr_t)memory - (uintptr_t)arena.base, place = 0;
    for (size_t index = 0; index < arena.count && place <= wanted; place += (size_t)arena.blocks[index].units * UNIT, index++)
        if (place == wanted) return arena.blocks[index].is_taken ? index : MOST_BLOCKS;
    return MOST_BLOCKS;
}

void kiosk_arena_free(void *memory) {
    pthread_mutex_lock(&lock);
    size_t index = block_at(memory);
    // A double free, or a pointer from elsewhere, is a bug in this process.
    if (index == MOST_BLOCKS) __builtin_trap();
    arena.blocks[index].is_taken = false;
    if (index + 1 < arena.count && !arena.blocks[index + 1].is_taken) {
        arena.blocks[index].units += arena.blocks[index + 1].units;
        remove_block(index + 1);
    }
    if (index > 0 && !arena.blocks[index - 1].is_taken) {
        arena.blocks[index - 1].units += arena.blocks[index].units;
        remove_block(index);
    }
    pthread_mutex_unlock(&lock);
}

size_t kiosk_arena_room(const void *memory) {
    pthread_mutex_lock(&lock);
    size_t index = block_at(memory), room = index == MOST_BLOCKS ? 0 : (size_t)arena.blocks[index].units * UNIT;
    pthread_mutex_unlock(&lock);
    return room;
}

// Weak: only a reader's program has it.
bool kiosk_arena_serves_malloc(void) { return arena.size > 0 && &kiosk_frees_arena; }
