// What tests need of C. Of ThreadSanitizer.c nothing is called by name.
#pragma once
#include "sandbox_trial.h"
#include "udmabuf.h"
