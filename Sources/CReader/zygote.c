#define _GNU_SOURCE
#include "creader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cplatform.h"

extern char **environ;

// MARK: The player's side

static bool is_kept(const char *variable, const char *const *kept) {
    for (; *kept; kept++) {
        size_t length = strlen(*kept);
        // `FAULTY_` keeps all variables with that prefix.
        if (strncmp(variable, *kept, length) == 0 && ((*kept)[length - 1] == '_' || variable[length] == '=')) return true;
    }
    return false;
}

int kiosk_zygote_start(const char *path, const char *const *kept, int *socket, pid_t *process) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    size_t count = 0;
    while (environ && environ[count]) count++;
    char **environment = calloc(count + 2, sizeof *environment);
    if (!environment) {
        close(ends[0]);
        close(ends[1]);
        return ENOMEM;
    }
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_kept(environ[i], kept)) environment[used++] = environ[i];
    }
    // The signal reports a crash; Swift's own report would need another program.
    environment[used] = "SWIFT_BACKTRACE=enable=no";

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    // If the descriptor has that number already, dup2 would leave close-on-exec set; glibc clears it.
    posix_spawn_file_actions_adddup2(&actions, ends[1], KIOSK_READER_CONTROL);
    posix_spawn_file_actions_addclosefrom_np(&actions, KIOSK_READER_CONTROL + 1);
    posix_spawnattr_init(&attributes);
    // A terminal's Ctrl-C goes to the player only, and its blocked and ignored signals are not inherited.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    char *arguments[] = {(char *)path, "zygote", NULL};
    int status = posix_spawn(process, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    close(ends[1]);
    if (status != 0) {
        close(ends[0]);
        return status;
    }
    *socket = ends[0];
    return 0;
}

int kiosk_signal_process(int pidfd, int signal) { return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0); }

const char *kiosk_signal_name(int signal) { return sigabbrev_np(signal); }

// MARK: The zygote's side

/// Reports why there can be no zygote, and ends it.
static _Noreturn void give_up(const char *reason) {
    dprintf(2, "kiosk-reader: %s\n", reason);
    _exit(3);
}

static int count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks) return 1;
    int count = 0;
    for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/// Answers the player; returns false if it is gone.
static bool answer(struct kiosk_fork_answer message, int descriptor) {
    ssize_t sent;
    do sent = kiosk_send(KIOSK_READER_CONTROL, &message, sizeof message, descriptor);
    while (sent < 0 && errno == EINTR);
    return sent == sizeof message;
}

/// Reports all processes that have ended; returns false if the player is gone.
static bool reap(void) {
    struct rusage usage;
    int status;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
        uint64_t time = 0;
        const struct timeval *parts[] = {&usage.ru_utime, &usage.ru_stime};
        for (int i = 0; i < 2; i++) time += (uint64_t)parts[i]->tv_sec * 1000000 + (uint64_t)parts[i]->tv_usec;
        struct kiosk_fork_answer ended = {.kind = KIOSK_FORK_ENDED, .pid = pid, .status = status, .microseconds = time};
        if (!answer(ended, -1)) return false;
    }
    return true;
}

/// Prepares the new process before anything else.
static void become_reader(pid_t zygote, uint32_t priority) {
    // It is useless without the player, whose end is also the zygote's.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != zygote) _exit(0);
    // If memory is short, the kernel kills it before the player.
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        (void)!write(score, "500", 3);
        close(score);
    }
    if (priority >= KIOSK_PRIORITY_GIVE_WAY) kiosk_thread_give_way();
    if (priority >= KIOSK_PRIORITY_IDLE) kiosk_thread_run_when_idle();
}

/// Carries out a request. Returns true in the new process, which has its own socket in place of the zygote's.
static bool fork_reader(struct kiosk_fork_request request, int socket, int signals, const sigset_t *mask) {
    pid_t zygote = getpid(), pid = fork();
    if (pid == 0) {
        close(signals);
        dup2(socket, KIOSK_READER_CONTROL);
        close(socket);
        sigprocmask(SIG_SETMASK, mask, NULL);
        become_reader(zygote, request.priority);
        return true;
    }
    struct kiosk_fork_answer message = {.kind = KIOSK_FORK_STARTED, .number = request.number, .pid = pid};
    if (pid < 0) {
        message.kind = KIOSK_FORK_FAILED;
        message.status = errno;
    }
    // No pid is reused unseen: only this parent reaps readers, and not before this answer.
    int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    bool isHeard = answer(message, pidfd);
    if (pidfd >= 0) close(pidfd);
    if (!isHeard) _exit(0);
    return false;
}

void kiosk_zygote_serve(void) {
    if (count_threads() != 1) give_up("a library has started a thread while it was loaded, so nothing can be forked");
    // Signals that end the player are for the player: the zygote ends after it.
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) give_up("no signalfd");
    if (!answer((struct kiosk_fork_answer){.kind = KIOSK_ZYGOTE_READY, .number = KIOSK_READER_PROTOCOL, .pid = getpid()}, -1)) _exit(0);
    struct pollfd waited[] = {{.fd = KIOSK_READER_CONTROL, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
    for (;;) {
        if (poll(waited, 2, -1) < 0) {
            if (errno == EINTR) continue;
            _exit(3);
        }
        if (waited[1].revents) {
            struct signalfd_siginfo info;
            while (read(signals, &info, sizeof info) > 0) {}
            if (!reap()) _exit(0);
        }
        if (!waited[0].revents) continue;
        struct kiosk_fork_request request;
        int socket = -1;
        ssize_t count = kiosk_receive(KIOSK_READER_CONTROL, &request, sizeof request, &socket);
        if (count < 0 && errno == EINTR) continue;
        // The player has gone, and all readers get SIGKILL.
        if (count <= 0) _exit(0);
        bool isReader = count == sizeof request && socket >= 0 && fork_reader(request, socket, signals, &before);
        if (isReader) return;
        if (socket >= 0) close(socket);
    }
}
