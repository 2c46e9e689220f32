// Playing faster or slower with the pitch kept: libavfilter's atempo behind four calls.
#pragma once

struct kiosk_tempo;

/// A filter for interleaved float sound, or null when libavfilter is not installed or refuses the rate (it takes 0.5 to 100).
struct kiosk_tempo *_Nullable kiosk_tempo_open(double rate, int sample_rate, int channels);
void kiosk_tempo_close(struct kiosk_tempo *_Nonnull tempo);
/// Puts `frames` frames in, 0 for the end; returns 0 or a negative AVERROR.
int kiosk_tempo_send(struct kiosk_tempo *_Nonnull tempo, const float *_Nullable samples, int frames);
/// Takes up to `frames` frames out; returns how many, 0 when it needs more first.
int kiosk_tempo_receive(struct kiosk_tempo *_Nonnull tempo, float *_Nonnull samples, int frames);
