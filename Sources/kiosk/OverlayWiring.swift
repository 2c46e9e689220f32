import Cache
import Glibc
import KioskCommands
import KioskConfiguration
import KioskContent
import KioskControlsCore
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary
import Logging
import Remote

/// The overlays: the board that draws them, their files, and the requests of programs.
final class OverlayWiring: Sendable {
    private struct State {
        /// The watches of files; the key also says whether the file is shown as a picture.
        var watches: [Watched: PlaylistExpansion] = [:]
        /// The news feeds, by address.
        var feeds: [String: FeedWatch] = [:]
        var configuration: Configuration
        /// The network settings for feeds.
        var network = StreamSettings()
    }

    private struct Watched: Hashable {
        var file: String, isPicture: Bool
    }

    private let board: OverlayBoard
    private let state: Monitor<State>
    private let log = Logger(label: "overlay")

    /// The most bytes of a text file to read.
    private static let longestText = 64 << 10
    /// The most lines to show.
    private static let mostLines = 500
    /// The largest width and height of a kept picture.
    private static let largestPicture = 2048

    init(_ configuration: Configuration, player: PlaybackEngine, display: DisplayOutput) {
        board = OverlayBoard(configuration, player: player, screen: display)
        state = Monitor(State(configuration: configuration))
        watch(configuration)
        follow(configuration)
    }

    func setConfiguration(_ configuration: Configuration) {
        let isSame = state.withLock { state in
            defer { state.configuration = configuration }
            return state.configuration.overlays == configuration.overlays && state.configuration.place == configuration.place
                && state.configuration.display.safeArea == configuration.display.safeArea
                && state.configuration.network == configuration.network
        }
        if isSame { return }
        board.setConfiguration(configuration)
        watch(configuration)
        follow(configuration)
    }

    /// Carries out a program's request; returns the state of the overlays after it.
    func handle(_ name: String?, _ text: String?, for time: MediaTime?) throws(ControlRefusal) -> [String: JSONValue] {
        if let name, !board.say(text, on: name, for: time) {
            throw ControlRefusal(code: "too-many", message: "there are too many overlays that kiosk.conf does not name")
        }
        return [
            "overlays": .array(
                board.all.map { overlay in
                    .object([
                        "name": overlay.name.json, "text": overlay.text?.json ?? .null,
                        "left": overlay.left.map { .number($0.seconds.rounded()) } ?? .null,
                    ])
                })
        ]
    }

    /// Watches the overlays' files.
    private func watch(_ configuration: Configuration) {
        let wanted = Set(
            configuration.overlays.compactMap { overlay in overlay.file.map { Watched(file: $0, isPicture: overlay.kind == .image) } })
        state.withLock { state in
            for (watched, watch) in state.watches where !wanted.contains(watched) {
                watch.stop()
                state.watches[watched] = nil
            }
            for watched in wanted where state.watches[watched] == nil {
                let file = watched.file
                let watch = PlaylistExpansion(file: file)
                state.watches[watched] = watch
                watch.start { [board, log, readers = configuration.readers] news in
                    switch news {
                    case .items(let items, _):
                        let isThere = items.first?.version != nil
                        if !isThere { log.warning("\(file) is missing: the overlay shows nothing until the file is there") }
                        if watched.isPicture {
                            board.setPicture(isThere ? Self.picture(file, readers, log) : nil, of: file)
                        } else {
                            board.setText(isThere ? Self.text(file, log) : nil, of: file)
                        }
                    case .problem(let problem): log.warning("\(problem)")
                    case .note, .inBetween: break
                    }
                }
            }
        }
    }

    /// Follows the overlays' news feeds.
    private func follow(_ configuration: Configuration) {
        let wanted = Set(configuration.overlays.compactMap(\.feed))
        state.withLock { state in
            let isAnother = state.network != configuration.network
            state.network = configuration.network
            for (address, feed) in state.feeds where isAnother || !wanted.contains(address) {
                feed.stop()
                state.feeds[address] = nil
            }
            for address in wanted where state.feeds[address] == nil {
                let feed = FeedWatch(address, configuration.network)
                state.feeds[address] = feed
                feed.start { [board, log] news in
                    switch news {
                    case .titles(let titles): board.setText(titles.joined(separator: "\n"), of: address)
                    case .problem(let problem): log.warning("\(problem)")
                    }
                }
            }
        }
    }

    /// Returns the lines of a UTF-8 file, without control characters; nil if it is unreadable.
    static func text(_ file: String, _ log: Logger) -> String? {
        guard let bytes = SmallFile.bytes(file, atMost: longestText) else {
            log.warning("\(file) cannot be read: \(SystemError())")
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let lines = text.split(whereSeparator: \.isNewline).prefix(mostLines).map { line in
            String(
                String.UnicodeScalarView(line.unicodeScalars.filter { $0.properties.generalCategory != .control && $0 != "\u{feff}" }))
        }
        return lines.joined(separator: "\n")
    }

    /// Returns a picture that a reader has decoded; logs a failure and returns nil.
    private static func picture(_ file: String, _ readers: Readers, _ log: Logger) -> SmallPicture? {
        do throws(MediaError) {
            var order = OpenOrder(.play, file)
            // librsvg reads drawings, if libavcodec has it, in the reader's process, which has no rights.
            (order.settings.furtherFormats, order.settings.furtherCodecs) = (["svg_pipe"], ["svg"])
            let client = try ReaderClient(order, by: readers, Interruption())
            if let frame = client.nextFrame()?.intoFrame(),
                let picture = frame.fitted(into: largestPicture, largestPicture, keepsAlpha: true)
            {
                return picture
            }
            log.warning("\(file): there is no picture in it")
        } catch { log.warning("\(file): \(error.reason.text)") }
        return nil
    }

    func stop() {
        board.stop()
        state.withLock { state in
            for watch in state.watches.values { watch.stop() }
            for feed in state.feeds.values { feed.stop() }
            (state.watches, state.feeds) = ([:], [:])
        }
    }
}
