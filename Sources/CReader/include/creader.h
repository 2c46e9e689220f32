// kiosk-reader's zygote: a process that has FFmpeg loaded and no second thread, and forks for each that is to be read. posix_spawn(3), fork(2), pidfd_open(2).
//
// The player starts it once and keeps the other end of a SEQPACKET socket. It sends a request with one descriptor, which the new process has as descriptor 3, and is
// answered twice: `started` with a pidfd, and `ended` with the status of wait4(2), which only a parent may have.
//
//     player ── request + socket ──▶ zygote ── fork ──▶ reader
//            ◀── started + pidfd ──┤
//            ◀── ended, status ────┘
//
// All of it is C, since between fork(2) and the sandbox there may be no runtime that has made a thread or taken a lock.
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

/// Asks for a process. A descriptor comes with it.
struct kiosk_fork_request {
    /// What the answers name it by.
    uint32_t number;
    /// enum kiosk_priority.
    uint32_t priority;
};

enum kiosk_fork_answer_kind {
    /// The zygote is ready; `pid` is its own, `number` its KIOSK_READER_PROTOCOL.
    KIOSK_ZYGOTE_READY,
    /// The process is there. Its pidfd comes with it, where the kernel has such.
    KIOSK_FORK_STARTED,
    /// There is none: `status` is the errno of fork(2).
    KIOSK_FORK_FAILED,
    /// The process has ended: `status` is that of wait4(2), with the microseconds of processor time that it has taken.
    KIOSK_FORK_ENDED,
};

/// An answer of the zygote's.
struct kiosk_fork_answer {
    uint32_t kind, number;
    int32_t pid, status;
    uint64_t microseconds;
};

/// Which protocol a player and a reader have in common: another number with each change of messages or of shared memory, so that two builds do not talk past each other.
enum { KIOSK_READER_PROTOCOL = 1 };

/// Starts the program at `path` as a zygote, in a session of its own and with no more of the environment than a reader needs: what is begun of it is `name[=…]` in
/// `kept`, which ends with NULL. Its socket is written to `socket`, its process to `process`. 0, or an errno of posix_spawn(3).
int kiosk_zygote_start(const char *_Nonnull path, const char *_Nullable const *_Nonnull kept, int *_Nonnull socket, pid_t *_Nonnull process);

/// Serves requests on KIOSK_READER_CONTROL; returns in each process that it forks, which then has its own socket by that number. The zygote itself ends when the
/// player has gone: it does not return.
void kiosk_zygote_serve(void);

/// `SEGV` for SIGSEGV; NULL for a number that is none. sigabbrev_np(3).
const char *_Nullable kiosk_signal_name(int signal);

/// Sends a signal to a process by its pidfd, which means no other one even when it is gone. 0, or -1 with errno. pidfd_send_signal(2).
int kiosk_signal_process(int pidfd, int signal);
