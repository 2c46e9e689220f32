// kiosk-reader's zygote: a process with FFmpeg loaded and one thread, which forks a process for each source. posix_spawn(3), fork(2),
// pidfd_open(2).
//
// The player starts it once and keeps the other end of a SEQPACKET socket. It sends a request with one descriptor, which becomes descriptor
// 3 of the new process. The zygote answers twice: `started` with a pidfd, and `ended` with the status of wait4(2), which only a parent can
// get.
//
//     player ── request + socket ──▶ zygote ── fork ──▶ reader
//            ◀── started + pidfd ──┤
//            ◀── ended, status ────┘
//
// All of it is C: between fork(2) and the sandbox no runtime may have made a thread or taken a lock.
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "csandbox.h"

/// How a new process shares the processor and the disk with the others.
enum kiosk_priority {
    KIOSK_PRIORITY_NORMAL,
    /// Nice value 19 and the idle class of disk access.
    KIOSK_PRIORITY_GIVE_WAY,
    /// SCHED_IDLE as well.
    KIOSK_PRIORITY_IDLE,
};

/// Requests a process. A descriptor comes with it.
struct kiosk_fork_request {
    /// The number that the answers repeat.
    uint32_t number;
    /// enum kiosk_priority.
    uint32_t priority;
};

enum kiosk_fork_answer_kind {
    /// The zygote is ready; `pid` is its own, `number` its KIOSK_READER_PROTOCOL.
    KIOSK_ZYGOTE_READY,
    /// The process has started. Its pidfd comes with it, if the kernel has pidfds.
    KIOSK_FORK_STARTED,
    /// There is no process: `status` is the errno of fork(2).
    KIOSK_FORK_FAILED,
    /// The process has ended: `status` is that of wait4(2), with its processor time in microseconds.
    KIOSK_FORK_ENDED,
};

/// An answer of the zygote.
struct kiosk_fork_answer {
    uint32_t kind, number;
    int32_t pid, status;
    uint64_t microseconds;
};

/// The version of the protocol between a player and a reader. Each change of messages or of shared memory gets another number, so two
/// builds do not misread each other.
enum { KIOSK_READER_PROTOCOL = 1 };

/// Starts the program at `path` as a zygote, in a session of its own. It gets only the environment variables in `kept`: names or prefixes,
/// ended by NULL. Stores its socket in `socket` and its process in `process`. Returns 0, or an errno of posix_spawn(3).
int kiosk_zygote_start(const char *_Nonnull path, const char *_Nullable const *_Nonnull kept, int *_Nonnull socket, pid_t *_Nonnull process);

/// Serves requests on KIOSK_READER_CONTROL. Returns in each process that it forks, whose own socket then has that number. In the zygote it
/// does not return: the zygote ends when the player has gone.
void kiosk_zygote_serve(void);

/// Returns `SEGV` for SIGSEGV; NULL if the number is no signal. sigabbrev_np(3).
const char *_Nullable kiosk_signal_name(int signal);

/// Sends a signal to a process by its pidfd, which never means another process, even after its end. Returns 0, or -1 with errno.
/// pidfd_send_signal(2).
int kiosk_signal_process(int pidfd, int signal);
