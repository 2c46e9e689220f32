// The files of kiosk-web's page (Sources/Web/Page), as parts of the program.
#pragma once
#include <stddef.h>

struct kiosk_page_file {
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t count;
};
/// Returns a file, or NULL.
const struct kiosk_page_file *_Nullable kiosk_page_file(size_t index);
extern const size_t kiosk_page_count;
