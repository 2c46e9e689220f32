#define _GNU_SOURCE
#include "ccrypt.h"

#include <crypt.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// crypt_data has 32 KB, too much for a thread's stack to be sure of.
static bool hashed(const char *password, const char *setting, char *hash, size_t size) {
    struct crypt_data *data = calloc(1, sizeof *data);
    if (!data) return false;
    const char *made = crypt_r(password, setting, data);
    bool is_made = made && made[0] != '*' && strlen(made) < size;
    if (is_made) strcpy(hash, made);
    else if (!errno) errno = EINVAL;
    explicit_bzero(data, sizeof *data);
    free(data);
    return is_made;
}

int kiosk_password_hash(const char *password, char *hash, size_t size) {
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];
    errno = 0;
    if (!crypt_gensalt_rn("$y$", 0, NULL, 0, setting, sizeof setting)) return -1;
    return hashed(password, setting, hash, size) ? 0 : -1;
}

bool kiosk_password_matches(const char *password, const char *hash) {
    char made[CRYPT_OUTPUT_SIZE];
    errno = 0;
    if (!hashed(password, hash, made, sizeof made) || strlen(made) != strlen(hash)) return false;
    unsigned char difference = 0;
    for (size_t i = 0; made[i]; i++) difference |= (unsigned char)made[i] ^ (unsigned char)hash[i];
    return difference == 0;
}
