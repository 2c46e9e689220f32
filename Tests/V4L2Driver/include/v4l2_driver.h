// A stateful V4L2 decoder for tests, without a device: /dev/video0, whose driver decodes H.264 with libavcodec in software.
// It replaces the system calls of libavcodec's *_v4l2m2m decoders in a process that links or preloads it (LD_PRELOAD).
// Other files and devices work as usual, and so does everything until the device is plugged in.
#pragma once

/// Plugs the device in or unplugs it. Wakes calls that hang; they fail with ENODEV.
void v4l2_driver_plug(int isThere);
/// Clears all faults and call counts, and restores the default limits.
void v4l2_driver_reset(void);
/// Makes `count` calls of `name` fail with `error`, from call `first` on. Counts from 1, starting now.
///
/// Names are `QUERYCAP`, `S_FMT`, `REQBUFS`, `STREAMON`, `QBUF` and `DQBUF` (of coded data and of pictures), `POLL` (the device is lost) …
/// With error 0 the calls hang until the next `v4l2_driver_plug`.
void v4l2_driver_fail(const char *_Nonnull name, int first, int count, int error);
/// Returns the number of calls of `name` since the last reset or fault.
int v4l2_driver_calls(const char *_Nonnull name);
/// Limits the number of decoders that can exist at once.
void v4l2_driver_limit(int count);
/// Returns the number of decoders: open devices that have a format.
int v4l2_driver_decoders(void);
/// Limits the number of picture buffers that a request gets.
void v4l2_driver_limit_buffers(int count);
