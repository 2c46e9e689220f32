/*
 * control: adds a control to a sound card and sets it: an HDMI output's data about its monitor (ELD), or a mixer control.
 *
 *   control CARD ID bytes HEX | switch VALUE | volume MAXIMUM VALUE
 *
 * CARD and ID have amixer's syntax: hw:Loopback "iface=PCM,name='ELD',device=1". The control stays as long as the card.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <alsa/asoundlib.h>

static int check(int result, const char *what)
{
	if (result >= 0)
		return result;
	fprintf(stderr, "control: %s: %s\n", what, snd_strerror(result));
	exit(1);
}

/* Reads the bytes of a hexadecimal text; returns their number */
static unsigned read_hex(const char *text, unsigned char *bytes, unsigned room)
{
	unsigned count = 0;

	while (count < room && sscanf(text + 2 * count, "%2hhx", bytes + count) == 1)
		count++;
	return count;
}

int main(int argc, char **argv)
{
	unsigned char bytes[512];
	unsigned count = 0;
	snd_ctl_t *card;
	snd_ctl_elem_id_t *id;
	snd_ctl_elem_info_t *info;
	snd_ctl_elem_value_t *value;

	if (argc < 5 || (!strcmp(argv[3], "volume") && argc < 6)) {
		fprintf(stderr, "control CARD ID bytes HEX | switch VALUE | volume MAXIMUM VALUE\n");
		return 2;
	}
	snd_ctl_elem_id_alloca(&id);
	snd_ctl_elem_info_alloca(&info);
	snd_ctl_elem_value_alloca(&value);
	check(snd_ctl_open(&card, argv[1], 0), argv[1]);
	check(snd_ctl_ascii_elem_id_parse(id, argv[2]), argv[2]);
	snd_ctl_elem_info_set_id(info, id);
	/* Removes a control of that name, which may have another number of bytes */
	snd_ctl_elem_remove(card, id);
	if (!strcmp(argv[3], "bytes")) {
		count = read_hex(argv[4], bytes, sizeof bytes);
		check(snd_ctl_add_bytes_elem_set(card, info, 1, count), "add");
		for (unsigned i = 0; i < count; i++)
			snd_ctl_elem_value_set_byte(value, i, bytes[i]);
	} else if (!strcmp(argv[3], "switch")) {
		check(snd_ctl_add_boolean_elem_set(card, info, 1, 1), "add");
		snd_ctl_elem_value_set_boolean(value, 0, atoi(argv[4]));
	} else {
		check(snd_ctl_add_integer_elem_set(card, info, 1, 1, 0, atoi(argv[4]), 1), "add");
		snd_ctl_elem_value_set_integer(value, 0, atoi(argv[5]));
	}
	snd_ctl_elem_info_get_id(info, id);
	snd_ctl_elem_value_set_id(value, id);
	check(snd_ctl_elem_write(card, value), "set");
	return 0;
}
