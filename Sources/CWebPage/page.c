// Made by Tools/web-page of the files in Sources/Web/Page. Do not edit.
#include "cwebpage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char file_api_js[] = {
#embed "../Web/Page/api.js"
};
static const unsigned char file_base_css[] = {
#embed "../Web/Page/base.css"
};
static const unsigned char file_content_css[] = {
#embed "../Web/Page/content.css"
};
static const unsigned char file_dom_js[] = {
#embed "../Web/Page/dom.js"
};
static const unsigned char file_files_js[] = {
#embed "../Web/Page/files.js"
};
static const unsigned char file_health_js[] = {
#embed "../Web/Page/health.js"
};
static const unsigned char file_icon_svg[] = {
#embed "../Web/Page/icon.svg"
};
static const unsigned char file_icons_svg[] = {
#embed "../Web/Page/icons.svg"
};
static const unsigned char file_index_html[] = {
#embed "../Web/Page/index.html"
};
static const unsigned char file_main_js[] = {
#embed "../Web/Page/main.js"
};
static const unsigned char file_now_js[] = {
#embed "../Web/Page/now.js"
};
static const unsigned char file_overlays_js[] = {
#embed "../Web/Page/overlays.js"
};
static const unsigned char file_parts_css[] = {
#embed "../Web/Page/parts.css"
};
static const unsigned char file_picture_js[] = {
#embed "../Web/Page/picture.js"
};
static const unsigned char file_playlist_js[] = {
#embed "../Web/Page/playlist.js"
};
static const unsigned char file_plots_js[] = {
#embed "../Web/Page/plots.js"
};
static const unsigned char file_recording_js[] = {
#embed "../Web/Page/recording.js"
};
static const unsigned char file_schedule_js[] = {
#embed "../Web/Page/schedule.js"
};
static const unsigned char file_screen_js[] = {
#embed "../Web/Page/screen.js"
};
static const unsigned char file_settings_js[] = {
#embed "../Web/Page/settings.js"
};
static const unsigned char file_sorting_js[] = {
#embed "../Web/Page/sorting.js"
};
static const unsigned char file_store_js[] = {
#embed "../Web/Page/store.js"
};
static const unsigned char file_uploads_js[] = {
#embed "../Web/Page/uploads.js"
};
static const unsigned char file_words_js[] = {
#embed "../Web/Page/words.js"
};

static const struct kiosk_page_file files[] = {
    { "api.js", file_api_js, sizeof file_api_js },
    { "base.css", file_base_css, sizeof file_base_css },
    { "content.css", file_content_css, sizeof file_content_css },
    { "dom.js", file_dom_js, sizeof file_dom_js },
    { "files.js", file_files_js, sizeof file_files_js },
    { "health.js", file_health_js, sizeof file_health_js },
    { "icon.svg", file_icon_svg, sizeof file_icon_svg },
    { "icons.svg", file_icons_svg, sizeof file_icons_svg },
    { "index.html", file_index_html, sizeof file_index_html },
    { "main.js", file_main_js, sizeof file_main_js },
    { "now.js", file_now_js, sizeof file_now_js },
    { "overlays.js", file_overlays_js, sizeof file_overlays_js },
    { "parts.css", file_parts_css, sizeof file_parts_css },
    { "picture.js", file_picture_js, sizeof file_picture_js },
    { "playlist.js", file_playlist_js, sizeof file_playlist_js },
    { "plots.js", file_plots_js, sizeof file_plots_js },
    { "recording.js", file_recording_js, sizeof file_recording_js },
    { "schedule.js", file_schedule_js, sizeof file_schedule_js },
    { "screen.js", file_screen_js, sizeof file_screen_js },
    { "settings.js", file_settings_js, sizeof file_settings_js },
    { "sorting.js", file_sorting_js, sizeof file_sorting_js },
    { "store.js", file_store_js, sizeof file_store_js },
    { "uploads.js", file_uploads_js, sizeof file_uploads_js },
    { "words.js", file_words_js, sizeof file_words_js },
};
const size_t kiosk_page_count = sizeof files / sizeof *files;
const struct kiosk_page_file *kiosk_page_file(size_t index) { return index < kiosk_page_count ? &files[index] : 0; }
