#include "cqrcode.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// As qrencode.h of version 4 has it.
struct code {
    int version;
    int width;
    unsigned char *data;
};
enum { LEVEL_M = 1 };

static struct code *(*encode)(const char *text, int version, int level);
static void (*release)(struct code *);

static void load(void) {
    void *handle = dlopen("libqrencode.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    *(void **)&encode = dlsym(handle, "QRcode_encodeString8bit");
    *(void **)&release = dlsym(handle, "QRcode_free");
    if (!release) encode = NULL;
}

int kiosk_qr_is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return encode != NULL;
}

int kiosk_qr_encode(const char *text, uint8_t *modules) {
    if (!kiosk_qr_is_available()) return 0;
    struct code *code = encode(text, 0, LEVEL_M);
    if (!code) return 0;
    int side = code->width > 0 && code->width <= KIOSK_QR_LONGEST_SIDE ? code->width : 0;
    memcpy(modules, code->data, (size_t)side * (size_t)side);
    release(code);
    return side;
}
