// How a rule becomes a part of the filter.
#pragma once
#include "csandbox.h"

#include <linux/audit.h>
#include <stdint.h>

// The processors whose system calls are known; elsewhere there is no filter.
#if defined(__x86_64__) && !defined(__ILP32__)
#define FILTER_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(__ILP32__)
#define FILTER_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/// What the filter tells the handler of SIGSYS.
enum { TRAP_COUNT, TRAP_WORST, TRAP_STAT };

/// Stands for the process's own number among `values`; -1 is nobody's.
enum { OWN_PROCESS = -1 };

/// The filter's `answer` to a call. With `values` it looks at the lower half of an argument, at the bits of `mask` unless that is 0, and
/// gives the `other` answer if that is one of them, or if all of its bits are one of `exact`.
struct call_rule {
    const char *words;
    uint32_t answer, other;
    uint8_t argument, count, exact_count;
    uint32_t mask, values[8], exact[2];
};

extern const struct call_rule call_rules[KIOSK_WORST + 1];
