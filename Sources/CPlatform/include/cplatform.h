// What Swift cannot say itself of the C library: GNU-only thread calls, and headers that Glibc's module leaves out.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include <sys/types.h>

/// A file in memory with these bytes, which cannot be changed any more: its descriptor, or -1 with errno.
int kiosk_memory_file(const char *_Nonnull name, const void *_Nullable bytes, size_t count);
/// A file in memory of `count` bytes, all 0, for others to map, too: it can be written, and not change its size any more. Its descriptor, or -1 with errno. memfd_create(2).
int kiosk_shared_file(const char *_Nonnull name, size_t count);
/// Sends bytes to a socket, with a descriptor where that is not negative; how many, or -1 with errno. No SIGPIPE.
ssize_t kiosk_send(int socket, const void *_Nonnull bytes, size_t count, int descriptor);
/// Receives bytes, and the first descriptor that comes with them (else it is left as it is): how many, 0 at the end, or -1 with errno.
ssize_t kiosk_receive(int socket, void *_Nonnull bytes, size_t count, int *_Nonnull descriptor);

/// Names the calling thread and sets its own policy: SCHED_FIFO at `fifo_priority`, or SCHED_OTHER when that is 0 (new
/// threads inherit their creator's policy). Returns 0 or the errno of pthread_setschedparam(3).
int kiosk_thread_setup(const char *_Nonnull name, int fifo_priority);

/// Gives the calling thread, and those that it starts, the lowest nice value and the idle class of disk access.
void kiosk_thread_give_way(void);

/// Gives the calling thread, and those that it starts, 10 more than its nice value, and the last place of the ordinary class of disk access.
void kiosk_thread_come_second(void);

/// Has the calling thread, and those that it starts, run as SCHED_IDLE.
void kiosk_thread_run_when_idle(void);

/// Has all threads of the process that run as SCHED_IDLE run as SCHED_OTHER with nice value 0, where it may (RLIMIT_NICE or CAP_SYS_NICE).
void kiosk_process_leave_idle(void);

/// Sets malloc up for a program that keeps large buffers for long and runs for years: one arena for all threads, which allocate
/// little, and large blocks in mappings of their own, which go back to the system when they are freed (glibc would otherwise learn
/// to keep them). Call once, before there are threads. About 8 MB less at 720p.
void kiosk_tune_malloc(void);

/// Whether this program is built with AddressSanitizer or ThreadSanitizer, which have threads and make calls of their own.
bool kiosk_is_sanitized(void);

/// Finds the pages of new memory, which is still all zero: one call instead of a page fault for each. `base` is the beginning of a mapping.
void kiosk_populate(void *_Nonnull base, size_t count);
/// The same where no file may be opened: what is in memory of devices is then random.
void kiosk_populate_without_files(void *_Nonnull base, size_t count);
/// Finds the pages of memory that is to be read, and that somebody else has written; nothing before Linux 5.14. `place` may be anywhere in a page.
void kiosk_populate_read(const void *_Nonnull place, size_t count);

/// Has large blocks be taken from `size` bytes at `base` from now on, and makes them the memory of the functions below; once in a process, before it has a second thread. False
/// where there is one already, or `base` is no page. arena.c explains it.
bool kiosk_arena_attach(void *_Nonnull base, size_t size);
/// Whether a place lies in the arena.
bool kiosk_arena_owns(const void *_Nullable place);
/// How far behind its beginning `count` bytes lie in the arena; -1 where not all of them do.
ptrdiff_t kiosk_arena_offset(const void *_Nullable place, size_t count);
/// A block of the arena, to be freed by the next function; NULL where there is no room, or no arena. Any thread.
void *_Nullable kiosk_arena_take(size_t alignment, size_t size);
void kiosk_arena_free(void *_Nonnull memory);
/// Bytes that a block has.
size_t kiosk_arena_room(const void *_Nonnull memory);
/// Whether posix_memalign(3) takes from the arena: where this program has a free(3) that knows it (CReaderMemory).
bool kiosk_arena_serves_malloc(void);
extern const bool kiosk_frees_arena __attribute__((weak));

/// Bytes of an address as a number, with its scope and a 0.
enum { KIOSK_ADDRESS_SIZE = 64 };
/// Whoever knows the addresses of a host in `.local`: writes at most `most` of them, and returns how many. NULL where nobody is to be asked. It is for getaddrinfo(3) in a reader's
/// program (CReaderMemory); set it before there is a second thread.
typedef size_t kiosk_name_lookup(const char *_Nonnull name, char (*_Nonnull addresses)[KIOSK_ADDRESS_SIZE], size_t most);
extern kiosk_name_lookup *_Nullable kiosk_name_asker;
void kiosk_ask_for_names(kiosk_name_lookup *_Nullable asker);

/// Waits while `word` has the value `seen`, at most to `deadline_ns` on CLOCK_MONOTONIC, for ever where that is negative; may also return without a reason. futex(2).
void kiosk_futex_wait(const uint32_t *_Nonnull word, uint32_t seen, int64_t deadline_ns);
/// Ends the waiting of all who wait on `word`. futex(2).
void kiosk_futex_wake_all(const uint32_t *_Nonnull word);
/// The same two for a word in memory that several processes have mapped. The first returns 0 where it was woken or had nothing to wait for, ETIMEDOUT, or another errno.
int kiosk_shared_futex_wait(const uint32_t *_Nonnull word, uint32_t seen, int64_t deadline_ns);
void kiosk_shared_futex_wake_all(const uint32_t *_Nonnull word);
uint32_t kiosk_futex_value(const uint32_t *_Nonnull word);
void kiosk_futex_advance(uint32_t *_Nonnull word);

/// The kind of the file system that `path` lies on (linux/magic.h); -1 where there is nothing. statfs(2), which the Glibc module lacks.
long kiosk_file_system(const char *_Nonnull path);

/// Whether nobody can cut a file off that is mapped here: it is a dma-buf, or sealed memory. fstatfs(2) and fcntl(2) with F_GET_SEALS, which the Glibc module lacks.
bool kiosk_keeps_its_size(int file);

/// Opens a regular file beneath the folder `root` for reading: through no link, into no other file system, and without waiting. Its
/// descriptor, or -1 with errno: ELOOP and EXDEV where the path leads elsewhere, EINVAL where it is no regular file. openat2(2), which the Glibc module lacks.
int kiosk_open_beneath(int root, const char *_Nonnull path);

/// Has two files or folders of one file system change places, in one step: renameat2(2), which the Glibc module lacks. 0, or -1 and errno.
int kiosk_exchange(const char *_Nonnull a, const char *_Nonnull b);

/// Removes a folder and everything in it, as far as that can be removed; follows no link: nftw(3), which the Glibc module lacks.
void kiosk_remove_tree(const char *_Nonnull path);
