import KioskPlatform
import KioskPlayback

/// The next step of the preview thread. A pure value.
///
/// A finger on a slider requests more pictures than can be decoded. The thread decodes one at a time, and keeps only the newest request
/// meanwhile. It hands a picture over even if the finger has moved on: a moving finger then has pictures too. It also keeps pictures, as a
/// finger goes back and forth: 16 pictures of one file at one size. It frees the pictures and the file ten seconds after the last request.
struct PreviewSchedule {
    /// A requested picture.
    struct Request: Hashable {
        /// The path of the file.
        var source: Path
        /// Item time.
        var time: MediaTime
        /// The greatest width and height in pixels.
        var width: Int, height: Int

        fileprivate var subject: Subject { Subject(source: source, width: width, height: height) }
    }

    /// A step of the thread.
    enum Step {
        /// Closes the open file.
        case close
        /// Decodes a picture, after opening the file if none is open; ``finished(_:_:)`` follows.
        case decode(Request)
        /// Hands over a kept picture.
        case deliver(Request, Surface)
        /// Waits for a request or until a time; nil means no time.
        case wait(until: HostTime?)
    }

    /// The result of a request.
    enum Result {
        /// A picture, and the item times that it stands for.
        case picture(Surface, span: ClosedRange<MediaTime>)
        /// There is no picture at that time.
        case nothing
        /// The file has no pictures for a slider, or cannot be read.
        case unusable
        /// Opening or decoding was cancelled.
        case cancelled
    }

    /// A file, and the size of its pictures.
    fileprivate struct Subject: Hashable {
        var source: Path
        var width: Int, height: Int
    }

    private struct Kept {
        var surface: Surface
        var span: ClosedRange<MediaTime>
    }

    /// The most pictures to keep.
    static let capacity = 16
    /// How long to keep the file and the pictures after the last request.
    static let idleTimeout = MediaTime.seconds(10)

    private var newest: Request?
    /// The subject of the pictures, and of the open file.
    private var subject: Subject?
    private var isOpen = false
    /// Whether the subject has no pictures.
    private var isUnusable = false
    /// The most recently used picture is last.
    private var kept: [Kept] = []
    /// Whether the controls are waiting for pictures.
    private var isWanted = false
    private var lastUse: HostTime?

    /// Requests a picture, and discards earlier requests.
    mutating func request(_ request: Request, at now: HostTime) {
        (newest, isWanted, lastUse) = (request, true, now)
    }

    /// Cancels the request.
    mutating func cancel() { (newest, isWanted) = (nil, false) }

    /// Returns the next step.
    mutating func next(at now: HostTime) -> Step {
        if let request = newest {
            if subject != request.subject {
                forget()
                subject = request.subject
                if isOpen {
                    isOpen = false
                    return .close
                }
            }
            newest = nil
            if let index = kept.lastIndex(where: { $0.span.contains(request.time) }) {
                let found = kept.remove(at: index)
                kept.append(found)
                return .deliver(request, found.surface)
            }
            if !isUnusable {
                isOpen = true
                return .decode(request)
            }
        }
        guard subject != nil, let lastUse else { return .wait(until: nil) }
        guard now >= lastUse + Self.idleTimeout else { return .wait(until: lastUse + Self.idleTimeout) }
        forget()
        if isOpen {
            isOpen = false
            return .close
        }
        return .wait(until: nil)
    }

    /// Takes the result of ``Step/decode(_:)``.
    ///
    /// - Returns: whether to hand over the picture.
    mutating func finished(_ request: Request, _ result: Result) -> Bool {
        switch result {
        case .picture(let surface, let span):
            kept.append(Kept(surface: surface, span: span))
            if kept.count > Self.capacity { kept.removeFirst() }
            return isWanted && (newest?.subject ?? request.subject) == request.subject
        case .nothing: break
        case .unusable: isUnusable = true
        case .cancelled:
            // Another file cancelled it, and the finger has returned to this one meanwhile.
            isOpen = false
            if isWanted, newest == nil { newest = request }
        }
        return false
    }

    private mutating func forget() { (subject, kept, isUnusable) = (nil, [], false) }
}
