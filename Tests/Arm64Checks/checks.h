// The checks that Tests/arm64 runs on both processors. A check tests with `expect`; with `tell` it prints results that must be the same
// everywhere.
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Counts and prints a failure, unless `is_so`.
void expect(bool is_so, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Prints a line that must be the same on each processor and for each page size.
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// Returns the next number of a fixed pseudo-random sequence.
uint32_t number(void);
/// Returns a hash of bytes (FNV-1a).
uint64_t digest(const void *bytes, size_t count);

// For the types that kiosk and the kernel exchange.
#define SIZE(type) tell("size: " #type " %zu, aligned to %zu", sizeof(type), _Alignof(type))
#define PLACE(type, field) tell("place: " #type " " #field " %zu", offsetof(type, field))
#define REQUEST(name) tell("request: " #name " %lx", (unsigned long)name)

/// Whether a kernel was booted for this. The checks then use the functions that qemu-user lacks.
extern bool is_booted;

/// Returns the bytes of a page, by the C library.
size_t page_size(void);

// The groups. Each runs in a process of its own.
void check_arena(void);
void check_allocator(void);
void check_populating(void);
void check_mappings(void);
void check_futexes(void);
void check_files(void);
void check_zygote(void);
void check_names(void);
void check_rotation(void);
void check_halving(void);
void check_scaling(void);
void check_subtitles(void);
void check_interpolation(void);
void check_filter(void);
void check_handler(void);
void check_work(void);
void check_layouts(void);
/// Runs only on a booted kernel.
void check_sandbox(void);
#ifdef HAS_LIBRARIES
void check_drm(void);
void check_options(void);
void check_toml(void);
#endif

/// Does an honest reader's work between two calls of getppid(2), and ends the process: status 0 if all of it worked.
_Noreturn void trace_work(void);
/// Reports the system calls that a reader of files may not make; returns false if there is one.
bool are_allowed(char *const *names);
