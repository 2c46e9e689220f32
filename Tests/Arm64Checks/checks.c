// checks PAGE        runs all groups; the C library must report pages of PAGE bytes. Status 1 if a check fails.
// checks page        prints the bytes of a page
// checks work        does an honest reader's work between two calls of getppid(2), for a trace of system calls
// checks             as the first process of a system: like checks PAGE, with PAGE from the environment; then the checks that need a
//                    kernel; then it powers off
// checks calls NAME… prints those of these calls that a reader of files may not make
#define _GNU_SOURCE
#include "checks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

bool is_booted;
static int failures;

void expect(bool is_so, const char *format, ...) {
    if (is_so) return;
    va_list arguments;
    va_start(arguments, format);
    // One fault shows up in thousands of cases: ten lines are enough
    if (++failures <= 10) {
        fprintf(stderr, "FAILED: ");
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
    }
    va_end(arguments);
}

void tell(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

uint32_t number(void) {
    static uint64_t state = 0x2545F4914F6CDD1D;
    state = state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(state >> 33);
}

uint64_t digest(const void *bytes, size_t count) {
    uint64_t sum = 0xCBF29CE484222325;
    for (size_t i = 0; i < count; i++) sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3;
    return sum;
}

size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static const struct {
    const char *name;
    void (*run)(void);
} groups[] = {
    {"arena", check_arena},
    {"allocator", check_allocator},
    {"populating", check_populating},
    {"mappings", check_mappings},
    {"futexes", check_futexes},
    {"files", check_files},
    {"zygote", check_zygote},
    {"names", check_names},
    {"rotation", check_rotation},
    {"halving", check_halving},
    {"scaling", check_scaling},
    {"subtitles", check_subtitles},
    {"interpolation", check_interpolation},
    {"filter", check_filter},
    {"handler", check_handler},
    {"work", check_work},
    {"layouts", check_layouts},
#ifdef HAS_LIBRARIES
    {"drm", check_drm},
    {"options", check_options},
    {"toml", check_toml},
#endif
};

static void run(const char *name, void (*group)(void)) {
    pid_t child = fork();
    if (child == 0) {
        alarm(is_booted ? 600 : 120);
        failures = 0;
        group();
        fflush(NULL);
        _exit(failures > 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    expect(status == 0, "%s: %s %d", name, WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    tell("done: %s", name);
}

static bool run_all(const char *page) {
    size_t wanted = page ? strtoul(page, NULL, 10) : 0;
    expect(page_size() == wanted, "pages have %zu bytes, not %zu", page_size(), wanted);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) run(groups[i].name, groups[i].run);
    return failures == 0;
}

/// Runs as the only program of a system.
static _Noreturn void boot(void) {
    is_booted = true;
    mkdir("/proc", 0755), mkdir("/dev", 0755), mkdir("/tmp", 01777);
    bool is_mounted = mount("proc", "/proc", "proc", 0, NULL) == 0 && mount("dev", "/dev", "devtmpfs", 0, NULL) == 0 && mount("tmp", "/tmp", "tmpfs", 0, NULL) == 0;
    expect(is_mounted, "nothing can be mounted");
    // If an initramfs has no console in it, the kernel gives its first process no descriptors
    int console = open("/dev/console", O_RDWR);
    for (int i = 0; i < 3; i++) dup2(console, i);
    if (console > 2) close(console);
    bool has_passed = run_all(getenv("PAGE"));
    run("sandbox", check_sandbox);
    printf("%s\n", has_passed && failures == 0 ? "PASSED" : "FAILED");
    fflush(stdout);
    tcdrain(1);
    reboot(RB_POWER_OFF);
    for (;;) pause();
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (getpid() == 1) boot();
    if (count > 1 && strcmp(arguments[1], "page") == 0) return printf("%zu\n", page_size()) < 0;
    if (count > 1 && strcmp(arguments[1], "calls") == 0) return !are_allowed(arguments + 2);
    if (count > 1 && strcmp(arguments[1], "work") == 0) trace_work();
    return !run_all(count > 1 ? arguments[1] : NULL);
}
