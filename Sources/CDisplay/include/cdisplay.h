// C functions for Display: ppoll, VT switch signals, the guard process, and vector code that copies rotated and halved pictures.
#pragma once
#include <linux/fb.h>
#include <linux/kd.h>
#include <linux/vt.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/types.h>

/// ppoll(2) with a timeout in nanoseconds; a negative one waits for ever. Returns ppoll's result, with errno set.
int kiosk_poll(struct pollfd *_Nullable descriptors, unsigned long count, int64_t timeout_ns);

/// The kernel's signals for leaving the VT and for its return.
int kiosk_vt_release_signal(void);
int kiosk_vt_acquire_signal(void);

/// Makes the two VT signals write 1 to these eventfds. One pair a process; -1, -1 ignores the signals again. Returns 0, or -1 with errno
/// set.
int kiosk_vt_catch_signals(int release_eventfd, int acquire_eventfd);

/// Starts the guard: a child process that outlives a crash or kill -9 of this one. It then gives the VT back, with text mode `kd_mode`,
/// keyboard mode `keyboard_mode`, and switching by the kernel. `tty` is the open VT and `path` its name. A VT that was the controlling
/// terminal is hung up at our death, and the guard must open it again. The child keeps no other descriptor. Returns the pipe's end that
/// keeps the guard asleep, or -1 with errno set; `*pid` is the child.
int kiosk_vt_guard_start(int tty, const char *_Nonnull path, int kd_mode, int keyboard_mode, pid_t *_Nonnull pid);

/// Dismisses the guard, which then restores nothing, and reaps it.
void kiosk_vt_guard_stop(int pipe, pid_t pid);

/// Copies a picture rotated: pixel (x, y) of `target`, whose rows are `stride` bytes apart, is the one at `source + x * across + y * down`.
/// One of `across` and `down` is `bytes` or -`bytes`, a pixel's size: 1, 2 or 4. Source and target do not overlap. The function only writes
/// the target: once, except where squares with sides of 16 bytes overlap at its edges.
void kiosk_copy_rotated(
    void *_Nonnull target, long stride, int columns, int rows, const void *_Nonnull source, long across, long down, int bytes);

/// Writes a plane of `width` times `height` bytes, each the mean of four source bytes: at twice its coordinates, beside, below and
/// diagonally. Rows of the source are `step` bytes apart, those of the target `stride`. Source and target do not overlap.
void kiosk_halve(const uint8_t *_Nonnull source, long step, uint8_t *_Nonnull target, long stride, int width, int height);

// HDMI-CEC through the kernel's interface (linux/cec.h), for an open /dev/cecN. Each function returns 0, or -1 with errno set.

/// Gets whether the physical address is settable, as on adapters without access to the EDID. Also gets the DRM card number and the
/// connector of its display; -1 and 0 if the kernel does not know.
int kiosk_cec_look(int adapter, int *_Nonnull takes_address, int *_Nonnull card, uint32_t *_Nonnull connector);
/// Gets its position in the tree of HDMI cables; 0xffff while unknown.
int kiosk_cec_get_address(int adapter, uint16_t *_Nonnull address);
int kiosk_cec_set_address(int adapter, uint16_t address);
/// Gets the logical address of a playback device; claims one if there is none. Blocks for some tenths of a second.
int kiosk_cec_claim(int adapter, const char *_Nonnull name, uint8_t *_Nonnull logical);
/// Sends a message of 1 to 16 bytes, the addresses first. With a nonzero `reply` it waits a second for an answer with that opcode, and
/// `answer` gets its operand. EREMOTEIO: no acknowledgement; ETIME: no answer.
int kiosk_cec_send(int adapter, const uint8_t *_Nonnull message, int count, uint8_t reply, uint8_t *_Nonnull answer);
