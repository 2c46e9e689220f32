// What Swift cannot say of libevdev: a log callback with a va_list.
#pragma once

/// Sends the log lines of libevdev to `sink` for the rest of the process. `sink` is called on whichever thread logs and must be thread-safe.
void kiosk_capture_evdev_log(void (*_Nonnull sink)(const char *_Nonnull line));
