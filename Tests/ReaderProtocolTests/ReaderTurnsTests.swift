import KioskMedia
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskReaderProtocol

@Suite struct ReaderTurnsTests {
    private enum Step {
        case send(ReaderOrder, UInt32)
        case hear(ReaderMessage, UInt32)
    }

    /// Returns whether the last of these messages is allowed. The messages before it must be.
    private func mayCome(_ steps: [Step]) -> Bool {
        var turns = ReaderTurns()
        for (index, step) in steps.enumerated() {
            switch step {
            case .send(let order, let serial): turns.sent(order, serial: serial)
            case .hear(let message, let serial):
                if (try? turns.take(message, serial: serial)) != nil { continue }
                #expect(index == steps.count - 1)
                return false
            }
        }
        return true
    }

    private static func open(_ role: OpenOrder.Role) -> Step {
        .send(.open(OpenOrder(role, "/a", reach: SourceReach(), pictureMemory: 0)), 1)
    }

    private let ready = Step.hear(.ready(ReaderReadiness()), 0)
    private let described = Step.hear(.described(ReaderDescription(Samples.asset)), 1)
    private let landed = Landing(.zero, pictures: 0, sound: 0)
    private var opened: [Step] { [ready, Self.open(.play), described, .hear(.landed(landed), 1)] }

    @Test func anItemIsOpenedAndPlayed() {
        #expect(mayCome(opened))
        #expect(mayCome(opened + [.send(.seek(.zero, .exact), 2), .hear(.problem("x"), 0), .hear(.landed(landed), 2)]))
        #expect(mayCome(opened + [.send(.catchUp, 2), .hear(.landed(Landing(nil, pictures: 0, sound: 0)), 2)]))
        let selected = Landing(nil, selection: .follows, pictures: 0, sound: 0)
        #expect(
            mayCome(opened + [.send(.select(.automatic, at: .zero), 2), .hear(.selected(ReaderTracks()), 2), .hear(.landed(selected), 2)]))
        #expect(mayCome([ready, Self.open(.play), .hear(.log("x"), 0), .hear(.failed(.isEmpty), 1)]))
    }

    @Test func whatNobodyWaitsForIsALie() {
        // A description before the reader is ready, and a second `ready`.
        #expect(!mayCome([Self.open(.play), described]))
        #expect(!mayCome([ready, ready]))
        // A description without an order, to another order, or twice. A landing before the description, and answers without an order.
        #expect(!mayCome([ready, described]))
        #expect(!mayCome([ready, Self.open(.play), .hear(.described(ReaderDescription(Samples.asset)), 2)]))
        #expect(!mayCome([ready, Self.open(.play), described, described]))
        #expect(!mayCome([ready, Self.open(.play), .hear(.landed(landed), 1)]))
        #expect(!mayCome(opened + [.hear(.landed(landed), 1)]))
        #expect(!mayCome(opened + [.hear(.failed(.isEmpty), 1)]))
        #expect(!mayCome(opened + [.send(.seek(.zero, .exact), 2), .hear(.landed(landed), 1)]))
        // An answer of the wrong kind.
        #expect(!mayCome(opened + [.send(.seek(.zero, .exact), 2), .hear(.landed(Landing(nil, pictures: 0, sound: 0)), 2)]))
        #expect(!mayCome(opened + [.send(.seek(.zero, .exact), 2), .hear(.selected(ReaderTracks()), 2)]))
        #expect(!mayCome(opened + [.send(.select(.automatic, at: .zero), 2), .hear(.landed(landed), 2)]))
        #expect(!mayCome([ready, Self.open(.play), .hear(.result(.noCover), 1)]))
        #expect(!mayCome([ready, Self.open(.cover), described]))
    }

    @Test func resultsAreOfTheirRole() {
        let size = PixelSize(width: 1, height: 1)
        let results: [(OpenOrder.Role, ReaderResult)] = [
            (.previews(size), .previews(true)), (.thumbnail(size), .thumbnail(ClipFacts(), nil)), (.cover, .noCover), (.times, .times(1)),
            (.cover, .cover(codec: "png", byteCount: 1)), (.file(folder: nil), .file), (.file(folder: nil), .noFile(.isEmpty)),
        ]
        for (role, _) in results {
            for (other, result) in results {
                #expect(mayCome([ready, Self.open(role), .hear(.result(result), 1)]) == (role == other))
            }
        }
        let preview = Step.hear(.result(.preview(nil)), 2)
        let begun = [ready, Self.open(.previews(size)), .hear(.result(.previews(true)), 1)]
        #expect(mayCome(begun + [.send(.preview(.zero), 2), preview]) && !mayCome(begun + [preview]))
    }

    @Test func fewRequestsAreOpen() {
        func request(_ number: UInt32) -> Step { .hear(.request(number, .file(path: "a", folder: nil)), 0) }
        #expect(mayCome(opened + [request(1), request(2), request(3), request(4)]))
        #expect(!mayCome(opened + [request(1), request(2), request(3), request(4), request(5)]))
        #expect(!mayCome(opened + [request(1), request(1)]))
        #expect(mayCome(opened + [request(1), request(2), request(3), request(4), .send(.grant(2), 0), request(5)]))
        #expect(mayCome(opened + [request(1), .send(.refuse(1, .isEmpty), 0), request(1)]))
    }

    @Test func onlyWhatHasDevicesHasSurfaces() {
        var order = OpenOrder(.play, "/a", reach: SourceReach(), pictureMemory: 0)
        let surface = Step.hear(.surface(ReaderSurface(number: 0, format: 0, modifier: 0, planes: [])), 0)
        #expect(!mayCome([ready, .send(.open(order), 1), surface]))
        order.usesDevices = true
        #expect(mayCome([ready, .send(.open(order), 1), surface, surface]) && !mayCome([.send(.open(order), 1), surface]))
        order.role = .cover
        #expect(!mayCome([ready, .send(.open(order), 1), surface]))
    }

    @Test func onlyWhatHasTheNetworkAsksForHosts() {
        func open(_ source: String, _ change: (inout OpenOrder) -> Void = { _ in }) -> Step {
            var order = OpenOrder(.play, source, reach: SourceReach(), pictureMemory: 0)
            change(&order)
            return .send(.open(order), 1)
        }
        let name = Step.hear(.request(1, .name("camera.local")), 0)
        #expect(mayCome([ready, open("rtsp://camera.local/"), name, name]) && !mayCome([open("rtsp://camera.local/"), name]))
        #expect(!mayCome([ready, open("/a"), name]) && !mayCome([ready, open("http://a/a") { $0.isKept = true }, name]))
    }

    @Test func aSourceIsLeftToTheDeviceOfAPlayerThatHasOne() {
        func open(_ role: OpenOrder.Role = .play, device: Bool = false, filters: Bool = false) -> Step {
            var order = OpenOrder(role, "/a", reach: SourceReach(), pictureMemory: 0)
            if device { order.decoder.elsewhere = DecoderChoice.Nodes(hasVideo: true) }
            order.needsFilters = filters
            return .send(.open(order), 1)
        }
        let device = Step.hear(.request(1, .device), 1), deinterlacer = Step.hear(.request(1, .deinterlacer), 1)
        #expect(mayCome([ready, open(device: true), device]) && !mayCome([ready, open(), device]))
        #expect(mayCome([ready, open(), deinterlacer]) && !mayCome([ready, open(filters: true), deinterlacer]))
        // Not for a cover, and not after the description.
        #expect(!mayCome([ready, open(.cover, device: true), device]) && !mayCome([ready, open(.cover), deinterlacer]))
        #expect(!mayCome([ready, open(device: true), described, device]) && !mayCome([ready, open(), described, deinterlacer]))
        var empty = OpenOrder(.play, "/a", reach: SourceReach(), pictureMemory: 0)
        empty.decoder.elsewhere = DecoderChoice.Nodes()
        #expect(!mayCome([ready, .send(.open(empty), 1), device]))
    }
}
