// What a reader process may do, and how it gives up everything else. sandbox.c explains it, calls.c has the table of system calls.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// What a reader is for: media from a descriptor, media that it fetches, media that a device decodes, or media that it fetches for a device.
enum kiosk_sandbox_profile { KIOSK_SANDBOX_FILE, KIOSK_SANDBOX_NETWORK, KIOSK_SANDBOX_HARDWARE, KIOSK_SANDBOX_BOTH };
enum { KIOSK_SANDBOX_PROFILES = 4 };

/// Whether a profile has the network, and devices.
static inline bool kiosk_sandbox_has_network(enum kiosk_sandbox_profile profile) {
    return profile == KIOSK_SANDBOX_NETWORK || profile == KIOSK_SANDBOX_BOTH;
}
static inline bool kiosk_sandbox_has_devices(enum kiosk_sandbox_profile profile) {
    return profile == KIOSK_SANDBOX_HARDWARE || profile == KIOSK_SANDBOX_BOTH;
}

/// Descriptors of a reader. 0 and 1 become the log, too; what is beyond these comes by SCM_RIGHTS, from KIOSK_READER_GRANTED on.
enum {
    KIOSK_READER_LOG = 2,
    KIOSK_READER_CONTROL = 3,
    KIOSK_READER_PAGE = 4,
    KIOSK_READER_ARENA = 5,
    KIOSK_READER_SOURCE = 6,
    KIOSK_READER_GRANTED = 7,
    // Mapped before the sandbox is entered, and closed then
    KIOSK_READER_SUBTITLES = 254,
    KIOSK_READER_DEVICES = 255,
};

/// What becomes of a system call. The first ones allow some of its uses, by an argument; the last five allow none.
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
    /// EPERM, ENOSYS and ENOTTY without a word: honest programs ask, and go on.
    KIOSK_REFUSED,
    KIOSK_NOT_THERE,
    KIOSK_NO_DEVICE,
    /// EPERM, and counted; so is each call that the table does not name.
    KIOSK_COUNTED,
    /// Told, then the process is ended by SIGSYS.
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

/// A file or folder that Landlock leaves to a profile: those with the bit `1 << profile` in `profiles`.
struct kiosk_sandbox_path {
    const char *_Nonnull path;
    const char *_Nonnull access;
    uint64_t rights;
    unsigned profiles;
    const char *_Nonnull why;
};

/// The table from which the filter is made. Never freed; from any thread.
const struct kiosk_sandbox_row *_Nonnull kiosk_sandbox_calls(size_t *_Nonnull count);
/// The paths that are open to a reader wherever they exist. Never freed; from any thread.
const struct kiosk_sandbox_path *_Nonnull kiosk_sandbox_paths(size_t *_Nonnull count);
/// A rule for people, as in "threads only".
const char *_Nonnull kiosk_sandbox_words(enum kiosk_sandbox_rule rule);
/// The name of a call that is in the table, or NULL.
const char *_Nullable kiosk_sandbox_call_name(int number);

/// What a reader gets. Sizes are in bytes.
struct kiosk_sandbox_limits {
    /// RLIMIT_AS and RLIMIT_DATA; 0 is no limit, which sanitizers need.
    uint64_t address_space, data;
    /// RLIMIT_FSIZE: 0 for what reads, UINT64_MAX for no limit.
    uint64_t file_size;
    /// RLIMIT_CORE; with 0 the process cannot be dumped or traced either.
    uint64_t core;
    /// How many further descriptors it can have at a time, opened or received.
    uint32_t grants;
    /// Further paths to read, and devices to read and write, each list closed by NULL. Not looked at in KIOSK_SANDBOX_FILE.
    const char *_Nullable const *_Nullable readable;
    const char *_Nullable const *_Nullable devices;
};

/// In memory that the player shares, zero at first. The handler of SIGSYS writes it; a hostile reader can write anything there.
struct kiosk_sandbox_report {
    uint32_t count, last, worst;
};

/// What a report says.
struct kiosk_sandbox_refusals {
    /// Calls that were refused and counted.
    uint32_t count;
    /// The number of the last one of these, and of the first of the worst; -1 if there is none.
    int last, worst;
};

/// Reads a report; from any thread and process.
struct kiosk_sandbox_refusals kiosk_sandbox_refusals(const struct kiosk_sandbox_report *_Nonnull report);

/// What is in force, or could be.
struct kiosk_sandbox_state {
    bool has_filter;
    /// The version of Landlock's interface, 0 without Landlock.
    int landlock;
    /// What is missing and why, as in "Landlock: Function not implemented"; else empty.
    char lack[160];
};

/// What this kernel offers, without entering anything; from any thread.
struct kiosk_sandbox_state kiosk_sandbox_offer(void);

/// Gives up, for good, everything that `profile` does not need. Call in a process of one thread whose descriptors have their numbers:
/// all from KIOSK_READER_GRANTED on are closed. False means that a limit could not be set and the process has to end: `state->lack` says
/// which. A kernel without seccomp or Landlock is no failure; `state` says so.
bool kiosk_enter_sandbox(
    enum kiosk_sandbox_profile profile, const struct kiosk_sandbox_limits *_Nonnull limits, struct kiosk_sandbox_report *_Nullable report,
    struct kiosk_sandbox_state *_Nonnull state);

/// The two halves of kiosk_enter_sandbox. A reader with hardware opens its device between them: the driver is loaded with the files and
/// limits of the sandbox, and the threads that it has started get the filter, too.
bool kiosk_restrict_process(
    enum kiosk_sandbox_profile profile, const struct kiosk_sandbox_limits *_Nonnull limits, struct kiosk_sandbox_state *_Nonnull state);
void kiosk_filter_calls(
    enum kiosk_sandbox_profile profile, struct kiosk_sandbox_report *_Nullable report, struct kiosk_sandbox_state *_Nonnull state);
