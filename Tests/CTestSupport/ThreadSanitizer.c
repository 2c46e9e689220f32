// Tells ThreadSanitizer of the locks and unlocks of Synchronization.Mutex that it cannot see.
//
// An uncontended Mutex is taken and given back by an atomic operation that is compiled into its user, where ThreadSanitizer sees it. A contended one is taken and given
// back in libswiftSynchronization, which is not instrumented, and by the kernel (FUTEX_LOCK_PI, FUTEX_UNLOCK_PI): to ThreadSanitizer two threads that take turns at it
// are then two threads that know nothing of each other, and what the Mutex guards is a data race. Here stand functions of the same names, which the program's
// references are linked to; they call the library's, and report the order that these make.
//
// Without -fsanitize=thread this file is empty. Should the names change with a toolchain, MutexTests fails in `make sanitize`.

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

__attribute__((swiftcall)) void kiosk_test_lock_slow(uint32_t thread, __attribute__((swift_context)) void *handle) {
    ((LockSlow)dlsym(RTLD_NEXT, LOCK_SLOW))(thread, handle);
    __tsan_acquire(handle);
}

__attribute__((swiftcall)) void kiosk_test_unlock_slow(__attribute__((swift_context)) void *handle) {
    __tsan_release(handle);
    ((UnlockSlow)dlsym(RTLD_NEXT, UNLOCK_SLOW))(handle);
}

#endif
