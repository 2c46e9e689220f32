#define _GNU_SOURCE
#include <dlfcn.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "ffmpegstubs.h"

// FFmpeg 7 made what is written constant
#if LIBAVFORMAT_VERSION_MAJOR >= 61
typedef const uint8_t *written;
#else
typedef uint8_t *written;
#endif

// FFmpeg 6 made a packet of subtitles constant
#if LIBAVCODEC_VERSION_MAJOR >= 60
typedef const AVPacket subtitle_packet;
#else
typedef AVPacket subtitle_packet;
#endif

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
static const char *const names[] = {
    "libavcodec.so." TEXT(LIBAVCODEC_VERSION_MAJOR),
    "libavformat.so." TEXT(LIBAVFORMAT_VERSION_MAJOR),
};
enum { codec, format };

#define STUB(library, result, name, parameters, arguments) static __typeof__(name) *real_##name;
#include "functions.inc"
#undef STUB

static const struct {
    int library;
    const char *name;
    void **place;
} functions[] = {
#define STUB(library, result, name, parameters, arguments) {library, #name, (void **)&real_##name},
#include "functions.inc"
#undef STUB
};

static bool is_loaded;

/// Ends the program: packages depend on these libraries, so that the box is broken.
static _Noreturn void give_up(const char *what) {
    const char *reason = dlerror();
    fprintf(stderr, "kiosk: %s cannot be used: %s: install it, of the version that kiosk was built with\n", what, reason ? reason : "it is another one");
    abort();
}

static void load(void) {
    void *handles[sizeof names / sizeof *names] = {NULL};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        int library = functions[i].library;
        // What the loader has loaded, with what stands in for it
        void *function = handles[library] ? NULL : dlsym(RTLD_NEXT, functions[i].name);
        if (!function) {
            if (!handles[library]) handles[library] = dlopen(names[library], RTLD_LAZY | RTLD_LOCAL);
            if (!handles[library]) give_up(names[library]);
            function = dlsym(handles[library], functions[i].name);
        }
        if (!function) give_up(functions[i].name);
        *functions[i].place = function;
    }
    __atomic_store_n(&is_loaded, true, __ATOMIC_RELEASE);
}

static void need(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (__builtin_expect(!__atomic_load_n(&is_loaded, __ATOMIC_ACQUIRE), 0)) pthread_once(&once, load);
}

// Weak, as the tests put a decoder of their own in the place of one
#define STUB(library, result, name, parameters, arguments) \
    __attribute__((weak)) result name parameters {         \
        need();                                            \
        return real_##name arguments;                      \
    }
#include "functions.inc"
