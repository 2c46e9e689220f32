// What va_driver.c needs of va_encoder.c: one picture that is being encoded.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <va/va.h>

struct va_picture {
    /// Headers that come before the slice, as they are.
    uint8_t headers[4096];
    size_t header_size;
    /// The slice's header: NAL unit with start code, and how many bits of it count.
    uint8_t slice[1024];
    unsigned slice_bits;
    /// Of VAEncSliceParameterBufferH264: 0 is P, 1 is B, 2 is I.
    int slice_type;
    /// What the next packed header is.
    VAEncPackedHeaderParameterBuffer next;
    /// Where the bytes go.
    VABufferID coded;
};

/// Begins the next picture.
void va_picture_begin(struct va_picture *picture);
/// Takes a buffer that describes the picture; 0 where it cannot be.
int va_picture_add(struct va_picture *picture, VABufferType type, const void *memory, unsigned size);
/// Writes the picture's NAL units to `out`: every macroblock as it is in an NV12 surface, so nothing of it is lost. Returns how many bytes, 0 where
/// they are more than `capacity` or a header is missing.
size_t va_picture_write(const struct va_picture *picture, unsigned columns, unsigned rows, const uint8_t *luma, const uint8_t *chroma, unsigned pitch,
                        uint8_t *out, size_t capacity);
