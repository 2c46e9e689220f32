import KioskInputCore
import KioskPlatform
import KioskPlayback
public import KioskPlayer
import KioskVocabulary

/// Keyboards, remotes, touch screens and mice, as they come and go.
///
/// Devices are grabbed: their keys do not reach a shell underneath. While another virtual terminal is in front of the display nothing is
/// told.
public final class InputDevices: Sendable {
    /// What happens on a device.
    public enum Event: Hashable, Sendable {
        /// A finger, a pen or the left button of a mouse.
        case touch(Touch)
        /// A key or a button.
        case key(Key)
    }

    /// A contact begins, moves or ends.
    public struct Touch: Hashable, Sendable {
        /// What happens to it.
        public enum Phase: Hashable, Sendable {
            /// It begins, has another position, is lifted.
            case began, moved, ended
            /// Nobody knows how it ends, or nobody meant it: what it may have meant should be forgotten.
            case cancelled
        }

        /// What happens to it.
        public var phase: Phase
        /// Which contact it is, from `began` to its end; unlike any other that touches at the same time.
        public var id: Int
        /// From 0 at the left edge of the display to 1 at the right one, as a viewer sees it.
        public var x: Double
        /// From 0 at the top to 1 at the bottom.
        public var y: Double
        /// When the kernel reported it, by CLOCK_MONOTONIC since boot.
        public var time: Duration

        /// A contact from its parts: for the tests of an application.
        public init(phase: Phase, id: Int = 0, x: Double, y: Double, time: Duration = .zero) {
            (self.phase, self.id, self.x, self.y, self.time) = (phase, id, x, y, time)
        }
    }

    /// A key is pressed, repeats or is released.
    public struct Key: Hashable, Sendable {
        /// What happens to it.
        public enum Phase: Hashable, Sendable {
            /// It is pressed, or the kernel repeats it, or it is released.
            case pressed, repeated, released
        }

        /// The kernel's name of it: `KEY_SPACE`, `BTN_LEFT`.
        public var name: String
        /// What happens to it.
        public var phase: Phase
        /// When the kernel reported it, by CLOCK_MONOTONIC since boot.
        public var time: Duration

        /// A key from its parts: for the tests of an application.
        public init(name: String, phase: Phase, time: Duration = .zero) {
            (self.name, self.phase, self.time) = (name, phase, time)
        }
    }

    /// The kernel's headers know no key of this name.
    public struct UnknownKeyError: Error, Hashable, Sendable, CustomStringConvertible {
        /// What was named, and what may have been meant.
        public let description: String
    }

    private let reader: InputReader
    private let streams = Broadcast<Event>()

    /// Begins to read devices: touch screens and mice, and keyboards that have one of `keys`, by the kernel's names for them (`space`,
    /// `KEY_PLAYPAUSE`). Touches rotate with `display`.
    ///
    /// - Throws: ``UnknownKeyError``.
    public init(keys: [String] = [], display: VideoOutput? = nil) throws(UnknownKeyError) {
        var codes: Set<KeyCode> = []
        for key in keys {
            do throws(UnknownKey) { codes.insert(try KeyCode(named: key)) } catch { throw UnknownKeyError(description: "\(error)") }
        }
        let reader = InputReader(InputReader.Options(keys: codes))
        self.reader = reader
        if let display {
            display.engine.observeRotation { [reader] in reader.setRotation($0) }
            display.engine.observeTerminal { [reader] in reader.setActive($0) }
        }
        reader.start { [weak self] in self?.streams.tell(Event($0)) }
    }

    deinit { stop() }

    /// Everything that happens from now on. Each call gives a sequence of its own; it ends with ``stop()``.
    public var events: AsyncStream<Event> { streams.stream() }

    /// Lets the devices go. Waits until nothing more is told.
    public func stop() {
        streams.end()
        reader.stop()
    }
}

extension InputDevices.Event {
    init(_ event: InputEvent) {
        let time = Duration.nanoseconds(event.time.nanoseconds)
        switch event {
        case .contact(let event):
            let phase: InputDevices.Touch.Phase =
                switch event.phase {
                case .down: .began
                case .move: .moved
                case .up: .ended
                case .cancelled: .cancelled
                }
            // The ids of two devices may be the same.
            let id = event.device.rawValue << 32 | event.contact.id
            self = .touch(InputDevices.Touch(phase: phase, id: id, x: event.contact.x, y: event.contact.y, time: time))
        case .key(let event):
            let phase: InputDevices.Key.Phase =
                switch event.phase {
                case .press: .pressed
                case .repeat: .repeated
                case .release: .released
                }
            self = .key(InputDevices.Key(name: event.key.name, phase: phase, time: time))
        }
    }
}
