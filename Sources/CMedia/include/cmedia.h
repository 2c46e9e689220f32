// What Swift cannot say of FFmpeg: a log callback with a va_list, and libavfilter loaded when it is wanted.
#pragma once

#include <stdint.h>

#include "deinterlacer.h"
#include "interpolation.h"
#include "tempo.h"

/// Sends the log lines of libav* to `sink` for the rest of the process. `sink` is called on whichever thread logs and must be thread-safe. A line ends in a
/// newline where FFmpeg ends it.
void kiosk_capture_ffmpeg_log(void (*_Nonnull sink)(const char *_Nonnull line));

struct AVClass;

/// Gives an option of a protocol of libavformat another default for the rest of the process: some of its demuxers open connections without a way to say anything
/// about them. The options of a library are constants, so the page that they lie on is made writable. 0, or -1 where there is no such option.
/// For one thread at a time; what other threads open meanwhile has the default before or this one.
int kiosk_set_default(const struct AVClass *_Nonnull protocol, const char *_Nonnull option, int64_t value);
/// The same for an option that is a text. The text is copied.
int kiosk_set_default_text(const struct AVClass *_Nonnull protocol, const char *_Nonnull option, const char *_Nullable text);

/// Opens a file beneath `folder` for reading, by a path whose links do not lead out of there, without waiting for a FIFO's writer. A descriptor, or -1 with errno, EXDEV where a
/// link leads out. openat2(2), which the Glibc module lacks.
int kiosk_open_within(const char *_Nonnull folder, const char *_Nonnull path);
