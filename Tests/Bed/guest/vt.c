/* vt N   asks for virtual terminal N on the screen, and does not wait for it: whoever has the screen may have to let go of it first */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/vt.h>
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
	int console = open("/dev/tty0", O_RDWR | O_NOCTTY);

	if (argc != 2 || console < 0 || ioctl(console, VT_ACTIVATE, atoi(argv[1]))) {
		perror("vt");
		return 1;
	}
	return 0;
}
