// Vector code for pixels and samples, compared with plain code. It writes nothing beside the target, and integers come out the same on each
// processor.
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cdisplay.h"
#include "checks.h"
#include "cmedia.h"
// For an image of libass made without libass
#include "ass.c"

enum { ROOM = 512 * 512, EDGE = 64, GUARD = 0xA5 };

static uint8_t source[ROOM], target[ROOM], wanted[ROOM];

static void fill(void) {
    for (int i = 0; i < ROOM; i++) source[i] = (uint8_t)number();
    memset(target, GUARD, sizeof target);
    memset(wanted, GUARD, sizeof wanted);
}

/// Checks one of the eight orientations of a picture. Counts distances in pixels.
static void rotate(int columns, int rows, int bytes, int way, int shift, uint64_t *sum) {
    bool is_turned = way & 1, is_mirrored = way & 2, is_upside_down = way & 4;
    int width = is_turned ? rows : columns, height = is_turned ? columns : rows;
    // Rows begin at any pixel, with unused pixels between them
    long step = (long)(width + shift) * bytes, stride = (long)(columns + shift + 1) * bytes;
    long across = is_turned ? step : bytes, down = is_turned ? bytes : step;
    const uint8_t *from = source + EDGE + shift * bytes;
    if (is_mirrored) from += across * (columns - 1), across = -across;
    if (is_upside_down) from += down * (rows - 1), down = -down;
    (void)height;
    uint8_t *to = target + EDGE + shift * bytes, *model = wanted + EDGE + shift * bytes;
    size_t used = (size_t)(stride * (rows - 1) + columns * bytes);
    kiosk_copy_rotated(to, stride, columns, rows, from, across, down, bytes);
    for (int y = 0; y < rows; y++) {
        for (int x = 0; x < columns; x++) memcpy(model + y * stride + x * bytes, from + x * across + y * down, (size_t)bytes);
    }
    bool is_same = memcmp(target, wanted, used + 2 * EDGE + (size_t)(shift * bytes)) == 0;
    expect(is_same, "%dx%d pixels of %d bytes, way %d, come out wrong", columns, rows, bytes, way);
    *sum = *sum * 31 + digest(to, used);
    memset(target, GUARD, used + 3 * EDGE);
    memset(wanted, GUARD, used + 3 * EDGE);
}

void check_rotation(void) {
    static const int sides[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100};
    enum { SIDES = sizeof sides / sizeof *sides };
    fill();
    for (int bytes = 1; bytes <= 4; bytes *= 2) {
        uint64_t sum = 0;
        for (int way = 0; way < 8; way++) {
            // Callers ask for rotated rows, mirrored ones, or neither
            for (int i = 0; i < SIDES * SIDES; i++) rotate(sides[i / SIDES], sides[i % SIDES], bytes, way, i % 3, &sum);
        }
        tell("rotation: %d bytes %016llx", bytes, (unsigned long long)sum);
    }
}

void check_halving(void) {
    uint64_t sum = 0;
    fill();
    for (int width = 1; width <= 100; width++) {
        for (int height = 1; height <= 9; height += 4) {
            long step = 2 * width + width % 5, stride = width + width % 3;
            const uint8_t *from = source + width % 7;
            uint8_t *to = target + EDGE, *model = wanted + EDGE;
            kiosk_halve(from, step, to, stride, width, height);
            for (int y = 0; y < height; y++) {
                for (int x = 0; x < width; x++) {
                    const uint8_t *upper = from + 2 * y * step + 2 * x, *lower = upper + step;
                    model[y * stride + x] = (uint8_t)((upper[0] + upper[1] + lower[0] + lower[1] + 2) / 4);
                }
            }
            size_t used = (size_t)(stride * height);
            expect(memcmp(target, wanted, used + 2 * EDGE) == 0, "a picture of %dx%d is halved wrongly", width, height);
            sum = sum * 31 + digest(to, used);
        }
    }
    tell("halving: %016llx", (unsigned long long)sum);
}

void check_scaling(void) {
    static uint32_t from[64 * 64], to[64 * 64];
    for (int i = 0; i < 64 * 64; i++) from[i] = number();
    kiosk_scale_pixels(from, 40, 30, to, 40, 30);
    expect(memcmp(from, to, sizeof *from * 40 * 30) == 0, "a picture in its own size is another one");
    // Whole blocks: the mean of each, give or take one, as compilers may fuse multiplication and addition
    kiosk_scale_pixels(from, 64, 64, to, 16, 16);
    for (int i = 0; i < 16 * 16; i++) {
        for (int shift = 0; shift < 32; shift += 8) {
            double sum = 0;
            for (int part = 0; part < 16; part++) sum += from[(i / 16 * 4 + part / 4) * 64 + i % 16 * 4 + part % 4] >> shift & 255;
            double off = fabs((double)(to[i] >> shift & 255) - sum / 16);
            expect(off <= 1, "the mean of 16 pixels is off by %g", off);
        }
    }
    for (int i = 0; i < 64 * 64; i++) from[i] = 0x80FF4020;
    static const int sizes[][4] = {{3, 5, 64, 64}, {64, 64, 7, 3}, {1, 1, 9, 9}, {9, 9, 1, 1}, {63, 2, 2, 63}};
    for (int i = 0; i < 5; i++) {
        const int *size = sizes[i];
        kiosk_scale_pixels(from, size[0], size[1], to, size[2], size[3]);
        int wrong = 0;
        for (int at = 0; at < size[2] * size[3]; at++) wrong += to[at] != 0x80FF4020;
        expect(wrong == 0, "%d pixels of one colour have become another one", wrong);
    }
}

void check_subtitles(void) {
    enum { WIDTH = 400, HEIGHT = 300, IMAGES = 9 };
    static unsigned char bitmaps[IMAGES][40 * 24];
    struct image images[IMAGES];
    struct kiosk_ass ass = {.width = WIDTH, .height = HEIGHT, .images = images};
    for (int i = 0; i < IMAGES; i++) {
        for (size_t at = 0; at < sizeof bitmaps[i]; at++) bitmaps[i][at] = (unsigned char)number();
        images[i] = (struct image){.width = 33, .height = 20, .stride = 40, .bitmap = bitmaps[i], .color = number(),
                                   .x = (int)(number() % 440) - 20, .y = (int)(number() % 320) - 10, .next = i + 1 < IMAGES ? &images[i + 1] : NULL};
    }
    struct kiosk_box boxes[6];
    int count = kiosk_ass_boxes(&ass, boxes, 6);
    static uint32_t whole[WIDTH * HEIGHT], part[WIDTH * HEIGHT];
    kiosk_ass_draw(&ass, (struct kiosk_box){0, 0, WIDTH, HEIGHT}, whole);
    tell("subtitles: %d boxes, %016llx", count, (unsigned long long)digest(whole, sizeof whole));
    size_t inside = 0, all = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) all += whole[i] != 0;
    for (int i = 0; i < count; i++) {
        tell("box: %d %d %d %d", boxes[i].x, boxes[i].y, boxes[i].width, boxes[i].height);
        memset(part, 0, sizeof part);
        kiosk_ass_draw(&ass, boxes[i], part);
        for (int y = 0; y < boxes[i].height; y++) {
            const uint32_t *row = whole + (boxes[i].y + y) * WIDTH + boxes[i].x, *own = part + y * boxes[i].width;
            expect(memcmp(row, own, sizeof *row * (size_t)boxes[i].width) == 0, "row %d of a box differs from the frame", y);
            for (int x = 0; x < boxes[i].width; x++) inside += row[x] != 0;
        }
    }
    expect(inside == all && all > 1000, "%zu of %zu drawn pixels are in a box", inside, all);
}

void check_interpolation(void) {
    enum { FRAMES = 600, PHASES = 32, TAPS = KIOSK_INTERPOLATION_TAPS };
    static float samples[FRAMES + TAPS + 8], taps[(PHASES + 1) * TAPS], out[2 * FRAMES];
    for (int i = 0; i < FRAMES + TAPS + 8; i++) samples[i] = (float)((int)(number() % 2001) - 1000) / 1000;
    for (int i = 0; i < (PHASES + 1) * TAPS; i++) taps[i] = (float)((int)(number() % 2001) - 1000) / 8000;
    static const double ratios[] = {1, 0.9997, 44100.0 / 48000, 0.5};
    for (int which = 0; which < 4; which++) {
        double ratio = ratios[which], worst = 0;
        // At an address without vector alignment
        kiosk_interpolate(samples + 1, taps, PHASES, 0.3, ratio, out, FRAMES, 2);
        for (int frame = 0; frame < FRAMES; frame++) {
            double place = 0.3 + frame * ratio, phase = (place - floor(place)) * PHASES, sum = 0;
            const float *low = taps + (int)phase * TAPS;
            for (int at = 0; at < TAPS; at++) {
                double weight = low[at] + ((double)low[at + TAPS] - low[at]) * (phase - floor(phase));
                sum += samples[1 + (int)place + at] * weight;
            }
            double off = fabs(sum - out[2 * frame]);
            if (off > worst) worst = off;
        }
        expect(worst < 1e-5, "sound read at %g is off by %g", ratio, worst);
    }
}
