// The rights of a reader process, and how it gives up everything else. sandbox.c explains it, calls.c has the table of system calls.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The purpose of a reader: media from a descriptor, from the network, decoded by a device, or from the network and decoded by a device.
enum kiosk_sandbox_profile { KIOSK_SANDBOX_FILE, KIOSK_SANDBOX_NETWORK, KIOSK_SANDBOX_HARDWARE, KIOSK_SANDBOX_BOTH };
enum { KIOSK_SANDBOX_PROFILES = 4 };

/// Whether a profile has the network, and devices.
static inline bool kiosk_sandbox_has_network(enum kiosk_sandbox_profile profile) {
    return profile == KIOSK_SANDBOX_NETWORK || profile == KIOSK_SANDBOX_BOTH;
}
static inline bool kiosk_sandbox_has_devices(enum kiosk_sandbox_profile profile) {
    return profile == KIOSK_SANDBOX_HARDWARE || profile == KIOSK_SANDBOX_BOTH;
}

/// Descriptors of a reader. 0 and 1 become the log, too. Further ones are opened, or come by SCM_RIGHTS, from KIOSK_READER_GRANTED on.
enum {
    KIOSK_READER_LOG = 2,
    KIOSK_READER_CONTROL = 3,
    KIOSK_READER_PAGE = 4,
    KIOSK_READER_ARENA = 5,
    KIOSK_READER_SOURCE = 6,
    KIOSK_READER_GRANTED = 7,
    // The process maps these before it enters the sandbox, which closes them
    KIOSK_READER_SUBTITLES = 254,
    KIOSK_READER_DEVICES = 255,
};

/// The rule for a system call. The rules after KIOSK_ALLOWED allow some uses, by an argument; the last five allow none.
enum kiosk_sandbox_rule {
    KIOSK_ALLOWED,
    KIOSK_NEVER_EXECUTABLE,
    KIOSK_THREADS_ONLY,
    KIOSK_ITSELF_ONLY,
    KIOSK_LOG_ONLY,
    KIOSK_CONTROL_ONLY,
    KIOSK_SOURCE_ONLY,
    KIOSK_NAMES_ONLY,
    KIOSK_OPEN_FILES_ONLY,
    KIOSK_SIGNALS_BUT_ONE,
    KIOSK_FOR_READING,
    KIOSK_INTERNET_ONLY,
    KIOSK_FLAGS_ONLY,
    KIOSK_FLAGS_AND_SEALS,
    KIOSK_SOCKET_REQUESTS,
    KIOSK_DEVICE_REQUESTS,
    KIOSK_SOCKET_AND_DEVICE_REQUESTS,
    /// EPERM, ENOSYS and ENOTTY, without a report: honest programs try these calls, and continue.
    KIOSK_REFUSED,
    KIOSK_NOT_THERE,
    KIOSK_NO_DEVICE,
    /// EPERM, and counted; also for each call that the table lacks.
    KIOSK_COUNTED,
    /// Reported, then SIGSYS ends the process.
    KIOSK_WORST,
};

/// A system call and its number on this processor; -1 if it has none.
struct kiosk_sandbox_call {
    const char *_Nonnull name;
    int number;
};

/// A row of the table: calls with the same rules, for the same reason.
struct kiosk_sandbox_row {
    enum kiosk_sandbox_rule rules[KIOSK_SANDBOX_PROFILES];
    const char *_Nonnull why;
    const struct kiosk_sandbox_call *_Nonnull calls;
    size_t count;
};

/// A file or folder that Landlock leaves open to a profile: those with the bit `1 << profile` in `profiles`.
struct kiosk_sandbox_path {
    const char *_Nonnull path;
    const char *_Nonnull access;
    uint64_t rights;
    unsigned profiles;
    const char *_Nonnull why;
};

/// The table behind the filter. Never freed; from any thread.
const struct kiosk_sandbox_row *_Nonnull kiosk_sandbox_calls(size_t *_Nonnull count);
/// The paths that are open to a reader if they exist. Never freed; from any thread.
const struct kiosk_sandbox_path *_Nonnull kiosk_sandbox_paths(size_t *_Nonnull count);
/// Returns a rule in words for people, such as "threads only".
const char *_Nonnull kiosk_sandbox_words(enum kiosk_sandbox_rule rule);
/// Returns the name of a call in the table, or NULL.
const char *_Nullable kiosk_sandbox_call_name(int number);

/// The limits of a reader. Sizes are in bytes.
struct kiosk_sandbox_limits {
    /// RLIMIT_AS and RLIMIT_DATA; 0 is no limit, which sanitizers need.
    uint64_t address_space, data;
    /// RLIMIT_FSIZE: 0 for a process that writes no files, UINT64_MAX for no limit.
    uint64_t file_size;
    /// RLIMIT_CORE; with 0 the process cannot be dumped or traced either.
    uint64_t core;
    /// The number of further descriptors that it can have at a time, opened or received.
    uint32_t grants;
    /// Further paths to read, and devices to read and write, each list ended by NULL. KIOSK_SANDBOX_FILE ignores them.
    const char *_Nullable const *_Nullable readable;
    const char *_Nullable const *_Nullable devices;
};

/// A report in memory shared with the player, zero at first. The SIGSYS handler writes it; a hostile reader can write anything there.
struct kiosk_sandbox_report {
    uint32_t count, last, worst;
};

/// The contents of a report.
struct kiosk_sandbox_refusals {
    /// Calls that were refused and counted.
    uint32_t count;
    /// The number of the last refused call, and of the first of the worst; -1 if there is none.
    int last, worst;
};

/// Reads a report; from any thread and process.
struct kiosk_sandbox_refusals kiosk_sandbox_refusals(const struct kiosk_sandbox_report *_Nonnull report);

/// The protection in force, or on offer.
struct kiosk_sandbox_state {
    bool has_filter;
    /// The version of Landlock's interface, 0 without Landlock.
    int landlock;
    /// The missing features and the reasons, such as "Landlock: Function not implemented"; else empty.
    char lack[160];
};

/// Returns the protection that this kernel offers, without entering anything; from any thread.
struct kiosk_sandbox_state kiosk_sandbox_offer(void);

/// Gives up, for good, everything that `profile` does not need. Call it in a process of one thread whose descriptors have their numbers; it
/// closes all from KIOSK_READER_GRANTED on. Returns false if a limit could not be set: the process has to end, and `state->lack` names the
/// limit. A kernel without seccomp or Landlock is no failure; `state` reports it.
bool kiosk_enter_sandbox(
    enum kiosk_sandbox_profile profile, const struct kiosk_sandbox_limits *_Nonnull limits, struct kiosk_sandbox_report *_Nullable report,
    struct kiosk_sandbox_state *_Nonnull state);

/// The two halves of kiosk_enter_sandbox. A reader with hardware opens its device between them. The driver then loads with the files and
/// limits of the sandbox, and its threads get the filter, too.
bool kiosk_restrict_process(
    enum kiosk_sandbox_profile profile, const struct kiosk_sandbox_limits *_Nonnull limits, struct kiosk_sandbox_state *_Nonnull state);
void kiosk_filter_calls(
    enum kiosk_sandbox_profile profile, struct kiosk_sandbox_report *_Nullable report, struct kiosk_sandbox_state *_Nonnull state);
