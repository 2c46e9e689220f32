// Sound read between its samples: the inner loop.
#pragma once

#include <stdint.h>

/// How many samples of the source take part in one.
#define KIOSK_INTERPOLATION_TAPS 32

/// Writes `count` samples, each `stride` floats behind the one before. The first is read `fraction` behind sample `KIOSK_INTERPOLATION_TAPS / 2 - 1` of `source`, each further one
/// `ratio` samples behind the one before. `taps` has `KIOSK_INTERPOLATION_TAPS` weights for each of `phases` places between two samples, and for one place more.
void kiosk_interpolate(const float *_Nonnull source, const float *_Nonnull taps, int64_t phases, double fraction, double ratio, float *_Nonnull samples, int64_t count,
                       int64_t stride);
