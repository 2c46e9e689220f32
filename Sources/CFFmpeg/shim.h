// What the Swift importer drops from FFmpeg's headers (macros with casts, compound literals), brought back as values and
// inline functions. Everything else is used as FFmpeg declares it.
#pragma once
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

static const int64_t kAV_NOPTS_VALUE = AV_NOPTS_VALUE;
static const int kAVERROR_EOF = AVERROR_EOF;
static const int kAVERROR_EXIT = AVERROR_EXIT;
static const int kAVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int kAVERROR_EAGAIN = AVERROR(EAGAIN);
static const int kAVERROR_ENOMEM = AVERROR(ENOMEM);
/// The pixel format whose bytes are a little-endian DRM_FORMAT_XRGB8888 (B, G, R, unused).
static const enum AVPixelFormat kAV_PIX_FMT_XRGB8888 = AV_PIX_FMT_BGR0;
static const enum AVPixelFormat kAV_PIX_FMT_RGB565 = AV_PIX_FMT_RGB565LE;

static inline int shim_averror(int errnum) { return AVERROR(errnum); }
static inline int shim_averror_to_errno(int error) { return AVUNERROR(error); }
static inline AVChannelLayout shim_layout_stereo(void) { return (AVChannelLayout)AV_CHANNEL_LAYOUT_STEREO; }
/// AVStream.discard and friends are enums the importer makes distinct from Int32; this sets them from a switch.
static inline void shim_stream_discard(AVStream *stream, int all) { stream->discard = all ? AVDISCARD_ALL : AVDISCARD_DEFAULT; }
