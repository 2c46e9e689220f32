// What draws subtitles: libass, and what finds fonts for it: fontconfig. Both are loaded when they are first wanted, as few players show subtitles.
//
// libass and FreeType read what strangers have written, so they are used by the process that reads the media. That can open no file: what it has of fonts is
// bytes, of which the player finds the file (kiosk_find_font) and opens it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// MARK: libass

/// Loads libass; false if it is not there. Before the process gives up its files; any thread.
bool kiosk_ass_load(void);

/// A renderer and a script. One thread at a time.
typedef struct kiosk_ass kiosk_ass;

/// NULL without libass or memory. ass_library_init(3), ass_renderer_init(3).
kiosk_ass *_Nullable kiosk_ass_make(void);
void kiosk_ass_free(kiosk_ass *_Nullable ass);

/// Begins another script, with its headers and styles and without events. False without memory. ass_process_codec_private(3).
bool kiosk_ass_begin(kiosk_ass *_Nonnull ass, const char *_Nonnull header, size_t count);
/// Adds an event: a line as it has in Matroska, its begin and how long it lasts in milliseconds. ass_process_chunk(3).
void kiosk_ass_add(kiosk_ass *_Nonnull ass, const char *_Nonnull line, size_t count, int64_t start, int64_t duration);
/// Forgets all events. ass_flush_events(3).
void kiosk_ass_flush(kiosk_ass *_Nonnull ass);

/// Adds the bytes of a font, which are copied. They are used from the next kiosk_ass_use_fonts on. ass_add_font(3).
void kiosk_ass_add_font(kiosk_ass *_Nonnull ass, const char *_Nonnull name, const void *_Nonnull bytes, size_t count);
/// Uses the fonts that were added and no others; `family` for what names none of them. ass_set_fonts(3).
void kiosk_ass_use_fonts(kiosk_ass *_Nonnull ass, const char *_Nonnull family);

/// Where it draws, in pixels: the frame, what of that lies beside the picture (negative: what of the picture lies beyond it), and the picture as it is stored.
/// With `uses_margins` lines may stand beside the picture. ass_set_frame_size(3), ass_set_margins(3).
struct kiosk_ass_frame {
    int width, height;
    int top, bottom, left, right;
    int stored_width, stored_height;
    bool uses_margins;
};
void kiosk_ass_set_frame(kiosk_ass *_Nonnull ass, const struct kiosk_ass_frame *_Nonnull frame);

/// Draws what is seen at a time in milliseconds. True if that is something else than the last time. ass_render_frame(3).
bool kiosk_ass_render(kiosk_ass *_Nonnull ass, int64_t time);

/// A rectangle of the frame, never empty and never outside.
struct kiosk_box {
    int x, y, width, height;
};
/// Finds rectangles, `most` of them, that have all that was drawn in them; returns how many.
int kiosk_ass_boxes(const kiosk_ass *_Nonnull ass, struct kiosk_box *_Nonnull boxes, int most);
/// Draws what is in a rectangle over its pixels: row by row without gaps, 0xAARRGGBB, premultiplied.
void kiosk_ass_draw(const kiosk_ass *_Nonnull ass, struct kiosk_box box, uint32_t *_Nonnull pixels);

// MARK: Pictures

/// Scales pixels with premultiplied alpha, by the mean of what lies beneath each or between neighbours.
void kiosk_scale_pixels(
    const uint32_t *_Nonnull source, int width, int height, uint32_t *_Nonnull target, int target_width, int target_height);

// MARK: Faces

/// A font, to be asked what it has: one of a renderer's, which it must not outlive. One thread at a time.
typedef struct kiosk_face kiosk_face;
/// NULL if that is no font. The bytes have to stay. FT_New_Memory_Face.
kiosk_face *_Nullable kiosk_face_make(kiosk_ass *_Nonnull ass, const void *_Nonnull bytes, size_t count);
void kiosk_face_free(kiosk_face *_Nullable face);
/// The name of its family, "" if it has none. As long as the face.
const char *_Nonnull kiosk_face_family(const kiosk_face *_Nonnull face);
/// Whether it has a character. FT_Get_Char_Index.
bool kiosk_face_has(const kiosk_face *_Nonnull face, uint32_t character);

// MARK: Finding fonts

/// What is asked for of a font.
struct kiosk_font_wish {
    /// Families in the order in which they are wanted, with commas between them; "" for any.
    const char *_Nonnull families;
    /// A character that it has to have; 0 for none.
    uint32_t character;
    bool is_bold, is_italic;
    /// Whether it has to be of the first of these families.
    bool is_exact;
};
/// The path of the file of an installed font, for which `path` has room; false if there is none. FcFontMatch. One thread at a time; may read fontconfig's cache,
/// or every font there is.
bool kiosk_find_font(const struct kiosk_font_wish *_Nonnull wish, char *_Nonnull path, size_t room);
