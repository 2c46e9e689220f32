internal import KioskPlatform
internal import KioskPlayback

/// Interruptions of the sound: AVAudioSession's, which the application begins and ends itself, or on behalf of another program.
extension Player {
    /// Has the player give way, as ``AudioSession/interruption`` of its output says: the sound is quieter within a quarter of a second, or is held.
    ///
    /// Several may interrupt at once, each by a name of its own; it ends when the last of them has ended. From any thread; returns at once.
    ///
    /// - Parameters:
    ///   - name: whose interruption it is; one that has begun under this name already is renewed.
    ///   - duration: how long it lasts where nobody ends it: an hour at most.
    public func beginInterruption(by name: String = "", for duration: Duration = .seconds(3600)) {
        engine.beginInterruption(name, for: MediaTime(duration))
    }

    /// Ends the interruption of this name; where it was the last one, the sound comes back within 0.8 s, or what was held goes on. Of a name that
    /// does not interrupt it does nothing.
    public func endInterruption(by name: String = "") { engine.endInterruption(name) }

    /// Whether there is an interruption.
    public var isInterrupted: Bool { engine.isInterrupted }
}
