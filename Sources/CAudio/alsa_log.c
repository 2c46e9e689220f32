#include "caudio.h"

#include <alsa/asoundlib.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static void (*_Atomic log_sink)(const char *line);

static void on_line(const char *file, int line, const char *function, int error, const char *format, ...) {
    char text[512];
    va_list arguments;
    (void)file, (void)line, (void)function, (void)error;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    atomic_load(&log_sink)(text);
}

void kiosk_capture_alsa_log(void (*sink)(const char *line)) {
    atomic_store(&log_sink, sink);
    snd_lib_error_set_handler(on_line);
}
