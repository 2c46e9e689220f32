// Tells ThreadSanitizer of the locks and unlocks of Synchronization.Mutex that it cannot see.
//
// An uncontended Mutex is taken and given back by an atomic operation that is compiled into its user, where ThreadSanitizer sees it. A contended one is taken and given
// back in libswiftSynchronization, which is not instrumented, and by the kernel (FUTEX_LOCK_PI, FUTEX_UNLOCK_PI): to ThreadSanitizer two threads that take turns at it
// are then two threads that know nothing of each other, and what the Mutex guards is a data race. Here stand functions of the same names, which the program's
// references are linked to; they call the library's, and report the order that these make. (Mutex.withLockIfAvailable has a third, which nobody here uses.)
//
// All tests are one program, so it is enough that one of them depends on this target; the kiosk that some of them start is without. Without
// -fsanitize=thread this file is empty. Should the names change with a toolchain, MutexTests has ThreadSanitizer report a race in `make sanitize`.

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

// Before there is a second thread; dlsym has a lock of its own.
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
