package import KioskInputCore
import KioskPlatform
import KioskPlayback
public import KioskPlayer
import KioskVocabulary
import Synchronization

/// Keyboards, remotes, touch screens and mice, as they come and go.
///
/// Devices are grabbed: their keys do not reach a shell underneath. No event comes while another virtual terminal is in front of the
/// display.
public final class InputDevices: Sendable {
    /// An event of a device.
    public enum Event: Hashable, Sendable {
        /// A finger, a pen or the left button of a mouse.
        case touch(Touch)
        /// A key or a button.
        case key(Key)
    }

    /// A contact begins, moves or ends.
    public struct Touch: Hashable, Sendable {
        /// The phase of a contact.
        public enum Phase: Hashable, Sendable {
            /// The contact begins, moves, is lifted.
            case began, moved, ended
            /// The contact ends without a known or intended meaning: discard its effects.
            case cancelled
        }

        /// The phase of the contact.
        public var phase: Phase
        /// The number of the contact, from `began` to its end; unique among simultaneous contacts.
        public var id: Int
        /// From 0 at the left edge of the display to 1 at the right one, as a viewer sees it.
        public var x: Double
        /// From 0 at the top to 1 at the bottom.
        public var y: Double
        /// The time of the kernel's report, by CLOCK_MONOTONIC since boot.
        public var time: Duration

        /// Creates a contact from its parts: for the tests of an application.
        public init(phase: Phase, id: Int = 0, x: Double, y: Double, time: Duration = .zero) {
            (self.phase, self.id, self.x, self.y, self.time) = (phase, id, x, y, time)
        }

        /// Creates a contact on a pixel of a display or a window of this size, counted from its top left corner.
        public init(phase: Phase, id: Int = 0, pixelX: Int, pixelY: Int, of size: PixelSize, time: Duration = .zero) {
            let (x, y) = ((Double(pixelX) + 0.5) / Double(max(size.width, 1)), (Double(pixelY) + 0.5) / Double(max(size.height, 1)))
            self.init(phase: phase, id: id, x: x, y: y, time: time)
        }
    }

    /// A key is pressed, repeats or is released.
    public struct Key: Hashable, Sendable {
        /// The phase of a key.
        public enum Phase: Hashable, Sendable {
            /// The user presses it, the kernel repeats it, the user releases it.
            case pressed, repeated, released
        }

        /// The kernel's name: `KEY_SPACE`, `BTN_LEFT`.
        public var name: String
        /// The phase of the key.
        public var phase: Phase
        /// The time of the kernel's report, by CLOCK_MONOTONIC since boot.
        public var time: Duration

        /// Creates a key event from its parts: for the tests of an application.
        public init(name: String, phase: Phase, time: Duration = .zero) {
            (self.name, self.phase, self.time) = (name, phase, time)
        }
    }

    /// The kernel's headers define no key of this name.
    public struct UnknownKeyError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The unknown name, and a suggestion.
        public let description: String
    }

    private let reader: InputReader
    private let streams = Broadcast<Event>()
    private let interceptors = Mutex((last: 0, all: [(number: Int, take: @Sendable (InputEvent) -> Bool)]()))

    /// Starts to read devices: touch screens and mice, and keyboards that have one of `keys`, by the kernel's names (`space`,
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
        reader.start { [weak self] in self?.deliver($0) }
    }

    deinit { stop() }

    /// Passes an event to the newest interceptor that takes it, else to the sequences.
    private func deliver(_ event: InputEvent) {
        for interceptor in interceptors.withLock({ $0.all }).reversed() where interceptor.take(event) { return }
        streams.tell(Event(event))
    }

    /// Lets `take` have each event before the application, and before earlier interceptors: it returns whether it keeps the event. Called on the input thread, and returns at
    /// once. Returns the number to end that.
    package func intercept(_ take: @escaping @Sendable (InputEvent) -> Bool) -> Int {
        interceptors.withLock { state in
            state.last += 1
            state.all.append((state.last, take))
            return state.last
        }
    }

    /// Ends an interception.
    package func endInterception(_ number: Int) { interceptors.withLock { $0.all.removeAll { $0.number == number } } }

    /// All events from now on. Each call returns a sequence of its own; it ends with ``stop()``.
    public var events: AsyncStream<Event> { streams.stream() }

    /// Releases the devices. Waits until the last event is delivered.
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
            // Contacts of two devices may have the same id.
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
