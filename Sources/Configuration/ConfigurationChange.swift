import KioskVocabulary

/// What differs between two configurations, by the names of tables and keys: what a player that runs takes over, and what holds from its
/// next start on.
package struct ConfigurationChange: Hashable, Sendable {
    /// What is taken over at once, or with the next item.
    package private(set) var applied: [String] = []
    /// What needs a restart.
    package private(set) var postponed: [String] = []

    /// From `old` to `new`.
    package init(from old: Configuration, to new: Configuration) {
        func note(_ name: String, _ isEqual: Bool, in list: inout [String]) { if !isEqual { list.append(name) } }
        note("[[playlist]]", old.playlist == new.playlist, in: &applied)
        note("[display] gravity", old.display.gravity == new.display.gravity, in: &applied)
        note("[display] rotation", old.display.rotation == new.display.rotation, in: &applied)
        note("[display] region", old.display.region == new.display.region, in: &applied)
        note("[display] background", old.display.background == new.display.background, in: &applied)
        note("[audio] volume", old.audio.volume == new.audio.volume, in: &applied)
        note("[audio] muted", old.audio.isMuted == new.audio.isMuted, in: &applied)
        let (before, after) = (old.playback, new.playback)
        note("[playback] loop", before.loop == after.loop, in: &applied)
        note("[playback] shuffle", before.shuffles == after.shuffles, in: &applied)
        note("[playback] fallback", before.fallback == after.fallback, in: &applied)
        note("[playback] usb", before.usb == after.usb, in: &applied)
        note("[playback] seek-step", before.seekStep == after.seekStep, in: &applied)
        note("[playback] image-duration", before.imageDuration == after.imageDuration, in: &applied)
        note("[playback] transition", before.transition == after.transition, in: &applied)
        note("[playback] transition-duration", before.transitionDuration == after.transitionDuration, in: &applied)
        note("[playback] deinterlace", before.deinterlace == after.deinterlace, in: &applied)
        note("[playback] decoder", before.decoder == after.decoder, in: &applied)
        note("[input]", old.input.withoutPositions == new.input.withoutPositions, in: &applied)
        note("[theme]", old.theme == new.theme, in: &applied)
        note("[shelf]", old.shelf == new.shelf, in: &applied)
        note("[idle]", old.idle == new.idle, in: &applied)
        note("[control] socket", old.control.socket == new.control.socket, in: &applied)
        note("[control] metrics", old.control.metrics == new.control.metrics, in: &applied)
        note("[record]", old.record == new.record, in: &applied)
        note("[log] level", old.log.level == new.log.level, in: &applied)
        note("[log] proof-of-play", old.log.proofOfPlay == new.log.proofOfPlay, in: &applied)
        note("[playback] audio-track", before.audioTrack == after.audioTrack, in: &applied)
        note("[network]", old.network == new.network, in: &applied)

        note("[playback] decoder-device", before.decoderDevice == after.decoderDevice, in: &postponed)
        note("[playback] cache", before.cache == after.cache, in: &postponed)
        note("[playback] cache-folder", before.cacheFolder == after.cacheFolder, in: &postponed)
        note("[display] connector", old.display.connector == new.display.connector, in: &postponed)
        note("[display] mode", old.display.mode == new.display.mode, in: &postponed)
        note("[display] physical-size", old.display.physicalSize == new.display.physicalSize, in: &postponed)
        note("[display] picture-path", old.display.picturePath == new.display.picturePath, in: &postponed)
        let (session, newSession) = (old.audio.session, new.audio.session)
        note("[audio] mix", session.mixesWithOthers == newSession.mixesWithOthers, in: &postponed)
        note("[audio] follow", session.route == newSession.route, in: &postponed)
        note("[audio] interruption", session.interruption == newSession.interruption, in: &postponed)
        note("[audio] duck-volume", session.duckedVolume == newSession.duckedVolume, in: &postponed)
        note("[audio] device", old.audio.device == new.audio.device, in: &postponed)
    }

    /// Whether what viewers do, or what answers them, differs.
    package static func concernsViewers(from old: Configuration, to new: Configuration) -> Bool {
        old.input.withoutPositions != new.input.withoutPositions || old.theme != new.theme || old.idle != new.idle || old.shelf != new.shelf
            || old.playback.seekStep != new.playback.seekStep
    }

    /// Whether nothing differs.
    package var isEmpty: Bool { applied.isEmpty && postponed.isEmpty }
}

extension Configuration.Input {
    /// A key binding has its line with it, which moves when something is written above it.
    fileprivate var withoutPositions: Configuration.Input {
        var input = self
        input.bindings = bindings.map { KeyBinding(trigger: $0.trigger, command: $0.command) }
        return input
    }
}
