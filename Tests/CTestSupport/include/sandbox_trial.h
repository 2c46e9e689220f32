// A child that enters the sandbox of a reader and performs one deed in it.
// It is C because the child of a program with threads has only the thread that forked.
#pragma once
#include "csandbox.h"

enum test_deed {
    /// A system call with these arguments. Pointers into this process are valid in the child.
    TEST_CALL,
    /// The work of an honest reader: threads, memory, sleep, its descriptors. The result is 0, or the number of the step that failed.
    TEST_WORK,
    TEST_ABORT,
    /// A double free, which the C library detects and reports on descriptor 2.
    TEST_FREE_TWICE,
    TEST_WRITE_NOWHERE,
    TEST_TRAP,
    /// malloc(3) until it fails. The result is in megabytes.
    TEST_ALLOCATE,
    /// fork(3) with all signals blocked, as in posix_spawn(3).
    TEST_FORK,
    /// Receives two messages with a descriptor each. The result is the number of descriptors received; -1 if the first one is wrong.
    TEST_RECEIVE,
};

struct test_sandbox_trial {
    enum kiosk_sandbox_profile profile;
    enum test_deed deed;
    /// Whether the child enters seccomp, too.
    bool is_filtered;
    /// The number of descriptors that the child can receive.
    uint32_t grants;
    int number;
    long arguments[6];
};

struct test_sandbox_outcome {
    /// The status from waitpid(2).
    int status;
    /// The result of the deed if the child survived it; `error` is errno.
    long result;
    int error;
    bool has_entered;
    struct kiosk_sandbox_state state;
    struct kiosk_sandbox_refusals refusals;
    /// The child's output on descriptor 2.
    char log[256];
};

/// The number of megabytes that the child of a trial may allocate.
enum { TEST_SANDBOX_MEGABYTES = 128 };
/// The beginning of the child's source.
#define TEST_SANDBOX_SOURCE "source"

/// Forks, waits for the child to end, and returns the outcome. If there is no child, the status is -1 and `error` is errno.
struct test_sandbox_outcome test_in_sandbox(const struct test_sandbox_trial *_Nonnull trial);

/// Returns the number of a call that the sandbox's table lacks; -1 after the last one.
int test_unlisted_call(size_t index);

/// Arguments of system calls that the Glibc module lacks.
static const int kTestCloneThread = 0x10100, kTestCloneMemory = 0x4100, kTestCloneNewUser = 0x10000000, kTestEmptyPath = 0x1000;
static const int kTestSetName = 15, kTestSetDumpable = 4, kTestAddSeals = 1033, kTestSocketOwner = 0x8903;
static const int kTestNonBlocking = 0x5421, kTestDeviceName = (int)0xc0406400u;

/// Returns whether this program is built with a sanitizer, which makes its own calls.
bool test_is_sanitized(void);
