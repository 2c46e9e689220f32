// What Swift cannot say of FFmpeg: a log callback with a va_list, and libavfilter loaded when it is wanted.
#pragma once

#include "deinterlacer.h"
#include "tempo.h"

/// Sends the log lines of libav* to `sink` for the rest of the process. `sink` is called on whichever thread logs and must be thread-safe. A line ends in a
/// newline where FFmpeg ends it.
void kiosk_capture_ffmpeg_log(void (*_Nonnull sink)(const char *_Nonnull line));
