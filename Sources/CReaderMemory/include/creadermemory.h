// Functions of the C library that are others in kiosk-reader: free(3) and realloc(3), which know the arena of its pictures (memory.c), and getaddrinfo(3) for hosts that only the
// player can look up (names.c).
#pragma once

/// Has the program contain this module, for what it stands in for. Does nothing.
void kiosk_use_reader_memory(void);
