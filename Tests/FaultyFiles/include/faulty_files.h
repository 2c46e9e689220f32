// Nothing to call: the library is for LD_PRELOAD.
#pragma once
