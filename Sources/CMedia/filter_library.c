#include "filter_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "cmedia.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static struct filter_library library;
static int is_loaded;

static void load(void) {
    void *handle = dlopen("libavfilter.so." TEXT(LIBAVFILTER_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    is_loaded = 1;
#define LOAD(name, function) is_loaded &= (*(void **)&library.name = dlsym(handle, #function)) != NULL;
    FILTER_FUNCTIONS(LOAD)
}

bool kiosk_filters_load(void) { return kiosk_filter_library() != NULL; }

const struct filter_library *kiosk_filter_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded ? &library : NULL;
}
