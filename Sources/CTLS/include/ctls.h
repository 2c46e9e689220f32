// The server's side of TLS: OpenSSL 3 behind six calls. It is loaded when it is first wanted, and not linked: most boxes speak plain HTTP, or have
// a proxy.
#pragma once
#include <stddef.h>

struct kiosk_tls_server;
struct kiosk_tls;

/// Loads OpenSSL, a chain of certificates and its key, both PEM. Returns NULL with a reason in `problem`.
struct kiosk_tls_server *_Nullable kiosk_tls_server_open(
    const char *_Nonnull certificate, const char *_Nonnull key, char *_Nonnull problem, size_t size);
/// Gives it back. Connections that it has made go on.
void kiosk_tls_server_close(struct kiosk_tls_server *_Nonnull server);

/// Makes the TLS of a socket, which must not block and outlives it; NULL without memory.
struct kiosk_tls *_Nullable kiosk_tls_open(struct kiosk_tls_server *_Nonnull server, int socket);
void kiosk_tls_close(struct kiosk_tls *_Nonnull tls);

enum kiosk_tls_need {
    /// The connection is broken.
    KIOSK_TLS_BROKEN = -1,
    /// Call again once the socket is readable, or writable.
    KIOSK_TLS_READABLE = -2,
    KIOSK_TLS_WRITABLE = -3,
};

/// Goes on with the handshake. Returns 1 when it is done, or a need.
int kiosk_tls_handshake(struct kiosk_tls *_Nonnull tls);
/// Reads; returns the count, 0 at the end, or a need.
int kiosk_tls_read(struct kiosk_tls *_Nonnull tls, void *_Nonnull bytes, int count);
/// Writes; returns the count, or a need: then call again with the same bytes.
int kiosk_tls_write(struct kiosk_tls *_Nonnull tls, const void *_Nonnull bytes, int count);
/// Says that nothing more will be written.
void kiosk_tls_end(struct kiosk_tls *_Nonnull tls);
