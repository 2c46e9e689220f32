// cairo draws, pango lays text out with the fonts that fontconfig finds. What Swift does not import: macros that cast.
#pragma once
#include <pango/pangocairo.h>

static const int kPANGO_SCALE = PANGO_SCALE;
