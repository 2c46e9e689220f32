// SPDX-License-Identifier: GPL-2.0+
/*
 * vkms_scanout.c: the latch log of the test bed, an addition to the kernel's vkms driver.
 *
 * vkms has no hardware: an hrtimer is its vblank, and the plane state it finds at that moment is what "the screen" shows
 * for the next frame. This file writes that state down, inside that timer and under the lock that flips take, so what it
 * says is not sampled from outside: it is the latch itself.
 *
 * /sys/kernel/debug/dri/CARD/crtc-INDEX/vkms_scanout gives one line for each vblank since it was opened:
 *
 *   seq vblank_us irq_late_us commits hash code [plane:fb:FOURCC:sx,sy,sw,sh:dx,dy,dw,dh:rotation]...
 *
 *   seq          the CRTC's vblank count, as page-flip events report it
 *   vblank_us    when this vblank was due, CLOCK_MONOTONIC in microseconds, as page-flip events report it
 *   irq_late_us  how much later the timer ran: the host's scheduling, above a vblank the log is not to be trusted
 *   commits      atomic commits on this CRTC since the vblank before; 2 or more: something was never shown
 *   hash         16 hex digits over 16x16 samples and the position of every visible plane: equal if nothing changed
 *   code         a number burned into the picture, see below; 0 if none was asked for
 *   then, for each visible plane, bottom first: object ids of plane and framebuffer, format, source and destination
 *   rectangle (x, y, width, height; source in whole pixels of the framebuffer), rotation (the DRM property, in hex)
 *
 * Writing "bits X Y W H N" says where on the display the number is seen: N cells W wide and H high beside each other
 * from X Y, in its pixels, most significant bit first, white is 1. The middle of each cell is looked up through a plane's
 * destination, rotation and scaling in its framebuffer: in the first plane with a YUV format, where a video would be;
 * beside that, or where there is none, in the first plane. With -N it is the topmost that hides what is beneath it. This
 * holds for all readers of the CRTC. Reads return whole lines and wait for one unless O_NONBLOCK is set; poll works.
 * Nothing is sampled while nobody has the file open, and a reader more than LINES behind loses the oldest ones.
 *
 * A CRTC has vblanks only while somebody wants them (a flip, or a process that asks for the vblank count now and then).
 */
#include <linux/debugfs.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_blend.h>
#include <drm/drm_drv.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_framebuffer.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <drm/drm_vblank.h>
#include "vkms_drv.h"

#define LINES		4096	/* more than a minute at 60 Hz */
#define LINE_SIZE	512	/* for 7 planes with the longest numbers there are */
#define NUMBERS_SIZE	96	/* of that, for what stands before the planes */
#define GRID		16	/* samples of the hash across and down a plane */
#define FNV_BASIS	1469598103934665603ull
#define FNV_PRIME	1099511628211ull

/* Where a number is burned into the picture; count is below 0 where it is that of the topmost plane */
struct cells {
	int x, y, width, height, count;
};

/* The planes that are visible, bottom first, and the first of them with a YUV format; NULL for none */
struct visible {
	int count;
	const struct vkms_frame_info *planes[16], *video;
};

/* The log of one CRTC. vkms_output.lock covers commits; head is written by the vblank timer alone. */
struct vkms_scanout {
	struct drm_device *dev;
	wait_queue_head_t written;
	atomic_t readers;
	u64 head;		/* lines ever written; line i is lines[i % LINES] */
	u32 commits;
	struct cells cells;
	char (*lines)[LINE_SIZE];
};

/* An open file */
struct reader {
	struct vkms_scanout *log;
	u64 next;
};

/* ---- Sampling ---- */

static u32 source_width(const struct vkms_frame_info *frame)
{
	return drm_rect_width(&frame->src) >> 16;
}

static u32 source_height(const struct vkms_frame_info *frame)
{
	return drm_rect_height(&frame->src) >> 16;
}

/* A pixel of the first colour plane (all of RGB; Y of YUV). x and y count from the source rectangle. */
static const u8 *pixel(const struct vkms_frame_info *frame, u32 x, u32 y)
{
	const struct drm_framebuffer *fb = frame->fb;

	x = min(x + (frame->src.x1 >> 16), fb->width - 1);
	y = min(y + (frame->src.y1 >> 16), fb->height - 1);
	return (const u8 *)frame->map[0].vaddr + fb->offsets[0] + (size_t)y * fb->pitches[0] +
	       x * fb->format->cpp[0];
}

/* FNV-1a, continued from another plane's hash */
static u64 hash_plane(const struct vkms_frame_info *frame, u64 hash)
{
	u32 width = source_width(frame), height = source_height(frame);
	int bytes = min_t(int, frame->fb->format->cpp[0], 3);	/* not the X of XRGB, which is undefined */

	hash = (hash ^ (u32)(frame->dst.x1 * 65536 + frame->dst.y1)) * FNV_PRIME;
	for (int i = 0; i < GRID * GRID; i++) {
		int column = i % GRID, row = i / GRID;
		const u8 *p = pixel(frame, (2 * column + 1) * width / (2 * GRID), (2 * row + 1) * height / (2 * GRID));

		for (int k = 0; k < bytes; k++)
			hash = (hash ^ p[k]) * FNV_PRIME;
	}
	return hash;
}

/* What of a plane is seen at a pixel of the display, the nearest pixel of its framebuffer; NULL beside the plane. */
static const u8 *seen(const struct vkms_frame_info *frame, int x, int y)
{
	bool turned = drm_rotation_90_or_270(frame->rotation);
	int w = source_width(frame), h = source_height(frame);
	int width = drm_rect_width(&frame->dst), height = drm_rect_height(&frame->dst);
	int u, v, column, row;

	x -= frame->dst.x1;
	y -= frame->dst.y1;
	if (x < 0 || y < 0 || x >= width || y >= height || w <= 0 || h <= 0)
		return NULL;
	u = (2 * x + 1) * (turned ? h : w) / (2 * width);
	v = (2 * y + 1) * (turned ? w : h) / (2 * height);
	switch (frame->rotation & DRM_MODE_ROTATE_MASK) {	/* counter-clockwise, after reflection */
	case DRM_MODE_ROTATE_90:
		column = w - 1 - v, row = u;
		break;
	case DRM_MODE_ROTATE_180:
		column = w - 1 - u, row = h - 1 - v;
		break;
	case DRM_MODE_ROTATE_270:
		column = v, row = h - 1 - u;
		break;
	default:
		column = u, row = v;
	}
	if (frame->rotation & DRM_MODE_REFLECT_X)
		column = w - 1 - column;
	if (frame->rotation & DRM_MODE_REFLECT_Y)
		row = h - 1 - row;
	return pixel(frame, column, row);
}

/* The middle of each cell decides. Byte 1 is G of xRGB and the high byte of P010's Y; formats of one byte are Y; byte 3 is A. */
static u64 read_code(const struct cells *cells, const struct visible *visible)
{
	u64 code = 0;

	for (int i = 0; i < abs(cells->count); i++) {
		int x = cells->x + i * cells->width + cells->width / 2, y = cells->y + cells->height / 2;
		const struct vkms_frame_info *frame = NULL;
		const u8 *p = NULL;

		for (int k = visible->count - 1; k >= 0 && !p; k--) {
			frame = visible->planes[k];
			p = cells->count < 0 || !k || frame == visible->video ? seen(frame, x, y) : NULL;
			if (p && cells->count < 0 && frame->fb->format->has_alpha && p[3] < 255)
				p = NULL;
		}
		code = code << 1 | (p && p[frame->fb->format->cpp[0] > 1] > 127);
	}
	return code;
}

static int print_plane(char *text, int size, const struct vkms_plane_state *state)
{
	const struct vkms_frame_info *frame = state->frame_info;

	return scnprintf(text, size, " %u:%u:%.4s:%d,%d,%u,%u:%d,%d,%d,%d:%x", state->base.base.plane->base.id,
			 frame->fb->base.id, (const char *)&frame->fb->format->format, frame->src.x1 >> 16,
			 frame->src.y1 >> 16, source_width(frame), source_height(frame), frame->dst.x1, frame->dst.y1,
			 drm_rect_width(&frame->dst), drm_rect_height(&frame->dst), frame->rotation);
}

/* What the planes show. Returns those that are visible. */
static struct visible print_planes(char *text, int size, const struct vkms_crtc_state *crtc, u64 *hash)
{
	struct visible visible = {};
	int length = 0, count = crtc && crtc->active_planes ? crtc->num_active_planes : 0;

	for (int i = 0; i < count; i++) {
		const struct vkms_plane_state *state = crtc->active_planes[i];
		const struct vkms_frame_info *frame = state->frame_info;

		if (!frame->fb || iosys_map_is_null(&frame->map[0]))
			continue;
		*hash = hash_plane(frame, *hash);
		if (visible.count < ARRAY_SIZE(visible.planes))
			visible.planes[visible.count++] = frame;
		if (!visible.video && frame->fb->format->is_yuv)
			visible.video = frame;
		length += print_plane(text + length, size - length, state);
	}
	return visible;
}

static void write_line(struct vkms_scanout *log, struct vkms_output *output)
{
	char planes[LINE_SIZE - NUMBERS_SIZE] = "";
	u64 hash = FNV_BASIS, seq;
	ktime_t due;
	struct visible visible = print_planes(planes, sizeof(planes), output->composer_state, &hash);

	seq = drm_crtc_vblank_count_and_time(&output->crtc, &due);
	scnprintf(log->lines[log->head % LINES], LINE_SIZE, "%u %llu %u %u %016llx %llu%s\n", (u32)seq,
		  ktime_to_ns(due) / 1000, (u32)(ktime_to_ns(ktime_sub(ktime_get(), due)) / 1000), log->commits, hash,
		  read_code(&log->cells, &visible), planes);
}

/* ---- What vkms calls ---- */

/* From atomic_flush: a commit has become what the next vblank latches. Under output->lock. */
void vkms_scanout_commit(struct vkms_output *output)
{
	if (output->scanout)
		output->scanout->commits++;
}

/* From the vblank timer, under output->lock */
void vkms_scanout_vblank(struct vkms_output *output)
{
	struct vkms_scanout *log = output->scanout;

	if (!log || !atomic_read(&log->readers))
		return;
	write_line(log, output);
	log->commits = 0;
	smp_store_release(&log->head, log->head + 1);
	wake_up_interruptible(&log->written);
}

/* ---- The file ---- */

static int scanout_open(struct inode *inode, struct file *file)
{
	struct reader *reader = kzalloc(sizeof(*reader), GFP_KERNEL);

	if (!reader)
		return -ENOMEM;
	reader->log = inode->i_private;
	reader->next = reader->log->head;
	file->private_data = reader;
	drm_dev_get(reader->log->dev);	/* the log belongs to the card, which may be unplugged meanwhile */
	if (atomic_inc_return(&reader->log->readers) == 1)
		reader->log->commits = 0;
	return 0;
}

static int scanout_release(struct inode *inode, struct file *file)
{
	struct reader *reader = file->private_data;

	atomic_dec(&reader->log->readers);
	drm_dev_put(reader->log->dev);
	kfree(reader);
	return 0;
}

static ssize_t scanout_read(struct file *file, char __user *buffer, size_t size, loff_t *offset)
{
	struct reader *reader = file->private_data;
	struct vkms_scanout *log = reader->log;
	ssize_t done = 0;
	u64 head;

	if (reader->next == log->head && (file->f_flags & O_NONBLOCK))
		return -EAGAIN;
	if (wait_event_interruptible(log->written, reader->next != log->head))
		return -ERESTARTSYS;
	head = smp_load_acquire(&log->head);
	if (head - reader->next > LINES - 1)
		reader->next = head - LINES + 1;
	for (; reader->next != head; reader->next++) {
		const char *line = log->lines[reader->next % LINES];
		size_t length = strlen(line);

		if (done + length > size)
			break;
		if (copy_to_user(buffer + done, line, length))
			return -EFAULT;
		done += length;
	}
	return done;
}

static ssize_t scanout_write(struct file *file, const char __user *buffer, size_t size, loff_t *offset)
{
	struct vkms_scanout *log = ((struct reader *)file->private_data)->log;
	struct cells cells;
	char text[80] = "";

	if (size >= sizeof(text) || copy_from_user(text, buffer, size) ||
	    sscanf(text, "bits %d %d %d %d %d", &cells.x, &cells.y, &cells.width, &cells.height, &cells.count) != 5 ||
	    abs(cells.count) > 64)
		return -EINVAL;
	log->cells = cells;
	return size;
}

static __poll_t scanout_poll(struct file *file, poll_table *table)
{
	struct reader *reader = file->private_data;

	poll_wait(file, &reader->log->written, table);
	return reader->next != reader->log->head ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations scanout_file = {
	.owner = THIS_MODULE,
	.open = scanout_open,
	.release = scanout_release,
	.read = scanout_read,
	.write = scanout_write,
	.poll = scanout_poll,
};

static void free_lines(struct drm_device *dev, void *log)
{
	kvfree(((struct vkms_scanout *)log)->lines);
}

/* The CRTC's late_register: makes the file. The log lives as long as the card. */
int vkms_scanout_register(struct drm_crtc *crtc)
{
	struct vkms_scanout *log = drmm_kzalloc(crtc->dev, sizeof(*log), GFP_KERNEL);
	int ret;

	if (!log)
		return -ENOMEM;
	log->lines = kvzalloc(LINES * LINE_SIZE, GFP_KERNEL);
	if (!log->lines)
		return -ENOMEM;
	ret = drmm_add_action_or_reset(crtc->dev, free_lines, log);
	if (ret)
		return ret;
	log->dev = crtc->dev;
	init_waitqueue_head(&log->written);
	drm_crtc_to_vkms_output(crtc)->scanout = log;
	debugfs_create_file("vkms_scanout", 0600, crtc->debugfs_entry, log, &scanout_file);
	return 0;
}
