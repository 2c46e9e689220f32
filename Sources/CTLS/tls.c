// OpenSSL's headers are not needed: these few declarations have not changed since version 1.1, and the library keeps them (libssl.so.3).
#include "ctls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILETYPE_PEM = 1, ERROR_WANT_READ = 2, ERROR_WANT_WRITE = 3, ERROR_ZERO_RETURN = 6, CTRL_MODE = 33, CTRL_SET_MIN_PROTO_VERSION = 123 };
enum { MODE_ENABLE_PARTIAL_WRITE = 1, MODE_ACCEPT_MOVING_WRITE_BUFFER = 2, MODE_RELEASE_BUFFERS = 16, TLS1_2_VERSION = 0x0303 };

static struct {
    const void *(*server_method)(void);
    void *(*context_new)(const void *method);
    void (*context_free)(void *context);
    long (*context_ctrl)(void *context, int command, long number, void *pointer);
    int (*use_chain)(void *context, const char *path);
    int (*use_key)(void *context, const char *path, int type);
    int (*check_key)(const void *context);
    void *(*new)(void *context);
    void (*free)(void *ssl);
    int (*set_fd)(void *ssl, int socket);
    int (*accept)(void *ssl);
    int (*read)(void *ssl, void *bytes, int count);
    int (*write)(void *ssl, const void *bytes, int count);
    int (*get_error)(const void *ssl, int result);
    int (*shutdown)(void *ssl);
    unsigned long (*next_error)(void);
    void (*error_text)(unsigned long error, char *text, size_t size);
    void (*clear_errors)(void);
} ssl;
static int is_loaded;

static void load(void) {
    void *crypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL), *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!crypto || !library) return;
    struct { void *from, **to; const char *name; } const wanted[] = {
        { library, (void **)&ssl.server_method, "TLS_server_method" }, { library, (void **)&ssl.context_new, "SSL_CTX_new" },
        { library, (void **)&ssl.context_free, "SSL_CTX_free" }, { library, (void **)&ssl.context_ctrl, "SSL_CTX_ctrl" },
        { library, (void **)&ssl.use_chain, "SSL_CTX_use_certificate_chain_file" },
        { library, (void **)&ssl.use_key, "SSL_CTX_use_PrivateKey_file" }, { library, (void **)&ssl.check_key, "SSL_CTX_check_private_key" },
        { library, (void **)&ssl.new, "SSL_new" }, { library, (void **)&ssl.free, "SSL_free" }, { library, (void **)&ssl.set_fd, "SSL_set_fd" },
        { library, (void **)&ssl.accept, "SSL_accept" }, { library, (void **)&ssl.read, "SSL_read" }, { library, (void **)&ssl.write, "SSL_write" },
        { library, (void **)&ssl.get_error, "SSL_get_error" }, { library, (void **)&ssl.shutdown, "SSL_shutdown" },
        { crypto, (void **)&ssl.next_error, "ERR_get_error" }, { crypto, (void **)&ssl.error_text, "ERR_error_string_n" },
        { crypto, (void **)&ssl.clear_errors, "ERR_clear_error" },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].to = dlsym(wanted[i].from, wanted[i].name);
        if (!*wanted[i].to) return;
    }
    // OpenSSL writes to sockets with write(2), which has no MSG_NOSIGNAL.
    signal(SIGPIPE, SIG_IGN);
    is_loaded = 1;
}

static void *complain(void *context, const char *what, char *problem, size_t size) {
    char reason[256] = "unknown reason";
    unsigned long error = ssl.next_error();
    if (error) ssl.error_text(error, reason, sizeof reason);
    snprintf(problem, size, "%s: %s", what, reason);
    ssl.clear_errors();
    if (context) ssl.context_free(context);
    return NULL;
}

struct kiosk_tls_server *kiosk_tls_server_open(const char *certificate, const char *key, char *problem, size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!is_loaded) {
        snprintf(problem, size, "OpenSSL 3 is not installed (apt install libssl3)");
        return NULL;
    }
    ssl.clear_errors();
    void *context = ssl.context_new(ssl.server_method());
    if (!context) return complain(NULL, "TLS", problem, size);
    ssl.context_ctrl(context, CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    ssl.context_ctrl(context, CTRL_MODE, MODE_ENABLE_PARTIAL_WRITE | MODE_ACCEPT_MOVING_WRITE_BUFFER | MODE_RELEASE_BUFFERS, NULL);
    if (ssl.use_chain(context, certificate) != 1) return complain(context, certificate, problem, size);
    if (ssl.use_key(context, key, FILETYPE_PEM) != 1 || ssl.check_key(context) != 1) return complain(context, key, problem, size);
    return context;
}

void kiosk_tls_server_close(struct kiosk_tls_server *server) { ssl.context_free(server); }

struct kiosk_tls *kiosk_tls_open(struct kiosk_tls_server *server, int socket) {
    void *tls = ssl.new(server);
    if (tls && ssl.set_fd(tls, socket) != 1) {
        ssl.free(tls);
        return NULL;
    }
    return tls;
}

void kiosk_tls_close(struct kiosk_tls *tls) { ssl.free(tls); }

static int need(struct kiosk_tls *tls, int result) {
    switch (ssl.get_error(tls, result)) {
    case ERROR_WANT_READ: return KIOSK_TLS_READABLE;
    case ERROR_WANT_WRITE: return KIOSK_TLS_WRITABLE;
    case ERROR_ZERO_RETURN: return 0;
    default: return KIOSK_TLS_BROKEN;
    }
}

int kiosk_tls_handshake(struct kiosk_tls *tls) {
    ssl.clear_errors();
    int result = ssl.accept(tls);
    if (result == 1) return 1;
    int wanted = need(tls, result);
    return wanted ? wanted : KIOSK_TLS_BROKEN;
}

int kiosk_tls_read(struct kiosk_tls *tls, void *bytes, int count) {
    ssl.clear_errors();
    int result = ssl.read(tls, bytes, count);
    return result > 0 ? result : need(tls, result);
}

int kiosk_tls_write(struct kiosk_tls *tls, const void *bytes, int count) {
    ssl.clear_errors();
    int result = ssl.write(tls, bytes, count);
    if (result > 0) return result;
    int wanted = need(tls, result);
    return wanted ? wanted : KIOSK_TLS_BROKEN;
}

void kiosk_tls_end(struct kiosk_tls *tls) {
    ssl.clear_errors();
    ssl.shutdown(tls);
}
