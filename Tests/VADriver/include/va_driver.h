// A libva driver for tests, without a device. It "decodes" H.264 by drawing each picture's number, as Tests/Clips/make burns it in.
// It "encodes" without loss (va_encoder.c). It replaces libva's driver loader in a process that links or preloads it (LD_PRELOAD).
//
// There /dev/null is a device that decodes and encodes, and the driver of /dev/zero hangs. /dev/full is another such device,
// for tests that run beside others: the functions below do not affect it. All other devices open as usual.
#pragma once

/// Clears all faults and call counts, and restores the default limits, delay and offers.
void va_driver_reset(void);
/// Makes `count` calls of `name` (`EndPicture`, `CreateSurfaces`, `Export` …) fail, from call `first` on. Counts from 1, starting now.
void va_driver_fail(const char *_Nonnull name, int first, int count);
/// Returns the number of calls of `name` since the last reset or fault.
int va_driver_calls(const char *_Nonnull name);
/// Limits the number of surfaces that can exist at once.
void va_driver_limit_surfaces(int count);
/// Limits the number of contexts (decoders in use) that can exist at once.
void va_driver_limit_contexts(int count);
/// Returns the number of surfaces.
int va_driver_surfaces(void);
/// Draws each picture this many microseconds after its request, in the call that waits for it.
void va_driver_delay(int microseconds);
/// Sets whether the driver offers profiles at all.
void va_driver_offer(int offers);
/// Sets whether the driver offers a deinterlacing filter. kiosk queries it when it opens the device.
void va_driver_offer_filter(int offers);
/// Sets whether the driver encodes; 2 offers the low-power entry point instead.
void va_driver_offer_encoder(int offers);
/// Sets whether pictures may refer to later ones. The default is 0.
void va_driver_offer_b_pictures(int offers);
/// Sets whether vaSyncBuffer works; otherwise callers can wait only for the surface.
void va_driver_offer_sync_buffer(int offers);
/// Sets whether the driver accepts headers that libavcodec writes.
void va_driver_offer_headers(int offers);
/// Sets whether the driver offers a constant quantiser; otherwise it offers only bit rates.
void va_driver_offer_quantiser(int offers);
/// Makes failing calls take this many microseconds and succeed instead; 0 makes them fail.
void va_driver_stall(int microseconds);
