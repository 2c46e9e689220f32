import CKioskALSA
import Logging

// Drivers start their mixers muted, at volume 0, or both. A program of the distribution usually sets them (alsactl), but not everywhere.
// When kiosk opens an automatically chosen card, it turns on the switches in the sound's path. An element that is muted and at volume 0, as
// a driver leaves it, is also set to 0 dB. A volume of 0 with its switch on may be intended: kiosk logs it, with the command that raises
// it. On a device named in kiosk.conf, kiosk only logs and changes nothing.

/// The playback part of an element of ALSA's simple mixer, as amixer shows it.
struct MixerElement: Hashable, Sendable {
    var name: String
    var index = 0
    /// Whether its switch is off on all channels; nil without a switch.
    var isMuted: Bool?
    /// Whether its volume is at the minimum on all channels; nil without a volume.
    var isAtMinimum: Bool?

    /// Its name for amixer, quoted for a shell.
    var label: String {
        let name = name.contains { !($0.isLetter || $0.isNumber) } ? "'\(name)'" : name
        return index == 0 ? name : "\(name),\(index)"
    }
}

/// An element that silences the sound.
struct Silencer: Hashable, Sendable, CustomStringConvertible {
    var element: MixerElement
    /// The short name of its card.
    var card: String

    /// Whether its switch is to be turned on. If its volume is 0, that is set too.
    var isMuted: Bool { element.isMuted == true }

    /// The command that makes it audible.
    var command: String {
        "amixer -c \(card) sset \(element.label)" + (element.isAtMinimum == true ? " 100%" : "") + (isMuted ? " unmute" : "")
    }

    var description: String { "\(element.label) of \(card) is \(isMuted ? "muted" : "at volume 0"), so nothing is heard: \(command)" }
}

/// The mixer of a card, for one of the card's devices.
struct Mixer: Hashable, Sendable {
    /// The kernel's number of the card, and its short name.
    var index: Int
    var card: String
    /// The index of the device among the card's outputs for displays; nil for other devices.
    var displayIndex: Int?
    /// Whether all outputs of the card are for displays.
    var isForDisplays: Bool

    /// Creates the mixer of the card of `hardware`; nil if `cards` does not have it.
    init?(_ hardware: Hardware, cards: [AudioCard]) {
        guard let card = cards.first(where: { $0.index == hardware.card }) else { return nil }
        index = card.index
        self.card = card.id
        displayIndex = card.displayIndex(of: hardware.device)
        isForDisplays = card.devices.allSatisfy { $0.output != .other }
    }

    /// Returns whether the sound of the device passes through an element. Pure.
    func isOnTheWay(_ element: MixerElement) -> Bool {
        if let displayIndex {
            if element.name == "IEC958" { return element.index == displayIndex }
            if !isForDisplays { return false }
        }
        // Also if a driver has added to the name: "Desktop Speaker", "Headphone+LO".
        let name = element.name.hasSuffix("+LO") ? String(element.name.dropLast(3)) : element.name
        return ["Master", "PCM", "Front", "Digital"].contains(name)
            || ["Headphone", "Headphones", "Speaker", "Line Out", "Lineout"].contains { name == $0 || name.hasSuffix(" " + $0) }
    }

    /// Returns the elements among `elements` that silence the sound. Pure.
    func silencers(among elements: [MixerElement]) -> [Silencer] {
        elements.filter { isOnTheWay($0) && ($0.isMuted == true || $0.isAtMinimum == true) }.map { Silencer(element: $0, card: card) }
    }

    /// Returns the elements that silence the sound now.
    func silencers() -> [Silencer] { withElements { silencers(among: $0.map(\.element)) } ?? [] }

    /// Unmutes muted elements, and logs the others that silence the sound.
    func makeAudible() {
        withElements { handles in
            for (handle, element) in handles {
                guard let silencer = silencers(among: [element]).first else { continue }
                guard silencer.isMuted, snd_mixer_selem_set_playback_switch_all(handle, 1) == 0 else {
                    log.warning("\(silencer)")
                    continue
                }
                if element.isAtMinimum == true { Self.raise(handle) }
                log.notice("\(element.label) of \(card) was muted: turned on (amixer -c \(card) sset \(element.label) mute)")
            }
        }
    }

    /// Sets the volume to 0 dB if the driver reports dB, otherwise to the maximum. `[audio] volume` in kiosk.conf sets the loudness.
    private static func raise(_ handle: OpaquePointer) {
        var (lowest, highest) = (0, 0)
        if snd_mixer_selem_get_playback_dB_range(handle, &lowest, &highest) == 0, lowest < 0, highest >= 0,
            snd_mixer_selem_set_playback_dB_all(handle, 0, 0) == 0
        {
            return
        }
        snd_mixer_selem_get_playback_volume_range(handle, &lowest, &highest)
        snd_mixer_selem_set_playback_volume_all(handle, highest)
    }

    /// Opens the mixer for `body`, with its active elements for playback; nil if it does not open.
    @discardableResult
    private func withElements<Result>(_ body: ([(handle: OpaquePointer, element: MixerElement)]) -> Result) -> Result? {
        quietly {
            var mixer: OpaquePointer?
            guard snd_mixer_open(&mixer, 0) == 0 else { return nil }
            defer { snd_mixer_close(mixer) }
            guard snd_mixer_attach(mixer, "hw:\(index)") == 0, snd_mixer_selem_register(mixer, nil, nil) == 0, snd_mixer_load(mixer) == 0
            else { return nil }
            var elements: [(handle: OpaquePointer, element: MixerElement)] = []
            var next = snd_mixer_first_elem(mixer)
            while let handle = next {
                next = snd_mixer_elem_next(handle)
                if snd_mixer_selem_is_active(handle) != 0 { elements.append((handle, Self.describe(handle))) }
            }
            return body(elements)
        }
    }

    private static func describe(_ handle: OpaquePointer) -> MixerElement {
        let name = snd_mixer_selem_get_name(handle).map { String(cString: $0) } ?? ""
        var element = MixerElement(name: name, index: Int(snd_mixer_selem_get_index(handle)))
        let channels = (0...SND_MIXER_SCHN_LAST.rawValue).map { snd_mixer_selem_channel_id_t($0) }.filter {
            snd_mixer_selem_has_playback_channel(handle, $0) != 0
        }
        if snd_mixer_selem_has_playback_switch(handle) != 0 {
            element.isMuted = channels.allSatisfy { channel in
                var isOn: Int32 = 1
                return snd_mixer_selem_get_playback_switch(handle, channel, &isOn) == 0 && isOn == 0
            }
        }
        if snd_mixer_selem_has_playback_volume(handle) != 0 {
            var (lowest, highest) = (0, 0)
            snd_mixer_selem_get_playback_volume_range(handle, &lowest, &highest)
            element.isAtMinimum = channels.allSatisfy { channel in
                var volume = highest
                return snd_mixer_selem_get_playback_volume(handle, channel, &volume) == 0 && volume <= lowest && lowest < highest
            }
        }
        return element
    }
}

extension AudioCard {
    /// Returns the elements that silence its devices now, one sentence each, which ends with the command that makes them audible.
    package func silencers() -> [String] {
        var said: Set<String> = []
        return devices.compactMap { Mixer(Hardware(card: index, device: $0.number), cards: [self]) }
            .flatMap { $0.silencers().map(\.description) }.filter { said.insert($0).inserted }
    }
}
