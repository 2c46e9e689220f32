// A C door to toml++: one call that parses a text and tells what is in it, in order, as a stream of events.
//
// A table is BEGIN_TABLE, then for each entry a KEY followed by the entry's value, then END_TABLE; an array is BEGIN_ARRAY, its values,
// END_ARRAY. The document is itself a table. Keys come one component at a time, so a key that contains dots or quotes needs no
// escaping to stay unambiguous. Entries come sorted by key, not in the order of the text; their positions tell that.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What an event reports.
typedef enum {
    CTOML_BEGIN_TABLE,
    CTOML_END_TABLE,
    CTOML_BEGIN_ARRAY,
    CTOML_END_ARRAY,
    CTOML_KEY,
    CTOML_STRING,
    CTOML_INTEGER,
    CTOML_FLOAT,
    CTOML_BOOLEAN,
    /// A date, a time of day, or both.
    CTOML_DATE,
    /// The text is not TOML; `text` says why. No other event comes with it.
    CTOML_ERROR,
    /// A key or table is defined again; `text` is toml++'s description. No other event comes with it.
    CTOML_DUPLICATE,
} ctoml_kind;

/// One event. Pointers are valid during the call only.
typedef struct {
    ctoml_kind kind;
    /// Where it begins, from 1; columns count code points. 0 where no place can be given.
    uint32_t line, column;
    /// The key, the string's value or the description: UTF-8, not terminated, NUL bytes possible.
    const char *_Nonnull text;
    size_t length;
    int64_t integer;
    double number;
    bool boolean;
} ctoml_event;

/// Called for each event, on the caller's thread.
typedef void (*ctoml_visit)(void *_Nullable context, const ctoml_event *_Nonnull event);

/// The longest text that is parsed, in bytes. A thousand times a real kiosk.conf; what is longer is some other file.
enum { CTOML_LONGEST_TEXT = 1 << 20 };
/// The most dots in one line, and the deepest arrays and inline tables: what bounds the parser's recursion.
enum { CTOML_MOST_DOTS = 200, CTOML_DEEPEST_VALUE = 16 };

/// Parses `length` bytes at `text` and reports either the whole document or one CTOML_ERROR or CTOML_DUPLICATE.
void ctoml_parse(const char *_Nonnull text, size_t length, ctoml_visit _Nonnull visit, void *_Nullable context);

#ifdef __cplusplus
}
#endif
