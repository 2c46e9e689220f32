/*
 * listen DEVICE OUT.wav   records the sound that a card receives, S16_LE 48 kHz stereo, until SIGTERM. DEVICE is the other end of the
 * loopback card. Prints FRAME US every tenth of a second: the number of a sample frame and the time (CLOCK_MONOTONIC) it was played. That
 * puts sound and vblanks on one time axis (to the 4 ms steps of this card). Prints "overrun FRAME" if samples were lost. Writes the
 * lengths in the WAV header at the end; a file without them was cut off, but its samples are good.
 */
#include <alsa/asoundlib.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define RATE 48000
#define PERIOD 960
#define FRAME_BYTES 4

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void check(int error, const char *what)
{
	if (error >= 0)
		return;
	fprintf(stderr, "listen: %s: %s\n", what, snd_strerror(error));
	exit(1);
}

static snd_pcm_t *open_card(const char *name)
{
	snd_pcm_hw_params_t *hardware;
	snd_pcm_sw_params_t *software;
	snd_pcm_uframes_t period = PERIOD, buffer = RATE;
	snd_pcm_t *pcm;

	check(snd_pcm_open(&pcm, name, SND_PCM_STREAM_CAPTURE, 0), name);
	snd_pcm_hw_params_alloca(&hardware);
	check(snd_pcm_hw_params_any(pcm, hardware), "parameters");
	check(snd_pcm_hw_params_set_access(pcm, hardware, SND_PCM_ACCESS_RW_INTERLEAVED), "access");
	check(snd_pcm_hw_params_set_format(pcm, hardware, SND_PCM_FORMAT_S16_LE), "format");
	check(snd_pcm_hw_params_set_channels(pcm, hardware, 2), "channels");
	check(snd_pcm_hw_params_set_rate(pcm, hardware, RATE, 0), "rate");
	check(snd_pcm_hw_params_set_period_size_near(pcm, hardware, &period, NULL), "period");
	check(snd_pcm_hw_params_set_buffer_size_near(pcm, hardware, &buffer), "buffer");
	check(snd_pcm_hw_params(pcm, hardware), "configuration");
	snd_pcm_sw_params_alloca(&software);
	check(snd_pcm_sw_params_current(pcm, software), "software parameters");
	check(snd_pcm_sw_params_set_tstamp_mode(pcm, software, SND_PCM_TSTAMP_ENABLE), "time stamps");
	check(snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_MONOTONIC), "clock");
	check(snd_pcm_sw_params(pcm, software), "software parameters");
	return pcm;
}

static void write_header(FILE *file, uint32_t bytes)
{
	struct {
		char riff[4];
		uint32_t size;
		char wave[4], fmt[4];
		uint32_t fmt_size;
		uint16_t format, channels;
		uint32_t rate, byte_rate;
		uint16_t align, bits;
		char data[4];
		uint32_t data_size;
	} header = { "RIFF", bytes + 36, "WAVE", "fmt ", 16, 1, 2, RATE, RATE * FRAME_BYTES, FRAME_BYTES, 16, "data", bytes };

	rewind(file);
	fwrite(&header, sizeof header, 1, file);
}

/* Prints the frame at the microphone and its time: the frames read plus those in the buffer, at the time stamp of that count */
static void print_position(snd_pcm_t *pcm, long long read_so_far)
{
	snd_pcm_status_t *status;
	snd_htimestamp_t time;

	snd_pcm_status_alloca(&status);
	if (snd_pcm_status(pcm, status) < 0)
		return;
	snd_pcm_status_get_htstamp(status, &time);
	printf("%lld %lld\n", read_so_far + (long long)snd_pcm_status_get_avail(status), time.tv_sec * 1000000LL + time.tv_nsec / 1000);
}

int main(int argc, char **argv)
{
	static int16_t samples[PERIOD * 2];
	long long frames = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: listen DEVICE OUT.wav\n");
		return 64;
	}
	struct sigaction action = { .sa_handler = on_signal };	/* no SA_RESTART: the read below ends */
	sigaction(SIGTERM, &action, NULL);
	snd_pcm_t *pcm = open_card(argv[1]);
	FILE *file = fopen(argv[2], "w");
	if (!file) {
		perror(argv[2]);
		return 1;
	}
	write_header(file, 0);
	for (int reads = 0; !stop; reads++) {
		snd_pcm_sframes_t count = snd_pcm_readi(pcm, samples, PERIOD);

		if (count == -EPIPE)
			printf("overrun %lld\n", frames);
		if (count < 0) {
			if (!stop)
				check(snd_pcm_recover(pcm, count, 1), "read");
			continue;
		}
		fwrite(samples, FRAME_BYTES, count, file);
		frames += count;
		if (reads % 5 == 0)
			print_position(pcm, frames);
	}
	write_header(file, frames * FRAME_BYTES);
	return fclose(file) != 0;
}
