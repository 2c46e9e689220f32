#include "transfer.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    __typeof__(&curl_global_init) global_init;
    __typeof__(&curl_easy_init) init;
    __typeof__(&curl_easy_setopt) setopt;
    __typeof__(&curl_easy_perform) perform;
    __typeof__(&curl_easy_cleanup) cleanup;
    __typeof__(&curl_easy_strerror) strerror;
    __typeof__(&curl_slist_append) append;
    __typeof__(&curl_slist_free_all) free_all;
} curl;
static int is_loaded;

static void load(void) {
    static const char *const names[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};
    void *handle = NULL;
    for (size_t index = 0; !handle && index < sizeof names / sizeof *names; index++) handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    *(void **)&curl.global_init = dlsym(handle, "curl_global_init");
    *(void **)&curl.init = dlsym(handle, "curl_easy_init");
    *(void **)&curl.setopt = dlsym(handle, "curl_easy_setopt");
    *(void **)&curl.perform = dlsym(handle, "curl_easy_perform");
    *(void **)&curl.cleanup = dlsym(handle, "curl_easy_cleanup");
    *(void **)&curl.strerror = dlsym(handle, "curl_easy_strerror");
    *(void **)&curl.append = dlsym(handle, "curl_slist_append");
    *(void **)&curl.free_all = dlsym(handle, "curl_slist_free_all");
    is_loaded = curl.global_init && curl.init && curl.setopt && curl.perform && curl.cleanup && curl.strerror && curl.append &&
                curl.free_all && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

int kiosk_transfer_is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

static size_t on_head(char *line, size_t size, size_t count, void *user) {
    const struct kiosk_transfer_handler *handler = user;
    handler->head(handler->context, line, size * count);
    return size * count;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
    const struct kiosk_transfer_handler *handler = user;
    return handler->body(handler->context, bytes, size * count) ? size * count : 0;
}

static int on_progress(void *user, curl_off_t wanted, curl_off_t had, curl_off_t to_send, curl_off_t sent) {
    const struct kiosk_transfer_handler *handler = user;
    (void)wanted, (void)had, (void)to_send, (void)sent;
    return !handler->goes_on(handler->context);
}

int kiosk_transfer(const struct kiosk_transfer_request *request, const struct kiosk_transfer_handler *handler, char *problem) {
    char details[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = NULL;
    snprintf(problem, 256, "libcurl is not installed");
    CURL *easy = kiosk_transfer_is_available() ? curl.init() : NULL;
    if (!easy) return -1;
    for (int index = 0; index < request->header_count; index++) {
        struct curl_slist *longer = curl.append(headers, request->headers[index]);
        if (longer) headers = longer;
    }
    curl.setopt(easy, CURLOPT_URL, request->url);
    curl.setopt(easy, CURLOPT_ERRORBUFFER, details);
    curl.setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl.setopt(easy, CURLOPT_USERAGENT, request->user_agent);
    curl.setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl.setopt(easy, CURLOPT_NOBODY, request->is_head ? 1L : 0L);
    curl.setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl.setopt(easy, CURLOPT_SSL_VERIFYPEER, request->verifies ? 1L : 0L);
    curl.setopt(easy, CURLOPT_SSL_VERIFYHOST, request->verifies ? 2L : 0L);
    if (request->ca_file) curl.setopt(easy, CURLOPT_CAINFO, request->ca_file);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl.setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl.setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
    curl.setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_timeout_ms);
    curl.setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
    curl.setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 100L);
    curl.setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)request->stall_seconds);
    curl.setopt(easy, CURLOPT_BUFFERSIZE, 65536L);
    curl.setopt(easy, CURLOPT_HEADERFUNCTION, on_head);
    curl.setopt(easy, CURLOPT_HEADERDATA, handler);
    curl.setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl.setopt(easy, CURLOPT_WRITEDATA, handler);
    curl.setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl.setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl.setopt(easy, CURLOPT_XFERINFODATA, handler);
    CURLcode result = curl.perform(easy);
    snprintf(problem, 256, "%s", *details ? details : curl.strerror(result));
    curl.cleanup(easy);
    curl.free_all(headers);
    return (int)result;
}
