import KioskPlatform

/// How the player's sound gets along with the rest of the machine: what AVAudioSession is to an application. One value, the keys of `[audio]` that are
/// named here; docs/audio-session.md.
package struct AudioSession: Hashable, Sendable {
    /// Which output is played to where the device is chosen automatically, and when that is chosen anew: AVAudioSession's route.
    package enum Route: String, Hashable, Sendable, CaseIterable {
        /// The sound of the display that is used, where it takes sound; what is plugged in later is changed to, and nothing is left because its
        /// plug has been pulled, as a television that is switched off pulls it, too.
        case display
        /// What is plugged in: headphones or a line first, then the display. What is pulled out is left after two seconds for what is still there.
        case port
        /// What was chosen at the start, for as long as it is there.
        case fixed
    }

    /// What becomes of the sound while another program asks for silence: AVAudioSession's interruption.
    package enum Interruption: String, Hashable, Sendable, CaseIterable {
        /// It is made quieter, to ``AudioSession/duckedVolume``; the picture goes on.
        case duck
        /// Picture and sound are held, and go on afterwards where they were.
        case pause
        /// It is not heard; the picture goes on.
        case mute
    }

    /// `mix`: whether other programs can be heard at the same time, by ALSA's software mixer (`dmix`); else the card is taken alone.
    package var mixesWithOthers = false
    /// `follow`.
    package var route = Route.display
    /// `interruption`.
    package var interruption = Interruption.duck
    /// `duck-volume`: how loud the sound is while it is ducked, in hundredths of what it is otherwise, as a volume is.
    package var duckedVolume = 30

    /// The defaults.
    package init() {}

    /// How long the sound takes to become quieter, and to come back.
    package static let fadeTime = (down: MediaTime.milliseconds(250), up: MediaTime.milliseconds(800))
}
