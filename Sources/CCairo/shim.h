// cairo draws, pango lays text out with the fonts that fontconfig finds.
#pragma once
#include "pango.h"
