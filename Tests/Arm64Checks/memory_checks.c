// The arena, its replacements of malloc's functions, mappings that are no whole pages, and futexes shared by processes.
//
// madvise(2) is replaced (-Wl,--wrap=madvise): qemu-user takes any address for it, a kernel only the beginning of a page. The replacement
// records the populated memory by pieces of 4 KiB. On a booted kernel it calls the real one as well. opendir(3) is replaced, too, below.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"
#include "cplatform.h"
#include "creader.h"
#include "creadermemory.h"

enum { PIECE = 4096, PIECES = 16384, POPULATE_READ = 22, POPULATE_WRITE = 23 };

static struct {
    unsigned char *base;
    size_t size;
    bool is_found[PIECES];
    int calls, refused;
    // Like memory of devices, which the kernel does not populate
    bool is_of_device;
} watched;

int __real_madvise(void *place, size_t count, int advice);
int __wrap_madvise(void *place, size_t count, int advice);
int __wrap_madvise(void *place, size_t count, int advice) {
    if (advice != POPULATE_READ && advice != POPULATE_WRITE) return errno = EINVAL, -1;
    watched.calls++;
    size_t page = page_size(), end = (count + page - 1) / page * page;
    if ((uintptr_t)place % page != 0 || watched.is_of_device) {
        watched.refused++;
        return errno = EINVAL, -1;
    }
    if (is_booted) expect(__real_madvise(place, count, advice) == 0, "the kernel refuses to find %zu bytes: %s", count, strerror(errno));
    size_t begin = (uintptr_t)place - (uintptr_t)watched.base;
    if (begin >= watched.size) return 0;
    expect(begin + end <= watched.size, "madvise reaches %zu bytes beyond the mapping", begin + end - watched.size);
    for (size_t piece = begin / PIECE; piece < (begin + end) / PIECE && piece < PIECES; piece++) watched.is_found[piece] = true;
    return 0;
}

/// Maps and watches shared memory.
static unsigned char *watch(size_t size) {
    int file = kiosk_shared_file("checks", size);
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    expect(file >= 0 && base != MAP_FAILED, "cannot map %zu bytes: %s", size, strerror(errno));
    close(file);
    watched.base = base;
    watched.size = size;
    return base;
}

static bool is_found(const void *place, size_t count) {
    size_t begin = (uintptr_t)place - (uintptr_t)watched.base;
    for (size_t piece = begin / PIECE; piece <= (begin + count - 1) / PIECE; piece++) {
        if (!watched.is_found[piece]) return false;
    }
    return true;
}

// ---- The arena ----

enum { SIZE = 48 << 20, SLACK = 2 * 4096, MOST = 200 };

struct taken {
    unsigned char *place;
    size_t size, alignment;
    unsigned char mark;
};

static void check_block(const struct taken *blocks, int count, const struct taken *block) {
    size_t offset = (size_t)(block->place - watched.base);
    expect((uintptr_t)block->place % block->alignment == 0, "a block is not aligned to %zu", block->alignment);
    expect(offset + block->size <= SIZE - SLACK, "a block of %zu bytes reaches beyond the arena", block->size);
    expect(kiosk_arena_owns(block->place) && kiosk_arena_owns(block->place + block->size - 1), "the arena does not know its own");
    expect(kiosk_arena_offset(block->place, block->size) == (ptrdiff_t)offset, "the offset of a block is wrong");
    expect(kiosk_arena_room(block->place) >= block->size, "a block has less room than was asked for");
    expect(is_found(block->place, block->size), "the pages of a block of %zu bytes at %zu were not found", block->size, offset);
    for (int i = 0; i < count; i++) {
        bool is_apart = blocks[i].place + blocks[i].size <= block->place || block->place + block->size <= blocks[i].place;
        expect(is_apart, "two blocks overlap");
    }
}

static bool is_marked(const struct taken *block) {
    return block->place[0] == block->mark && block->place[block->size / 2] == block->mark && block->place[block->size - 1] == block->mark;
}

/// Returns whether an arena may lie there. Tries it in another process, as a process has only one arena.
static bool could_attach(void *base, size_t size) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(kiosk_arena_attach(base, size));
    waitpid(child, &status, 0);
    return status != 0;
}

void check_arena(void) {
    unsigned char *base = watch(SIZE);
    struct taken blocks[MOST];
    int count = 0;
    size_t farthest = 0;
    expect(kiosk_arena_take(64, 100000) == NULL, "there is a block without an arena");
    for (size_t off = PIECE / 2; off < page_size(); off *= 2) {
        expect(!could_attach(base + off, SIZE - page_size()), "an arena may begin %zu bytes behind the beginning of a page", off);
    }
    expect(!kiosk_arena_attach(base, 100), "an arena may have 100 bytes");
    expect(kiosk_arena_attach(base, SIZE - SLACK), "there is no arena");
    expect(!kiosk_arena_attach(base, SIZE - SLACK), "there are two arenas");
    expect(!kiosk_arena_owns(base + SIZE - SLACK) && !kiosk_arena_owns(base - 1) && !kiosk_arena_owns(NULL), "the arena owns what is not its own");
    expect(kiosk_arena_offset(base + SIZE - SLACK - 10, 11) == -1, "the arena has an offset for what is beyond its end");
    for (int round = 0; round < 20000; round++) {
        if (count == MOST || (count > 0 && number() % 2 == 0)) {
            int i = (int)(number() % (uint32_t)count);
            expect(is_marked(&blocks[i]), "somebody has written into a block");
            kiosk_arena_free(blocks[i].place);
            blocks[i] = blocks[--count];
            continue;
        }
        struct taken block = {.size = 16384 + number() % 500000, .alignment = (size_t)1 << number() % 13, .mark = (unsigned char)number()};
        block.place = kiosk_arena_take(block.alignment, block.size);
        if (!block.place) continue;
        check_block(blocks, count, &block);
        block.place[0] = block.place[block.size / 2] = block.place[block.size - 1] = block.mark;
        size_t end = (size_t)(block.place - base) + block.size;
        if (end > farthest) farthest = end;
        blocks[count++] = block;
    }
    expect(watched.refused == 0, "the kernel would have refused to find pages %d times", watched.refused);
    // Once for each page, in pieces as large as blocks
    expect(watched.calls > 0 && watched.calls <= 300, "pages were found by %d calls", watched.calls);
    // First fit puts the same blocks at the same places, for any page size
    tell("arena: %d blocks, the farthest byte is number %zu", count, farthest);
    while (count > 0) kiosk_arena_free(blocks[--count].place);
    void *all = kiosk_arena_take(4096, SIZE - SLACK);
    expect(all == base, "what was freed does not grow together again");
    expect(kiosk_arena_take(64, 1) == NULL, "there is more than all");
    expect(is_found(base, SIZE - SLACK), "not all pages were found");
    kiosk_arena_free(all);
    expect(kiosk_arena_take(65536, 65536) == NULL, "an alignment that cannot be had is given");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        // qemu-user prints a message about the signal
        close(2);
        kiosk_arena_free(all);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    expect(WIFSIGNALED(status) && (WTERMSIG(status) == SIGILL || WTERMSIG(status) == SIGTRAP), "a block can be freed twice");
}

// ---- malloc's functions ----

void check_allocator(void) {
    unsigned char *base = watch(SIZE);
    void *memory = NULL;
    // The volatile pointer hides the function from the compiler
    size_t (*volatile room)(const void *) = kiosk_arena_room;
    expect(posix_memalign(&memory, 64, 1 << 20) == 0 && !kiosk_arena_owns(memory), "memory is of the arena before there is one");
    free(memory);
    expect(kiosk_arena_attach(base, SIZE - SLACK) && kiosk_arena_serves_malloc(), "the arena does not serve malloc");
    expect(posix_memalign(&memory, 64, 1 << 20) == 0 && kiosk_arena_owns(memory), "a large block is not of the arena");
    expect(is_found(memory, 1 << 20), "its pages were not found");
    memset(memory, 7, 1 << 20);
    expect(room(memory) == 1 << 20, "it has another size");
    unsigned char *grown = realloc(memory, 3 << 20);
    expect(grown && !kiosk_arena_owns(grown) && grown[0] == 7 && grown[(1 << 20) - 1] == 7, "what has grown has lost its bytes");
    free(grown);
    expect(posix_memalign(&memory, 64, 100) == 0 && !kiosk_arena_owns(memory), "a small block is of the arena");
    free(memory);
    for (size_t alignment = 8; alignment <= 1 << 17; alignment *= 2) {
        expect(posix_memalign(&memory, alignment, 200000) == 0 && (uintptr_t)memory % alignment == 0, "memory is not aligned to %zu", alignment);
        memset(memory, 1, 200000);
        free(memory);
    }
    expect(posix_memalign(&memory, 24, 100) == EINVAL && posix_memalign(&memory, 4, 100) == EINVAL, "any alignment will do");
    expect(watched.refused == 0, "the kernel would have refused to find pages %d times", watched.refused);
}

// ---- Populating pages before the first access ----

void check_populating(void) {
    size_t size = 1 << 20;
    unsigned char *base = watch(size);
    for (int round = 0; round < 2000; round++) {
        size_t begin = number() % size, count = 1 + number() % (size - begin);
        memset(watched.is_found, 0, sizeof watched.is_found);
        kiosk_populate_read(base + begin, count);
        expect(is_found(base + begin, count), "not all of %zu bytes at %zu was found", count, begin);
    }
    expect(watched.refused == 0, "the kernel would have refused to find pages %d times", watched.refused);
    memset(watched.is_found, 0, sizeof watched.is_found);
    kiosk_populate(base, size);
    expect(is_found(base, size), "a mapping was not found whole");

    watched.is_of_device = true;
    kiosk_populate(base, size);
    size_t others = 0;
    for (size_t i = 0; i < size; i++) others += base[i] != 0;
    expect(others == 0, "memory of a device is not 0");
    unsigned char *another = watch(size);
    kiosk_populate_without_files(another, size);
    others = 0;
    for (size_t i = 0; i < size; i++) others += another[i] != 0;
    expect(others > size / 2, "memory of a device was not written");
}

// ---- Mappings ----

/// Maps a file that is no whole pages twice. Both mappings have the same bytes, from the first to the last. munmap(2) removes all pages.
static void check_size(size_t size) {
    int file = kiosk_shared_file("checks", size);
    unsigned char *one = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    unsigned char *other = mmap(NULL, size, PROT_READ, MAP_SHARED, file, 0);
    expect(file >= 0 && one != MAP_FAILED && other != MAP_FAILED, "%zu bytes cannot be mapped: %s", size, strerror(errno));
    if (one == MAP_FAILED || other == MAP_FAILED) return;
    expect(kiosk_keeps_its_size(file), "a file of %zu bytes can be cut off", size);
    for (size_t i = 0; i < size; i += 61) one[i] = (unsigned char)(i * 7);
    one[size - 1] = 99;
    size_t wrong = other[size - 1] != 99;
    for (size_t i = 0; i + 61 < size; i += 61) wrong += other[i] != (unsigned char)(i * 7);
    expect(wrong == 0, "%zu of %zu bytes differ in the other mapping", wrong, size);
    // The rest of the last page is 0 and may be read: libavcodec and libswscale read beyond the end
    size_t whole = (size + page_size() - 1) / page_size() * page_size();
    for (size_t i = size; i < whole; i++) wrong += other[i] != 0;
    expect(wrong == 0, "behind %zu bytes there is something", size);
    expect(munmap(one, size) == 0 && munmap(other, size) == 0, "%zu bytes cannot be unmapped", size);
    unsigned char residence;
    expect(mincore(one, 1, &residence) != 0 && mincore(one + whole - page_size(), 1, &residence) != 0, "of %zu bytes some stay mapped", size);
    close(file);
}

void check_mappings(void) {
    // DevicePage and the least of SharedResults; ControlPage for one channel, for two and for eight; an arena; odd ones
    static const size_t sizes[] = {4096, 16384 + 65536, 16384 + 2 * 65536, 16384 + 8 * 65536, (3 << 20) + 2 * 4096, 1, 4095, 16385, 65537};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_size(sizes[i]);
    int file = kiosk_memory_file("checks", "bytes", 5);
    expect(file >= 0 && write(file, "x", 1) < 0, "a file that cannot be changed can be changed");
    close(file);
}

// ---- Waiting ----

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void check_futexes(void) {
    enum { BELL = 64, ANSWER = 1024, ROUNDS = 500 };
    int file = kiosk_shared_file("checks", 4096);
    unsigned char *mine = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    uint32_t *bell = (uint32_t *)(void *)(mine + BELL), *answer = (uint32_t *)(void *)(mine + ANSWER);
    expect(kiosk_shared_futex_wait(bell, 1, -1) == 0, "one waits for what has happened");
    expect(kiosk_shared_futex_wait(bell, 0, now() + 2000000) == ETIMEDOUT, "a deadline does not end the waiting");
    expect(kiosk_shared_futex_wait(bell, 0, 0) == ETIMEDOUT, "a deadline that is over does not end the waiting");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        // Through a mapping of its own, at another address
        unsigned char *its = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            uint32_t *word = (uint32_t *)(void *)(its + BELL);
            while (kiosk_futex_value(word) == round) {
                if (kiosk_shared_futex_wait(word, round, now() + 20000000000) != 0) _exit(1);
            }
            kiosk_futex_advance((uint32_t *)(void *)(its + ANSWER));
            kiosk_shared_futex_wake_all((uint32_t *)(void *)(its + ANSWER));
        }
        _exit(0);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        kiosk_futex_advance(bell);
        kiosk_shared_futex_wake_all(bell);
        while (kiosk_futex_value(answer) == round) {
            if (kiosk_shared_futex_wait(answer, round, now() + 20000000000) == 0) continue;
            expect(false, "round %u has no answer", round);
            kill(child, SIGKILL);
            return;
        }
    }
    int status = -1;
    waitpid(child, &status, 0);
    expect(status == 0, "the other process was left waiting");
    close(file);
}

// ---- The zygote ----

/// The zygote counts its threads in /proc; under qemu-user there is one more. kiosk counts an unreadable folder as one thread.
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path) {
    expect(strcmp(path, "/proc/self/task") == 0, "the zygote looks into %s", path);
    return NULL;
}

void check_zygote(void) {
    int ends[2], its[2];
    expect(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, its) == 0, "no sockets");
    fflush(NULL);
    pid_t zygote = fork();
    if (zygote == 0) {
        dup2(ends[1], KIOSK_READER_CONTROL);
        kiosk_zygote_serve();
        // The child of the zygote continues here as a reader
        if (kiosk_send(KIOSK_READER_CONTROL, "here", 4, -1) != 4) _exit(1);
        _exit(7);
    }
    close(ends[1]);
    struct kiosk_fork_answer answer = {0};
    int descriptor = -1;
    expect(kiosk_receive(ends[0], &answer, sizeof answer, &descriptor) == sizeof answer && answer.kind == KIOSK_ZYGOTE_READY && answer.pid == zygote,
           "the zygote is not ready");
    struct kiosk_fork_request request = {.number = 5, .priority = KIOSK_PRIORITY_IDLE};
    expect(kiosk_send(ends[0], &request, sizeof request, its[1]) == sizeof request, "cannot ask for a process");
    close(its[1]);
    bool has_started = false, has_ended = false;
    while (!has_started || !has_ended) {
        if (kiosk_receive(ends[0], &answer, sizeof answer, &descriptor) != sizeof answer) break;
        has_started = has_started || (answer.kind == KIOSK_FORK_STARTED && answer.number == 5);
        if (answer.kind == KIOSK_FORK_ENDED) has_ended = WIFEXITED(answer.status) && WEXITSTATUS(answer.status) == 7;
        if (answer.kind == KIOSK_FORK_FAILED || (answer.kind == KIOSK_FORK_ENDED && !has_ended)) break;
    }
    expect(has_started && has_ended, "the last answer is kind %u, status %d", answer.kind, answer.status);
    char text[8] = "";
    expect(kiosk_receive(its[0], text, sizeof text, &descriptor) == 4 && strcmp(text, "here") == 0, "the reader has said nothing");
    close(ends[0]);
    int status = -1;
    waitpid(zygote, &status, 0);
    expect(status == 0, "the zygote has not ended with its player: %d", status);
}

// ---- Files ----

void check_files(void) {
    struct statfs status;
    char folder[] = "/tmp/kiosk-checks.XXXXXX", path[3][64];
    // qemu-user of Debian 12 has no openat2(2)
    if (syscall(SYS_openat2, -1, NULL, NULL, 0) != 0 && errno == ENOSYS && !is_booted) return;
    expect(mkdtemp(folder) != NULL, "no folder in /tmp: %s", strerror(errno));
    for (int i = 0; i < 3; i++) snprintf(path[i], sizeof path[i], "%s/%d", folder, i);
    for (int i = 0; i < 2; i++) {
        int file = open(path[i], O_WRONLY | O_CREAT, 0600);
        expect(write(file, path[i], strlen(path[i])) > 0, "cannot write %s", path[i]);
        close(file);
    }
    expect(symlink("/etc/passwd", path[2]) == 0 && kiosk_exchange(path[0], path[1]) == 0, "two files do not change places: %s", strerror(errno));
    int root = open(folder, O_PATH | O_DIRECTORY), file = kiosk_open_beneath(root, "0");
    char text[64] = "";
    expect(file >= 0 && read(file, text, sizeof text - 1) > 0 && strcmp(text, path[1]) == 0, "a file beneath a folder has other bytes: “%s”", text);
    close(file);
    expect(kiosk_open_beneath(root, "2") < 0 && errno == ELOOP, "a link is followed");
    expect(kiosk_open_beneath(root, "../../etc/passwd") < 0 && errno == EXDEV, "a path leads out of its folder");
    expect(kiosk_open_beneath(root, ".") < 0 && errno == EINVAL, "a folder is opened as a file");
    expect(statfs(folder, &status) == 0 && kiosk_file_system(folder) == (long)(unsigned)status.f_type && kiosk_file_system("/nothing") == -1,
           "the file system is another one");
    close(root);
    kiosk_remove_tree(folder);
    expect(access(folder, F_OK) != 0, "a folder is still there");
}

// ---- Names ----

static size_t ask(const char *name, char (*addresses)[KIOSK_ADDRESS_SIZE], size_t most) {
    if (strcmp(name, "printer.local") != 0 || most < 2) return 0;
    strcpy(addresses[0], "192.0.2.7");
    strcpy(addresses[1], "2001:db8::7");
    return 2;
}

void check_names(void) {
    kiosk_use_reader_memory();
    kiosk_ask_for_names(ask);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    expect(getaddrinfo("printer.local", "80", &hints, &found) == 0, "a host in .local has no address");
    for (struct addrinfo *each = found; each; each = each->ai_next) {
        char text[64] = "";
        expect(getnameinfo(each->ai_addr, each->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0, "an address is none");
        tell("name: %s", text);
    }
    if (found) freeaddrinfo(found);
}
