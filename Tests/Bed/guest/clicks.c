// clicks PCM SECONDS   plays a click of a millisecond at each second of the card, and prints when each reaches the loudspeaker, by the
// card's own position:
//
//     click 7 12.345678
//
// the number of the click, and CLOCK_MONOTONIC in seconds.
#include <alsa/asoundlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RATE = 48000, PERIOD = 960, BUFFER = 9600 };

static void fail(const char *what, int code) {
    fprintf(stderr, "clicks: %s: %s\n", what, snd_strerror(code));
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 3) return fprintf(stderr, "clicks PCM SECONDS\n"), 64;
    snd_pcm_t *pcm;
    int code = snd_pcm_open(&pcm, arguments[1], SND_PCM_STREAM_PLAYBACK, 0);
    if (code < 0) fail(arguments[1], code);
    code = snd_pcm_set_params(pcm, SND_PCM_FORMAT_S16_LE, SND_PCM_ACCESS_RW_INTERLEAVED, 2, RATE, 0, 1000000LL * BUFFER / RATE);
    if (code < 0) fail("parameters", code);
    snd_pcm_sw_params_t *software;
    snd_pcm_sw_params_malloc(&software);
    snd_pcm_sw_params_current(pcm, software);
    snd_pcm_sw_params_set_tstamp_mode(pcm, software, SND_PCM_TSTAMP_ENABLE);
    snd_pcm_sw_params_set_tstamp_type(pcm, software, SND_PCM_TSTAMP_TYPE_MONOTONIC);
    if ((code = snd_pcm_sw_params(pcm, software)) < 0) fail("timestamps", code);

    snd_pcm_status_t *status;
    snd_pcm_status_malloc(&status);
    long written = 0, total = atol(arguments[2]) * RATE, told = 0;
    short samples[2 * PERIOD];
    while (written < total) {
        for (int frame = 0; frame < PERIOD; frame++)
            samples[2 * frame] = samples[2 * frame + 1] = (written + frame) % RATE < RATE / 1000 ? 24000 : 0;
        snd_pcm_sframes_t taken = snd_pcm_writei(pcm, samples, PERIOD);
        if (taken < 0) fail("write", taken);
        written += taken;
        if (snd_pcm_status(pcm, status) < 0 || snd_pcm_status_get_state(status) != SND_PCM_STATE_RUNNING) continue;
        snd_htimestamp_t stamp;
        snd_pcm_status_get_htstamp(status, &stamp);
        double now = stamp.tv_sec + stamp.tv_nsec / 1e9;
        long heard = written - snd_pcm_status_get_delay(status);
        for (; told * RATE <= heard; told++) {
            printf("click %ld %.6f\n", told, now - (double)(heard - told * RATE) / RATE);
            fflush(stdout);
        }
    }
    return 0;
}
