#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "csubtitles.h"

// As fontconfig.h has them
typedef struct pattern pattern;
typedef struct charset charset;
enum { MATCH = 0, PATTERN = 0, WEIGHT_BOLD = 200, SLANT_ITALIC = 100 };

static struct {
    int (*init)(void);
    pattern *(*parse)(const unsigned char *);
    void (*destroy)(pattern *);
    int (*add_integer)(pattern *, const char *, int);
    int (*add_bool)(pattern *, const char *, int);
    int (*add_charset)(pattern *, const char *, const charset *);
    charset *(*charset_create)(void);
    int (*charset_add)(charset *, uint32_t);
    int (*charset_has)(const charset *, uint32_t);
    void (*charset_destroy)(charset *);
    int (*substitute)(void *, pattern *, int);
    void (*defaults)(pattern *);
    pattern *(*match)(void *, pattern *, int *);
    int (*get_string)(const pattern *, const char *, int, unsigned char **);
    int (*get_charset)(const pattern *, const char *, int, charset **);
} api;
static bool is_loaded;

static void load(void) {
    void *handle = dlopen("libfontconfig.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    static const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"FcInit", &api.init},
        {"FcNameParse", &api.parse},
        {"FcPatternDestroy", &api.destroy},
        {"FcPatternAddInteger", &api.add_integer},
        {"FcPatternAddBool", &api.add_bool},
        {"FcPatternAddCharSet", &api.add_charset},
        {"FcCharSetCreate", &api.charset_create},
        {"FcCharSetAddChar", &api.charset_add},
        {"FcCharSetHasChar", &api.charset_has},
        {"FcCharSetDestroy", &api.charset_destroy},
        {"FcConfigSubstitute", &api.substitute},
        {"FcDefaultSubstitute", &api.defaults},
        {"FcFontMatch", &api.match},
        {"FcPatternGetString", &api.get_string},
        {"FcPatternGetCharSet", &api.get_charset},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function) return;
        memcpy(functions[i].place, &function, sizeof function);
    }
    is_loaded = api.init() != 0;
}

/// A name in the notation of FcNameParse: what means something there has a \ before it. False without room
static bool escape(const char *families, char *text, size_t room) {
    size_t count = 0;
    for (; *families; families++) {
        if (strchr("\\-:=_", *families)) {
            if (count + 1 >= room) return false;
            text[count++] = '\\';
        }
        if (count + 1 >= room) return false;
        text[count++] = *families;
    }
    text[count] = 0;
    return true;
}

/// Whether one of the names of a font's family is the first one that was asked for
static bool is_of(const pattern *font, const char *families) {
    size_t count = strcspn(families, ",");
    unsigned char *name;
    for (int i = 0; api.get_string(font, "family", i, &name) == MATCH; i++) {
        if (strlen((char *)name) == count && strncasecmp((char *)name, families, count) == 0) return true;
    }
    return false;
}

bool kiosk_find_font(const struct kiosk_font_wish *wish, char *path, size_t room) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    char text[1024];
    if (!is_loaded || !escape(wish->families, text, sizeof text)) return false;
    pattern *asked = api.parse((unsigned char *)text);
    if (!asked) return false;
    api.add_bool(asked, "scalable", 1);
    if (wish->is_bold) api.add_integer(asked, "weight", WEIGHT_BOLD);
    if (wish->is_italic) api.add_integer(asked, "slant", SLANT_ITALIC);
    charset *characters = wish->character ? api.charset_create() : NULL;
    if (characters && api.charset_add(characters, wish->character)) api.add_charset(asked, "charset", characters);
    api.substitute(NULL, asked, PATTERN);
    api.defaults(asked);
    int result = -1;
    pattern *found = api.match(NULL, asked, &result);
    bool is_found = found && (!wish->is_exact || is_of(found, wish->families));
    charset *has = NULL;
    if (is_found && wish->character) {
        is_found = api.get_charset(found, "charset", 0, &has) == MATCH && api.charset_has(has, wish->character);
    }
    unsigned char *file = NULL;
    is_found = is_found && api.get_string(found, "file", 0, &file) == MATCH && strlen((char *)file) < room;
    if (is_found) strcpy(path, (char *)file);
    if (characters) api.charset_destroy(characters);
    if (found) api.destroy(found);
    api.destroy(asked);
    return is_found;
}
