// For LD_PRELOAD into kiosk-reader: a decoder that does what a bug of a decoder lets others do. The file says what: a packet that contains `kiosk-hostile/WORD/` does
// what WORD says (hostile.c has the table), once it comes to be decoded.
#pragma once
