// What Swift cannot say of libasound: a variadic error handler.
#pragma once

/// Sends the error lines of libasound to `sink` for the rest of the process. `sink` is called on whichever thread logs and must be thread-safe.
void kiosk_capture_alsa_log(void (*_Nonnull sink)(const char *_Nonnull line));
