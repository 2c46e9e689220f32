// The parts of FFmpeg that Swift cannot use: a log callback with a va_list, and libavfilter loaded on demand.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Sends the log lines of libav* to `sink` for the rest of the process. `sink` runs on the logging thread and must be thread-safe. A line
/// ends in a newline if FFmpeg ends it.
void kiosk_capture_ffmpeg_log(void (*_Nonnull sink)(const char *_Nonnull line));

struct AVClass;

/// Changes the default of an option of a libavformat protocol for the rest of the process. Some demuxers open connections without a way to
/// set options for them. A library's options are constants, so this makes their page writable. Returns 0, or -1 if there is no such option.
/// Call it from one thread at a time. Connections opened meanwhile have the old default or the new one.
int kiosk_set_default(const struct AVClass *_Nonnull protocol, const char *_Nonnull option, int64_t value);
/// Does the same for a text option. Copies the text.
int kiosk_set_default_text(const struct AVClass *_Nonnull protocol, const char *_Nonnull option, const char *_Nullable text);

/// Opens a file beneath `folder` for reading, without waiting for a FIFO's writer. The links of `path` must stay inside. Returns a
/// descriptor, or -1 with errno: EXDEV if a link leads out. Calls openat2(2), which the Glibc module lacks.
int kiosk_open_within(const char *_Nonnull folder, const char *_Nonnull path);

/// Whether a device such as /dev/video0 takes pictures and returns others, as decoders do and cameras do not. Blocks as long as its driver
/// does. The corresponding request is VIDIOC_QUERYCAP.
bool kiosk_video_device_converts(const char *_Nonnull path);

// Deinterlacing: libavfilter's bwdif, or deinterlace_vaapi for VAAPI surfaces, behind four calls. A frame is an AVFrame.
struct kiosk_deinterlacer;

/// Loads libavfilter; returns false if it is not installed. The filters also load it at their first use, if the process may then open
/// files.
bool kiosk_filters_load(void);

/// Opens a filter for frames of the size and pixel format of `frame`, on up to `threads` threads. It makes a picture from each field of an
/// interlaced frame, or from each frame if `fields` is 0. Progressive frames pass. On failure returns null with a negative AVERROR in
/// `status`. ENOSYS means that libavfilter is not installed. For other errors, the filter does not take the pixel format, which it never
/// converts. Or the device does not deinterlace. The caller may hold `surfaces` pictures in surfaces at once.
struct kiosk_deinterlacer *_Nullable kiosk_deinterlacer_open(const void *_Nonnull frame, int threads, int fields, int surfaces,
                                                             int *_Nonnull status);
void kiosk_deinterlacer_close(struct kiosk_deinterlacer *_Nonnull deinterlacer);
/// Sends a frame; null for the end. Moves its references, so that `frame` is then empty; after an error `frame` is unchanged. Returns 0 or
/// a negative AVERROR.
int kiosk_deinterlacer_send(struct kiosk_deinterlacer *_Nonnull deinterlacer, void *_Nullable frame);
/// Receives the next picture. The pictures of the frame with timestamp n have 2n and 2n + 1. Returns 0 or a negative AVERROR: EAGAIN if it
/// needs more first, AVERROR_EOF after the last.
int kiosk_deinterlacer_receive(struct kiosk_deinterlacer *_Nonnull deinterlacer, void *_Nonnull picture);

// The inner loop of reading sound between its samples.
/// The number of source samples in each output sample.
#define KIOSK_INTERPOLATION_TAPS 32

/// Writes `count` samples, each `stride` floats after the one before. The first is read `fraction` after sample `KIOSK_INTERPOLATION_TAPS /
/// 2 - 1` of `source`, each further one `ratio` samples later. `taps` has `KIOSK_INTERPOLATION_TAPS` weights for each of `phases` places
/// between two samples, and for one place more.
void kiosk_interpolate(const float *_Nonnull source, const float *_Nonnull taps, int64_t phases, double fraction, double ratio, float *_Nonnull samples, int64_t count,
                       int64_t stride);

// Changes of speed with the pitch kept: libavfilter's atempo behind four calls.
struct kiosk_tempo;

/// Opens a filter for interleaved float sound. Returns null if libavfilter is not installed or refuses the rate (it takes 0.5 to 100).
struct kiosk_tempo *_Nullable kiosk_tempo_open(double rate, int sample_rate, int channels);
void kiosk_tempo_close(struct kiosk_tempo *_Nonnull tempo);
/// Sends `frames` frames, 0 for the end; returns 0 or a negative AVERROR.
int kiosk_tempo_send(struct kiosk_tempo *_Nonnull tempo, const float *_Nullable samples, int frames);
/// Receives up to `frames` frames; returns their number, 0 if it needs more first.
int kiosk_tempo_receive(struct kiosk_tempo *_Nonnull tempo, float *_Nonnull samples, int frames);
