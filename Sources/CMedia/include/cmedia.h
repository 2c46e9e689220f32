// What Swift cannot say of FFmpeg: a log callback with a va_list, and libavfilter loaded when it is wanted.
#pragma once

#include <stdbool.h>
#include <stdint.h>

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

/// Whether a device such as /dev/video0 takes pictures and gives out others, as decoders do and cameras do not. Blocks as long as its driver. The corresponding request is
/// VIDIOC_QUERYCAP.
bool kiosk_video_device_converts(const char *_Nonnull path);

// Pictures of fields: libavfilter's bwdif, or deinterlace_vaapi for surfaces of VAAPI, behind four calls. A frame is an AVFrame.
struct kiosk_deinterlacer;

/// Loads libavfilter; false where it is not installed. What needs it loads it itself, if it may open files then.
bool kiosk_filters_load(void);

/// A filter for frames of the size and pixel format of `frame`. It makes a picture of each field of an interlaced frame, or of each frame
/// where `fields` is 0, on up to `threads` threads; what is progressive passes. Null with a negative AVERROR in `status`: ENOSYS when
/// libavfilter is not installed, another when the filter does not take the pixel format, which is never converted, or the device does not
/// deinterlace. Of pictures in surfaces, `surfaces` may be held at once.
struct kiosk_deinterlacer *_Nullable kiosk_deinterlacer_open(const void *_Nonnull frame, int threads, int fields, int surfaces,
                                                             int *_Nonnull status);
void kiosk_deinterlacer_close(struct kiosk_deinterlacer *_Nonnull deinterlacer);
/// Puts a frame in, null for the end. Its references are moved, and `frame` is empty then; after an error it is as it was. Returns 0 or a
/// negative AVERROR.
int kiosk_deinterlacer_send(struct kiosk_deinterlacer *_Nonnull deinterlacer, void *_Nullable frame);
/// Takes the next picture out. Of the frame with timestamp n, the pictures have 2n and 2n + 1. Returns 0 or a negative AVERROR: EAGAIN when
/// it needs more first, AVERROR_EOF after the last.
int kiosk_deinterlacer_receive(struct kiosk_deinterlacer *_Nonnull deinterlacer, void *_Nonnull picture);

// Sound read between its samples: the inner loop.
/// How many samples of the source take part in one.
#define KIOSK_INTERPOLATION_TAPS 32

/// Writes `count` samples, each `stride` floats behind the one before. The first is read `fraction` behind sample `KIOSK_INTERPOLATION_TAPS / 2 - 1` of `source`, each further one
/// `ratio` samples behind the one before. `taps` has `KIOSK_INTERPOLATION_TAPS` weights for each of `phases` places between two samples, and for one place more.
void kiosk_interpolate(const float *_Nonnull source, const float *_Nonnull taps, int64_t phases, double fraction, double ratio, float *_Nonnull samples, int64_t count,
                       int64_t stride);

// Playing faster or slower with the pitch kept: libavfilter's atempo behind four calls.
struct kiosk_tempo;

/// A filter for interleaved float sound, or null when libavfilter is not installed or refuses the rate (it takes 0.5 to 100).
struct kiosk_tempo *_Nullable kiosk_tempo_open(double rate, int sample_rate, int channels);
void kiosk_tempo_close(struct kiosk_tempo *_Nonnull tempo);
/// Puts `frames` frames in, 0 for the end; returns 0 or a negative AVERROR.
int kiosk_tempo_send(struct kiosk_tempo *_Nonnull tempo, const float *_Nullable samples, int frames);
/// Takes up to `frames` frames out; returns how many, 0 when it needs more first.
int kiosk_tempo_receive(struct kiosk_tempo *_Nonnull tempo, float *_Nonnull samples, int frames);
