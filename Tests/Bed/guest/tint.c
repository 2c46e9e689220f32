/*
 * tint on    sets a gamma table without blue, like a night light's, on every CRTC of the vkms card, and leaves it there
 * tint       prints for each CRTC whether it has a gamma table that changes colours: "on" or "off"
 */
#include "kms.h"

/* A table that maps each value to itself changes nothing */
static int changes_colours(int fd, uint32_t blob)
{
	drmModePropertyBlobRes *table = blob ? drmModeGetPropertyBlob(fd, blob) : NULL;
	unsigned count = table ? table->length / sizeof(struct drm_color_lut) : 0;
	const struct drm_color_lut *entries = table ? table->data : NULL;
	int changes = 0;

	for (unsigned i = 0; i < count; i++) {
		int same = i * 0xffff / (count - 1);

		changes |= abs(entries[i].red - same) > 0x200 || abs(entries[i].green - same) > 0x200 ||
			   abs(entries[i].blue - same) > 0x200;
	}
	drmModeFreePropertyBlob(table);
	return changes;
}

static int has_table(int fd, uint32_t crtc)
{
	drmModeObjectProperties *all = drmModeObjectGetProperties(fd, crtc, DRM_MODE_OBJECT_CRTC);
	int has = 0;

	for (unsigned i = 0; all && i < all->count_props; i++) {
		drmModePropertyRes *p = drmModeGetProperty(fd, all->props[i]);

		has |= p && !strcmp(p->name, "GAMMA_LUT") && changes_colours(fd, all->prop_values[i]);
		drmModeFreeProperty(p);
	}
	drmModeFreeObjectProperties(all);
	return has;
}

static void take_blue_away(int fd, uint32_t id)
{
	static uint16_t same[4096], none[4096];
	drmModeCrtc *crtc = drmModeGetCrtc(fd, id);

	if (!crtc || crtc->gamma_size < 2 || crtc->gamma_size > 4096)
		die("tint: a CRTC without gamma");
	for (int i = 0; i < crtc->gamma_size; i++)
		same[i] = i * 0xffff / (crtc->gamma_size - 1);
	if (drmModeCrtcSetGamma(fd, id, crtc->gamma_size, same, same, none))
		die("tint: gamma");
	drmModeFreeCrtc(crtc);
}

int main(int argc, char **argv)
{
	int fd = open_card(), on = argc > 1 && !strcmp(argv[1], "on");
	drmModeRes *card = drmModeGetResources(fd);

	if (!card || (on && drmSetMaster(fd)))
		die("tint");
	for (int i = 0; i < card->count_crtcs; i++) {
		if (on)
			take_blue_away(fd, card->crtcs[i]);
		else
			puts(has_table(fd, card->crtcs[i]) ? "on" : "off");
	}
	return 0;
}
