/*
 * inputs.c: a virtual multitouch screen and keyboard, by uinput. Their events come out of the guest's /dev/input/event* with a kernel
 * time stamp, as from real devices.
 */
#include "direct.h"
#include <fcntl.h>
#include <unistd.h>
#include <linux/uinput.h>
#include <sys/ioctl.h>

static int devices[2] = { -1, -1 };
static int width = 1280, height = 720, next_contact = 1;
/* The fingers on the screen. Single-touch programs see only the lowest */
static unsigned fingers;

static void emit(enum input which, int type, int code, int value)
{
	struct input_event event = { .type = type, .code = code, .value = value };

	if (devices[which] >= 0 && write(devices[which], &event, sizeof event) != sizeof event)
		perror("uinput");
}

static void axis(int device, int code, int maximum)
{
	struct uinput_abs_setup setup = { .code = code, .absinfo.maximum = maximum };

	ioctl(device, UI_ABS_SETUP, &setup);
}

static void describe_touch_screen(int device)
{
	ioctl(device, UI_SET_EVBIT, EV_KEY);
	ioctl(device, UI_SET_EVBIT, EV_ABS);
	ioctl(device, UI_SET_KEYBIT, BTN_TOUCH);
	ioctl(device, UI_SET_PROPBIT, INPUT_PROP_DIRECT);
	axis(device, ABS_X, width - 1);
	axis(device, ABS_Y, height - 1);
	axis(device, ABS_MT_SLOT, 9);
	axis(device, ABS_MT_TRACKING_ID, 65535);
	axis(device, ABS_MT_POSITION_X, width - 1);
	axis(device, ABS_MT_POSITION_Y, height - 1);
}

static void describe_keyboard(int device)
{
	ioctl(device, UI_SET_EVBIT, EV_KEY);
	ioctl(device, UI_SET_EVBIT, EV_REP);	/* the kernel repeats a held key, as for every keyboard */
	for (int code = 1; code < BTN_MISC; code++)
		ioctl(device, UI_SET_KEYBIT, code);
	for (int code = KEY_OK; code < KEY_MAX; code++)
		ioctl(device, UI_SET_KEYBIT, code);
}

void inputs_size(int w, int h)
{
	width = w;
	height = h;
}

void inputs_plug(enum input which)
{
	struct uinput_setup setup = { .id = { .bustype = BUS_USB, .vendor = 0x1234, .product = 0x5678 + which } };
	int device = open("/dev/uinput", O_RDWR | O_CLOEXEC);

	if (device < 0)
		fail("/dev/uinput");
	inputs_unplug(which);
	snprintf(setup.name, sizeof setup.name, which == TOUCH ? "Bed Touchscreen" : "Bed Keyboard");
	if (which == TOUCH)
		describe_touch_screen(device);
	else
		describe_keyboard(device);
	ioctl(device, UI_DEV_SETUP, &setup);
	if (ioctl(device, UI_DEV_CREATE))
		fail("UI_DEV_CREATE");
	devices[which] = device;
	if (which == TOUCH)
		fingers = 0;
}

void inputs_unplug(enum input which)
{
	if (devices[which] >= 0)
		close(devices[which]);
	devices[which] = -1;
}

static void place(int finger, int x, int y)
{
	emit(TOUCH, EV_ABS, ABS_MT_POSITION_X, x);
	emit(TOUCH, EV_ABS, ABS_MT_POSITION_Y, y);
	if (!(fingers & ((1u << finger) - 1))) {
		emit(TOUCH, EV_ABS, ABS_X, x);
		emit(TOUCH, EV_ABS, ABS_Y, y);
	}
	emit(TOUCH, EV_SYN, SYN_REPORT, 0);
}

void touch_down(int finger, int x, int y)
{
	emit(TOUCH, EV_ABS, ABS_MT_SLOT, finger);
	emit(TOUCH, EV_ABS, ABS_MT_TRACKING_ID, next_contact++);
	if (!fingers)
		emit(TOUCH, EV_KEY, BTN_TOUCH, 1);
	fingers |= 1u << finger;
	place(finger, x, y);
}

void touch_move(int finger, int x, int y)
{
	emit(TOUCH, EV_ABS, ABS_MT_SLOT, finger);
	place(finger, x, y);
}

void touch_up(int finger)
{
	emit(TOUCH, EV_ABS, ABS_MT_SLOT, finger);
	emit(TOUCH, EV_ABS, ABS_MT_TRACKING_ID, -1);
	fingers &= ~(1u << finger);
	if (!fingers)
		emit(TOUCH, EV_KEY, BTN_TOUCH, 0);
	emit(TOUCH, EV_SYN, SYN_REPORT, 0);
}

void key_change(int code, int pressed)
{
	emit(KEYS, EV_KEY, code, pressed);
	emit(KEYS, EV_SYN, SYN_REPORT, 0);
}
