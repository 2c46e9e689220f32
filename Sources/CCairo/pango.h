// The functions of pango and GLib that kiosk calls. Their own headers need a flag that SwiftPM refuses (-pthread), with a warning in each build
// of an application. An enumeration is unsigned int here, as compilers have it; it is int if a value is negative. `make lint` compares this file
// with the headers (Tests/pango.c).
#pragma once
#include <cairo.h>

typedef struct _PangoAttribute PangoAttribute;
typedef struct _PangoAttrList PangoAttrList;
typedef struct _PangoContext PangoContext;
typedef struct _PangoFont PangoFont;
typedef struct _PangoFontDescription PangoFontDescription;
typedef struct _PangoFontFamily PangoFontFamily;
typedef struct _PangoFontMap PangoFontMap;
typedef struct _PangoLayout PangoLayout;
#ifndef PANGO_SCALE
typedef struct { int x, y, width, height; } PangoRectangle;
#endif

// Members of PangoAlignment, PangoEllipsizeMode, PangoWrapMode, PangoWeight and PangoDirection; and pango's units in a pixel.
#define kPangoAlignLeft 0u
#define kPangoAlignCenter 1u
#define kPangoAlignRight 2u
#define kPangoEllipsizeEnd 3u
#define kPangoWrapWordChar 2u
#define kPangoWeightMedium 500u
#define kPangoWeightSemibold 600u
#define kPangoDirectionRTL 1u
#define kPangoScale 1024

PangoAttrList *pango_attr_list_new(void);
void pango_attr_list_insert(PangoAttrList *list, PangoAttribute *attribute);
void pango_attr_list_unref(PangoAttrList *list);
PangoAttribute *pango_attr_font_features_new(const char *features);
unsigned int pango_find_base_dir(const char *text, int length);

PangoFontDescription *pango_font_description_new(void);
void pango_font_description_free(PangoFontDescription *description);
const char *pango_font_description_get_family(const PangoFontDescription *description);
void pango_font_description_set_family(PangoFontDescription *description, const char *family);
void pango_font_description_set_absolute_size(PangoFontDescription *description, double size);
void pango_font_description_set_weight(PangoFontDescription *description, unsigned int weight);
PangoFontDescription *pango_font_describe(PangoFont *font);
PangoContext *pango_font_map_create_context(PangoFontMap *map);
void pango_font_map_list_families(PangoFontMap *map, PangoFontFamily ***families, int *count);
PangoFont *pango_font_map_load_font(PangoFontMap *map, PangoContext *context, const PangoFontDescription *description);

PangoLayout *pango_layout_new(PangoContext *context);
int pango_layout_get_baseline(PangoLayout *layout);
void pango_layout_get_pixel_extents(PangoLayout *layout, PangoRectangle *ink, PangoRectangle *logical);
void pango_layout_get_pixel_size(PangoLayout *layout, int *width, int *height);
int pango_layout_get_unknown_glyphs_count(PangoLayout *layout);
void pango_layout_set_alignment(PangoLayout *layout, unsigned int alignment);
void pango_layout_set_attributes(PangoLayout *layout, PangoAttrList *list);
void pango_layout_set_ellipsize(PangoLayout *layout, unsigned int mode);
void pango_layout_set_font_description(PangoLayout *layout, const PangoFontDescription *description);
void pango_layout_set_single_paragraph_mode(PangoLayout *layout, int is_single);
void pango_layout_set_text(PangoLayout *layout, const char *text, int length);
void pango_layout_set_width(PangoLayout *layout, int width);
void pango_layout_set_wrap(PangoLayout *layout, unsigned int mode);

PangoFontMap *pango_cairo_font_map_new(void);
void pango_cairo_layout_path(cairo_t *cairo, PangoLayout *layout);
void pango_cairo_show_layout(cairo_t *cairo, PangoLayout *layout);

typedef void kiosk_glib_log(const char *domain, int level, const char *message, void *data);
kiosk_glib_log *g_log_set_default_handler(kiosk_glib_log *handler, void *data);
#undef g_free
void g_free(void *memory);
#undef g_object_unref
void g_object_unref(void *object);
