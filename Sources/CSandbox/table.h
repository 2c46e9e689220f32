// How a rule becomes part of the filter.
#pragma once
#include "csandbox.h"

#include <linux/audit.h>
#include <stdint.h>

// The processors with known system call numbers; others have no filter.
#if defined(__x86_64__) && !defined(__ILP32__)
#define FILTER_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(__ILP32__)
#define FILTER_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/// The code from the filter to the SIGSYS handler.
enum { TRAP_COUNT, TRAP_WORST, TRAP_STAT };

/// Stands for the process's own number among `values`; no process has -1.
enum { OWN_PROCESS = -1 };

/// The filter's `answer` to a call. With `values` it compares the lower half of an argument, masked by `mask` unless that is 0. It gives
/// the `other` answer if the result is one of `values`, or if the unmasked half is one of `exact`.
struct call_rule {
    const char *words;
    uint32_t answer, other;
    uint8_t argument, count, exact_count;
    uint32_t mask, values[8], exact[2];
};

extern const struct call_rule call_rules[KIOSK_WORST + 1];
