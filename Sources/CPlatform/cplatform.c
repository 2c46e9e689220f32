#define _GNU_SOURCE
#include "cplatform.h"

#include <alsa/asoundlib.h>
#include <libavutil/log.h>
#include <libevdev/libevdev.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic(kiosk_log_sink) log_sink;

static void emit(int source, int level, const char *line) {
    kiosk_log_sink sink = atomic_load(&log_sink);
    if (sink) sink(source, level, line);
}

static void on_ffmpeg(void *object, int level, const char *format, va_list arguments) {
    char line[2048];  // a URL cut off within its password could not be told from one without
    int prefix = 1;
    if (level > av_log_get_level()) return;
    av_log_format_line2(object, level, format, arguments, line, sizeof line, &prefix);
    emit(KIOSK_LOG_FFMPEG, level, line);
}

static void on_alsa(const char *file, int line, const char *function, int error, const char *format, ...) {
    char text[512];
    va_list arguments;
    (void)file, (void)line, (void)function;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    emit(KIOSK_LOG_ALSA, error, text);
}

static void on_evdev(enum libevdev_log_priority priority, void *data, const char *file, int line, const char *function,
                     const char *format, va_list arguments) {
    char text[512];
    (void)data, (void)file, (void)line, (void)function;
    vsnprintf(text, sizeof text, format, arguments);
    emit(KIOSK_LOG_EVDEV, priority, text);
}

void kiosk_capture_logs(kiosk_log_sink sink) {
    atomic_store(&log_sink, sink);
    av_log_set_callback(on_ffmpeg);
    snd_lib_error_set_handler(on_alsa);
    libevdev_set_log_function(on_evdev, NULL);
}

int kiosk_thread_setup(const char *name, int fifo_priority) {
    struct sched_param parameters = {.sched_priority = fifo_priority};
    pthread_setname_np(pthread_self(), name);
    return pthread_setschedparam(pthread_self(), fifo_priority > 0 ? SCHED_FIFO : SCHED_OTHER, &parameters);
}

void kiosk_tune_malloc(void) {
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
}
