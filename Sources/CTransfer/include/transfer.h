// A request of HTTP: libcurl behind one call. libcurl is loaded when it is first wanted, and not linked: it brings some thirty further shared
// objects, and most players fetch nothing.
#pragma once

#include <stddef.h>

struct kiosk_transfer_request {
    const char *_Nonnull url;
    /// `Name: value`, without a line end.
    const char *_Nonnull const *_Nullable headers;
    int header_count;
    const char *_Nonnull user_agent;
    /// A file of authorities that are trusted beside the system's; NULL for none.
    const char *_Nullable ca_file;
    /// Whether the server must show a valid certificate for its name.
    int verifies;
    /// Whether only the head of the response is wanted.
    int is_head;
    int connect_timeout_ms;
    /// Of the whole request; 0 for none.
    int timeout_ms;
    /// The request fails where for so many seconds less than 100 bytes a second have come.
    int stall_seconds;
};

/// What is called while the request goes on, on the thread that made it.
struct kiosk_transfer_handler {
    void *_Nullable context;
    /// A line of the response's head, which begins with `HTTP/`.
    void (*_Nonnull head)(void *_Nullable context, const char *_Nonnull line, size_t length);
    /// Bytes of the body; 0 gives the request up.
    int (*_Nonnull body)(void *_Nullable context, const void *_Nonnull bytes, size_t length);
    /// Asked about once a second; 0 gives the request up.
    int (*_Nonnull goes_on)(void *_Nullable context);
};

/// Whether libcurl is installed. From any thread.
int kiosk_transfer_is_available(void);

/// Makes a request of http or https and blocks until it has ended. Follows no redirection. Returns 0, the number of a CURLcode, or -1 where libcurl is
/// not installed; what is wrong is written into `problem`, 256 bytes.
int kiosk_transfer(const struct kiosk_transfer_request *_Nonnull request, const struct kiosk_transfer_handler *_Nonnull handler,
                   char *_Nonnull problem);
