// Rotated copies of pixels of 1, 2 and 4 bytes.
//
// Reading down the columns of a picture costs a load, a store and mostly a cache miss for each pixel. So the code divides the picture into
// blocks of one cache line each way; the first-level cache holds two of them. It divides the blocks into squares with a side of one 16-byte
// vector. It loads a square row by row, transposes it in registers and stores it row by row. The vectors are the compiler's: SSE2 on
// x86-64, NEON on AArch64.
//
// Interleaving transposes a square. Of N rows, row i with row i + N/2 gives two rows of a new set. In the number of a pixel (row, column),
// that rotates the bits by one. After log2(N) times, row and column have changed places.
//
// If a side is no multiple of the square's, the last square overlaps the one before it, and writes the same pixels again. A picture smaller
// than a square is copied pixel by pixel.

#include "cdisplay.h"

#include <stddef.h>
#include <string.h>

typedef uint8_t vector1 __attribute__((vector_size(16)));
typedef uint16_t vector2 __attribute__((vector_size(16)));
typedef uint32_t vector4 __attribute__((vector_size(16)));

#define LOW1(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH1(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW2(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH2(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW4(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define HIGH4(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

enum { kLine = 64 };

static inline int least(int a, int b) { return a < b ? a : b; }

// `rows` and `columns` are the destination's: its pixel (x, y) is the source's (y, x). `step` is the distance between rows of the source. A
// pixel has `BYTES`; `STAGES` is log2 of the pixels in a vector.
#define ROTATE(BYTES, STAGES, TYPE)                                                                                                                    \
    static inline void square##BYTES(const uint8_t *source, ptrdiff_t step, uint8_t *target, ptrdiff_t stride) {                                     \
        enum { kSide = 16 / BYTES };                                                                                                                 \
        vector##BYTES rows[kSide], mixed[kSide];                                                                                                     \
        _Pragma("clang loop unroll(full)") for (int i = 0; i < kSide; i++) memcpy(&rows[i], source + i * step, 16);                                  \
        _Pragma("clang loop unroll(full)") for (int stage = 0; stage < STAGES; stage++) {                                                            \
            _Pragma("clang loop unroll(full)") for (int i = 0; i < kSide / 2; i++) {                                                                 \
                mixed[2 * i] = LOW##BYTES(rows[i], rows[i + kSide / 2]);                                                                             \
                mixed[2 * i + 1] = HIGH##BYTES(rows[i], rows[i + kSide / 2]);                                                                        \
            }                                                                                                                                        \
            _Pragma("clang loop unroll(full)") for (int i = 0; i < kSide; i++) rows[i] = mixed[i];                                                   \
        }                                                                                                                                            \
        _Pragma("clang loop unroll(full)") for (int i = 0; i < kSide; i++) memcpy(target + i * stride, &rows[i], 16);                                \
    }                                                                                                                                                \
                                                                                                                                                     \
    static void transpose##BYTES(                                                                                                                    \
        const uint8_t *source, ptrdiff_t step, uint8_t *target, ptrdiff_t stride, int columns, int rows) {                                           \
        enum { kSide = 16 / BYTES, kBlock = kLine / BYTES };                                                                                         \
        if (columns < kSide || rows < kSide) {                                                                                                       \
            for (int y = 0; y < rows; y++)                                                                                                           \
                for (int x = 0; x < columns; x++) memcpy(target + y * stride + x * BYTES, source + x * step + y * BYTES, BYTES);                     \
            return;                                                                                                                                  \
        }                                                                                                                                            \
        for (int top = 0; top < rows; top += kBlock)                                                                                                 \
            for (int left = 0; left < columns; left += kBlock)                                                                                       \
                for (int down = top; down < least(top + kBlock, rows); down += kSide)                                                                \
                    for (int across = left; across < least(left + kBlock, columns); across += kSide) {                                               \
                        int y = least(down, rows - kSide), x = least(across, columns - kSide);                                                       \
                        square##BYTES(source + x * step + y * BYTES, step, target + y * stride + x * BYTES, stride);                                 \
                    }                                                                                                                                \
    }                                                                                                                                                \
                                                                                                                                                     \
    static void reverse##BYTES(const uint8_t *source, uint8_t *target, int columns) {                                                                \
        const TYPE *from = (const TYPE *)source;                                                                                                     \
        TYPE *to = (TYPE *)target;                                                                                                                   \
        for (int x = 0; x < columns; x++) to[x] = from[-x];                                                                                          \
    }

ROTATE(1, 4, uint8_t)
ROTATE(2, 3, uint16_t)
ROTATE(4, 2, uint32_t)

void kiosk_copy_rotated(
    void *target, long stride, int columns, int rows, const void *source, long across, long down, int bytes) {
    uint8_t *to = target;
    const uint8_t *from = source;
    if (columns <= 0 || rows <= 0) return;
    if (across == bytes || across == -bytes) {
        for (int y = 0; y < rows; y++, to += stride, from += down) {
            if (across > 0) memcpy(to, from, (size_t)columns * (size_t)bytes);
            else if (bytes == 1) reverse1(from, to, columns);
            else if (bytes == 2) reverse2(from, to, columns);
            else reverse4(from, to, columns);
        }
        return;
    }
    if (down < 0) {
        // Start at the last row, so that neighbours in the source are read forwards.
        from += (rows - 1) * down;
        to += (rows - 1) * stride;
        stride = -stride;
    }
    if (bytes == 1) transpose1(from, across, to, stride, columns, rows);
    else if (bytes == 2) transpose2(from, across, to, stride, columns, rows);
    else transpose4(from, across, to, stride, columns, rows);
}
