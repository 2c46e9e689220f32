// Links a program to libavformat and libavcodec, whose functions are called as CKioskFFmpeg declares them (ffmpegstubs.h).
#pragma once
