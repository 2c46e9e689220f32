// The differences between FFmpeg's versions, from 5.1 (Debian 12) to 7.1 (Debian 13). Each renamed, moved or deprecated field has a
// function, which names the version. No other file has an #if on a version of FFmpeg.
#pragma once
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/frame.h>
#include <stdio.h>

/// The duration of a decoded frame in its stream's time base, 0 if unknown; FFmpeg 6 renamed the field.
static inline int64_t shim_frame_duration(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR >= 58
    return frame->duration;
#else
    return frame->pkt_duration;
#endif
}
/// Resets the count of wrong timestamps, by which a decoder chooses between a frame's two; FFmpeg 7 keeps it private.
static inline void shim_codec_forget_timestamps(AVCodecContext *context) {
#if LIBAVCODEC_VERSION_MAJOR < 61
    context->pts_correction_num_faulty_pts = context->pts_correction_num_faulty_dts = 0;
#else
    (void)context;
#endif
}
/// Whether a decoded frame consists of two fields; it became a flag in FFmpeg 6.1.
static inline int shim_frame_is_interlaced(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 29, 100)
    return (frame->flags & AV_FRAME_FLAG_INTERLACED) != 0;
#else
    return frame->interlaced_frame != 0;
#endif
}
/// Whether a decoded frame needs no other one; it became a flag in FFmpeg 6.1.
static inline int shim_frame_is_key(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(58, 29, 100)
    return (frame->flags & AV_FRAME_FLAG_KEY) != 0;
#else
    return frame->key_frame != 0;
#endif
}
/// Returns a track's side data of at least `least` bytes; null if there is none. Owned by the stream.
static inline const void *shim_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type, size_t least) {
    size_t size = 0;
#if LIBAVCODEC_VERSION_MAJOR >= 61
    const AVPacketSideData *found = av_packet_side_data_get(stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, type);
    const uint8_t *data = found ? found->data : NULL;
    if (found) size = found->size;
#else
    const uint8_t *data = av_stream_get_side_data(stream, type, &size);
#endif
    return data && size >= least ? data : NULL;
}
/// The nine numbers of a track's display matrix, or null. Owned by the stream.
static inline const int32_t *shim_stream_display_matrix(const AVStream *stream) {
    return (const int32_t *)shim_stream_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t));
}
/// Returns a track's Dolby Vision profile if its base layer has no other use, as in profile 5; 0 otherwise.
static inline int shim_stream_dolby_vision(const AVStream *stream) {
    const AVDOVIDecoderConfigurationRecord *record =
        (const AVDOVIDecoderConfigurationRecord *)shim_stream_side_data(stream, AV_PKT_DATA_DOVI_CONF, sizeof(*record));
    return record && !record->dv_bl_signal_compatibility_id ? record->dv_profile : 0;
}
/// Sets the display matrix of a track to write, from nine numbers, which it copies. Returns 0 or a negative AVERROR.
static inline int shim_stream_set_display_matrix(AVStream *stream, const int32_t *matrix) {
#if LIBAVCODEC_VERSION_MAJOR >= 61
    AVPacketSideData *data = av_packet_side_data_new(&stream->codecpar->coded_side_data, &stream->codecpar->nb_coded_side_data,
                                                     AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t), 0);
    uint8_t *target = data ? data->data : NULL;
#else
    uint8_t *target = av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * sizeof(int32_t));
#endif
    if (!target) return AVERROR(ENOMEM);
    __builtin_memcpy(target, matrix, 9 * sizeof(int32_t));
    return 0;
}
/// Allows `get_buffer2` on any thread of the decoder; FFmpeg 6 always allows it.
static inline void shim_codec_use_safe_callbacks(AVCodecContext *codec) {
#if LIBAVCODEC_VERSION_MAJOR < 60
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    codec->thread_safe_callbacks = 1;
#pragma GCC diagnostic pop
#else
    (void)codec;
#endif
}
/// The pixel formats that an encoder takes, ended by AV_PIX_FMT_NONE; null if it lists none. Owned by the encoder. FFmpeg 7.1 deprecates
/// the field.
static inline const enum AVPixelFormat *shim_codec_pixel_formats(const AVCodec *codec) {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 13, 100)
    const void *formats = NULL;
    return avcodec_get_supported_config(NULL, codec, AV_CODEC_CONFIG_PIX_FORMAT, 0, &formats, NULL) < 0 ? NULL : (const enum AVPixelFormat *)formats;
#else
    return codec->pix_fmts;
#endif
}
/// Writes the frame's colours as options for the source of a filter graph, each after a colon. FFmpeg before 7 has no such options: the
/// text is then empty.
static inline void shim_filter_colours(const AVFrame *frame, char *text, size_t size) {
#if LIBAVUTIL_VERSION_MAJOR >= 59
    snprintf(text, size, ":colorspace=%d:range=%d", frame->colorspace, frame->color_range);
#else
    (void)frame;
    if (size > 0) text[0] = 0;
#endif
}
