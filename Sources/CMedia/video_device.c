#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmedia.h"

bool kiosk_video_device_converts(const char *path) {
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return false;
    struct v4l2_capability found = {.driver = {0}};
    int status;
    do status = ioctl(fd, VIDIOC_QUERYCAP, &found);
    while (status < 0 && errno == EINTR);
    close(fd);
    unsigned can = found.capabilities & V4L2_CAP_DEVICE_CAPS ? found.device_caps : found.capabilities;
    // Older drivers report both of the others instead.
    unsigned both = V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_VIDEO_OUTPUT_MPLANE;
    return status == 0 && ((can & (V4L2_CAP_VIDEO_M2M | V4L2_CAP_VIDEO_M2M_MPLANE)) || (can & both) == both);
}
