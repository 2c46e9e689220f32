/*
 * watch SECONDS [--crtc N] [--bits X Y CELLW CELLH N]
 *
 * Prints the state that a CRTC latched at every vblank while another process is DRM master: the unchanged lines of the
 * kernel's latch log, one per vblank (kernel/vkms_scanout.c documents them). --bits gives the kernel the place of a number
 * in the picture; -N means the topmost plane. Ends after SECONDS, or on SIGTERM or SIGINT, and prints everything logged
 * until then.
 */
#include "kms.h"
#include <poll.h>
#include <signal.h>

enum { BATCH_US = 100000 };

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
	(void)signal;
	stopped = 1;
}

static void configure(int log, const char *command)
{
	if (write(log, command, strlen(command)) < 0)
		die(command);
}

static int open_log(int card, int crtc)
{
	char path[100];
	int log;

	snprintf(path, sizeof path, "/sys/kernel/debug/dri/%d/crtc-%d/vkms_scanout", card_number(card), crtc);
	log = open(path, O_RDWR | O_NONBLOCK);
	if (log < 0)
		die(path);
	return log;
}

/* Prints everything logged since the last call. The kernel returns whole lines only. */
static void print_new_lines(int log)
{
	static char lines[1 << 17];
	ssize_t n;

	while ((n = read(log, lines, sizeof lines)) > 0)
		fwrite(lines, 1, n, stdout);
	fflush(stdout);
}

/*
 * An unused CRTC stops its vblank timer, and with it the log, after a while. A request for the vblank count keeps the
 * timer running. The request fails while the CRTC is off; there is nothing to log then.
 */
static void keep_vblanks_coming(int card, int crtc)
{
	drmVBlank now = { .request = { .type = DRM_VBLANK_RELATIVE | crtc << DRM_VBLANK_HIGH_CRTC_SHIFT } };

	drmWaitVBlank(card, &now);
}

static void watch(int card, int log, int crtc, double seconds)
{
	double end = now() + seconds;

	while (!stopped && now() < end) {
		keep_vblanks_coming(card, crtc);
		usleep(BATCH_US);	/* in batches: a wake-up per vblank would disturb the player */
		print_new_lines(log);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	char bits[100] = "bits 0 0 0 0 0";
	int crtc = 0, card, log;

	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--crtc") && i + 1 < argc) {
			crtc = atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--bits") && i + 5 < argc) {
			snprintf(bits, sizeof bits, "bits %s %s %s %s %s", argv[i + 1], argv[i + 2], argv[i + 3], argv[i + 4],
				 argv[i + 5]);
			i += 5;
		} else {
			seconds = 0;
		}
	}
	if (seconds <= 0) {
		fprintf(stderr, "usage: watch SECONDS [--crtc N] [--bits X Y CELLW CELLH N]\n");
		return 2;
	}
	signal(SIGTERM, stop);
	signal(SIGINT, stop);
	card = open_card();
	log = open_log(card, crtc);
	configure(log, bits);
	watch(card, log, crtc, seconds);
	return 0;
}
