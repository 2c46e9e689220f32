// A child that enters the sandbox of a reader and does one thing in it. In C: of a program with threads, a child has the one that has forked.
#pragma once
#include "csandbox.h"

enum test_deed {
    /// A system call with these arguments; pointers into this process are good in the child, too.
    TEST_CALL,
    /// What an honest reader does: threads, memory, sleep, its descriptors. The result is 0, or the number of the step that has failed.
    TEST_WORK,
    TEST_ABORT,
    /// What the C library notices, and says on descriptor 2.
    TEST_FREE_TWICE,
    TEST_WRITE_NOWHERE,
    TEST_TRAP,
    /// malloc(3) until there is no more. The result is in megabytes.
    TEST_ALLOCATE,
    /// fork(3) with all signals blocked, as posix_spawn(3) has them.
    TEST_FORK,
    /// Receives two messages with a descriptor each. The result is how many descriptors have come.
    TEST_RECEIVE,
};

struct test_sandbox_trial {
    enum kiosk_sandbox_profile profile;
    enum test_deed deed;
    /// Whether seccomp is entered as well.
    bool is_filtered;
    /// How many descriptors the child can get.
    uint32_t grants;
    int number;
    long arguments[6];
};

struct test_sandbox_outcome {
    /// That of waitpid(2).
    int status;
    /// Of the deed, where the child has lived through it; error is errno.
    long result;
    int error;
    bool has_entered;
    struct kiosk_sandbox_state state;
    struct kiosk_sandbox_refusals refusals;
    /// What came out of descriptor 2.
    char log[256];
};

/// Megabytes that the child of a trial may allocate.
enum { TEST_SANDBOX_MEGABYTES = 128 };
/// What the child's source begins with.
#define TEST_SANDBOX_SOURCE "source"

/// Forks, waits for the end of the child, and says what became of it. A status of -1 and errno in `error` where there could be none.
struct test_sandbox_outcome test_in_sandbox(const struct test_sandbox_trial *_Nonnull trial);

/// Numbers of calls that the sandbox's table does not name; -1 after the last one.
int test_unlisted_call(size_t index);

/// Arguments of system calls that the Glibc module lacks.
static const int kTestCloneThread = 0x10100, kTestCloneMemory = 0x4100, kTestCloneNewUser = 0x10000000, kTestEmptyPath = 0x1000;
static const int kTestSetName = 15, kTestSetDumpable = 4, kTestAddSeals = 1033, kTestSocketOwner = 0x8903;
static const int kTestNonBlocking = 0x5421, kTestDeviceName = (int)0xc0406400u;

/// Whether this program is built with a sanitizer, which makes calls of its own.
bool test_is_sanitized(void);
