// free(3) and realloc(3) of kiosk-reader, which know the arena of its pictures; memory.c explains it.
#pragma once

/// Has the program contain this module, for what it stands in for. Does nothing.
void kiosk_use_reader_memory(void);
