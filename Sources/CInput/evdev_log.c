#include "cinput.h"

#include <libevdev/libevdev.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static void (*_Atomic log_sink)(const char *line);

static void on_line(enum libevdev_log_priority priority, void *data, const char *file, int line, const char *function,
                    const char *format, va_list arguments) {
    char text[512];
    (void)priority, (void)data, (void)file, (void)line, (void)function;
    vsnprintf(text, sizeof text, format, arguments);
    atomic_load(&log_sink)(text);
}

void kiosk_capture_evdev_log(void (*sink)(const char *line)) {
    atomic_store(&log_sink, sink);
    libevdev_set_log_function(on_line, NULL);
}
