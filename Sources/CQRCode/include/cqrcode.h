// libqrencode, loaded when it is first called: few players show a QR code.
#pragma once
#include <stdint.h>

/// Modules across of the largest code there is, of version 40.
#define KIOSK_QR_LONGEST_SIDE 177

/// Whether libqrencode is installed. Any thread.
int kiosk_qr_is_available(void);

/// Makes the QR code of a text, with error correction of level M: `modules` gets its rows without gaps, a byte for each module, of which the lowest bit is
/// 1 where it is dark. There is room for KIOSK_QR_LONGEST_SIDE squared. The corresponding C function is QRcode_encodeString8bit(3).
///
/// Returns how many modules it has across; 0 where it cannot be made: the text is too long, or the library is not there.
int kiosk_qr_encode(const char *text, uint8_t *modules);
