// What Tests/arm64 runs on both processors. A check says `expect`; what has to come out the same everywhere it says with `tell`.
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Counts a failure, and prints it, unless `is_so`.
void expect(bool is_so, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// Prints a line that has to be the same on each processor and for each size of pages.
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/// The next of a row of numbers that is the same each time.
uint32_t number(void);
/// A short number for many bytes (FNV-1a).
uint64_t digest(const void *bytes, size_t count);

// Of what kiosk and the kernel hand each other.
#define SIZE(type) tell("size: " #type " %zu, aligned to %zu", sizeof(type), _Alignof(type))
#define PLACE(type, field) tell("place: " #type " " #field " %zu", offsetof(type, field))
#define REQUEST(name) tell("request: " #name " %lx", (unsigned long)name)

/// Whether a kernel was booted for this: there all is tried that qemu-user has not.
extern bool is_booted;

/// Bytes of a page, as the C library says.
size_t page_size(void);

// The groups. Each has a process of its own.
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
/// Only where a kernel was booted.
void check_sandbox(void);
#ifdef HAS_LIBRARIES
void check_drm(void);
void check_options(void);
void check_toml(void);
#endif

/// Does what an honest reader does between two calls of getppid(2), and ends the process: status 0 where all of it worked.
_Noreturn void trace_work(void);
/// Says of each system call whether a reader of files may make it; false if one may not.
bool are_allowed(char *const *names);
