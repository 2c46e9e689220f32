#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libavutil/opt.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmedia.h"

static AVOption *writable_option(const AVClass *protocol, const char *name) {
    AVOption *option = (AVOption *)(uintptr_t)av_opt_find(&protocol, name, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ);
    if (!option) return NULL;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)&option->default_val & ~(page - 1);
    uintptr_t end = ((uintptr_t)(&option->default_val + 1) + page - 1) & ~(page - 1);
    // It stays writable: its former protection and its other content are unknown.
    return mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE) == 0 ? option : NULL;
}

int kiosk_set_default(const AVClass *protocol, const char *name, int64_t value) {
    AVOption *option = writable_option(protocol, name);
    if (!option) return -1;
    __atomic_store_n(&option->default_val.i64, value, __ATOMIC_RELEASE);
    return 0;
}

int kiosk_set_default_text(const AVClass *protocol, const char *name, const char *text) {
    AVOption *option = writable_option(protocol, name);
    if (!option || option->type != AV_OPT_TYPE_STRING) return -1;
    const char *present = option->default_val.str;
    if (present == text || (present && text && strcmp(present, text) == 0)) return 0;
    // Another thread may be reading the former text, so it stays. There are only as many texts as kiosk.conf names.
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) return -1;
    __atomic_store_n(&option->default_val.str, copy, __ATOMIC_RELEASE);
    return 0;
}

int kiosk_open_within(const char *folder, const char *path) {
    int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return -1;
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int file = (int)syscall(SYS_openat2, root, path, &how, sizeof how);
    int code = errno;
    close(root);
    errno = code;
    return file;
}
