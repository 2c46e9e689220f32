import KioskPlatform
import KioskPlayback

/// What the preview thread does next: a pure value.
///
/// A finger on a slider asks for more pictures than can be decoded. One is decoded at a time, and of those asked for meanwhile only the newest
/// is kept. What was decoded is handed over even if the finger has moved on, so that there is a picture while it keeps moving; and kept, as a
/// finger goes back and forth: 16 pictures of one file at one size. Ten seconds after the last request the pictures and the file are let go.
struct PreviewSchedule {
    /// A picture that is asked for.
    struct Request: Hashable {
        /// The path of the file.
        var source: Path
        /// Item time.
        var time: MediaTime
        /// The most pixels across and down that it may have.
        var width: Int, height: Int

        fileprivate var subject: Subject { Subject(source: source, width: width, height: height) }
    }

    /// What the thread does.
    enum Step {
        /// Closes the file that is open.
        case close
        /// Decodes a picture, after opening the file where none is open; ``finished(_:_:at:)`` follows.
        case decode(Request)
        /// Hands over a picture that is there.
        case deliver(Request, Surface)
        /// Waits for a request or for a time; nil for none.
        case wait(until: HostTime?)
    }

    /// What became of a request.
    enum Result {
        /// A picture, and the item times that it is the picture of.
        case picture(Surface, span: ClosedRange<MediaTime>)
        /// There is none at that time.
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

    /// The most pictures that are kept.
    static let capacity = 16
    /// How long file and pictures are kept after the last request.
    static let idleTimeout = MediaTime.seconds(10)

    private var newest: Request?
    /// What the pictures are of, and the open file.
    private var subject: Subject?
    private var isOpen = false
    /// Whether the subject has no pictures.
    private var isUnusable = false
    /// The one used last comes last.
    private var kept: [Kept] = []
    /// Whether anybody waits for pictures.
    private var isWanted = false
    private var lastUse: HostTime?

    /// A picture is wanted, and none of those asked for before.
    mutating func request(_ request: Request, at now: HostTime) {
        (newest, isWanted, lastUse) = (request, true, now)
    }

    /// No picture is wanted any more.
    mutating func cancel() { (newest, isWanted) = (nil, false) }

    /// What to do now.
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
    /// - Returns: whether the picture is to be handed over.
    mutating func finished(_ request: Request, _ result: Result) -> Bool {
        switch result {
        case .picture(let surface, let span):
            kept.append(Kept(surface: surface, span: span))
            if kept.count > Self.capacity { kept.removeFirst() }
            return isWanted && (newest?.subject ?? request.subject) == request.subject
        case .nothing: break
        case .unusable: isUnusable = true
        case .cancelled:
            // It was cancelled for another file, from which the finger has come back meanwhile.
            isOpen = false
            if isWanted, newest == nil { newest = request }
        }
        return false
    }

    private mutating func forget() { (subject, kept, isUnusable) = (nil, [], false) }
}
