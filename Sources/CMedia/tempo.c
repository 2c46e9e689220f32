#include "cmedia.h"

#include "filter_library.h"

#include <libavutil/channel_layout.h>
#include <libavutil/frame.h>
#include <libavutil/samplefmt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kiosk_tempo {
    const struct filter_library *library;
    AVFilterGraph *graph;
    AVFilterContext *source, *sink;
    AVFrame *input, *output;
    int sample_rate, channels;
    int64_t sent;
};

struct kiosk_tempo *kiosk_tempo_open(double rate, int sample_rate, int channels) {
    const struct filter_library *library = kiosk_filter_library();
    char format[128], factor[32];
    AVFilterContext *filter = NULL;
    if (!library) return NULL;
    struct kiosk_tempo *tempo = calloc(1, sizeof *tempo);
    if (!tempo) return NULL;
    tempo->library = library;
    tempo->sample_rate = sample_rate;
    tempo->channels = channels;
    tempo->graph = library->graph_alloc();
    tempo->input = av_frame_alloc();
    tempo->output = av_frame_alloc();
    // The layout of the frames: the filter refuses others.
    AVChannelLayout layout = {0};
    av_channel_layout_default(&layout, channels);
    bool is_native = layout.order == AV_CHANNEL_ORDER_NATIVE;
    snprintf(format, sizeof format, is_native ? "sample_rate=%d:sample_fmt=flt:channel_layout=0x%" PRIx64 ":time_base=1/%d"
                                              : "sample_rate=%d:sample_fmt=flt:channel_layout=%" PRIu64 "c:time_base=1/%d",
             sample_rate, is_native ? layout.u.mask : (uint64_t)channels, sample_rate);
    av_channel_layout_uninit(&layout);
    snprintf(factor, sizeof factor, "%f", rate);
    if (!tempo->graph || !tempo->input || !tempo->output ||
        library->graph_create_filter(&tempo->source, library->get_by_name("abuffer"), "in", format, NULL, tempo->graph) < 0 ||
        library->graph_create_filter(&filter, library->get_by_name("atempo"), "tempo", factor, NULL, tempo->graph) < 0 ||
        library->graph_create_filter(&tempo->sink, library->get_by_name("abuffersink"), "out", NULL, NULL, tempo->graph) < 0 ||
        library->link(tempo->source, 0, filter, 0) < 0 || library->link(filter, 0, tempo->sink, 0) < 0 ||
        library->graph_config(tempo->graph, NULL) < 0) {
        kiosk_tempo_close(tempo);
        return NULL;
    }
    return tempo;
}

void kiosk_tempo_close(struct kiosk_tempo *tempo) {
    av_frame_free(&tempo->input);
    av_frame_free(&tempo->output);
    if (tempo->graph) tempo->library->graph_free(&tempo->graph);
    free(tempo);
}

int kiosk_tempo_send(struct kiosk_tempo *tempo, const float *samples, int frames) {
    AVFrame *input = tempo->input;
    if (frames == 0) return tempo->library->add_frame(tempo->source, NULL, 0);
    input->format = AV_SAMPLE_FMT_FLT;
    input->sample_rate = tempo->sample_rate;
    input->nb_samples = frames;
    input->pts = tempo->sent;
    av_channel_layout_default(&input->ch_layout, tempo->channels);
    int status = av_frame_get_buffer(input, 0);
    if (status < 0) return status;
    memcpy(input->data[0], samples, sizeof *samples * (size_t)frames * (size_t)tempo->channels);
    tempo->sent += frames;
    return tempo->library->add_frame(tempo->source, input, 0);  // takes the buffer over and clears the frame
}

int kiosk_tempo_receive(struct kiosk_tempo *tempo, float *samples, int frames) {
    av_frame_unref(tempo->output);
    if (tempo->library->get_samples(tempo->sink, tempo->output, frames) < 0) return 0;
    memcpy(samples, tempo->output->data[0], sizeof *samples * (size_t)tempo->output->nb_samples * (size_t)tempo->channels);
    return tempo->output->nb_samples;
}
