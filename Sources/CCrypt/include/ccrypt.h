// Password hashes, by crypt(3) of libxcrypt.
#pragma once
#include <stdbool.h>
#include <stddef.h>

/// Writes the yescrypt hash of a password with a new salt, and its zero byte, into `hash`. Returns 0, or -1 with errno.
int kiosk_password_hash(const char *_Nonnull password, char *_Nonnull hash, size_t size);
/// Returns whether `hash` is that of the password.
bool kiosk_password_matches(const char *_Nonnull password, const char *_Nonnull hash);
