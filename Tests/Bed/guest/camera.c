// camera DEVICE ID VALUE   sets a control of a V4L2 device, by its number. vivid has some that make it fail: 0x00f0f041 unplugs it,
// 0x00f0f040 drops VALUE per cent of the pictures. 0x00f0f000 is the test pattern.
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "camera DEVICE ID VALUE\n"), 64;
    int device = open(arguments[1], O_RDWR);
    if (device < 0) return perror(arguments[1]), 1;
    struct v4l2_control control = {.id = strtoul(arguments[2], NULL, 0), .value = atoi(arguments[3])};
    if (ioctl(device, VIDIOC_S_CTRL, &control)) return perror("VIDIOC_S_CTRL"), 1;
    return 0;
}
