// Reports the locks and unlocks of Synchronization.Mutex that ThreadSanitizer cannot see.
//
// The compiler inlines the atomic operation of an uncontended Mutex into its user, where ThreadSanitizer sees it.
// A contended Mutex is locked and unlocked in libswiftSynchronization, which is not instrumented, and by the kernel
// (FUTEX_LOCK_PI, FUTEX_UNLOCK_PI). ThreadSanitizer then sees no order between two threads that alternate,
// and reports a data race on the guarded data.
//
// The functions below have the names to which the program's references are linked. They call the library's
// functions and report their order. (Mutex.withLockIfAvailable has a third function, which is unused here.)
//
// All tests are one program, so one test target that depends on this target is enough. The kiosk that some tests start
// does not contain it. Without -fsanitize=thread this file is empty. If a toolchain changes the names, ThreadSanitizer
// reports a race in MutexTests during `make sanitize`.

#if __has_feature(thread_sanitizer)

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>
#include <stdint.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

typedef __attribute__((swiftcall)) void (*LockSlow)(uint32_t thread, __attribute__((swift_context)) void *handle);
typedef __attribute__((swiftcall)) void (*UnlockSlow)(__attribute__((swift_context)) void *handle);

__attribute__((swiftcall)) void kiosk_test_lock_slow(uint32_t thread, __attribute__((swift_context)) void *handle) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) void kiosk_test_unlock_slow(__attribute__((swift_context)) void *handle) __asm__(UNLOCK_SLOW);

static LockSlow lock_slow;
static UnlockSlow unlock_slow;

// Runs before there is a second thread, because dlsym has its own lock.
__attribute__((constructor)) static void find(void) {
    lock_slow = (LockSlow)dlsym(RTLD_NEXT, LOCK_SLOW);
    unlock_slow = (UnlockSlow)dlsym(RTLD_NEXT, UNLOCK_SLOW);
}

__attribute__((swiftcall)) void kiosk_test_lock_slow(uint32_t thread, __attribute__((swift_context)) void *handle) {
    lock_slow(thread, handle);
    __tsan_acquire(handle);
}

__attribute__((swiftcall)) void kiosk_test_unlock_slow(__attribute__((swift_context)) void *handle) {
    __tsan_release(handle);
    unlock_slow(handle);
}

#endif
