#include "cmedia.h"

#include "../CFFmpeg/versions.h"
#include "filter_library.h"

#include <libavutil/error.h>
#include <libavutil/frame.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>

struct kiosk_deinterlacer {
    const struct filter_library *library;
    AVFilterGraph *graph;
    AVFilterContext *source, *sink;
};

// Adds the source for frames like `frame`. Surfaces of a decoder bring the context of their pool. FFmpeg 7 gives output pictures the pixel
// shape of the graph. Earlier versions keep each frame's own.
static int add_source(struct kiosk_deinterlacer *deinterlacer, const AVFrame *frame) {
    const struct filter_library *library = deinterlacer->library;
    char format[192];
    AVRational shape = frame->sample_aspect_ratio;
    if (shape.num <= 0 || shape.den <= 0) shape = (AVRational){0, 1};
    int length = snprintf(format, sizeof format, "video_size=%dx%d:pix_fmt=%d:time_base=1/1:pixel_aspect=%d/%d", frame->width, frame->height,
                          frame->format, shape.num, shape.den);
    shim_filter_colours(frame, format + length, sizeof format - (size_t)length);
    deinterlacer->source = library->graph_alloc_filter(deinterlacer->graph, library->get_by_name("buffer"), "in");
    if (!deinterlacer->source) return AVERROR(ENOMEM);
    if (frame->hw_frames_ctx) {
        AVBufferSrcParameters *parameters = library->parameters_alloc();
        if (!parameters) return AVERROR(ENOMEM);
        parameters->format = frame->format;
        parameters->hw_frames_ctx = frame->hw_frames_ctx;
        int status = library->parameters_set(deinterlacer->source, parameters);
        av_free(parameters);
        if (status < 0) return status;
    }
    return library->init_str(deinterlacer->source, format);
}

static int build(struct kiosk_deinterlacer *deinterlacer, const AVFrame *frame, int threads, int fields, int surfaces) {
    const struct filter_library *library = deinterlacer->library;
    const AVFilter *kind = library->get_by_name(frame->hw_frames_ctx ? "deinterlace_vaapi" : "bwdif");
    AVFilterContext *filter = NULL;
    char options[96];
    if (!kind) return AVERROR_FILTER_NOT_FOUND;
    if (frame->hw_frames_ctx)
        snprintf(options, sizeof options, "rate=%s:auto=1:extra_hw_frames=%d", fields ? "field" : "frame", surfaces);
    else
        snprintf(options, sizeof options, "mode=%s:parity=auto:deint=interlaced", fields ? "send_field" : "send_frame");
    deinterlacer->graph = library->graph_alloc();
    if (!deinterlacer->graph) return AVERROR(ENOMEM);
    // Set before the filters are made: they take it from the graph.
    deinterlacer->graph->nb_threads = threads;
    // Formats that bwdif does not take would go through libswscale twice a frame.
    library->graph_set_auto_convert(deinterlacer->graph, AVFILTER_AUTO_CONVERT_NONE);
    AVFilterGraph *graph = deinterlacer->graph;
    int status = add_source(deinterlacer, frame);
    if (status >= 0) status = library->graph_create_filter(&filter, kind, "deinterlacer", options, NULL, graph);
    if (status >= 0) status = library->graph_create_filter(&deinterlacer->sink, library->get_by_name("buffersink"), "out", NULL, NULL, graph);
    if (status >= 0) status = library->link(deinterlacer->source, 0, filter, 0);
    if (status >= 0) status = library->link(filter, 0, deinterlacer->sink, 0);
    if (status >= 0) status = library->graph_config(graph, NULL);
    return status;
}

struct kiosk_deinterlacer *kiosk_deinterlacer_open(const void *frame, int threads, int fields, int surfaces, int *status) {
    const struct filter_library *library = kiosk_filter_library();
    *status = AVERROR(ENOSYS);
    if (!library) return NULL;
    *status = AVERROR(ENOMEM);
    struct kiosk_deinterlacer *deinterlacer = calloc(1, sizeof *deinterlacer);
    if (!deinterlacer) return NULL;
    deinterlacer->library = library;
    *status = build(deinterlacer, frame, threads, fields, surfaces);
    if (*status < 0) {
        kiosk_deinterlacer_close(deinterlacer);
        return NULL;
    }
    return deinterlacer;
}

void kiosk_deinterlacer_close(struct kiosk_deinterlacer *deinterlacer) {
    if (deinterlacer->graph) deinterlacer->library->graph_free(&deinterlacer->graph);
    free(deinterlacer);
}

int kiosk_deinterlacer_send(struct kiosk_deinterlacer *deinterlacer, void *frame) {
    return deinterlacer->library->add_frame(deinterlacer->source, frame, 0);
}

int kiosk_deinterlacer_receive(struct kiosk_deinterlacer *deinterlacer, void *picture) {
    return deinterlacer->library->get_frame(deinterlacer->sink, picture, 0);
}
