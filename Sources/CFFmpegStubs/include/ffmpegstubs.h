// The functions of libavformat and libavcodec that anybody here calls, in their places: the libraries are loaded when the first of them is called.
//
// These two bring a hundred other libraries, for which the loader takes half of the time that a player needs for its first picture, and which it needs no
// more once files are read by processes of their own. So no program is linked to them but kiosk-reader and the tests (CFFmpegLibraries), in which the stubs
// find what the loader has loaded already. The declarations are FFmpeg's own.
#pragma once
