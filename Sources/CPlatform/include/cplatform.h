// What Swift cannot say itself: GNU-only thread calls, and the variadic log callbacks of the C libraries.
#pragma once
#include <stdint.h>
#include <sys/eventfd.h>

#include "tempo.h"

/// Which library a captured log line comes from.
enum { KIOSK_LOG_FFMPEG = 0, KIOSK_LOG_ALSA = 1, KIOSK_LOG_EVDEV = 2 };

/// Called on whichever thread logged, so it must be thread-safe. `level` is the library's own number for `source`.
typedef void (*kiosk_log_sink)(int source, int level, const char *_Nonnull line);

/// Sends the log lines of libav*, libasound and libevdev to `sink` for the rest of the process.
void kiosk_capture_logs(kiosk_log_sink _Nonnull sink);

/// Names the calling thread and sets its own policy: SCHED_FIFO at `fifo_priority`, or SCHED_OTHER when that is 0 (new
/// threads inherit their creator's policy). Returns 0 or the errno of pthread_setschedparam(3).
int kiosk_thread_setup(const char *_Nonnull name, int fifo_priority);

/// Sets malloc up for a program that keeps large buffers for long and runs for years: one arena for all threads, which allocate little, and
/// large blocks in mappings of their own, which go back to the system when they are freed (glibc would otherwise learn to keep them). Call once,
/// before there are threads. About 8 MB less at 720p.
void kiosk_tune_malloc(void);
