import KioskPlatform

/// How a player's sound shares the machine with other programs: AVAudioSession as one value. Pass it to an ``AudioOutput``; it applies to
/// all players of that output. In kiosk.conf it is the keys of `[audio]` from `mix` to `duck-volume`.
public struct AudioSession: Hashable, Sendable {
    /// The rule for choosing among the available outputs, and for changing, if no device is named.
    public enum Route: Hashable, Sendable, CaseIterable {
        /// The sound of the display, if it takes sound, else the system's default. Changes to a newly connected output after two seconds.
        /// Never leaves an output because its plug is pulled: a television that is switched off looks the same.
        case display
        /// The connected output: headphones or a line first, then as ``display``. Two seconds after a plug is pulled, changes to an output
        /// that is still there.
        case port
        /// The first choice, as long as it is there.
        case fixed
    }

    /// The effect of an interruption on a player: ``Player/beginInterruption(by:for:)``.
    public enum Interruption: Hashable, Sendable, CaseIterable {
        /// Lowers its sound to ``AudioSession/duckedVolume``; its picture continues.
        case duck
        /// Pauses picture and sound. Both resume afterwards at the same place, unless a user has played or paused meanwhile.
        case pause
        /// Mutes it; its picture continues.
        case mute
    }

    /// Whether other programs can play at the same time, by ALSA's software mixer (`dmix`); otherwise the player opens the card
    /// exclusively. If a card cannot be mixed, it is opened exclusively anyway, and ``AudioOutput/name`` says so. Mixing runs at 48 kHz
    /// with 16 bits. The sound that the mixer has accepted plays even after a pause.
    public var mixesWithOthers = false
    /// The rule for choosing the output; no effect if a device is named.
    public var route = Route.display
    /// The effect of an interruption.
    public var interruption = Interruption.duck
    /// The volume during ducking, 0…1 of the usual volume, on the scale of ``Player/volume``.
    public var duckedVolume = 0.3

    /// Creates a session with exclusive use of the card, a preference for the display's sound, and interruptions that duck to 0.3.
    public init() {}

    /// How long the sound takes to fade down, and to fade up again.
    package static let fadeTime = (down: MediaTime.milliseconds(250), up: MediaTime.milliseconds(800))
}
