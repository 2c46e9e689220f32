// C functions that Swift cannot call: GNU-only thread calls, and headers missing from the Glibc module.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>

#include <sys/types.h>

/// Returns the descriptor of a sealed file in memory with these bytes, or -1 with errno.
int kiosk_memory_file(const char *_Nonnull name, const void *_Nullable bytes, size_t count);
/// Returns the descriptor of a shareable file in memory of `count` zero bytes, or -1 with errno. It is writable, but its size is sealed.
/// memfd_create(2).
int kiosk_shared_file(const char *_Nonnull name, size_t count);
/// Sends bytes to a socket, with a descriptor unless that is negative. Returns the count, or -1 with errno. Raises no SIGPIPE.
ssize_t kiosk_send(int socket, const void *_Nonnull bytes, size_t count, int descriptor);
/// Receives bytes, and stores the first descriptor that comes with them, if any. Returns the count, 0 at the end, or -1 with errno.
ssize_t kiosk_receive(int socket, void *_Nonnull bytes, size_t count, int *_Nonnull descriptor);

/// Names the calling thread and sets its own policy: SCHED_FIFO at `fifo_priority`, or SCHED_OTHER if that is 0 (new threads inherit their
/// creator's policy). Returns 0 or the errno of pthread_setschedparam(3).
int kiosk_thread_setup(const char *_Nonnull name, int fifo_priority);

/// Gives the calling thread, and those that it starts, the lowest nice value and the idle class of disk access.
void kiosk_thread_give_way(void);

/// Gives the calling thread, and those that it starts, 10 more than its nice value, and the lowest level of the best-effort class of disk
/// access.
void kiosk_thread_come_second(void);

/// Makes the calling thread, and those that it starts, run as SCHED_IDLE.
void kiosk_thread_run_when_idle(void);

/// Makes all SCHED_IDLE threads of the process run as SCHED_OTHER with nice value 0, if it may (RLIMIT_NICE or CAP_SYS_NICE).
void kiosk_process_leave_idle(void);

/// Tunes malloc for a program that keeps large buffers and runs for years. All threads share one arena, because they allocate little. Large
/// blocks get their own mappings, which return to the system when freed (glibc would otherwise learn to keep them). Call once, before
/// there are threads. Saves about 8 MB at 720p.
void kiosk_tune_malloc(void);

/// Returns whether this program is built with AddressSanitizer or ThreadSanitizer, which have threads and system calls of their own.
bool kiosk_is_sanitized(void);

/// Populates the pages of new, all-zero memory: one call instead of a page fault for each. `base` is the beginning of a mapping.
void kiosk_populate(void *_Nonnull base, size_t count);
/// Likewise, for processes that may not open files: device memory then gets random content.
void kiosk_populate_without_files(void *_Nonnull base, size_t count);
/// Populates the pages of memory that another process has written, for reading; does nothing before Linux 5.14. `place` need not be
/// aligned.
void kiosk_populate_read(const void *_Nonnull place, size_t count);

/// Makes `size` bytes at `base` the arena for large blocks and for the functions below. Call once, before there is a second thread. Returns
/// false if there is an arena already, or `base` is not page-aligned. arena.c explains it.
bool kiosk_arena_attach(void *_Nonnull base, size_t size);
/// Returns whether a place is in the arena.
bool kiosk_arena_owns(const void *_Nullable place);
/// Returns the offset of `count` bytes from the beginning of the arena; -1 if they are not all in it.
ptrdiff_t kiosk_arena_offset(const void *_Nullable place, size_t count);
/// Returns a block of the arena, for `kiosk_arena_free`; NULL without space or without an arena. Any thread.
void *_Nullable kiosk_arena_take(size_t alignment, size_t size);
void kiosk_arena_free(void *_Nonnull memory);
/// Returns the usable bytes of a block.
size_t kiosk_arena_room(const void *_Nonnull memory);
/// Returns whether posix_memalign(3) uses the arena: only if this program has a free(3) that knows it (CReaderMemory).
bool kiosk_arena_serves_malloc(void);
extern const bool kiosk_frees_arena __attribute__((weak));

/// Bytes of a numeric address, with its scope and a terminating 0.
enum { KIOSK_ADDRESS_SIZE = 64 };
/// A lookup of the addresses of a host in `.local`: writes at most `most` of them, and returns their number. NULL for no lookup. It serves
/// getaddrinfo(3) in a reader's program (CReaderMemory). Set it before there is a second thread.
typedef size_t kiosk_name_lookup(const char *_Nonnull name, char (*_Nonnull addresses)[KIOSK_ADDRESS_SIZE], size_t most);
extern kiosk_name_lookup *_Nullable kiosk_name_asker;
void kiosk_ask_for_names(kiosk_name_lookup *_Nullable asker);

/// Waits while `word` is `seen`, at most until `deadline_ns` on CLOCK_MONOTONIC (negative: for ever). May return early. futex(2).
void kiosk_futex_wait(const uint32_t *_Nonnull word, uint32_t seen, int64_t deadline_ns);
/// Wakes all threads that wait on `word`. futex(2).
void kiosk_futex_wake_all(const uint32_t *_Nonnull word);
/// The same two for memory that several processes map. The first returns 0 after a wake-up or without a wait, ETIMEDOUT, or another errno.
int kiosk_shared_futex_wait(const uint32_t *_Nonnull word, uint32_t seen, int64_t deadline_ns);
void kiosk_shared_futex_wake_all(const uint32_t *_Nonnull word);
uint32_t kiosk_futex_value(const uint32_t *_Nonnull word);
void kiosk_futex_advance(uint32_t *_Nonnull word);

/// Returns the kind of the file system of `path` (linux/magic.h); -1 if there is no such file. statfs(2), which the Glibc module lacks.
long kiosk_file_system(const char *_Nonnull path);

/// Returns whether nobody can truncate a mapped file: it is a dma-buf, or sealed memory. fstatfs(2), and fcntl(2) with F_GET_SEALS, which
/// the Glibc module lacks.
bool kiosk_keeps_its_size(int file);

/// Opens a regular file beneath the folder `root` for reading: follows no link, enters no other file system, and does not wait. Returns
/// its descriptor, or -1 with errno: ELOOP or EXDEV if the path leads elsewhere, EINVAL if it is not a regular file. openat2(2), which the
/// Glibc module lacks.
int kiosk_open_beneath(int root, const char *_Nonnull path);

/// Exchanges two files or folders of one file system atomically. Returns 0, or -1 with errno. renameat2(2), which the Glibc module lacks.
int kiosk_exchange(const char *_Nonnull a, const char *_Nonnull b);

/// Makes a pipe, both ends close-on-exec. pipe2(2), which the Glibc module lacks.
int kiosk_pipe(int *_Nonnull ends, int flags);

/// Removes a folder and its content, as far as possible; follows no link. nftw(3), which the Glibc module lacks.
void kiosk_remove_tree(const char *_Nonnull path);
