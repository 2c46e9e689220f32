// Compares Sources/CCairo/pango.h with the headers of pango and GLib: a difference does not compile. `make lint` compiles it.
#include <pango/pangocairo.h>

#include "../Sources/CCairo/pango.h"

#define SAME(ours, theirs) _Static_assert(ours == theirs, #theirs)
SAME(kPangoAlignLeft, PANGO_ALIGN_LEFT);
SAME(kPangoAlignCenter, PANGO_ALIGN_CENTER);
SAME(kPangoAlignRight, PANGO_ALIGN_RIGHT);
SAME(kPangoEllipsizeEnd, PANGO_ELLIPSIZE_END);
SAME(kPangoWrapWordChar, PANGO_WRAP_WORD_CHAR);
SAME(kPangoWeightMedium, PANGO_WEIGHT_MEDIUM);
SAME(kPangoWeightSemibold, PANGO_WEIGHT_SEMIBOLD);
SAME(kPangoDirectionRTL, PANGO_DIRECTION_RTL);
SAME(kPangoScale, PANGO_SCALE);
