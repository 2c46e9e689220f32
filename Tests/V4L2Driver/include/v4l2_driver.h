// A stateful decoder of V4L2 for tests, without a device: /dev/video0, whose driver decodes H.264 by libavcodec in software. It takes the place of the
// system calls of libavcodec's *_v4l2m2m decoders in a process that it is linked into or preloaded in (LD_PRELOAD). All other files and devices are as ever,
// and so is everything until the device is plugged in.
#pragma once

/// Whether there is the device. Whoever waits for a driver that hangs goes on.
void v4l2_driver_plug(int isThere);
/// Forgets all faults and counts.
void v4l2_driver_reset(void);
/// Has calls of `name` fail with `error` from number `first` on, `count` times, counted from 1 and from now on: `QUERYCAP`, `S_FMT`, `REQBUFS`, `STREAMON`,
/// `QBUF` and `DQBUF` (of coded data and of pictures), `POLL` (the device is lost) … With error 0 they hang until the device is unplugged.
void v4l2_driver_fail(const char *_Nonnull name, int first, int count, int error);
/// How often `name` has been called since the last reset or fault.
int v4l2_driver_calls(const char *_Nonnull name);
/// There can be no more decoders than this at once.
void v4l2_driver_limit(int count);
/// Decoders there are: devices that are open and have been told a format.
int v4l2_driver_decoders(void);
/// So many of the buffers for pictures that are asked for are given.
void v4l2_driver_limit_buffers(int count);
