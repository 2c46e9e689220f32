// Simulates an exploited decoder bug in kiosk-reader, by LD_PRELOAD. The media file chooses the action:
// when the decoder receives a packet that contains `kiosk-hostile/WORD/`, it performs WORD (hostile.c has the table).
#pragma once
