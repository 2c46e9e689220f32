import KioskPlatform

/// The picture of the screen, which viewers share: the player makes one a second at most, and none while nobody asks.
final class SharedScreen: Sendable {
    private struct State {
        var picture: [UInt8] = []
        var takenAt: HostTime?
        var error: APIError?
        var isTaking = false
    }

    private let player: PlayerLink
    private let state = Monitor(State())
    private static let interval = MediaTime.seconds(1)

    init(_ player: PlayerLink) { self.player = player }

    /// Returns a PNG that is at most a second old. Blocks.
    func picture() throws(APIError) -> [UInt8] {
        let begin = HostTime.now
        let turn: Turn? = state.wait(until: begin + .seconds(12)) { state in
            if let takenAt = state.takenAt, begin - takenAt < Self.interval {
                return .taken(state.error.map { .failure($0) } ?? .success(state.picture))
            }
            if state.isTaking { return nil }
            state.isTaking = true
            return .own
        }
        switch turn {
        case .taken(let result): return try result.get()
        case .own: return try take()
        case nil: throw APIError(504, "not-yet", "the player makes no picture")
        }
    }

    private enum Turn {
        case taken(Result<[UInt8], APIError>)
        /// This thread takes the picture.
        case own
    }

    private func take() throws(APIError) -> [UInt8] {
        let result: Result<[UInt8], APIError>
        do throws(APIError) {
            guard let picture = try player.ask("screenshot").attachment else {
                throw APIError(502, "no-picture", "the answer has no picture")
            }
            result = .success(picture)
        } catch { result = .failure(error) }
        state.signal { state in
            (state.isTaking, state.takenAt) = (false, .now)
            switch result {
            case .success(let picture): (state.picture, state.error) = (picture, nil)
            case .failure(let error): (state.picture, state.error) = ([], error)
            }
        }
        return try result.get()
    }

    /// Drops the picture once nobody has asked for a while: it can have megabytes.
    func forget() {
        state.withLock { state in
            if let takenAt = state.takenAt, .now - takenAt > .seconds(10) { (state.picture, state.takenAt) = ([], nil) }
        }
    }
}
