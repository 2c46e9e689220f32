/*
 * vt N        switches to virtual terminal N without waiting: the process that has the screen may have to release it first
 * vt hold N   holds terminal N like a desktop (graphics mode, no keyboard, notified of switches) until SIGTERM, then restores it
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kd.h>
#include <linux/vt.h>
#include <sys/ioctl.h>

static volatile sig_atomic_t ended;

static void note(int signal)
{
	ended |= signal == SIGTERM;
}

static int hold(const char *number)
{
	struct vt_mode told = { .mode = VT_PROCESS, .relsig = SIGUSR1, .acqsig = SIGUSR2 }, automatic = { .mode = VT_AUTO };
	char path[20];
	int terminal;

	snprintf(path, sizeof path, "/dev/tty%d", atoi(number));
	signal(SIGUSR1, note);
	signal(SIGUSR2, note);
	signal(SIGTERM, note);
	terminal = open(path, O_RDWR | O_NOCTTY);
	if (terminal < 0 || ioctl(terminal, KDSETMODE, KD_GRAPHICS) || ioctl(terminal, KDSKBMODE, K_OFF) ||
	    ioctl(terminal, VT_SETMODE, &told)) {
		perror(path);
		return 1;
	}
	while (!ended)
		usleep(10000);
	ioctl(terminal, VT_SETMODE, &automatic);
	ioctl(terminal, KDSKBMODE, K_UNICODE);
	ioctl(terminal, KDSETMODE, KD_TEXT);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(argv[2]);

	int console = open("/dev/tty0", O_RDWR | O_NOCTTY);

	if (argc != 2 || console < 0 || ioctl(console, VT_ACTIVATE, atoi(argv[1]))) {
		perror("vt");
		return 1;
	}
	return 0;
}
