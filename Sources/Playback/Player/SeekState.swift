import KioskMedia
import KioskPlatform

/// A request to move the playhead.
struct SeekRequest: Hashable, Sendable {
    var position: PlaylistCursor.Position
    /// The item time to begin at; nil is the item's configured beginning.
    var time: MediaTime?
    var precision = MediaReader.SeekPrecision.exact
    /// Whether to open the item anew though it is open, because another track of it is to be shown.
    var reopens = false
}

/// The progress of a seek, and the request that follows it. A pure value: events in, the request to begin out.
///
///     none ──request──▶ requested ──take──▶ carriedOut ──frameShown──▶ none, or followed ──followUp──▶ requested
///
/// Each request that begins starts a new generation of the timeline (``Pipeline``). The feeder carries it out; it is under way until a
/// frame of its generation is on the screen. A seek within the same item that comes before then waits for that frame. Otherwise a key that
/// is held down would show no frame at all. While seeks follow each other like that, they go to key frames, which takes one decoded frame
/// each. An exact seek to the last target ends the row. A skip to another item never waits.
enum SeekState: Hashable, Sendable {
    /// The playhead is where the frame on the screen is.
    case none
    /// The feeder has to carry the request out.
    case requested(SeekRequest, then: FollowUp?)
    /// The feeder has taken it; its first frame is awaited.
    case carriedOut(SeekRequest, then: FollowUp?)
    /// Its first frame has been committed; the follow-up begins when that is on the screen.
    case followed(FollowUp)

    /// The request that begins after the first frame of the seek under way.
    enum FollowUp: Hashable, Sendable {
        /// A request that came meanwhile, the first of a row.
        case next(SeekRequest)
        /// The seek under way goes to a key frame near this target, and no newer request has come: the target itself is next.
        case settle(SeekRequest)
        /// The seek under way goes to a key frame, and this newer request has come.
        case further(SeekRequest)

        var request: SeekRequest {
            switch self {
            case .next(let request), .settle(let request), .further(let request): request
            }
        }
    }

    enum Action: Hashable, Sendable {
        /// Nothing, or nothing yet.
        case none
        case begin(SeekRequest)
        /// The follow-up is void: another item is on the screen.
        case drop
    }

    // MARK: Events

    /// Requests a seek within an item.
    mutating func request(_ request: SeekRequest) -> Action {
        switch self {
        case .requested(let present, let next) where present.isReplaceable(by: request):
            self = .requested(present, then: next.joined(by: request))
            return .none
        case .carriedOut(let present, let next) where present.isReplaceable(by: request):
            self = .carriedOut(present, then: next.joined(by: request))
            return .none
        case .followed(.settle(let target)) where target.isReplaceable(by: request),
            .followed(.further(let target)) where target.isReplaceable(by: request):
            self = .followed(.further(request))
            return .none
        case .none, .requested, .carriedOut, .followed:
            return skip(to: request)
        }
    }

    /// Requests a move that waits for nothing: to an item, or to the beginning of one.
    mutating func skip(to request: SeekRequest) -> Action {
        self = .requested(request, then: nil)
        return .begin(request)
    }

    /// Notes that the feeder goes there by itself, as at the start.
    mutating func expect(_ request: SeekRequest) { self = .carriedOut(request, then: nil) }

    /// Drops all requests.
    mutating func clear() { self = .none }

    /// Takes the request that the feeder has to carry out; nil if there is none.
    mutating func take() -> SeekRequest? {
        guard case .requested(let request, let next) = self else { return nil }
        self = .carriedOut(request, then: next)
        return request
    }

    /// Notes that a frame of an item is committed. It is of the current generation: older ones are dropped when a request begins.
    mutating func frameShown() {
        guard case .carriedOut(_, let next) = self else { return }
        self = next.map { .followed($0) } ?? .none
    }

    /// Begins the follow-up: the first frame of the generation is on the screen. It belongs to `item` (nil is the bare background) and lies
    /// at `time` of that.
    mutating func followUp(in item: QueueItem.ID?, at time: MediaTime) -> Action {
        let next: FollowUp
        switch self {
        case .carriedOut(let present, .some(let following)):
            next = following
            self = .carriedOut(present, then: nil)
        case .followed(let following):
            next = following
            self = .none
        case .none, .requested, .carriedOut(_, .none): return .none
        }
        guard next.request.position.item == item else { return .drop }
        switch next {
        case .settle(let target): return skip(to: target)
        case .next(let target), .further(let target):
            guard target.precision == .exact, let end = target.time else { return skip(to: target) }
            var quick = target
            quick.precision = .keyFrame(after: end > time ? time : nil)
            self = .requested(quick, then: .settle(target))
            return .begin(quick)
        }
    }

    // MARK: State

    /// The request that the feeder has to carry out.
    var pending: SeekRequest? {
        if case .requested(let request, _) = self { request } else { nil }
    }

    /// The seek whose first frame is not on the screen.
    var underWay: SeekRequest? {
        switch self {
        case .requested(let request, _), .carriedOut(let request, _): request
        case .none, .followed: nil
        }
    }

    /// The request at the end of all moves, which a relative seek counts from; nil is the frame on the screen.
    var target: SeekRequest? { followUp?.request ?? underWay }

    /// Whether something begins after the first frame of the seek under way.
    var hasFollowUp: Bool { followUp != nil }

    private var followUp: FollowUp? {
        switch self {
        case .none: nil
        case .requested(_, let next), .carriedOut(_, let next): next
        case .followed(let next): next
        }
    }
}

extension SeekRequest {
    /// Whether a newer request has to wait for the first frame of this one. An item that is opened at its beginning is left at once.
    fileprivate func isReplaceable(by newer: SeekRequest) -> Bool { time != nil && position.item == newer.position.item }
}

extension SeekState.FollowUp? {
    /// Returns the follow-up after a newer request.
    fileprivate func joined(by newer: SeekRequest) -> SeekState.FollowUp {
        switch self {
        case nil, .next: .next(newer)
        case .settle, .further: .further(newer)
        }
    }
}
