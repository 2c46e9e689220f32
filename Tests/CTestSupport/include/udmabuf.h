// A dmabuf without a device: it stands in for the surface of a hardware decoder.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// Makes a dmabuf of `size` bytes, rounded up to whole pages. Returns its descriptor, or -1 with errno set, as without /dev/udmabuf.
int test_udmabuf(size_t size);
/// Makes a memory file of `size` bytes; a seal prevents its truncation if `has_seals`. Returns its descriptor, or -1 with errno set.
int test_memory_file(size_t size, bool has_seals);
