// kiosk loads libavfilter at its first use and does not link it. With Debian's build it brings some eighty more shared objects. They nearly
// double the time from exec to the first picture, for a feature that most players never use.
#pragma once

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>

/// The functions of libavfilter in use: the name here, and the name there.
#define FILTER_FUNCTIONS(FUNCTION)                                    \
    FUNCTION(graph_alloc, avfilter_graph_alloc)                       \
    FUNCTION(graph_free, avfilter_graph_free)                         \
    FUNCTION(graph_create_filter, avfilter_graph_create_filter)       \
    FUNCTION(graph_alloc_filter, avfilter_graph_alloc_filter)         \
    FUNCTION(init_str, avfilter_init_str)                             \
    FUNCTION(parameters_alloc, av_buffersrc_parameters_alloc)         \
    FUNCTION(parameters_set, av_buffersrc_parameters_set)             \
    FUNCTION(graph_set_auto_convert, avfilter_graph_set_auto_convert) \
    FUNCTION(graph_config, avfilter_graph_config)                     \
    FUNCTION(get_by_name, avfilter_get_by_name)                       \
    FUNCTION(link, avfilter_link)                                     \
    FUNCTION(add_frame, av_buffersrc_add_frame_flags)                 \
    FUNCTION(get_frame, av_buffersink_get_frame_flags)                \
    FUNCTION(get_samples, av_buffersink_get_samples)

#define DECLARE(name, function) __typeof__(&function) name;
struct filter_library {
    FILTER_FUNCTIONS(DECLARE)
};

/// Loads libavfilter at the first call; returns null if it is not installed. From any thread.
const struct filter_library *kiosk_filter_library(void);
