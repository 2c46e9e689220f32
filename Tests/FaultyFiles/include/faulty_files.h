// No functions: the library is for LD_PRELOAD.
#pragma once
