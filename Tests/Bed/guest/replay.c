/*
 * replay RECORDING
 *
 * Creates the input device that a recording describes, by uinput, and sends the recorded events. RECORDING has the format of evemu-record,
 * in which people share recordings of their devices. Ignores lines that begin otherwise than these:
 *
 *   N: NAME   I: BUS VENDOR PRODUCT VERSION (hex)   P: BYTES (properties, hex)   B: TYPE BYTES (capabilities, hex)
 *   A: CODE (hex) MINIMUM MAXIMUM FUZZ FLAT [RESOLUTION]   E: SECONDS.MICROSECONDS TYPE CODE (hex) VALUE
 *
 * Event times count from the first event. That follows SETTLE_US after the device's creation, so that the player has found the device.
 * Removes the device LINGER_US after the last event. stdout: "first US last US", CLOCK_MONOTONIC in microseconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/uinput.h>
#include <sys/ioctl.h>

#define SETTLE_US 400000
#define LINGER_US 400000

static int device;

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static void sleep_until(long long us)
{
	struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

static void can_send(unsigned type, unsigned code)
{
	static const struct { unsigned type; unsigned long request; } requests[] = {
		{ EV_KEY, UI_SET_KEYBIT }, { EV_REL, UI_SET_RELBIT }, { EV_ABS, UI_SET_ABSBIT }, { EV_MSC, UI_SET_MSCBIT },
		{ EV_SW, UI_SET_SWBIT }, { EV_LED, UI_SET_LEDBIT },
	};

	if (type == EV_SYN)	/* its codes are the types */
		ioctl(device, UI_SET_EVBIT, code);
	for (unsigned i = 0; i < sizeof requests / sizeof *requests; i++)
		if (requests[i].type == type)
			ioctl(device, requests[i].request, code);
}

/* Reads eight bits a byte. A type's lines follow one another, each with the next eight bytes, so this keeps a place for each type */
static void read_bits(const char *text, unsigned type, int isProperty)
{
	static unsigned next[EV_CNT + 1];
	unsigned byte, *place = &next[isProperty ? EV_CNT : type % EV_CNT];
	int used;

	for (; sscanf(text, "%x%n", &byte, &used) == 1; text += used, *place += 8)
		for (int bit = 0; bit < 8; bit++) {
			if (!(byte & 1u << bit))
				continue;
			if (isProperty)
				ioctl(device, UI_SET_PROPBIT, *place + bit);
			else
				can_send(type, *place + bit);
		}
}

static void describe(const char *line, struct uinput_setup *setup)
{
	struct uinput_abs_setup axis = { 0 };
	unsigned bus, vendor, product, version, code;
	int used;

	if (!strncmp(line, "N: ", 3))
		snprintf(setup->name, sizeof setup->name, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
	else if (sscanf(line, "I: %x %x %x %x", &bus, &vendor, &product, &version) == 4)
		setup->id = (struct input_id){ bus, vendor, product, version };
	else if (!strncmp(line, "P: ", 3))
		read_bits(line + 3, 0, 1);
	else if (sscanf(line, "B: %x %n", &code, &used) == 1)
		read_bits(line + used, code, 0);
	else if (sscanf(line, "A: %x %d %d %d %d %d", &code, &axis.absinfo.minimum, &axis.absinfo.maximum, &axis.absinfo.fuzz,
			&axis.absinfo.flat, &axis.absinfo.resolution) >= 5) {
		axis.code = code;
		ioctl(device, UI_ABS_SETUP, &axis);
	}
}

int main(int argc, char **argv)
{
	struct uinput_setup setup = { 0 };
	struct input_event event = { 0 };
	long long begin = 0, first = -1, at = 0;
	FILE *recording = argc == 2 ? fopen(argv[1], "re") : NULL;
	char line[1024];
	long seconds, us;
	unsigned type, code;
	int value;

	if (!recording) {
		fprintf(stderr, "usage: replay RECORDING\n");
		return 2;
	}
	device = open("/dev/uinput", O_RDWR | O_CLOEXEC);
	if (device < 0)
		fail("/dev/uinput");
	while (fgets(line, sizeof line, recording)) {
		if (sscanf(line, "E: %ld.%ld %x %x %d", &seconds, &us, &type, &code, &value) != 5) {
			describe(line, &setup);
			continue;
		}
		if (first < 0) {
			first = seconds * 1000000LL + us;
			if (ioctl(device, UI_DEV_SETUP, &setup) || ioctl(device, UI_DEV_CREATE))
				fail("UI_DEV_CREATE");
			begin = now_us() + SETTLE_US;
		}
		at = begin + seconds * 1000000LL + us - first;
		sleep_until(at);
		event.type = type, event.code = code, event.value = value;
		if (write(device, &event, sizeof event) != sizeof event)
			fail("write");
	}
	printf("first %lld last %lld\n", begin, at);
	usleep(LINGER_US);
	return 0;
}
