// libavfilter is loaded when it is first wanted, and not linked: with Debian's build it brings some eighty further shared objects, which
// nearly doubles the time from exec to the first picture for something that most players never use.
#pragma once

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>

/// The functions of libavfilter that are used here.
struct filter_library {
    __typeof__(&avfilter_graph_alloc) graph_alloc;
    __typeof__(&avfilter_graph_free) graph_free;
    __typeof__(&avfilter_graph_create_filter) graph_create_filter;
    __typeof__(&avfilter_graph_alloc_filter) graph_alloc_filter;
    __typeof__(&avfilter_init_str) init_str;
    __typeof__(&av_buffersrc_parameters_alloc) parameters_alloc;
    __typeof__(&av_buffersrc_parameters_set) parameters_set;
    __typeof__(&avfilter_graph_set_auto_convert) graph_set_auto_convert;
    __typeof__(&avfilter_graph_config) graph_config;
    __typeof__(&avfilter_get_by_name) get_by_name;
    __typeof__(&avfilter_link) link;
    __typeof__(&av_buffersrc_add_frame_flags) add_frame;
    __typeof__(&av_buffersink_get_frame_flags) get_frame;
    __typeof__(&av_buffersink_get_samples) get_samples;
};

/// Loads libavfilter at the first call; null when it is not installed. From any thread.
const struct filter_library *kiosk_filter_library(void);
