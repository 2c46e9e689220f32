#include "ccapture.h"

#include <errno.h>
#include <sys/ioctl.h>

int kiosk_video_call(int descriptor, unsigned long request, void *argument) {
    int result;
    do result = ioctl(descriptor, request, argument);
    while (result == -1 && errno == EINTR);
    return result;
}
