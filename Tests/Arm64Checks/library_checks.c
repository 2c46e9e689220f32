// Checks that need headers of libraries. kiosk changes constant options of libavformat by making them writable a page at a time. CKioskTOML
// reads TOML; a byte beyond ASCII is a negative char on x86-64 only. av_opt_find(3) is replaced: no FFmpeg of another processor is at hand.
#include <drm_mode.h>
#include <libavutil/opt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xf86drm.h>

#include "checks.h"
#include "cmedia.h"
#include "ctoml.h"

void check_drm(void) {
    SIZE(struct drm_event_vblank);
    PLACE(struct drm_event_vblank, sequence);
    SIZE(struct drm_mode_modeinfo);
    SIZE(struct drm_format_modifier);
    SIZE(struct drm_format_modifier_blob);
    REQUEST(DRM_IOCTL_MODE_ATOMIC);
    REQUEST(DRM_IOCTL_MODE_CREATE_DUMB);
    REQUEST(DRM_IOCTL_PRIME_HANDLE_TO_FD);
}

static AVOption *only;

const AVOption *av_opt_find(void *object, const char *name, const char *unit, int options, int search) {
    (void)object, (void)unit, (void)options, (void)search;
    return strcmp(name, only->name) == 0 ? only : NULL;
}

void check_options(void) {
    size_t page = page_size(), size = 4 * page;
    unsigned char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    // At places all over two pages, so that some options lie in both
    for (size_t place = 0; place + sizeof *only < 2 * page; place += place % page > page - 2 * sizeof *only ? 8 : 264) {
        mprotect(memory, size, PROT_READ | PROT_WRITE);
        only = (AVOption *)(void *)(memory + page + place);
        *only = (AVOption){.name = "wanted", .type = AV_OPT_TYPE_INT64};
        mprotect(memory, size, PROT_READ);
        expect(kiosk_set_default((const AVClass *)memory, "wanted", 42) == 0 && only->default_val.i64 == 42, "an option at %zu is not set", place);
        expect(kiosk_set_default((const AVClass *)memory, "other", 42) == -1, "an option that is not there is set");
        mprotect(memory, size, PROT_READ | PROT_WRITE);
        *only = (AVOption){.name = "wanted", .type = AV_OPT_TYPE_STRING};
        mprotect(memory, size, PROT_READ);
        expect(kiosk_set_default_text((const AVClass *)memory, "wanted", "text") == 0 && strcmp(only->default_val.str, "text") == 0,
               "a text at %zu is not set", place);
        mprotect(memory, size, PROT_READ | PROT_WRITE);
        free((char *)(uintptr_t)only->default_val.str);
    }
}

static void visit(void *context, const ctoml_event *event) {
    (void)context;
    tell("toml: %d at %u:%u, %lld, %g, “%.*s”", (int)event->kind, event->line, event->column, (long long)event->integer, event->number, (int)event->length,
         event->text);
}

void check_toml(void) {
    static const char *const texts[] = {
        "a = 1\nb = -2.5\nc = 'grün \xC3\xA9'\nd = [true, false]\n[t.u]\nx = \"\xF0\x9F\x8E\xAC\"\n",
        "\xEF\xBB\xBFname = \"with a mark before it\"\n",
        "key = \xC3\xA9\n",
        "\xC3\xA9 = 1\n",
        "# \xC3\xA9 in a comment\nkey = '''\n\xD0\xAF\n'''\n",
        "key = \"\xFF\"\n",
        "key = \"\x80\x80\"\n",
        "key = 1979-05-27T07:32:00Z\n",
        "key = 0x7FFFFFFFFFFFFFFF\nother = 0x8000000000000000\n",
        "a = 1\na = 2\n",
        "a = \"\\u00e9\\U0001F3AC\"\n",
        "a = 1e400\nb = inf\n",
        "",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) ctoml_parse(texts[i], strlen(texts[i]), visit, NULL);
}
