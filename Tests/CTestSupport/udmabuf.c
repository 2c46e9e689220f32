#define _GNU_SOURCE
#include "include/udmabuf.h"
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

int test_udmabuf(size_t size) {
    // The kernel requires whole pages.
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size = (size + page - 1) / page * page;
    int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memory = memfd_create("surface", MFD_ALLOW_SEALING | MFD_CLOEXEC), result = -1;
    if (device >= 0 && memory >= 0 && !ftruncate(memory, (off_t)size) && !fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK)) {
        struct udmabuf_create create = {.memfd = (unsigned)memory, .flags = UDMABUF_FLAGS_CLOEXEC, .size = size};
        result = ioctl(device, UDMABUF_CREATE, &create);
    }
    if (device >= 0) close(device);
    if (memory >= 0) close(memory);
    return result;
}

int test_memory_file(size_t size, bool has_seals) {
    int file = memfd_create("surface", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    if (file >= 0 && !ftruncate(file, (off_t)size) && (!has_seals || !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK))) return file;
    if (file >= 0) close(file);
    return -1;
}
