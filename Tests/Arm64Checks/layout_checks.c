// Sizes, offsets and request numbers of the structures that kiosk and the kernel exchange. They are the same on both processors, as both
// have words of 64 bits, times of 64 bits and the least significant byte first.
#define _GNU_SOURCE
#include <linux/cec.h>
#include <linux/dma-buf.h>
#include <linux/fb.h>
#include <linux/input.h>
#include <linux/landlock.h>
#include <linux/media.h>
#include <linux/openat2.h>
#include <linux/udmabuf.h>
#include <linux/videodev2.h>
#include <sound/asound.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>

#include "checks.h"
#include "cplatform.h"
#include "creader.h"
#include "csubtitles.h"

void check_layouts(void) {
    uint32_t one = 1;
    expect(*(unsigned char *)&one == 1, "the least significant byte comes last");
    expect(sizeof(long) == 8 && sizeof(void *) == 8 && sizeof(time_t) == 8, "words or times have no 64 bits");
    SIZE(struct timeval);
    SIZE(struct input_event);
    PLACE(struct input_event, type);
    SIZE(struct v4l2_buffer);
    PLACE(struct v4l2_buffer, timestamp);
    PLACE(struct v4l2_buffer, m);
    SIZE(struct v4l2_format);
    SIZE(struct v4l2_requestbuffers);
    SIZE(struct v4l2_capability);
    SIZE(struct fb_var_screeninfo);
    SIZE(struct fb_fix_screeninfo);
    PLACE(struct fb_fix_screeninfo, line_length);
    SIZE(struct cec_msg);
    SIZE(struct cec_log_addrs);
    SIZE(struct landlock_path_beneath_attr);
    SIZE(struct open_how);
    SIZE(struct inotify_event);
    SIZE(struct signalfd_siginfo);
    SIZE(struct snd_pcm_status);
    SIZE(struct udmabuf_create);
    SIZE(struct kiosk_fork_request);
    SIZE(struct kiosk_fork_answer);
    PLACE(struct kiosk_fork_answer, microseconds);
    SIZE(struct kiosk_sandbox_report);
    SIZE(struct kiosk_ass_frame);
    SIZE(struct kiosk_box);
    REQUEST(VIDIOC_QUERYCAP);
    REQUEST(VIDIOC_S_FMT);
    REQUEST(VIDIOC_REQBUFS);
    REQUEST(VIDIOC_QBUF);
    REQUEST(VIDIOC_DQBUF);
    REQUEST(MEDIA_IOC_DEVICE_INFO);
    REQUEST(DMA_BUF_IOCTL_SYNC);
    REQUEST(CEC_TRANSMIT);
    REQUEST(CEC_ADAP_S_LOG_ADDRS);
    REQUEST(FBIOGET_VSCREENINFO);
    REQUEST(SNDRV_PCM_IOCTL_STATUS);
    REQUEST(UDMABUF_CREATE);
}
