#define _GNU_SOURCE
#include "hostile.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// The descriptors of a reader.
enum { CONTROL = 3, PAGE = 4, ARENA = 5, SOURCE = 6 };

static void crash(void) { *(volatile int *)16 = 1; }
static void trap(void) { __builtin_trap(); }
static void leave(void) { exit(0); }
static void leave_at_once(void) { _exit(7); }
static void spin(void) {
    for (;;) __asm__ volatile("");
}
static void sleep_on(void) {
    struct timespec hour = {.tv_sec = 3600};
    for (;;) nanosleep(&hour, NULL);
}
static void stand_still(void) {
    static int word;
    for (;;) syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

/// Overwrites all memory that the player shares.
static void scribble(void) {
    for (int file = PAGE; file <= ARENA; file++) {
        struct stat status;
        if (fstat(file, &status) != 0 || status.st_size <= 0) continue;
        size_t count = (size_t)status.st_size;
        unsigned char *memory = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) continue;
        memset(memory, 0xA5, count);
        munmap(memory, count);
    }
}
static void scribble_and_crash(void) {
    scribble();
    crash();
}

static void allocate(void) {
    for (;;) {
        size_t count = 1 << 20;
        char *memory = malloc(count);
        // A decoder without memory may do anything; this one aborts.
        if (!memory) {
            abort();
        }
        memset(memory, 1, count);
    }
}
static void shrink(void) {
    (void)!ftruncate(ARENA, 0);
    (void)!ftruncate(PAGE, 0);
}

// Actions that the sandbox must refuse. If it does not, the reader exits with the given status.
static void must_fail(long result, int status) {
    if (result >= 0) _exit(status);
}
static void must_work(long result, int status) {
    if (result < 0) _exit(status);
}
static void open_passwords(void) { must_fail(open("/etc/passwd", O_RDONLY), 90); }
static void open_through_source(void) { must_fail(openat(SOURCE, "../passwd", O_RDONLY), 91); }
static void make_file(void) { must_fail(open("/tmp/kiosk-hostile", O_WRONLY | O_CREAT, 0600), 92); }
static void connect_out(void) {
    int file = socket(AF_INET, SOCK_STREAM, 0);
    must_fail(file, 93);
}
static void connect_in(void) { must_fail(socket(AF_UNIX, SOCK_STREAM, 0), 94); }
static void fork_off(void) { must_fail(fork(), 95); }
static void execute(void) {
    char *arguments[] = {"/bin/true", NULL};
    must_fail(execv(arguments[0], arguments), 96);
}
static void trace_parent(void) { must_fail(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL), 97); }
static void kill_parent(void) { must_fail(kill(getppid(), SIGKILL), 98); }
static void kill_all(void) { must_fail(kill(-1, SIGKILL), 99); }
static void write_into_parent(void) {
    char byte = 0;
    struct iovec part = {&byte, 1};
    must_fail(process_vm_writev(getppid(), &part, 1, &part, 1, 0), 100);
}

// Messages that the player must reject.
static void send_nonsense(void) {
    char text[] = "this is no message, whatever else it may be";
    send(CONTROL, text, sizeof text, MSG_NOSIGNAL);
    sleep_on();
}
static void send_for_ever(void) {
    char text[64] = {0};
    for (;;) {
        if (send(CONTROL, text, sizeof text, MSG_NOSIGNAL) < 0 && errno != EINTR) sleep_on();
    }
}
/// Sends the result of a thumbnail with far more pixels than fit into memory: head, kind 12, result 2 with an empty description.
static void send_false_result(void) {
    unsigned char message[] = {
        12, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        2, 0xFF, 0xFF, 0, 0, 0, 0xFF, 0xFF, 1, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0,
    };
    message[8] = (unsigned char)(sizeof message - 16);
    send(CONTROL, message, sizeof message, MSG_NOSIGNAL);
    sleep_on();
}
/// Fills the player with descriptors: sends log lines with two of them each.
static void send_descriptors(void) {
    unsigned char message[] = {10, 0, 0, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 'h', 'i'};
    int files[] = {ARENA, ARENA};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof files)];
    } room = {.bytes = {0}};
    struct iovec part = {.iov_base = message, .iov_len = sizeof message};
    struct msghdr whole = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof room.bytes};
    room.header.cmsg_level = SOL_SOCKET;
    room.header.cmsg_type = SCM_RIGHTS;
    room.header.cmsg_len = CMSG_LEN(sizeof files);
    memcpy(CMSG_DATA(&room.header), files, sizeof files);
    for (int i = 0; i < 300; i++) must_work(sendmsg(CONTROL, &whole, MSG_NOSIGNAL), 101);
}
static void hang_up(void) {
    shutdown(CONTROL, SHUT_RDWR);
    sleep_on();
}

static const struct {
    const char *word;
    void (*act)(void);
} deeds[] = {
    {"abort", abort},
    {"crash", crash},
    {"trap", trap},
    {"exit", leave},
    {"_exit", leave_at_once},
    {"spin", spin},
    {"sleep", sleep_on},
    {"stand", stand_still},
    {"scribble", scribble},
    {"scribble-crash", scribble_and_crash},
    {"allocate", allocate},
    {"shrink", shrink},
    {"open", open_passwords},
    {"open-through", open_through_source},
    {"create", make_file},
    {"connect", connect_out},
    {"connect-local", connect_in},
    {"fork", fork_off},
    {"exec", execute},
    {"ptrace", trace_parent},
    {"kill", kill_parent},
    {"kill-all", kill_all},
    {"vm-write", write_into_parent},
    {"nonsense", send_nonsense},
    {"flood", send_for_ever},
    {"false-result", send_false_result},
    {"descriptors", send_descriptors},
    {"hang-up", hang_up},
};

/// Performs the action that a packet names.
static void obey(const AVPacket *packet) {
    static const char mark[] = "kiosk-hostile/";
    const unsigned char *found = packet && packet->data ? memmem(packet->data, (size_t)packet->size, mark, sizeof mark - 1) : NULL;
    if (!found) return;
    found += sizeof mark - 1;
    size_t left = (size_t)(packet->data + packet->size - found);
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        size_t length = strlen(deeds[i].word);
        if (left > length && memcmp(found, deeds[i].word, length) == 0 && found[length] == '/') return deeds[i].act();
    }
}

// Replaces libavcodec's function.
int avcodec_send_packet(AVCodecContext *context, const AVPacket *packet) {
    static int (*real)(AVCodecContext *, const AVPacket *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "avcodec_send_packet");
    obey(packet);
    return real(context, packet);
}
