#define _GNU_SOURCE
#include "cdisplay.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int kiosk_poll(struct pollfd *descriptors, unsigned long count, int64_t timeout_ns) {
    struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    return ppoll(descriptors, count, timeout_ns < 0 ? NULL : &timeout, NULL);
}

// VT signals. They are real-time signals, so that they do not merge with another program's use of a signal.

static _Atomic int release_fd = -1, acquire_fd = -1;

int kiosk_vt_release_signal(void) { return SIGRTMIN + 6; }
int kiosk_vt_acquire_signal(void) { return SIGRTMIN + 7; }

static void on_vt_signal(int signal) {
    int saved = errno;
    int fd = atomic_load(signal == kiosk_vt_release_signal() ? &release_fd : &acquire_fd);
    uint64_t one = 1;
    if (fd >= 0 && write(fd, &one, sizeof one) < 0) { /* the counter is full: it wakes the reader all the same */ }
    errno = saved;
}

int kiosk_vt_catch_signals(int release_eventfd, int acquire_eventfd) {
    struct sigaction action;
    sigset_t both;
    memset(&action, 0, sizeof action);
    action.sa_handler = release_eventfd >= 0 ? on_vt_signal : SIG_IGN;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    atomic_store(&release_fd, release_eventfd);
    atomic_store(&acquire_fd, acquire_eventfd);
    if (sigaction(kiosk_vt_release_signal(), &action, NULL) || sigaction(kiosk_vt_acquire_signal(), &action, NULL)) return -1;
    sigemptyset(&both);
    sigaddset(&both, kiosk_vt_release_signal());
    sigaddset(&both, kiosk_vt_acquire_signal());
    return sigprocmask(SIG_UNBLOCK, &both, NULL);
}

// The guard. The child of a process with threads, so everything in it is async-signal-safe.

static int give_back(int tty, int kd_mode, int keyboard_mode) {
    struct vt_mode automatic = {.mode = VT_AUTO};
    int failed = ioctl(tty, KDSKBMODE, keyboard_mode);
    failed |= ioctl(tty, KDSETMODE, kd_mode);
    failed |= ioctl(tty, VT_SETMODE, &automatic);
    return failed;
}

static void close_all_but(int a, int b) {
    // Close every other descriptor: an inherited DRM file would keep the display's master alive after the player's death.
    unsigned low = a < b ? a : b, high = a < b ? b : a;
    int done = (low == 0 || syscall(SYS_close_range, 0u, low - 1, 0u) == 0)
               && (high == low + 1 || syscall(SYS_close_range, low + 1, high - 1, 0u) == 0)
               && syscall(SYS_close_range, high + 1, ~0u, 0u) == 0;
    if (done) return;
    struct rlimit limit;
    unsigned end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (unsigned)limit.rlim_cur : 65536;
    for (unsigned fd = 0; fd < end; fd++)
        if (fd != low && fd != high) close((int)fd);
}

static void guard(int tty, int pipe_end, const char *path, int kd_mode, int keyboard_mode) {
    // A stop signal to the whole process group or control group must not kill the guard before the player.
    struct sigaction ignore;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    for (int signal = 1; signal <= SIGRTMAX; signal++) sigaction(signal, &ignore, NULL);
    prctl(PR_SET_NAME, "kiosk-vt-guard", 0, 0, 0);
    struct sched_param ordinary = {0};
    sched_setscheduler(0, SCHED_OTHER, &ordinary);
    close_all_but(tty, pipe_end);

    char byte;
    ssize_t count;
    do count = read(pipe_end, &byte, 1);
    while (count < 0 && errno == EINTR);
    if (count > 0) _exit(0);  // dismissed: the player has restored the VT itself

    if (give_back(tty, kd_mode, keyboard_mode) == 0) _exit(0);
    // The VT was the dead player's controlling terminal and is hung up, or kiosk lost the right to it at the player's death. A session
    // leader that opens a terminal without a controlling process gets it, and the right with it.
    setsid();
    for (int attempt = 0; attempt < 50; attempt++) {
        int fresh = open(path, O_RDWR);
        if (fresh >= 0 && give_back(fresh, kd_mode, keyboard_mode) == 0) _exit(0);
        if (fresh >= 0) close(fresh);
        struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
    }
    _exit(1);
}

int kiosk_vt_guard_start(int tty, const char *path, int kd_mode, int keyboard_mode, pid_t *pid) {
    int ends[2];
    sigset_t all, before;
    if (pipe2(ends, O_CLOEXEC)) return -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of the parent may run in the child
    pid_t child = fork();
    if (child == 0) guard(tty, ends[0], path, kd_mode, keyboard_mode);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ends[0]);
    if (child < 0) {
        close(ends[1]);
        errno = error;
        return -1;
    }
    *pid = child;
    return ends[1];
}

void kiosk_vt_guard_stop(int pipe, pid_t pid) {
    char dismissed = 0;
    if (write(pipe, &dismissed, 1) < 0) { /* the guard is dead already: nothing to dismiss */ }
    close(pipe);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
}
