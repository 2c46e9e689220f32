// A driver of libva for tests, without a device: "decodes" H.264 by drawing each picture's number, as Tests/Clips/make burns it in, and "encodes" it without
// loss (va_encoder.c). It takes the place of libva's loader of drivers in a process that it is linked into or preloaded in (LD_PRELOAD): there /dev/null is a
// device that decodes and encodes, and the driver of /dev/zero hangs. /dev/full is another such device, which nothing that is set here reaches, for tests that
// run beside others. All other devices are opened as ever.
#pragma once

/// Forgets all faults and counts.
void va_driver_reset(void);
/// Has the calls of `name` (`EndPicture`, `CreateSurfaces`, `Export` …) fail from number `first` on, `count` times; counted from 1, from now on.
void va_driver_fail(const char *_Nonnull name, int first, int count);
/// How often `name` has been called since the last reset or fault.
int va_driver_calls(const char *_Nonnull name);
/// There can be no more surfaces than this at once.
void va_driver_limit_surfaces(int count);
/// There can be no more contexts than this at once: decoders in use.
void va_driver_limit_contexts(int count);
/// Surfaces there are.
int va_driver_surfaces(void);
/// A picture is drawn so many microseconds after it was asked for, by the call that waits for it.
void va_driver_delay(int microseconds);
/// Whether profiles are offered at all.
void va_driver_offer(int offers);
/// Whether there is a filter that makes pictures of fields. It is asked for when the device is opened.
void va_driver_offer_filter(int offers);
/// Whether it encodes at all; 2 has it offer the low-power entry point instead.
void va_driver_offer_encoder(int offers);
/// Whether pictures may be predicted from later ones. It does not at first.
void va_driver_offer_b_pictures(int offers);
/// Whether one can wait for what has been encoded (vaSyncBuffer), or for the surface only.
void va_driver_offer_sync_buffer(int offers);
/// Whether it takes headers that libavcodec writes.
void va_driver_offer_headers(int offers);
/// Whether it encodes with a constant quantiser, or with bit rates only.
void va_driver_offer_quantiser(int offers);
/// Calls that would fail take so many microseconds instead, and succeed; 0 has them fail.
void va_driver_stall(int microseconds);
