// Only a service of the machine (Avahi) knows the hosts in `.local`, and a reader must not talk to it. So this getaddrinfo(3) asks the
// player for their addresses (kiosk_ask_for_names), and passes each to glibc as a number. It passes all other names to glibc.
#define _GNU_SOURCE
#include "creadermemory.h"

#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <strings.h>

#include "cplatform.h"

typedef int lookup(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static bool is_local(const char *name) {
    size_t length = strlen(name);
    if (length > 0 && name[length - 1] == '.') length--;
    return length > 6 && strncasecmp(name + length - 6, ".local", 6) == 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    lookup *glibc = (lookup *)dlsym(RTLD_NEXT, "getaddrinfo");
    if (!glibc) return EAI_SYSTEM;
    if (!kiosk_name_asker || !name || !is_local(name) || (hints && hints->ai_flags & AI_NUMERICHOST)) return glibc(name, service, hints, found);
    char addresses[8][KIOSK_ADDRESS_SIZE];
    size_t count = kiosk_name_asker(name, addresses, sizeof addresses / sizeof *addresses);
    // The host may be in /etc/hosts.
    if (count == 0) return glibc(name, service, hints, found);
    struct addrinfo wanted = {0}, *first = NULL, **next = &first;
    if (hints) wanted = *hints;
    wanted.ai_flags |= AI_NUMERICHOST;
    int failure = EAI_NONAME;
    for (size_t i = 0; i < count; i++) {
        int status = glibc(addresses[i], service, &wanted, next);
        if (status != 0) {
            *next = NULL;
            failure = status;
            continue;
        }
        // glibc allocates each entry separately, and freeaddrinfo(3) frees them that way.
        while (*next) next = &(*next)->ai_next;
    }
    if (!first) return failure;
    *found = first;
    return 0;
}
