import KioskPlatform

/// How the sound of a player gets along with the rest of the machine: AVAudioSession as one value. An ``AudioOutput`` is made with it, and it holds
/// for the players of that output; in kiosk.conf it is the keys of `[audio]` from `mix` to `duck-volume`.
public struct AudioSession: Hashable, Sendable {
    /// Which of the outputs that are there is played to, and when that is chosen anew, where no device is named.
    public enum Route: Hashable, Sendable, CaseIterable {
        /// The sound of the display, where it takes sound, else the system's default. What is plugged in later is changed to after two seconds;
        /// nothing is left because its plug has been pulled, as a television that is switched off pulls it, too.
        case display
        /// What is connected: headphones or a line first, then as ``display``. What is pulled out is left after two seconds for what is still
        /// there.
        case port
        /// What was chosen at first, for as long as it is there.
        case fixed
    }

    /// What becomes of a player while it is interrupted: ``Player/beginInterruption(by:for:)``.
    public enum Interruption: Hashable, Sendable, CaseIterable {
        /// Its sound is made quieter, to ``AudioSession/duckedVolume``, and its picture goes on.
        case duck
        /// Picture and sound are held, and go on afterwards where they were, unless somebody has played or paused meanwhile.
        case pause
        /// It is not heard, and its picture goes on.
        case mute
    }

    /// Whether other programs can be heard at the same time, by ALSA's software mixer (`dmix`); else the card is taken alone. A card that cannot
    /// be mixed is taken alone nevertheless, and ``AudioOutput/name`` tells. Mixing is done at 48 kHz with 16 bits, and what the mixer has
    /// accepted is heard also after a pause.
    public var mixesWithOthers = false
    /// Which output is followed; of no effect where a device is named.
    public var route = Route.display
    /// What an interruption does.
    public var interruption = Interruption.duck
    /// How loud the sound is while it is ducked, 0…1 of what it is otherwise, on the scale of ``Player/volume``.
    public var duckedVolume = 0.3

    /// The card taken alone, the sound of the display preferred, and interruptions that duck to 0.3.
    public init() {}

    /// How long the sound takes to become quieter, and to come back.
    package static let fadeTime = (down: MediaTime.milliseconds(250), up: MediaTime.milliseconds(800))
}
