// toml++ by its public header alone, in whichever version there is: 3.3 and 3.4 are tried. Two things are turned away before the parser sees them.
//
// It keeps arrays and inline tables from nesting too deep, but makes one table for each dot of a dotted key and then visits and frees them by
// recursion: a line of 100 000 dots would end on the stack's guard page. So lines with more dots than anybody writes are refused. Dots in
// strings count, too, because whatever tells them from dots in keys could be fooled.
//
// Version 3.3 has undefined behaviour where a letter from U+00A1 to U+0499 (é, я) stands outside strings and comments. TOML has nothing but ASCII
// there. So such letters are found first, by following strings and comments as TOML has them. That agrees with the parser as far as the text is
// TOML; behind the first thing that is not, the parser does not look.
#include "include/ctoml.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES CTOML_DEEPEST_VALUE

// Version 3.3 asserts, about some malformed table headers, what its own error handling deals with right after; and where NDEBUG is
// defined it has the compiler assume it. So the assertions are off.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

struct Visitor {
    ctoml_visit visit;
    void *context;

    void tell(ctoml_event event, std::string_view text = {}) const {
        event.text = text.empty() ? "" : text.data();
        event.length = text.size();
        visit(context, &event);
    }

    static ctoml_event event(ctoml_kind kind, const toml::source_position &position) {
        ctoml_event event{};
        event.kind = kind;
        event.line = position.line;
        event.column = position.column;
        return event;
    }

    void walk(const toml::node &node) const {
        const auto at = node.source().begin;
        if (auto table = node.as_table()) {
            tell(event(CTOML_BEGIN_TABLE, at));
            for (auto &&[key, value] : *table) {
                tell(event(CTOML_KEY, key.source().begin), key.str());
                walk(value);
            }
            tell(event(CTOML_END_TABLE, at));
        } else if (auto array = node.as_array()) {
            tell(event(CTOML_BEGIN_ARRAY, at));
            for (auto &&value : *array) walk(value);
            tell(event(CTOML_END_ARRAY, at));
        } else if (auto string = node.as_string()) {
            tell(event(CTOML_STRING, at), string->get());
        } else if (auto integer = node.as_integer()) {
            auto e = event(CTOML_INTEGER, at);
            e.integer = integer->get();
            tell(e);
        } else if (auto number = node.as_floating_point()) {
            auto e = event(CTOML_FLOAT, at);
            e.number = number->get();
            tell(e);
        } else if (auto boolean = node.as_boolean()) {
            auto e = event(CTOML_BOOLEAN, at);
            e.boolean = boolean->get();
            tell(e);
        } else {
            tell(event(CTOML_DATE, at));
        }
    }
};

/// The first line with more than CTOML_MOST_DOTS dots, from 1; 0 when there is none.
uint32_t dotted_line(std::string_view text) {
    uint32_t line = 1;
    int dots = 0;
    for (char c : text) {
        if (c == '\n') {
            line++;
            dots = 0;
        } else if (c == '.' && ++dots > CTOML_MOST_DOTS) {
            return line;
        }
    }
    return 0;
}

/// The place of the first character beyond ASCII outside strings and comments, and its index in `text`; line 0 when there is none.
struct Stray {
    toml::source_position at;
    size_t index;
};

Stray stray_character(std::string_view text) {
    enum { between, in_comment, in_string, in_lines } state = between;
    toml::source_position at{1, 0};
    char quote = 0;
    bool is_escaped = false;
    const size_t start = text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0;
    for (size_t index = start; index < text.size(); index++) {
        const char c = text[index];
        // How many of the quote stand here.
        size_t run = 0;
        while (run < 5 && index + run < text.size() && text[index + run] == c) run++;
        // A continuation byte has no column of its own.
        if ((c & 0xC0) != 0x80) at.column++;
        if (state == between) {
            if (c & 0x80) return {at, index};
            if (c == '#') state = in_comment;
            if (c == '"' || c == '\'') {
                quote = c;
                // Two are an empty string, which the second of them ends.
                state = run < 3 ? in_string : in_lines;
                if (state == in_lines) index += 2, at.column += 2;
            }
        } else if (is_escaped) {
            is_escaped = false;
        } else if (c == '\\' && quote == '"' && state != in_comment) {
            is_escaped = true;
        } else if (c == quote && state == in_string) {
            state = between;
        } else if (c == quote && state == in_lines && run >= 3) {
            // Two more may belong to the string.
            index += run - 1, at.column += static_cast<toml::source_index>(run - 1);
            state = between;
        }
        if (c == '\n') {
            at = {at.line + 1, 0};
            if (state != in_lines) state = between, is_escaped = false;
        }
    }
    return {{0, 0}, 0};
}

/// What stands at `index` of UTF-8 text, for a complaint.
std::string name_of_character(std::string_view text, size_t index) {
    size_t length = 1;
    while (index + length < text.size() && (text[index + length] & 0xC0) == 0x80) length++;
    const auto lead = static_cast<unsigned char>(text[index]);
    uint32_t code = lead & (0x7F >> length);
    for (size_t i = 1; i < length; i++) code = code << 6 | (static_cast<unsigned char>(text[index + i]) & 0x3F);
    char name[16];
    snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(code));
    return std::string(name) + " (" + std::string(text.substr(index, length)) + ")";
}

}  // namespace

void ctoml_parse(const char *text, size_t length, ctoml_visit visit, void *context) {
    const Visitor visitor{visit, context};
    const std::string_view document(text, length);
    if (length > CTOML_LONGEST_TEXT) {
        const auto reason = "the text is longer than " + std::to_string(CTOML_LONGEST_TEXT) + " bytes";
        return visitor.tell(Visitor::event(CTOML_ERROR, {}), reason);
    }
    if (const auto line = dotted_line(document)) {
        const auto reason = "more than " + std::to_string(CTOML_MOST_DOTS) + " dots in one line";
        return visitor.tell(Visitor::event(CTOML_ERROR, {line, 1}), reason);
    }
    if (const auto stray = stray_character(document); stray.at.line) {
        const auto reason = name_of_character(document, stray.index) + " may stand only in comments and between plain quotes, \"…\"";
        return visitor.tell(Visitor::event(CTOML_ERROR, stray.at), reason);
    }
    const auto result = toml::parse(document);
    if (result) return visitor.walk(result.table());
    const auto &error = result.error();
    const auto description = error.description();
    const bool duplicate = description.find("cannot redefine") != std::string_view::npos;
    visitor.tell(Visitor::event(duplicate ? CTOML_DUPLICATE : CTOML_ERROR, error.source().begin), description);
}
