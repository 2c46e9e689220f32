#include "cmedia.h"

#include <libavutil/log.h>
#include <stdatomic.h>

static void (*_Atomic log_sink)(const char *line);

static void on_line(void *object, int level, const char *format, va_list arguments) {
    char line[2048];  // room for a URL: cut off within its password, it would look like one without a password
    int prefix = 1;
    if (level > av_log_get_level()) return;
    av_log_format_line2(object, level, format, arguments, line, sizeof line, &prefix);
    atomic_load(&log_sink)(line);
}

void kiosk_capture_ffmpeg_log(void (*sink)(const char *line)) {
    atomic_store(&log_sink, sink);
    av_log_set_callback(on_line);
}
