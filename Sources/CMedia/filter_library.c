#include "filter_library.h"

#include <dlfcn.h>
#include <pthread.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static struct filter_library library;
static int is_loaded;

static void load(void) {
    void *handle = dlopen("libavfilter.so." TEXT(LIBAVFILTER_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    *(void **)&library.graph_alloc = dlsym(handle, "avfilter_graph_alloc");
    *(void **)&library.graph_free = dlsym(handle, "avfilter_graph_free");
    *(void **)&library.graph_create_filter = dlsym(handle, "avfilter_graph_create_filter");
    *(void **)&library.graph_alloc_filter = dlsym(handle, "avfilter_graph_alloc_filter");
    *(void **)&library.init_str = dlsym(handle, "avfilter_init_str");
    *(void **)&library.parameters_alloc = dlsym(handle, "av_buffersrc_parameters_alloc");
    *(void **)&library.parameters_set = dlsym(handle, "av_buffersrc_parameters_set");
    *(void **)&library.graph_set_auto_convert = dlsym(handle, "avfilter_graph_set_auto_convert");
    *(void **)&library.graph_config = dlsym(handle, "avfilter_graph_config");
    *(void **)&library.get_by_name = dlsym(handle, "avfilter_get_by_name");
    *(void **)&library.link = dlsym(handle, "avfilter_link");
    *(void **)&library.add_frame = dlsym(handle, "av_buffersrc_add_frame_flags");
    *(void **)&library.get_frame = dlsym(handle, "av_buffersink_get_frame_flags");
    *(void **)&library.get_samples = dlsym(handle, "av_buffersink_get_samples");
    is_loaded = library.graph_alloc && library.graph_free && library.graph_create_filter && library.graph_alloc_filter &&
                library.init_str && library.parameters_alloc && library.parameters_set && library.graph_set_auto_convert &&
                library.graph_config && library.get_by_name && library.link && library.add_frame && library.get_frame &&
                library.get_samples;
}

const struct filter_library *kiosk_filter_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded ? &library : NULL;
}
