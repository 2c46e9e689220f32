// The sandbox of a reader: a process that sees the bytes of media, and that such bytes may take over one day.
//
// Three layers, each of which holds without the others. Descriptors and limits: the process cannot use what it does not have, and its
// memory ends before the machine's. Landlock: the process can open only certain files, and reaches no process outside. seccomp: it can make
// only the system calls that the table in calls.c allows. None of them can be undone, and all later threads are under them.
//
// The filter answers most calls itself. It hands some to the SIGSYS handler below, in the calling thread. The handler turns a refused call
// into EPERM and counts it in memory that the player reads: a library that makes an odd call should get an error, not end. No decoder ever
// has a reason for a few calls (KIOSK_WORST): the handler reports their number, then the process ends by SIGSYS. A reader that is hostile
// already can forge the report, but it does not get the call. If SIGSYS is blocked, the kernel ends the process without the handler, and
// the number is not reported: posix_spawn(3) blocks all signals.
#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static void note_lack(struct kiosk_sandbox_state *state, const char *what, int error) {
    size_t length = strlen(state->lack);
    snprintf(state->lack + length, sizeof state->lack - length, "%s%s: %s", length > 0 ? "; " : "", what, strerror(error));
}

// ---- Descriptors and limits ----

static void close_from(unsigned first) {
    if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
    // Linux before 5.9, or another filter around this one
    for (long descriptor = first, end = sysconf(_SC_OPEN_MAX); descriptor < end; descriptor++) close((int)descriptor);
}

/// Keeps a limit that is lower already.
static bool set_limit(int resource, rlim_t most) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0) return false;
    if (limit.rlim_max > most) limit.rlim_max = most;
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

static bool set_limits(const struct kiosk_sandbox_limits *limits, struct kiosk_sandbox_state *state) {
    const struct {
        const char *name;
        int resource;
        rlim_t most;
    } all[] = {
        {"RLIMIT_AS", RLIMIT_AS, limits->address_space > 0 ? limits->address_space : RLIM_INFINITY},
        {"RLIMIT_DATA", RLIMIT_DATA, limits->data > 0 ? limits->data : RLIM_INFINITY},
        {"RLIMIT_FSIZE", RLIMIT_FSIZE, limits->file_size},
        {"RLIMIT_CORE", RLIMIT_CORE, limits->core},
        {"RLIMIT_MEMLOCK", RLIMIT_MEMLOCK, 0},
        {"RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE, 0},
        {"RLIMIT_RTPRIO", RLIMIT_RTPRIO, 0},
        // This is the first number that no descriptor can have. With 0 the process cannot receive any either; open ones stay usable.
        {"RLIMIT_NOFILE", RLIMIT_NOFILE, limits->grants > 0 ? (rlim_t)KIOSK_READER_GRANTED + limits->grants : 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (set_limit(all[i].resource, all[i].most)) continue;
        note_lack(state, all[i].name, errno);
        return false;
    }
    return true;
}

// ---- Landlock ----

// Interfaces later than the headers of Debian 12
enum { ABI_PORTS = 4, ABI_DEVICES = 5, ABI_SCOPES = 6 };
enum { BIND_TCP = 1, CONNECT_TCP = 2, ABSTRACT_SOCKETS_AND_SIGNALS = 3, IOCTL_DEV = 1 << 15 };
// Rights that apply to a file that is no folder
static const uint64_t of_files = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | IOCTL_DEV;

/// Returns the version of Landlock's interface; 0 and errno without Landlock.
static int landlock_version(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

/// Skips a path that does not exist on this machine.
static void leave_open(int rules, const char *path, uint64_t rights) {
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    struct stat status;
    if (rule.parent_fd < 0) return;
    if (fstat(rule.parent_fd, &status) != 0 || !S_ISDIR(status.st_mode)) rule.allowed_access &= of_files;
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

static void restrict_files(
    enum kiosk_sandbox_profile profile, const struct kiosk_sandbox_limits *limits, struct kiosk_sandbox_state *state) {
    // All file rights that each interface knows
    static const uint64_t known[] = {0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
    int abi = landlock_version();
    if (abi == 0) return note_lack(state, "Landlock", errno);
    struct {
        uint64_t files, ports, scopes;
    } all = {
        known[abi < ABI_DEVICES ? abi : ABI_DEVICES],
        // Servers listen on any port
        kiosk_sandbox_has_network(profile) ? BIND_TCP : BIND_TCP | CONNECT_TCP,
        ABSTRACT_SOCKETS_AND_SIGNALS,
    };
    size_t size = abi < ABI_PORTS ? sizeof all.files : abi < ABI_SCOPES ? sizeof all.files + sizeof all.ports : sizeof all;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, size, 0);
    if (rules < 0) return note_lack(state, "Landlock", errno);
    size_t count;
    const struct kiosk_sandbox_path *paths = kiosk_sandbox_paths(&count);
    for (size_t i = 0; i < count; i++) {
        if (paths[i].profiles & 1u << profile) leave_open(rules, paths[i].path, paths[i].rights & all.files);
    }
    if (profile != KIOSK_SANDBOX_FILE) {
        const uint64_t reads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
        for (const char *const *path = limits->readable; path && *path; path++) leave_open(rules, *path, reads);
        for (const char *const *path = limits->devices; path && *path; path++) leave_open(rules, *path, of_files & all.files);
    }
    if (syscall(SYS_landlock_restrict_self, rules, 0) == 0) state->landlock = abi;
    else note_lack(state, "Landlock", errno);
    close(rules);
}

// ---- All of it ----

bool kiosk_restrict_process(
    enum kiosk_sandbox_profile profile, const struct kiosk_sandbox_limits *limits, struct kiosk_sandbox_state *state) {
    *state = (struct kiosk_sandbox_state){0};
    close_from(KIOSK_READER_GRANTED);
    // Otherwise a received descriptor could get the numbers 0 and 1
    if (dup2(KIOSK_READER_LOG, 0) != 0 || dup2(KIOSK_READER_LOG, 1) != 1) return note_lack(state, "descriptor 2", errno), false;
    // If the log is an ordinary file, RLIMIT_FSIZE loses the text, but does not end the process
    signal(SIGXFSZ, SIG_IGN);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return note_lack(state, "PR_SET_NO_NEW_PRIVS", errno), false;
    if (prctl(PR_SET_DUMPABLE, limits->core > 0, 0, 0, 0) != 0) return note_lack(state, "PR_SET_DUMPABLE", errno), false;
    restrict_files(profile, limits, state);
    // After Landlock, which needs descriptors
    return set_limits(limits, state);
}

bool kiosk_enter_sandbox(
    enum kiosk_sandbox_profile profile, const struct kiosk_sandbox_limits *limits, struct kiosk_sandbox_report *report,
    struct kiosk_sandbox_state *state) {
    if (!kiosk_restrict_process(profile, limits, state)) return false;
    kiosk_filter_calls(profile, report, state);
    return true;
}

// ---- System calls ----

struct kiosk_sandbox_refusals kiosk_sandbox_refusals(const struct kiosk_sandbox_report *report) {
    return (struct kiosk_sandbox_refusals){
        .count = __atomic_load_n(&report->count, __ATOMIC_RELAXED),
        .last = (int)__atomic_load_n(&report->last, __ATOMIC_RELAXED) - 1,
        .worst = (int)__atomic_load_n(&report->worst, __ATOMIC_RELAXED) - 1,
    };
}

struct kiosk_sandbox_state kiosk_sandbox_offer(void) {
    struct kiosk_sandbox_state state = {.landlock = landlock_version()};
    if (state.landlock == 0) note_lack(&state, "Landlock", errno);
#ifdef FILTER_ARCHITECTURE
    uint32_t action = SECCOMP_RET_TRAP;
    state.has_filter = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
#else
    errno = ENOSYS;
#endif
    if (!state.has_filter) note_lack(&state, "seccomp", errno);
    return state;
}

#ifndef FILTER_ARCHITECTURE

void kiosk_filter_calls(
    enum kiosk_sandbox_profile profile, struct kiosk_sandbox_report *report, struct kiosk_sandbox_state *state) {
    (void)profile, (void)report;
    note_lack(state, "seccomp", ENOSYS);
}

#else

// si_code of a signal from seccomp; the C library's headers lack it
enum { BY_SECCOMP = 1 };
// System call numbers of another interface, x32, begin here
enum { X32 = 0x40000000 };

#ifdef __x86_64__
static const int registers[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10};
#define ARGUMENT_OF(context, index) ((context)->uc_mcontext.gregs[registers[index]])
#define RESULT_OF(context) ((context)->uc_mcontext.gregs[REG_RAX])
#else
#define ARGUMENT_OF(context, index) ((context)->uc_mcontext.regs[index])
#define RESULT_OF(context) ((context)->uc_mcontext.regs[0])
#endif

static struct kiosk_sandbox_report *told;

/// Calls fstat(2) in place of newfstatat(2) with an empty path, which fstat(3) calls. Returns -EPERM for a path: a filter cannot see paths,
/// and Landlock would not stop the process from examining files by path.
static long stat_open_file(ucontext_t *context) {
    const char *path = (const char *)ARGUMENT_OF(context, 1);
    if (!(ARGUMENT_OF(context, 3) & AT_EMPTY_PATH) || (path && *path != 0)) return -EPERM;
    long result = syscall(SYS_fstat, (int)ARGUMENT_OF(context, 0), ARGUMENT_OF(context, 2));
    return result < 0 ? -errno : result;
}

static void answer_refused_call(int signal, siginfo_t *info, void *interrupted) {
    (void)signal;
    if (info->si_code != BY_SECCOMP) return;
    ucontext_t *context = interrupted;
    uint32_t number = (uint32_t)info->si_syscall + 1;
    int saved = errno;
    long result = -EPERM;
    if (info->si_errno == TRAP_WORST) {
        uint32_t none = 0;
        if (told) __atomic_compare_exchange_n(&told->worst, &none, number, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        // Now the filter ends the process for this call
        syscall(SYS_rt_sigaction, SIGSYS, NULL, NULL, 8);
        _exit(128 + SIGSYS);
    }
    if (info->si_errno == TRAP_STAT) result = stat_open_file(context);
    if (result == -EPERM && told) {
        __atomic_store_n(&told->last, number, __ATOMIC_RELAXED);
        __atomic_fetch_add(&told->count, 1, __ATOMIC_RELAXED);
    }
    errno = saved;
    RESULT_OF(context) = result;
}

struct program {
    struct sock_filter code[2048];
    unsigned short length;
};

static void add(struct program *program, uint16_t code, unsigned if_so, unsigned if_not, uint32_t value) {
    // A truncated program jumps out of range, and the kernel refuses it
    if (program->length == sizeof program->code / sizeof *program->code) return;
    program->code[program->length++] = (struct sock_filter){code, (uint8_t)if_so, (uint8_t)if_not, value};
}

enum { LOAD = BPF_LD | BPF_W | BPF_ABS, EQUAL = BPF_JMP | BPF_JEQ | BPF_K, NOT_LESS = BPF_JMP | BPF_JGE | BPF_K };
enum { AND = BPF_ALU | BPF_AND | BPF_K, ANSWER = BPF_RET | BPF_K };

static void add_call(struct program *program, int number, const struct call_rule *rule) {
    unsigned count = rule->count, exact = rule->exact_count, mask = rule->mask != 0;
    unsigned steps = count == 0 ? 1 : 1 + exact + mask + count + 2;
    add(program, EQUAL, 0, steps, (uint32_t)number);
    if (count > 0) {
        // The lower half of an argument comes first on both processors; the kernel takes no more of the arguments compared here
        add(program, LOAD, 0, 0, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * rule->argument));
        for (unsigned i = 0; i < exact; i++) add(program, EQUAL, exact - i + mask + count, 0, rule->exact[i]);
        if (mask) add(program, AND, 0, 0, rule->mask);
        for (unsigned i = 0; i < count; i++) {
            add(program, EQUAL, count - i, 0, rule->values[i] == (uint32_t)OWN_PROCESS ? (uint32_t)getpid() : rule->values[i]);
        }
    }
    add(program, ANSWER, 0, 0, rule->answer);
    if (count > 0) add(program, ANSWER, 0, 0, rule->other);
}

static void make_program(struct program *program, enum kiosk_sandbox_profile profile) {
    add(program, LOAD, 0, 0, offsetof(struct seccomp_data, arch));
    add(program, EQUAL, 1, 0, FILTER_ARCHITECTURE);
    add(program, ANSWER, 0, 0, SECCOMP_RET_KILL_PROCESS);
    add(program, LOAD, 0, 0, offsetof(struct seccomp_data, nr));
    add(program, NOT_LESS, 0, 1, X32);
    add(program, ANSWER, 0, 0, SECCOMP_RET_KILL_PROCESS);
    size_t count;
    const struct kiosk_sandbox_row *rows = kiosk_sandbox_calls(&count);
    for (size_t row = 0; row < count; row++) {
        for (size_t call = 0; call < rows[row].count; call++) {
            int number = rows[row].calls[call].number;
            if (number >= 0) add_call(program, number, &call_rules[rows[row].rules[profile]]);
        }
    }
    add(program, ANSWER, 0, 0, call_rules[KIOSK_COUNTED].answer);
}

void kiosk_filter_calls(
    enum kiosk_sandbox_profile profile, struct kiosk_sandbox_report *report, struct kiosk_sandbox_state *state) {
    static struct program program;
    make_program(&program, profile);
    struct sock_fprog given = {.len = program.length, .filter = program.code};

    told = report;
    // SA_NODEFER: the handler itself makes the call that ends the process by SIGSYS
    struct sigaction action = {.sa_sigaction = answer_refused_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGSYS);
    sigaction(SIGSYS, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &own, NULL);

    // Without SPEC_ALLOW older kernels slow the decoder down to stop timing attacks, for which it has no secrets. A driver's threads are
    // there already, and get the filter by TSYNC. prctl(2) is the call that units and containers forbid least
    unsigned long flags = SECCOMP_FILTER_FLAG_SPEC_ALLOW | (kiosk_sandbox_has_devices(profile) ? SECCOMP_FILTER_FLAG_TSYNC : 0);
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &given);
    int error = result > 0 ? ESRCH : errno;
    if (result != 0 && !kiosk_sandbox_has_devices(profile)) result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &given, 0, 0);
    state->has_filter = result == 0;
    if (!state->has_filter) note_lack(state, "seccomp", error);
}

#endif
