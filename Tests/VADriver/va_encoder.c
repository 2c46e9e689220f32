// Writes H.264 without compression. Each macroblock is I_PCM, raw samples behind the headers that libavcodec made.
// So every decoder returns the exact input. The entropy coder must be CAVLC, as in libavcodec's headers for Constrained Baseline.
#include "va_encoder.h"

#include <string.h>

#include <va/va_enc_h264.h>

void va_picture_begin(struct va_picture *picture) {
    *picture = (struct va_picture){.slice_type = -1, .coded = VA_INVALID_ID};
}

static int add_header(struct va_picture *picture, const void *memory, unsigned size) {
    unsigned bytes = (picture->next.bit_length + 7) / 8;
    if (bytes > size) return 0;
    if (picture->next.type == VAEncPackedHeaderSlice) {
        // One slice per picture
        if (picture->slice_bits || bytes > sizeof picture->slice) return 0;
        memcpy(picture->slice, memory, bytes);
        picture->slice_bits = picture->next.bit_length;
        return 1;
    }
    if (picture->header_size + bytes > sizeof picture->headers) return 0;
    memcpy(picture->headers + picture->header_size, memory, bytes);
    picture->header_size += bytes;
    return 1;
}

int va_picture_add(struct va_picture *picture, VABufferType type, const void *memory, unsigned size) {
    switch (type) {
    case VAEncPictureParameterBufferType: picture->coded = ((const VAEncPictureParameterBufferH264 *)memory)->coded_buf; return 1;
    case VAEncSliceParameterBufferType: picture->slice_type = ((const VAEncSliceParameterBufferH264 *)memory)->slice_type % 5; return 1;
    case VAEncPackedHeaderParameterBufferType: memcpy(&picture->next, memory, sizeof picture->next); return 1;
    case VAEncPackedHeaderDataBufferType: return add_header(picture, memory, size);
    default: return 1;
    }
}

// ---- Bits

// A NAL unit behind its start code. After two zero bytes, a 3 precedes a byte below 4 (7.3.1).
struct writer {
    uint8_t *out;
    size_t size, capacity;
    int zeros;
    unsigned bits, count;
};

static void put_byte(struct writer *w, uint8_t byte) {
    if (w->zeros == 2 && byte < 4) {
        if (w->size < w->capacity) w->out[w->size] = 3;
        w->size++;
        w->zeros = 0;
    }
    if (w->size < w->capacity) w->out[w->size] = byte;
    w->size++;
    w->zeros = byte ? 0 : w->zeros + 1;
}

static void put_bit(struct writer *w, int bit) {
    w->bits = w->bits << 1 | (unsigned)bit;
    if (++w->count < 8) return;
    put_byte(w, (uint8_t)w->bits);
    w->bits = w->count = 0;
}

// ue(v): 9.1
static void put_number(struct writer *w, unsigned number) {
    int length = 0;
    while ((number + 1) >> (length + 1)) length++;
    for (int i = 0; i < length; i++) put_bit(w, 0);
    for (int i = length; i >= 0; i--) put_bit(w, (number + 1) >> i & 1);
}

static void align(struct writer *w) {
    while (w->count) put_bit(w, 0);
}

// Copies the slice's header. It drops the emulation prevention bytes and adds them again, because the following
// data changes only the header's last bits
static void put_header(struct writer *w, const uint8_t *header, unsigned bits) {
    int zeros = 0;
    for (unsigned i = 0; i * 8 < bits; i++) {
        if (zeros == 2 && header[i] == 3) {
            zeros = 0;
            continue;
        }
        zeros = header[i] ? 0 : zeros + 1;
        for (unsigned bit = 0; bit < 8 && i * 8 + bit < bits; bit++) put_bit(w, header[i] >> (7 - bit) & 1);
    }
}

size_t va_picture_write(
    const struct va_picture *picture, unsigned columns, unsigned rows, const uint8_t *luma, const uint8_t *chroma, unsigned pitch, uint8_t *out,
    size_t capacity) {
    // mb_type of I_PCM is 25 (table 7-11), after an offset of 5 in P pictures and 23 in B pictures
    static const unsigned types[] = {30, 48, 25};
    struct writer w = {.out = out, .capacity = capacity};
    unsigned start = 0;
    if (!picture->slice_bits || picture->slice_type < 0 || picture->slice_type > 2 || picture->header_size > capacity) return 0;
    memcpy(out, picture->headers, picture->header_size);
    w.size = picture->header_size;
    while (start < sizeof picture->slice && picture->slice[start] == 0) start++;
    if (picture->slice[start++] != 1 || w.size + start > capacity || start * 8 >= picture->slice_bits) return 0;
    memcpy(out + w.size, picture->slice, start);
    w.size += start;
    put_header(&w, picture->slice + start, picture->slice_bits - start * 8);
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned column = 0; column < columns; column++) {
            const uint8_t *y = luma + (size_t)row * 16 * pitch + column * 16, *c = chroma + (size_t)row * 8 * pitch + column * 16;
            // mb_skip_run
            if (picture->slice_type != 2) put_number(&w, 0);
            put_number(&w, types[picture->slice_type]);
            align(&w);
            for (unsigned i = 0; i < 256; i++) put_byte(&w, y[(size_t)(i / 16) * pitch + i % 16]);
            for (unsigned i = 0; i < 128; i++) put_byte(&w, c[(size_t)(i / 8 % 8) * pitch + i % 8 * 2 + i / 64]);
        }
    }
    put_bit(&w, 1);
    align(&w);
    return w.size <= capacity ? w.size : 0;
}
