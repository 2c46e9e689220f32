// Values and inline functions for the parts of FFmpeg's headers that the Swift importer drops: macros with casts, compound literals.
// Everything else is used as FFmpeg declares it.
#pragma once
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <libavutil/avutil.h>
#include <libavutil/base64.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_drm.h>
#include <libavutil/hwcontext_vaapi.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
#include <sys/ioctl.h>
#include <va/va_vpp.h>

#include "versions.h"

static const int64_t kAV_NOPTS_VALUE = AV_NOPTS_VALUE;
static const int kAVERROR_EOF = AVERROR_EOF;
static const int kAVERROR_EXIT = AVERROR_EXIT;
static const int kAVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int kAVERROR_EAGAIN = AVERROR(EAGAIN);
/// The pixel format whose bytes are a little-endian DRM_FORMAT_XRGB8888 (B, G, R, unused).
static const enum AVPixelFormat kAV_PIX_FMT_XRGB8888 = AV_PIX_FMT_BGR0;
/// The same with red and blue exchanged (R, G, B, unused), as on some framebuffer devices.
static const enum AVPixelFormat kAV_PIX_FMT_XBGR8888 = AV_PIX_FMT_RGB0;
static const enum AVPixelFormat kAV_PIX_FMT_RGB565 = AV_PIX_FMT_RGB565LE;

static inline int shim_averror(int errnum) { return AVERROR(errnum); }
/// Sets AVStream.discard from a switch. The importer makes its enum distinct from Int32.
static inline void shim_stream_discard(AVStream *stream, int all) { stream->discard = all ? AVDISCARD_ALL : AVDISCARD_DEFAULT; }

/// The nine numbers of a decoded frame's display matrix (EXIF orientation of a still), or null. Owned by the frame.
static inline const int32_t *shim_frame_display_matrix(const AVFrame *frame) {
    const AVFrameSideData *data = av_frame_get_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    return data && data->size >= 9 * sizeof(int32_t) ? (const int32_t *)data->data : NULL;
}
/// Whether the container says that a packet is encrypted (Common Encryption).
static inline int shim_packet_is_encrypted(const AVPacket *packet) {
    return av_packet_get_side_data(packet, AV_PKT_DATA_ENCRYPTION_INFO, NULL) != NULL;
}
static inline int shim_stream_is_attached_picture(const AVStream *stream) {
    return (stream->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0;
}
/// Sets the number of threads. They decode several frames at once, or slices if the codec has no frame threads.
static inline void shim_codec_use_threads(AVCodecContext *codec, int count) {
    codec->thread_count = count;
    codec->thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE;
}
static inline AVRational shim_rational(int num, int den) { return (AVRational){num, den}; }
