// Memory that is a dmabuf without any device behind it: what a hardware decoder's surface is to a display.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// A dmabuf of so many bytes and what they lack to whole pages. Returns its descriptor, or -1 with errno set, as where there is no /dev/udmabuf.
int test_udmabuf(size_t size);
/// A file in memory of so many bytes, which nobody can cut off where it has seals; -1 with errno.
int test_memory_file(size_t size, bool has_seals);
