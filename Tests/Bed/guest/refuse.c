/*
 * refuse   a driver that accepts modes and refuses flips, for a program started with LD_PRELOAD=…/refuse:
 *   REFUSE=events   every atomic commit that requests an event, and every page flip
 *   REFUSE=flips    every atomic commit that is no modeset, and every page flip
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <xf86drm.h>
#include <xf86drmMode.h>

static int is_refused(unsigned long request, void *argument)
{
	const char *what = getenv("REFUSE");

	if (!what)
		return 0;
	if (request == DRM_IOCTL_MODE_PAGE_FLIP)
		return 1;
	if (request != DRM_IOCTL_MODE_ATOMIC)
		return 0;
	unsigned flags = ((struct drm_mode_atomic *)argument)->flags;
	return strcmp(what, "flips") ? flags & DRM_MODE_PAGE_FLIP_EVENT : !(flags & DRM_MODE_ATOMIC_ALLOW_MODESET);
}

int ioctl(int fd, unsigned long request, ...)
{
	static int (*kernel)(int, unsigned long, ...);
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (is_refused(request, argument)) {
		errno = EINVAL;
		return -1;
	}
	if (!kernel)
		kernel = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	return kernel(fd, request, argument);
}
