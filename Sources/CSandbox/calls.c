// The table of system calls that a reader may make, and why. It generates the filter and docs/sandbox.md. The filter checks in the order of
// the rows, so frequent calls come first. A call that is missing here is KIOSK_COUNTED.
//
// OLD calls have no number on aarch64, whose C library uses newer ones.
#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

// ---- Rules ----

#define ALLOW SECCOMP_RET_ALLOW
#define FAIL(error) (SECCOMP_RET_ERRNO | (error))
#define TRAP(kind) (SECCOMP_RET_TRAP | (kind))
#define COUNT TRAP(TRAP_COUNT)
#define WORST TRAP(TRAP_WORST)
#define ALWAYS(text, result) {.words = text, .answer = result}
// An argument, its relevant bits (0: all), the number of values, and the values
#define ARGUMENT(index, bits, number, ...) .argument = index, .mask = (uint32_t)(bits), .count = number, .values = {__VA_ARGS__}

// A new namespace, a stopped parent or a traced child is no thread
#define KINDS_OF_CLONE                                                                                                                  \
    (CLONE_VM | CLONE_THREAD | CLONE_VFORK | CLONE_PTRACE | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
     CLONE_NEWPID | CLONE_NEWNET)
#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))
#define IOCTL(type) ((uint32_t)(type) << 8)
// DRM, V4L2, media controllers, dma-bufs and fences, memory for dma-bufs (heaps, udmabuf): bits 8 to 15 of a request are its kind
#define DEVICES ARGUMENT(1, IOCTL(0xff), 7, IOCTL('d'), IOCTL('V'), IOCTL('|'), IOCTL('b'), IOCTL('>'), IOCTL('H'), IOCTL('u'))

const struct call_rule call_rules[] = {
    [KIOSK_ALLOWED] = ALWAYS("yes", ALLOW),
    [KIOSK_NEVER_EXECUTABLE] = {"never executable", COUNT, ALLOW, ARGUMENT(2, PROT_EXEC, 1, 0)},
    [KIOSK_THREADS_ONLY] = {"threads only", WORST, ALLOW, ARGUMENT(0, KINDS_OF_CLONE, 1, CLONE_VM | CLONE_THREAD)},
    [KIOSK_ITSELF_ONLY] = {"itself only", WORST, ALLOW, ARGUMENT(0, 0, 1, (uint32_t)OWN_PROCESS)},
    [KIOSK_LOG_ONLY] = {"its log only", COUNT, ALLOW, ARGUMENT(0, 0, 3, 0, 1, KIOSK_READER_LOG)},
    [KIOSK_CONTROL_ONLY] = {"its socket only", COUNT, ALLOW, ARGUMENT(0, 0, 1, KIOSK_READER_CONTROL)},
    // From the source on: the same call reads granted descriptors
    [KIOSK_SOURCE_ONLY] = {"its files only", ALLOW, COUNT, ARGUMENT(0, 0, 6, 0, 1, 2, 3, 4, 5)},
    [KIOSK_NAMES_ONLY] = {"names only", COUNT, ALLOW, ARGUMENT(0, 0, 3, PR_SET_NAME, PR_GET_NAME, PR_SET_VMA)},
    [KIOSK_OPEN_FILES_ONLY] = ALWAYS("open files only", TRAP(TRAP_STAT)),
    [KIOSK_SIGNALS_BUT_ONE] = {"but SIGSYS", ALLOW, SECCOMP_RET_KILL_PROCESS, ARGUMENT(0, 0, 1, SIGSYS)},
    [KIOSK_FOR_READING] = {"for reading", COUNT, ALLOW, ARGUMENT(2, WRITES, 1, O_RDONLY)},
    [KIOSK_INTERNET_ONLY] = {"IPv4 and IPv6", FAIL(EAFNOSUPPORT), ALLOW, ARGUMENT(0, 0, 2, AF_INET, AF_INET6)},
    [KIOSK_FLAGS_ONLY] =
        {"flags only", COUNT, ALLOW, ARGUMENT(1, 0, 5, F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_DUPFD_CLOEXEC)},
    [KIOSK_FLAGS_AND_SEALS] =
        {"flags and seals", COUNT, ALLOW, ARGUMENT(1, 0, 6, F_GETFL, F_SETFL, F_GETFD, F_SETFD, F_DUPFD_CLOEXEC, F_ADD_SEALS)},
    [KIOSK_SOCKET_REQUESTS] = {"sockets only", FAIL(ENOTTY), ALLOW, ARGUMENT(1, 0, 2, FIONREAD, FIONBIO)},
    [KIOSK_DEVICE_REQUESTS] = {"devices only", FAIL(ENOTTY), ALLOW, DEVICES},
    [KIOSK_SOCKET_AND_DEVICE_REQUESTS] =
        {"sockets and devices only", FAIL(ENOTTY), ALLOW, DEVICES, .exact_count = 2, .exact = {FIONREAD, FIONBIO}},
    [KIOSK_REFUSED] = ALWAYS("no", FAIL(EPERM)),
    [KIOSK_NOT_THERE] = ALWAYS("no", FAIL(ENOSYS)),
    [KIOSK_NO_DEVICE] = ALWAYS("no", FAIL(ENOTTY)),
    [KIOSK_COUNTED] = ALWAYS("counted", COUNT),
    [KIOSK_WORST] = ALWAYS("killed", WORST),
};

// ---- Calls ----

#ifdef FILTER_ARCHITECTURE
#define CALL(name) {#name, SYS_##name}
#else
#define CALL(name) {#name, -1}
#endif
#if defined(FILTER_ARCHITECTURE) && defined(__x86_64__)
#define OLD(name) {#name, SYS_##name}
#else
#define OLD(name) {#name, -1}
#endif
#define CALLS(...) \
    (const struct kiosk_sandbox_call[]){__VA_ARGS__}, sizeof((struct kiosk_sandbox_call[]){__VA_ARGS__}) / sizeof(struct kiosk_sandbox_call)
#define EACH(rule) {KIOSK_##rule, KIOSK_##rule, KIOSK_##rule, KIOSK_##rule}
#define RULES(file, network, hardware, both) {KIOSK_##file, KIOSK_##network, KIOSK_##hardware, KIOSK_##both}

static const struct kiosk_sandbox_row rows[] = {
    {EACH(ALLOWED), "threads wait for each other, and for the player", CALLS(CALL(futex), CALL(sched_yield), CALL(membarrier))},
    {RULES(SOURCE_ONLY, ALLOWED, SOURCE_ONLY, ALLOWED), "it reads what the player has opened", CALLS(CALL(pread64), CALL(lseek))},
    {EACH(NEVER_EXECUTABLE), "memory for pictures, which is never code", CALLS(CALL(mmap), CALL(mprotect))},
    {EACH(ALLOWED), "memory", CALLS(CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise), CALL(mincore))},
    {EACH(ALLOWED), "the time, and sleep",
     CALLS(CALL(clock_gettime), CALL(clock_getres), CALL(gettimeofday), OLD(time), CALL(clock_nanosleep), CALL(nanosleep),
           CALL(restart_syscall))},
    {RULES(CONTROL_ONLY, ALLOWED, CONTROL_ONLY, ALLOWED), "orders of the player, and answers",
     CALLS(CALL(recvmsg), CALL(sendmsg), CALL(recvfrom), CALL(sendto))},
    {RULES(LOG_ONLY, ALLOWED, LOG_ONLY, ALLOWED), "last words before a crash", CALLS(CALL(write), CALL(writev))},
    {EACH(ALLOWED), "who it is, random numbers, and what the machine has",
     CALLS(CALL(getpid), CALL(gettid), CALL(getuid), CALL(geteuid), CALL(getgid), CALL(getegid), CALL(getrandom), CALL(getrusage),
           CALL(sysinfo), CALL(getcpu), CALL(getpriority), CALL(sched_getaffinity), CALL(sched_getscheduler), CALL(sched_getparam),
           CALL(sched_get_priority_max), CALL(sched_get_priority_min))},
    {EACH(ALLOWED), "threads, signals, and the end",
     CALLS(CALL(rseq), CALL(set_robust_list), CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(sigaltstack), CALL(exit), CALL(exit_group))},
    {EACH(SIGNALS_BUT_ONE), "what a crash prints; SIGSYS is the sandbox's own", CALLS(CALL(rt_sigaction))},
    {EACH(THREADS_ONLY), "how a thread is made", CALLS(CALL(clone))},
    {EACH(NOT_THERE), "a filter cannot see its flags; the C library then uses clone", CALLS(CALL(clone3))},
    {EACH(ITSELF_ONLY), "abort() ends the process by a signal", CALLS(CALL(tgkill), CALL(kill))},
    {EACH(NAMES_ONLY), "names of threads and memory", CALLS(CALL(prctl))},
    {EACH(ALLOWED), "what it has open", CALLS(CALL(close), CALL(fstat))},
    {RULES(OPEN_FILES_ONLY, ALLOWED, ALLOWED, ALLOWED), "the C library's other fstat", CALLS(CALL(newfstatat))},
    {RULES(COUNTED, FOR_READING, ALLOWED, ALLOWED), "certificates and name servers; devices. Landlock says which", CALLS(CALL(openat))},
    {RULES(COUNTED, ALLOWED, ALLOWED, ALLOWED), "looked at before they are opened",
     CALLS(CALL(statx), OLD(stat), OLD(lstat), OLD(access), CALL(faccessat), CALL(faccessat2), OLD(readlink), CALL(readlinkat),
           CALL(getcwd), CALL(getdents64))},
    {RULES(COUNTED, ALLOWED, ALLOWED, ALLOWED), "data and events of sockets and devices", CALLS(CALL(read), OLD(poll), CALL(ppoll), CALL(eventfd2))},
    {RULES(COUNTED, FLAGS_ONLY, FLAGS_AND_SEALS, FLAGS_AND_SEALS), "non-blocking sockets; copies of a device's descriptor", CALLS(CALL(fcntl))},
    {RULES(NO_DEVICE, SOCKET_REQUESTS, DEVICE_REQUESTS, SOCKET_AND_DEVICE_REQUESTS), "requests to a decoder; whether a descriptor is a terminal", CALLS(CALL(ioctl))},
    {RULES(WORST, INTERNET_ONLY, COUNTED, INTERNET_ONLY), "connections to servers", CALLS(CALL(socket))},
    {RULES(WORST, ALLOWED, COUNTED, ALLOWED), "connections to servers", CALLS(CALL(connect), CALL(bind))},
    {RULES(WORST, COUNTED, COUNTED, COUNTED), "nobody connects to a reader", CALLS(CALL(listen), CALL(accept), CALL(accept4))},
    {RULES(COUNTED, ALLOWED, COUNTED, ALLOWED), "connections to servers",
     CALLS(CALL(getsockopt), CALL(setsockopt), CALL(getsockname), CALL(getpeername), CALL(shutdown), CALL(recvmmsg), CALL(sendmmsg),
           CALL(readv), OLD(select), CALL(pselect6), OLD(epoll_create), CALL(epoll_create1), CALL(epoll_ctl), OLD(epoll_wait),
           CALL(epoll_pwait), OLD(pipe), CALL(pipe2), CALL(uname))},
    {RULES(COUNTED, COUNTED, ALLOWED, ALLOWED), "surfaces that are handed over, and memory for them", CALLS(CALL(dup), CALL(fstatfs), CALL(memfd_create), CALL(ftruncate))},
    {RULES(COUNTED, COUNTED, REFUSED, REFUSED), "drivers ask, and go on without", CALLS(CALL(kcmp))},
    {EACH(REFUSED), "libraries ask; the player has decided",
     CALLS(CALL(setpriority), CALL(ioprio_set), CALL(sched_setscheduler), CALL(sched_setparam), CALL(sched_setaffinity), CALL(prlimit64))},
    {EACH(WORST), "another program, or a second process", CALLS(CALL(execve), CALL(execveat), OLD(fork), OLD(vfork))},
    {EACH(WORST), "reaching into other processes",
     CALLS(CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(process_madvise), CALL(process_mrelease), CALL(pidfd_open),
           CALL(pidfd_getfd), CALL(pidfd_send_signal), CALL(tkill), CALL(rt_sigqueueinfo), CALL(rt_tgsigqueueinfo))},
    {EACH(WORST), "another view of the file system",
     CALLS(CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(move_mount), CALL(open_tree), CALL(mount_setattr),
           CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick), CALL(unshare), CALL(setns), CALL(open_by_handle_at))},
    {EACH(WORST), "parts of the kernel that attacks begin with",
     CALLS(CALL(bpf), CALL(perf_event_open), CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register), CALL(userfaultfd),
           CALL(add_key), CALL(request_key), CALL(keyctl))},
    {EACH(WORST), "the machine itself",
     CALLS(CALL(reboot), CALL(kexec_load), CALL(kexec_file_load), CALL(init_module), CALL(finit_module), CALL(delete_module),
           CALL(swapon), CALL(swapoff), OLD(iopl), OLD(ioperm), OLD(modify_ldt))},
    {EACH(WORST), "another user, other rights",
     CALLS(CALL(setuid), CALL(setgid), CALL(setreuid), CALL(setregid), CALL(setresuid), CALL(setresgid), CALL(setfsuid), CALL(setfsgid),
           CALL(setgroups), CALL(capset), CALL(seccomp))},
};

const struct kiosk_sandbox_row *kiosk_sandbox_calls(size_t *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}

const char *kiosk_sandbox_words(enum kiosk_sandbox_rule rule) { return call_rules[rule].words; }

const char *kiosk_sandbox_call_name(int number) {
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        for (size_t call = 0; call < rows[row].count; call++) {
            if (number >= 0 && rows[row].calls[call].number == number) return rows[row].calls[call].name;
        }
    }
    return NULL;
}

// ---- Paths ----

#define READ "read", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR
#define LIST "list", LANDLOCK_ACCESS_FS_READ_DIR
enum {
    NETWORK = 1 << KIOSK_SANDBOX_NETWORK | 1 << KIOSK_SANDBOX_BOTH,
    HARDWARE = 1 << KIOSK_SANDBOX_HARDWARE | 1 << KIOSK_SANDBOX_BOTH,
};

// If a name is a link, its target. Opening all of /etc would open kiosk.conf, too, and its passwords.
static const struct kiosk_sandbox_path paths[] = {
    {"/etc/resolv.conf", READ, NETWORK, "name servers"},
    {"/etc/hosts", READ, NETWORK, "names"},
    {"/etc/nsswitch.conf", READ, NETWORK, "how names are looked up"},
    {"/etc/host.conf", READ, NETWORK, "how names are looked up"},
    {"/etc/gai.conf", READ, NETWORK, "which address comes first"},
    {"/etc/services", READ, NETWORK, "names of ports"},
    {"/etc/ssl/certs", READ, NETWORK, "who vouches for servers"},
    {"/usr/share/ca-certificates", READ, NETWORK, "who vouches for servers"},
    {"/usr/local/share/ca-certificates", READ, NETWORK, "who vouches for servers"},
    {"/etc/ld.so.cache", READ, HARDWARE, "where drivers are"},
    {"/usr/lib", READ, HARDWARE, "drivers"},
    {"/usr/lib64", READ, HARDWARE, "drivers"},
    {"/lib", READ, HARDWARE, "drivers"},
    {"/lib64", READ, HARDWARE, "drivers"},
    {"/usr/local/lib", READ, HARDWARE, "drivers"},
    {"/usr/share/drirc.d", READ, HARDWARE, "settings of drivers"},
    {"/usr/share/libdrm", READ, HARDWARE, "names of chips"},
    {"/etc/drirc", READ, HARDWARE, "settings of drivers"},
    {"/etc/libva.conf", READ, HARDWARE, "settings of drivers"},
    {"/sys/dev/char", READ, HARDWARE, "what a device is"},
    {"/sys/devices", READ, HARDWARE, "what a device is"},
    {"/dev", LIST, HARDWARE, "which decoders there are"},
};

const struct kiosk_sandbox_path *kiosk_sandbox_paths(size_t *count) {
    *count = sizeof paths / sizeof *paths;
    return paths;
}
