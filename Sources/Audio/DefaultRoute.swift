import CKioskALSA
import Glibc

/// What the PCM `default` plays to.
struct DefaultRoute: Equatable {
    /// The PCM of the kernel behind it; nil when no card is (a sound server).
    var hardware: Hardware?
    /// Whether it is ALSA's software mixer on a card, without a volume control of its own in between.
    var isPlainMixer: Bool
    /// Whether it was set: by asound.conf, ~/.asoundrc, a sound server's package or $ALSA_CARD. Otherwise it is ALSA's own, the first card.
    var isSet: Bool

    /// Opens `default` to find out, and closes it; nil when it does not open.
    static func find() -> DefaultRoute? {
        quietly {
            var handle: OpaquePointer?
            guard snd_pcm_open(&handle, "default", SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK) >= 0, let handle else { return nil }
            defer { snd_pcm_close(handle) }

            // libasound has no other call that tells what is behind a `plug`.
            var output: OpaquePointer?
            guard snd_output_buffer_open(&output) == 0 else { return nil }
            defer { snd_output_close(output) }
            snd_pcm_dump(handle, output)
            var text: UnsafeMutablePointer<CChar>?
            let count = snd_output_buffer_string(output, &text)
            let dump = text.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: count), as: UTF8.self) } ?? ""
            return DefaultRoute(
                hardware: Hardware(handle), isPlainMixer: dump.contains("Direct Stream Mixing") && !dump.contains("Soft"), isSet: isSet())
        }
    }

    /// Whether `pcm.default` or what it refers to differs from libasound's own alsa.conf.
    private static func isSet() -> Bool {
        for name in ["ALSA_CARD", "ALSA_PCM_CARD", "ALSA_CONFIG_PATH"] where getenv(name) != nil { return true }
        var top: OpaquePointer?
        guard snd_config_update_ref(&top) >= 0 else { return false }
        defer { snd_config_unref(top) }
        func value(_ key: String) -> String? {
            var (node, text): (OpaquePointer?, UnsafeMutablePointer<CChar>?)
            guard snd_config_search(top, key, &node) == 0, snd_config_get_ascii(node, &text) == 0, let text else { return nil }
            defer { free(text) }
            return String(cString: text)
        }
        return value("pcm.default") != "cards.pcm.default" || value("defaults.pcm.card") != "0" || value("defaults.pcm.device") != "0"
    }
}

extension Hardware {
    /// The PCM of the kernel behind an open `snd_pcm_t`; nil when there is none.
    init?(_ handle: OpaquePointer) {
        var info: OpaquePointer?
        snd_pcm_info_malloc(&info)
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_info(handle, info) == 0, snd_pcm_info_get_card(info) >= 0 else { return nil }
        self.init(card: Int(snd_pcm_info_get_card(info)), device: Int(snd_pcm_info_get_device(info)))
    }
}
