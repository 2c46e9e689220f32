// What Display needs from C: ppoll, VT switch signals, the guard process, and copies by vectors: rotated ones and halved ones.
#pragma once
#include <linux/fb.h>
#include <linux/kd.h>
#include <linux/vt.h>
#include <poll.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/types.h>

/// ppoll(2) with a time-out in nanoseconds; negative waits for ever. Returns what ppoll returns, with errno set.
int kiosk_poll(struct pollfd *_Nullable descriptors, unsigned long count, int64_t timeout_ns);

/// The signals that the kernel sends when the VT is to be left and when it has come back.
int kiosk_vt_release_signal(void);
int kiosk_vt_acquire_signal(void);

/// Makes the two VT signals write 1 to these eventfds. One pair a process; -1, -1 ignores the signals again.
/// Returns 0 or -1 with errno set.
int kiosk_vt_catch_signals(int release_eventfd, int acquire_eventfd);

/// Starts the guard: a child process that outlives a crash or kill -9 of this one, and then gives the VT back: text mode
/// `kd_mode`, keyboard mode `keyboard_mode`, switching by the kernel. `tty` is the open VT and `path` its name (a VT that was our
/// controlling terminal is hung up when we die, and must be opened again). The child holds no other descriptor.
/// Returns the pipe's end that keeps the guard asleep, or -1 with errno set; `*pid` is the child.
int kiosk_vt_guard_start(int tty, const char *_Nonnull path, int kd_mode, int keyboard_mode, pid_t *_Nonnull pid);

/// Dismisses the guard without its doing anything, and reaps it.
void kiosk_vt_guard_stop(int pipe, pid_t pid);

/// Copies a picture rotated: pixel (x, y) of `target`, whose rows lie `stride` bytes apart, is the one at `source + x * across + y * down`. One of
/// `across` and `down` is `bytes` or -`bytes`, a pixel's size: 1, 2 or 4. Source and target do not overlap. The target is written only, once but
/// where squares of 16 bytes overlap at its edges.
void kiosk_copy_rotated(
    void *_Nonnull target, long stride, int columns, int rows, const void *_Nonnull source, long across, long down, int bytes);

/// Writes a plane of `width` times `height` bytes, each the mean of four: those at twice its place and beside and below it. Rows of the source lie `step`
/// bytes apart, those of the target `stride`. They do not overlap.
void kiosk_halve(const uint8_t *_Nonnull source, long step, uint8_t *_Nonnull target, long stride, int width, int height);

// HDMI-CEC, by the kernel's own interface (linux/cec.h), of an open /dev/cecN. Each returns 0, or -1 with errno set.

/// Whether its physical address may be set, as of adapters that know no EDID; and the display it belongs to, where the kernel knows: the number of the DRM card,
/// and its connector. -1 and 0 where it does not.
int kiosk_cec_look(int adapter, int *_Nonnull takes_address, int *_Nonnull card, uint32_t *_Nonnull connector);
/// Where it is in the tree of HDMI cables; 0xffff while nobody knows.
int kiosk_cec_get_address(int adapter, uint16_t *_Nonnull address);
int kiosk_cec_set_address(int adapter, uint16_t address);
/// The logical address of a playback device, claimed where it has none. Blocks for some tenths of a second.
int kiosk_cec_claim(int adapter, const char *_Nonnull name, uint8_t *_Nonnull logical);
/// Sends a message of 1 to 16 bytes, the addresses first. With `reply`, which is not 0, it waits a second for an answer with that opcode: `answer` gets its
/// operand. EREMOTEIO: nobody has acknowledged it; ETIME: no answer.
int kiosk_cec_send(int adapter, const uint8_t *_Nonnull message, int count, uint8_t reply, uint8_t *_Nonnull answer);
