// Pictures of fields: libavfilter's bwdif, or deinterlace_vaapi for surfaces of VAAPI, behind four calls. A frame is an AVFrame.
#pragma once

struct kiosk_deinterlacer;

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
