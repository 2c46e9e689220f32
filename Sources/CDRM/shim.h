// libdrm, the fourcc codes of the scan-out buffers and the modifiers of memory in rows and of that which nobody tells of: macros built by shifting, which Swift does not
// import.
#pragma once
#include <drm_fourcc.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

static const uint32_t kDRM_FORMAT_XRGB8888 = DRM_FORMAT_XRGB8888;
static const uint32_t kDRM_FORMAT_ARGB8888 = DRM_FORMAT_ARGB8888;
static const uint64_t kDRM_FORMAT_MOD_LINEAR = DRM_FORMAT_MOD_LINEAR;
static const uint64_t kDRM_FORMAT_MOD_INVALID = DRM_FORMAT_MOD_INVALID;
