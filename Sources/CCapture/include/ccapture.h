// What Swift cannot say of V4L2: numbers of its calls, and control ids that are sums of macros.
#pragma once
#include <linux/videodev2.h>

static const unsigned long kVIDIOC_QUERYCAP = VIDIOC_QUERYCAP;
static const unsigned long kVIDIOC_ENUM_FMT = VIDIOC_ENUM_FMT;
static const unsigned long kVIDIOC_ENUM_FRAMESIZES = VIDIOC_ENUM_FRAMESIZES;
static const unsigned long kVIDIOC_ENUM_FRAMEINTERVALS = VIDIOC_ENUM_FRAMEINTERVALS;
static const unsigned long kVIDIOC_S_FMT = VIDIOC_S_FMT;
static const unsigned long kVIDIOC_S_PARM = VIDIOC_S_PARM;
static const unsigned long kVIDIOC_G_CTRL = VIDIOC_G_CTRL;
static const unsigned long kVIDIOC_REQBUFS = VIDIOC_REQBUFS;
static const unsigned long kVIDIOC_QUERYBUF = VIDIOC_QUERYBUF;
static const unsigned long kVIDIOC_QBUF = VIDIOC_QBUF;
static const unsigned long kVIDIOC_DQBUF = VIDIOC_DQBUF;
static const unsigned long kVIDIOC_STREAMON = VIDIOC_STREAMON;
static const unsigned long kVIDIOC_STREAMOFF = VIDIOC_STREAMOFF;
static const unsigned int kV4L2_CID_CAMERA_ORIENTATION = V4L2_CID_CAMERA_ORIENTATION;
static const unsigned int kV4L2_BUF_FLAG_TIMESTAMP_MASK = V4L2_BUF_FLAG_TIMESTAMP_MASK;
static const unsigned int kV4L2_BUF_FLAG_TIMESTAMP_MONOTONIC = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
static const unsigned int kV4L2_BUF_FLAG_ERROR = V4L2_BUF_FLAG_ERROR;

/// ioctl(2), again where a signal came: 0 or more, or -1 with errno.
int kiosk_video_call(int descriptor, unsigned long request, void *_Nonnull argument);
