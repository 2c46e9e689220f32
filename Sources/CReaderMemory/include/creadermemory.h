// C library functions that kiosk-reader replaces: free(3) and realloc(3), which know the arena of its pictures (memory.c), and
// getaddrinfo(3) for hosts that only the player can look up (names.c).
#pragma once

/// Links this module into the program, for its replacements. Does nothing.
void kiosk_use_reader_memory(void);
