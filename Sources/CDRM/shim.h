// libdrm and the fourcc code of the scan-out buffers, a macro built by shifting, which Swift does not import.
#pragma once
#include <drm_fourcc.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

static const uint32_t kDRM_FORMAT_XRGB8888 = DRM_FORMAT_XRGB8888;
