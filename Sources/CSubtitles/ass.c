#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "csubtitles.h"

// As ass.h of libass 0.17 has them
typedef struct library library;
typedef struct renderer renderer;
typedef struct track track;
struct image {
    int width, height, stride;
    unsigned char *bitmap;
    uint32_t color;
    int x, y;
    struct image *next;
};
enum { PROVIDER_NONE = 0, SHAPING_COMPLEX = 1 };

// As freetype.h has the beginning of a face
struct ft_face {
    long num_faces, face_index, face_flags, style_flags, num_glyphs;
    char *family_name;
};

static struct {
    library *(*library_init)(void);
    void (*library_done)(library *);
    void (*set_extract_fonts)(library *, int);
    void (*set_message_cb)(library *, void (*)(int, const char *, __builtin_va_list, void *), void *);
    renderer *(*renderer_init)(library *);
    void (*renderer_done)(renderer *);
    void (*set_frame_size)(renderer *, int, int);
    void (*set_storage_size)(renderer *, int, int);
    void (*set_margins)(renderer *, int, int, int, int);
    void (*set_use_margins)(renderer *, int);
    void (*set_shaper)(renderer *, int);
    void (*set_fonts)(renderer *, const char *, const char *, int, const char *, int);
    void (*set_cache_limits)(renderer *, int, int);
    struct image *(*render_frame)(renderer *, track *, long long, int *);
    track *(*new_track)(library *);
    void (*free_track)(track *);
    void (*process_codec_private)(track *, char *, int);
    void (*process_chunk)(track *, char *, int, long long, long long);
    void (*set_check_readorder)(track *, int);
    void (*flush_events)(track *);
    void (*add_font)(library *, const char *, const char *, int);
    int (*init_freetype)(void **);
    int (*done_freetype)(void *);
    int (*new_memory_face)(void *, const unsigned char *, long, long, struct ft_face **);
    int (*done_face)(struct ft_face *);
    unsigned (*get_char_index)(struct ft_face *, unsigned long);
} api;
static bool is_loaded;

static void load(void) {
    void *handle = dlopen("libass.so.9", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    static const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"ass_library_init", &api.library_init},
        {"ass_library_done", &api.library_done},
        {"ass_set_extract_fonts", &api.set_extract_fonts},
        {"ass_set_message_cb", &api.set_message_cb},
        {"ass_renderer_init", &api.renderer_init},
        {"ass_renderer_done", &api.renderer_done},
        {"ass_set_frame_size", &api.set_frame_size},
        {"ass_set_storage_size", &api.set_storage_size},
        {"ass_set_margins", &api.set_margins},
        {"ass_set_use_margins", &api.set_use_margins},
        {"ass_set_shaper", &api.set_shaper},
        {"ass_set_fonts", &api.set_fonts},
        {"ass_set_cache_limits", &api.set_cache_limits},
        {"ass_render_frame", &api.render_frame},
        {"ass_new_track", &api.new_track},
        {"ass_free_track", &api.free_track},
        {"ass_process_codec_private", &api.process_codec_private},
        {"ass_process_chunk", &api.process_chunk},
        {"ass_set_check_readorder", &api.set_check_readorder},
        {"ass_flush_events", &api.flush_events},
        {"ass_add_font", &api.add_font},
        // Of the library that it draws with
        {"FT_Init_FreeType", &api.init_freetype},
        {"FT_Done_FreeType", &api.done_freetype},
        {"FT_New_Memory_Face", &api.new_memory_face},
        {"FT_Done_Face", &api.done_face},
        {"FT_Get_Char_Index", &api.get_char_index},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function) return;
        memcpy(functions[i].place, &function, sizeof function);
    }
    is_loaded = true;
}

bool kiosk_ass_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

// MARK: Scripts

struct kiosk_ass {
    library *library;
    renderer *renderer;
    track *track;
    /// What was drawn last: libass's own until the next time
    struct image *images;
    int width, height;
    /// For faces
    void *freetype;
};

static void no_message(int level, const char *format, __builtin_va_list arguments, void *data) {
    (void)level, (void)format, (void)arguments, (void)data;
}

kiosk_ass *kiosk_ass_make(void) {
    kiosk_ass *ass = kiosk_ass_load() ? calloc(1, sizeof *ass) : NULL;
    if (!ass) return NULL;
    ass->library = api.library_init();
    if (ass->library) {
        api.set_message_cb(ass->library, no_message, NULL);
        api.set_extract_fonts(ass->library, 1);
        ass->renderer = api.renderer_init(ass->library);
    }
    if (!ass->renderer) {
        kiosk_ass_free(ass);
        return NULL;
    }
    api.set_shaper(ass->renderer, SHAPING_COMPLEX);
    // Outlines of glyphs, and megabytes of bitmaps: by default as many as a desktop has room for
    api.set_cache_limits(ass->renderer, 1000, 8);
    return ass;
}

void kiosk_ass_free(kiosk_ass *ass) {
    if (!ass) return;
    if (ass->track) api.free_track(ass->track);
    if (ass->renderer) api.renderer_done(ass->renderer);
    if (ass->library) api.library_done(ass->library);
    if (ass->freetype) api.done_freetype(ass->freetype);
    free(ass);
}

bool kiosk_ass_begin(kiosk_ass *ass, const char *header, size_t count) {
    track *next = api.new_track(ass->library);
    // It wants to write there
    char *copy = malloc(count + 1);
    if (next && copy && count < INT32_MAX) {
        memcpy(copy, header, count);
        copy[count] = 0;
        api.process_codec_private(next, copy, (int)count);
        // Events come in the order of their numbers as long as nobody seeks
        api.set_check_readorder(next, 0);
        if (ass->track) api.free_track(ass->track);
        ass->track = next;
        next = NULL;
    }
    bool has_begun = copy && !next;
    if (next) api.free_track(next);
    free(copy);
    ass->images = NULL;
    return has_begun;
}

void kiosk_ass_add(kiosk_ass *ass, const char *line, size_t count, int64_t start, int64_t duration) {
    char *copy = ass->track && count < INT32_MAX ? malloc(count + 1) : NULL;
    if (!copy) return;
    memcpy(copy, line, count);
    copy[count] = 0;
    api.process_chunk(ass->track, copy, (int)count, start, duration);
    free(copy);
}

void kiosk_ass_flush(kiosk_ass *ass) {
    if (ass->track) api.flush_events(ass->track);
}

void kiosk_ass_add_font(kiosk_ass *ass, const char *name, const void *bytes, size_t count) {
    if (count < INT32_MAX) api.add_font(ass->library, name, bytes, (int)count);
}

void kiosk_ass_use_fonts(kiosk_ass *ass, const char *family) {
    api.set_fonts(ass->renderer, NULL, family, PROVIDER_NONE, NULL, 1);
    ass->images = NULL;
}

void kiosk_ass_set_frame(kiosk_ass *ass, const struct kiosk_ass_frame *frame) {
    api.set_frame_size(ass->renderer, frame->width, frame->height);
    api.set_storage_size(ass->renderer, frame->stored_width, frame->stored_height);
    api.set_margins(ass->renderer, frame->top, frame->bottom, frame->left, frame->right);
    api.set_use_margins(ass->renderer, frame->uses_margins);
    ass->width = frame->width;
    ass->height = frame->height;
    ass->images = NULL;
}

bool kiosk_ass_render(kiosk_ass *ass, int64_t time) {
    if (!ass->track || ass->width < 1 || ass->height < 1) return false;
    int change = 0;
    ass->images = api.render_frame(ass->renderer, ass->track, time, &change);
    return change != 0;
}

// MARK: What was drawn

static int smaller(int a, int b) { return a < b ? a : b; }
static int larger(int a, int b) { return a > b ? a : b; }

static struct kiosk_box joined(struct kiosk_box a, struct kiosk_box b) {
    int x = smaller(a.x, b.x), y = smaller(a.y, b.y);
    return (struct kiosk_box){x, y, larger(a.x + a.width, b.x + b.width) - x, larger(a.y + a.height, b.y + b.height) - y};
}

static int64_t area(struct kiosk_box box) { return (int64_t)box.width * box.height; }

/// What of an image is in the frame; false if nothing is
static bool place(const kiosk_ass *ass, const struct image *image, struct kiosk_box *box) {
    int left = larger(image->x, 0), top = larger(image->y, 0);
    int right = smaller(image->x + image->width, ass->width), bottom = smaller(image->y + image->height, ass->height);
    *box = (struct kiosk_box){left, top, right - left, bottom - top};
    return right > left && bottom > top && (image->color & 0xFF) != 0xFF;
}

int kiosk_ass_boxes(const kiosk_ass *ass, struct kiosk_box *boxes, int most) {
    int count = 0;
    for (const struct image *image = ass->images; image; image = image->next) {
        struct kiosk_box box;
        if (!place(ass, image, &box)) continue;
        // With the one with which it takes the least more, unless it stands by itself
        int best = -1;
        int64_t least = 0;
        for (int i = 0; i < count; i++) {
            int64_t more = area(joined(boxes[i], box)) - area(boxes[i]) - area(box);
            if (best < 0 || more < least) best = i, least = more;
        }
        if (count < most && (best < 0 || least > area(box))) {
            boxes[count++] = box;
            continue;
        }
        boxes[best] = joined(boxes[best], box);
    }
    // Those that have come to overlap would be drawn twice
    for (int i = 0; i < count; i++) {
        for (int j = i + 1; j < count; j++) {
            struct kiosk_box a = boxes[i], b = boxes[j];
            if (a.x >= b.x + b.width || b.x >= a.x + a.width || a.y >= b.y + b.height || b.y >= a.y + a.height) continue;
            boxes[i] = joined(a, b);
            boxes[j] = boxes[--count];
            i = -1;
            break;
        }
    }
    return count;
}

static uint32_t over(uint32_t below, uint32_t red, uint32_t green, uint32_t blue, uint32_t alpha) {
    uint32_t rest = 255 - alpha;
    uint32_t a = alpha + ((below >> 24) * rest + 127) / 255;
    uint32_t r = (red * alpha + (below >> 16 & 255) * rest + 127) / 255;
    uint32_t g = (green * alpha + (below >> 8 & 255) * rest + 127) / 255;
    uint32_t b = (blue * alpha + (below & 255) * rest + 127) / 255;
    return a << 24 | r << 16 | g << 8 | b;
}

void kiosk_ass_draw(const kiosk_ass *ass, struct kiosk_box box, uint32_t *pixels) {
    for (const struct image *image = ass->images; image; image = image->next) {
        struct kiosk_box part;
        if (!place(ass, image, &part)) continue;
        int left = larger(part.x, box.x), top = larger(part.y, box.y);
        int right = smaller(part.x + part.width, box.x + box.width), bottom = smaller(part.y + part.height, box.y + box.height);
        uint32_t red = image->color >> 24, green = image->color >> 16 & 255, blue = image->color >> 8 & 255;
        uint32_t opacity = 255 - (image->color & 255);
        for (int y = top; y < bottom; y++) {
            const unsigned char *row = image->bitmap + (ptrdiff_t)(y - image->y) * image->stride - image->x;
            uint32_t *target = pixels + (ptrdiff_t)(y - box.y) * box.width - box.x;
            for (int x = left; x < right; x++) {
                uint32_t alpha = (row[x] * opacity + 127) / 255;
                if (alpha) target[x] = over(target[x], red, green, blue, alpha);
            }
        }
    }
}

// MARK: Pictures

void kiosk_scale_pixels(const uint32_t *source, int width, int height, uint32_t *target, int target_width, int target_height) {
    double across = (double)width / target_width, down = (double)height / target_height;
    for (int y = 0; y < target_height; y++) {
        // Smaller: the mean of all beneath. Larger: between the centres of neighbours
        double top = down > 1 ? y * down : (y + 0.5) * down - 0.5, bottom = down > 1 ? top + down : top + 1;
        for (int x = 0; x < target_width; x++) {
            double left = across > 1 ? x * across : (x + 0.5) * across - 0.5, right = across > 1 ? left + across : left + 1;
            double sum[4] = {0}, total = 0;
            for (int row = (int)(top < 0 ? top - 1 : top); row < bottom; row++) {
                double high = (row + 1 < bottom ? row + 1 : bottom) - (row > top ? row : top);
                if (high <= 0) continue;
                const uint32_t *line = source + (ptrdiff_t)smaller(larger(row, 0), height - 1) * width;
                for (int column = (int)(left < 0 ? left - 1 : left); column < right; column++) {
                    double wide = (column + 1 < right ? column + 1 : right) - (column > left ? column : left);
                    if (wide <= 0) continue;
                    uint32_t pixel = line[smaller(larger(column, 0), width - 1)];
                    for (int i = 0; i < 4; i++) sum[i] += (pixel >> 8 * i & 255) * wide * high;
                    total += wide * high;
                }
            }
            uint32_t pixel = 0;
            for (int i = 0; i < 4; i++) pixel |= (uint32_t)(sum[i] / total + 0.5) << 8 * i;
            target[(ptrdiff_t)y * target_width + x] = pixel;
        }
    }
}

// MARK: Faces

struct kiosk_face {
    struct ft_face *face;
};

kiosk_face *kiosk_face_make(kiosk_ass *ass, const void *bytes, size_t count) {
    if (!ass->freetype && api.init_freetype(&ass->freetype) != 0) return NULL;
    kiosk_face *face = calloc(1, sizeof *face);
    if (!face) return NULL;
    if (count > INT32_MAX || api.new_memory_face(ass->freetype, bytes, (long)count, 0, &face->face) != 0) {
        free(face);
        return NULL;
    }
    return face;
}

void kiosk_face_free(kiosk_face *face) {
    if (!face) return;
    api.done_face(face->face);
    free(face);
}

const char *kiosk_face_family(const kiosk_face *face) { return face->face->family_name ? face->face->family_name : ""; }

bool kiosk_face_has(const kiosk_face *face, uint32_t character) { return api.get_char_index(face->face, character) != 0; }
