// The system call filter for this processor. qemu-user has no seccomp, so a small interpreter runs its program, and the SIGSYS handler
// gets a context made here. Then the work of an honest reader; Tests/arm64 looks at its system calls. And, on a kernel of this processor,
// the trials that SandboxTests makes on the other.
#define _GNU_SOURCE
#include "sandbox.c"

#include "checks.h"
#include "sandbox_trial.c"

#define ALL(array) (sizeof(array) / sizeof *(array))

// ---- The program ----

/// Returns the filter's answer to a call; 1 if the kernel would not take the program.
static uint32_t answer_of(const struct program *program, const struct seccomp_data *data) {
    enum { BROKEN = 1 };
    uint32_t value = 0;
    for (unsigned at = 0, steps = 0; at < program->length && steps < program->length; at++, steps++) {
        const struct sock_filter *line = &program->code[at];
        bool is_so;
        switch (line->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (line->k % 4 != 0 || line->k > sizeof *data - 4) return BROKEN;
            memcpy(&value, (const char *)data + line->k, 4);
            continue;
        case BPF_ALU | BPF_AND | BPF_K: value &= line->k; continue;
        case BPF_RET | BPF_K: return line->k;
        case BPF_JMP | BPF_JEQ | BPF_K: is_so = value == line->k; break;
        case BPF_JMP | BPF_JGE | BPF_K: is_so = value >= line->k; break;
        default: return BROKEN;
        }
        at += is_so ? line->jt : line->jf;
    }
    return BROKEN;
}

static uint32_t wanted_answer(const struct call_rule *rule, uint32_t argument) {
    if (rule->count == 0) return rule->answer;
    for (unsigned i = 0; i < rule->exact_count; i++) {
        if (rule->exact[i] == argument) return rule->other;
    }
    uint32_t part = rule->mask != 0 ? argument & rule->mask : argument;
    for (unsigned i = 0; i < rule->count; i++) {
        if ((rule->values[i] == (uint32_t)OWN_PROCESS ? (uint32_t)getpid() : rule->values[i]) == part) return rule->other;
    }
    return rule->answer;
}

static void check_call(const struct program *program, const struct kiosk_sandbox_call *call, const struct call_rule *rule) {
    uint32_t probes[64] = {0, 1, 2, 3, 4, 5, 6, 7, (uint32_t)-1, (uint32_t)getpid(), 0x80000000};
    unsigned count = 11;
    for (unsigned i = 0; i < rule->count; i++) {
        probes[count++] = rule->values[i];
        // The same value with bits outside the mask, and one with a changed bit
        probes[count++] = rule->values[i] | (rule->mask ? ~rule->mask & number() : 0);
        probes[count++] = rule->values[i] ^ 1u << number() % 32;
    }
    for (unsigned i = 0; i < rule->exact_count; i++) probes[count++] = rule->exact[i];
    for (unsigned i = 0; i < 8; i++) probes[count++] = number();
    unsigned wrong = 0;
    for (unsigned i = 0; i < count; i++) {
        struct seccomp_data data = {.nr = call->number, .arch = FILTER_ARCHITECTURE};
        for (int argument = 0; argument < 6; argument++) data.args[argument] = (uint64_t)number() << 32 | number();
        // The filter ignores the upper half
        data.args[rule->argument] = (uint64_t)number() << 32 | probes[i];
        wrong += answer_of(program, &data) != wanted_answer(rule, probes[i]);
    }
    expect(wrong == 0, "%s is answered wrongly %u times in %u", call->name, wrong, count);
}

static const struct kiosk_sandbox_row *row_of(const char *name, const struct kiosk_sandbox_call **found) {
    size_t count;
    const struct kiosk_sandbox_row *rows = kiosk_sandbox_calls(&count);
    for (size_t row = 0; row < count; row++) {
        for (size_t call = 0; call < rows[row].count; call++) {
            if (strcmp(rows[row].calls[call].name, name) != 0) continue;
            if (found) *found = &rows[row].calls[call];
            return &rows[row];
        }
    }
    return NULL;
}

/// Calls without a number on aarch64, and the ones that its C library makes instead.
static const char *const successors[][2] = {
    {"time", "clock_gettime"},     {"stat", "newfstatat"},        {"lstat", "newfstatat"}, {"access", "faccessat"}, {"readlink", "readlinkat"},
    {"poll", "ppoll"},             {"select", "pselect6"},        {"pipe", "pipe2"},       {"epoll_wait", "epoll_pwait"}, {"epoll_create", "epoll_create1"},
    {"fork", "clone"},             {"vfork", "clone"},            {"iopl", NULL},          {"ioperm", NULL}, {"modify_ldt", NULL},
};

static void check_missing(void) {
    size_t count, missing = 0;
    const struct kiosk_sandbox_row *rows = kiosk_sandbox_calls(&count);
    for (size_t row = 0; row < count; row++) {
        for (size_t call = 0; call < rows[row].count; call++) missing += rows[row].calls[call].number < 0;
    }
#ifdef __aarch64__
    expect(missing == ALL(successors), "%zu calls have no number, not %zu", missing, ALL(successors));
    for (size_t i = 0; i < ALL(successors); i++) {
        const struct kiosk_sandbox_call *old = NULL, *new = NULL;
        const struct kiosk_sandbox_row *one = row_of(successors[i][0], &old), *other = successors[i][1] ? row_of(successors[i][1], &new) : one;
        expect(one && other && old->number < 0 && (!new || new->number >= 0), "%s has a number, or the call in its place has none", successors[i][0]);
        for (int profile = 0; one && other && profile < KIOSK_SANDBOX_PROFILES; profile++) {
            expect(one->rules[profile] != KIOSK_ALLOWED || other->rules[profile] == KIOSK_ALLOWED, "%s is allowed, and %s in its place is not",
                   successors[i][0], successors[i][1]);
        }
    }
#else
    expect(missing == 0, "%zu calls have no number", missing);
#endif
}

static bool is_old(const char *name) {
    for (size_t i = 0; i < ALL(successors); i++) {
        if (strcmp(successors[i][0], name) == 0) return true;
    }
    return false;
}

void check_filter(void) {
    expect(sizeof(struct seccomp_data) == 64 && offsetof(struct seccomp_data, args) == 16, "what the filter looks at has another layout");
#ifdef __aarch64__
    expect(FILTER_ARCHITECTURE == 0xC00000B7, "the filter is for another processor");
#endif
    static const char *const profiles[] = {"file", "network", "hardware", "both"};
    for (int profile = 0; profile < KIOSK_SANDBOX_PROFILES; profile++) {
        static struct program program;
        program.length = 0;
        make_program(&program, (enum kiosk_sandbox_profile)profile);
        expect(program.length > 100 && program.length < ALL(program.code), "the program has %d lines", program.length);
        size_t count;
        const struct kiosk_sandbox_row *rows = kiosk_sandbox_calls(&count);
        for (size_t row = 0; row < count; row++) {
            const struct call_rule *rule = &call_rules[rows[row].rules[profile]];
            for (size_t i = 0; i < rows[row].count; i++) {
                const struct kiosk_sandbox_call *call = &rows[row].calls[i];
                if (call->number >= 0) check_call(&program, call, rule);
                if (!is_old(call->name)) tell("filter: %s %s: %s", profiles[profile], call->name, rule->words);
            }
        }
        for (int call = 0; call < 1000; call++) {
            struct seccomp_data data = {.nr = call, .arch = FILTER_ARCHITECTURE};
            if (!kiosk_sandbox_call_name(call)) expect(answer_of(&program, &data) == call_rules[KIOSK_COUNTED].answer, "call %d is not counted", call);
            data.arch = FILTER_ARCHITECTURE ^ 1;
            expect(answer_of(&program, &data) == SECCOMP_RET_KILL_PROCESS, "call %d of another processor is answered", call);
            data = (struct seccomp_data){.nr = X32 | call, .arch = FILTER_ARCHITECTURE};
            expect(answer_of(&program, &data) == SECCOMP_RET_KILL_PROCESS, "call %d of another interface is answered", call);
        }
    }
    check_missing();
}

// ---- The handler ----

#ifdef __aarch64__
#define ARGUMENTS(context, a, b, c, d) \
    (context).uc_mcontext.regs[0] = (a), (context).uc_mcontext.regs[1] = (b), (context).uc_mcontext.regs[2] = (c), (context).uc_mcontext.regs[3] = (d)
#define RESULT(context) ((long)(context).uc_mcontext.regs[0])
#else
#define ARGUMENTS(context, a, b, c, d)                                                                                         \
    (context).uc_mcontext.gregs[REG_RDI] = (greg_t)(a), (context).uc_mcontext.gregs[REG_RSI] = (greg_t)(b),                    \
    (context).uc_mcontext.gregs[REG_RDX] = (greg_t)(c), (context).uc_mcontext.gregs[REG_R10] = (greg_t)(d)
#define RESULT(context) ((long)(context).uc_mcontext.gregs[REG_RAX])
#endif

void check_handler(void) {
    static struct kiosk_sandbox_report report;
    ucontext_t context = {0};
    siginfo_t info = {.si_signo = SIGSYS, .si_code = BY_SECCOMP};
    info.si_syscall = SYS_openat;
    told = &report;
    info.si_errno = TRAP_COUNT;
    ARGUMENTS(context, 1, 2, 3, 4);
    answer_refused_call(SIGSYS, &info, &context);
    struct kiosk_sandbox_refusals refusals = kiosk_sandbox_refusals(&report);
    expect(RESULT(context) == -EPERM && refusals.count == 1 && refusals.last == SYS_openat && refusals.worst == -1, "a refused call is not counted");

    int file = memfd_create("checks", 0);
    struct stat status = {0};
    expect(ftruncate(file, 12345) == 0, "no file");
    info.si_errno = TRAP_STAT;
    ARGUMENTS(context, (unsigned)file, (uintptr_t) "", (uintptr_t)&status, AT_EMPTY_PATH);
    answer_refused_call(SIGSYS, &info, &context);
    expect(RESULT(context) == 0 && status.st_size == 12345, "the C library's fstat has no answer: %ld, %ld bytes", RESULT(context), (long)status.st_size);
    ARGUMENTS(context, (unsigned)file, (uintptr_t) "/etc/passwd", (uintptr_t)&status, AT_EMPTY_PATH);
    answer_refused_call(SIGSYS, &info, &context);
    expect(RESULT(context) == -EPERM && kiosk_sandbox_refusals(&report).count == 2, "a path is looked at");
    ARGUMENTS(context, (unsigned)file, (uintptr_t) "", (uintptr_t)&status, 0);
    answer_refused_call(SIGSYS, &info, &context);
    expect(RESULT(context) == -EPERM && kiosk_sandbox_refusals(&report).count == 3, "a file without the flag is looked at");

    info.si_code = SI_USER;
    ARGUMENTS(context, 77, 2, 3, 4);
    answer_refused_call(SIGSYS, &info, &context);
    expect(kiosk_sandbox_refusals(&report).count == 3, "a signal of somebody else is counted");
    close(file);
}

// ---- An honest reader ----

void check_work(void) {
    // Without the filter: qemu-user has no seccomp
    struct test_sandbox_trial trial = {.profile = KIOSK_SANDBOX_FILE, .deed = TEST_WORK};
    struct test_sandbox_outcome outcome = test_in_sandbox(&trial);
    expect(outcome.has_entered && outcome.status == 0 && outcome.result == 0 && strcmp(outcome.log, "hello\n") == 0,
           "an honest reader: status %d, step %ld, %s, “%s”, lacks “%s”", outcome.status, outcome.result, strerror(outcome.error), outcome.log,
           outcome.state.lack);
}

// ---- A kernel of this processor ----

static struct test_sandbox_outcome call_in(int profile, int number) {
    struct test_sandbox_trial trial = {.profile = (enum kiosk_sandbox_profile)profile, .deed = TEST_CALL, .is_filtered = true, .number = number};
    return test_in_sandbox(&trial);
}

static void check_calls(int profile) {
    size_t count;
    const struct kiosk_sandbox_row *rows = kiosk_sandbox_calls(&count);
    for (size_t row = 0; row < count; row++) {
        enum kiosk_sandbox_rule rule = rows[row].rules[profile];
        for (size_t i = 0; i < rows[row].count && rule >= KIOSK_REFUSED; i++) {
            int number = rows[row].calls[i].number;
            if (number < 0) continue;
            struct test_sandbox_outcome done = call_in(profile, number);
            int error = rule == KIOSK_NOT_THERE ? ENOSYS : rule == KIOSK_NO_DEVICE ? ENOTTY : EPERM;
            bool is_counted = rule == KIOSK_COUNTED;
            if (rule == KIOSK_WORST) {
                expect(WIFSIGNALED(done.status) && WTERMSIG(done.status) == SIGSYS && done.refusals.worst == number, "%s in profile %d: status %d, told %d",
                       rows[row].calls[i].name, profile, done.status, done.refusals.worst);
                continue;
            }
            expect(done.status == 0 && done.result == -1 && done.error == error && done.refusals.count == is_counted && done.refusals.worst == -1,
                   "%s in profile %d: status %d, result %ld, error %d, counted %u", rows[row].calls[i].name, profile, done.status, done.result, done.error,
                   done.refusals.count);
        }
    }
    for (size_t i = 0; test_unlisted_call(i) >= 0; i++) {
        struct test_sandbox_outcome done = call_in(profile, test_unlisted_call(i));
        expect(done.status == 0 && done.error == EPERM && done.refusals.last == test_unlisted_call(i), "call %d is not refused", test_unlisted_call(i));
    }
}

void check_sandbox(void) {
    struct kiosk_sandbox_state offer = kiosk_sandbox_offer();
    expect(offer.has_filter && offer.landlock > 0, "the kernel lacks %s", offer.lack);
    for (int profile = 0; profile < KIOSK_SANDBOX_PROFILES; profile++) {
        struct test_sandbox_trial trial = {.profile = (enum kiosk_sandbox_profile)profile, .deed = TEST_WORK, .is_filtered = true};
        struct test_sandbox_outcome done = test_in_sandbox(&trial);
        expect(done.state.has_filter && done.status == 0 && done.result == 0 && done.refusals.count == 0 && strcmp(done.log, "hello\n") == 0,
               "an honest reader in profile %d: status %d, step %ld, refused %u times, at last call %d", profile, done.status, done.result,
               done.refusals.count, done.refusals.last);
        check_calls(profile);
    }
    static const struct {
        enum test_deed deed;
        int signal;
    } ends[] = {{TEST_ABORT, SIGABRT}, {TEST_WRITE_NOWHERE, SIGSEGV}, {TEST_TRAP, SIGTRAP}, {TEST_FREE_TWICE, SIGABRT}, {TEST_FORK, SIGSYS}};
    for (size_t i = 0; i < ALL(ends); i++) {
        struct test_sandbox_trial trial = {.profile = KIOSK_SANDBOX_FILE, .deed = ends[i].deed, .is_filtered = true};
        struct test_sandbox_outcome done = test_in_sandbox(&trial);
        expect(WIFSIGNALED(done.status) && WTERMSIG(done.status) == ends[i].signal, "deed %d: status %d, not signal %d", ends[i].deed, done.status,
               ends[i].signal);
    }
    struct test_sandbox_trial opening = {.profile = KIOSK_SANDBOX_FILE, .deed = TEST_CALL, .grants = 8, .number = SYS_openat,
                                         .arguments = {AT_FDCWD, (long)(uintptr_t) "/proc/version", O_RDONLY}};
    struct test_sandbox_outcome opened = test_in_sandbox(&opening);
    expect(opened.result == -1 && opened.error == EACCES, "without the filter a file is opened: result %ld, error %d", opened.result, opened.error);
    struct test_sandbox_trial greedy = {.profile = KIOSK_SANDBOX_FILE, .deed = TEST_ALLOCATE, .is_filtered = true};
    struct test_sandbox_outcome full = test_in_sandbox(&greedy);
    expect(full.error == ENOMEM && full.result > TEST_SANDBOX_MEGABYTES / 2 && full.result <= TEST_SANDBOX_MEGABYTES + 8,
           "memory ends after %ld MB, error %d", full.result, full.error);
    struct test_sandbox_trial receiving = {.profile = KIOSK_SANDBOX_FILE, .deed = TEST_RECEIVE, .is_filtered = true, .grants = 1};
    expect(test_in_sandbox(&receiving).result == 1, "a reader does not receive as many descriptors as it may have");
}

// ---- A trace ----

void trace_work(void) {
    int control[2] = {-1, -1}, given[] = {open("/dev/null", O_WRONLY), -1, -1, memfd_create("arena", 0), memfd_create("source", 0)};
    expect(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control) == 0 && send_descriptor(control[0], given[0]) == 0, "no socket");
    given[1] = control[1];
    expect(ftruncate(given[3], 4096) == 0 && write(given[4], TEST_SANDBOX_SOURCE, sizeof TEST_SANDBOX_SOURCE) > 0, "no files");
    // As numbered in a reader. First moves them out of the way, so that no dup2(2) overwrites one before its turn
    for (int i = 0; i < 5; i++) given[i] = given[i] < 0 ? -1 : fcntl(given[i], F_DUPFD, 100);
    for (int i = 0; i < 5; i++) {
        if (given[i] >= 0) dup2(given[i], KIOSK_READER_LOG + i);
    }
    // Nothing else makes this call: it marks the beginning and the end in the trace
    syscall(SYS_getppid);
    long step = work();
    syscall(SYS_getppid);
    _exit(step == 0 ? 0 : 1);
}

bool are_allowed(char *const *names) {
    bool are_all = true;
    for (; *names; names++) {
        // qemu-user knows some calls only by their number
        const char *name = **names >= '0' && **names <= '9' ? kiosk_sandbox_call_name(atoi(*names)) : *names;
        const struct kiosk_sandbox_row *row = name ? row_of(name, NULL) : NULL;
        enum kiosk_sandbox_rule rule = row ? row->rules[KIOSK_SANDBOX_FILE] : KIOSK_COUNTED;
        if (rule < KIOSK_COUNTED) continue;
        are_all = false;
        expect(false, "the C library calls %s, which is %s", *names, kiosk_sandbox_words(rule));
    }
    return are_all;
}
