// The C helpers of the tests. No test calls ThreadSanitizer.c by name.
#pragma once
#include "sandbox_trial.h"
#include "udmabuf.h"
