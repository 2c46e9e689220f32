// The interface between va_encoder.c and va_driver.c: one picture during encoding.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <va/va.h>

struct va_picture {
    /// The headers before the slice, unchanged.
    uint8_t headers[4096];
    size_t header_size;
    /// The slice's header: a NAL unit with its start code, and the number of its valid bits.
    uint8_t slice[1024];
    unsigned slice_bits;
    /// The slice type as in VAEncSliceParameterBufferH264: 0 is P, 1 is B, 2 is I.
    int slice_type;
    /// The description of the next packed header.
    VAEncPackedHeaderParameterBuffer next;
    /// The buffer for the coded data.
    VABufferID coded;
};

/// Begins the next picture.
void va_picture_begin(struct va_picture *picture);
/// Takes a buffer that describes the picture. Returns 0 if it cannot use the buffer.
int va_picture_add(struct va_picture *picture, VABufferType type, const void *memory, unsigned size);
/// Writes the picture's NAL units to `out`, with the exact macroblocks of an NV12 surface. Returns the number of bytes;
/// 0 if they exceed `capacity` or a header is missing.
size_t va_picture_write(const struct va_picture *picture, unsigned columns, unsigned rows, const uint8_t *luma, const uint8_t *chroma, unsigned pitch,
                        uint8_t *out, size_t capacity);
