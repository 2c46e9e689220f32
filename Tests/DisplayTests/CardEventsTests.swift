import CKioskDRM
import Glibc
import KioskPlatform
import Synchronization
import Testing

@testable import KioskDisplayCore

@Suite struct CardEventsTests {
    private static let (a, b) = (CRTCID(rawValue: 41), CRTCID(rawValue: 42))

    /// A card's descriptor, as a pipe: the test writes events to one end, and the code reads them at the other.
    private final class Card {
        private(set) var ends: [Int32] = [0, 0]
        init() { precondition(pipe(&ends) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) }
        deinit { for end in ends { close(end) } }
        var descriptor: Int32 { ends[0] }

        func tell(_ crtc: CRTCID, id: UInt64, sequence: UInt32 = 1, type: Int32 = DRM_EVENT_FLIP_COMPLETE) {
            var event = drm_event_vblank()
            event.base.type = UInt32(type)
            event.base.length = UInt32(MemoryLayout<drm_event_vblank>.size)
            (event.crtc_id, event.user_data, event.sequence, event.tv_sec, event.tv_usec) = (crtc.rawValue, id, sequence, 2, 500)
            _ = withUnsafeBytes(of: event) { write(ends[1], $0.baseAddress, $0.count) }
        }
    }

    @Test func whoeverReadsEachHasItsOwn() throws {
        let (card, events) = (Card(), CardEvents())
        let woken = Mutex<[CRTCID]>([])
        for crtc in [Self.a, Self.b] { _ = events.add(crtc) { woken.withLock { $0.append(crtc) } } }
        card.tell(Self.b, id: 7)
        card.tell(Self.a, id: 8, sequence: 60)
        card.tell(Self.b, id: 9)
        let first = try events.next(for: Self.a, from: card.descriptor)
        #expect(first == .init(crtc: Self.a, id: 8, sequence: 60, stamp: HostTime(nanoseconds: 2_000_500_000)))
        #expect(woken.withLock { $0 } == [Self.b, Self.b])
        #expect(try events.next(for: Self.a, from: card.descriptor) == nil)
        #expect(try events.next(for: Self.b, from: card.descriptor)?.id == 7)
        #expect(try events.next(for: Self.b, from: card.descriptor)?.id == 9)
        #expect(try events.next(for: Self.b, from: card.descriptor) == nil)
    }

    @Test func whatIsNobodysIsLeftOut() throws {
        let (card, events) = (Card(), CardEvents())
        let number = events.add(Self.a) {}
        card.tell(Self.b, id: 1)
        card.tell(Self.a, id: 2, type: DRM_EVENT_VBLANK)
        card.tell(Self.a, id: 3)
        #expect(try events.next(for: Self.a, from: card.descriptor)?.id == 3)
        // A new screen takes the CRTC over before the old one leaves.
        let successor = events.add(Self.a) {}
        events.remove(Self.a, number)
        card.tell(Self.a, id: 4)
        #expect(try events.next(for: Self.a, from: card.descriptor)?.id == 4)
        events.remove(Self.a, successor)
        card.tell(Self.a, id: 5)
        #expect(try events.next(for: Self.a, from: card.descriptor) == nil)
    }

    /// Kernels before 4.12 do not name the CRTC; ids are unique in the process.
    @Test func anEventWithoutItsCRTCGoesToAll() throws {
        let (card, events) = (Card(), CardEvents())
        for crtc in [Self.a, Self.b] { _ = events.add(crtc) {} }
        card.tell(.none, id: 5)
        #expect(try events.next(for: Self.a, from: card.descriptor)?.id == 5)
        #expect(try events.next(for: Self.b, from: card.descriptor)?.id == 5)
    }

    @Test func moreThanOneReadHolds() throws {
        let (card, events) = (Card(), CardEvents())
        _ = events.add(Self.a) {}
        for id in 1...20 as ClosedRange<UInt64> { card.tell(Self.a, id: id) }
        var ids: [UInt64] = []
        while let event = try events.next(for: Self.a, from: card.descriptor) { ids.append(event.id) }
        #expect(ids == Array(1...20))
    }

    @Test func aCardThatHasGoneIsAnError() throws {
        let events = CardEvents()
        _ = events.add(Self.a) {}
        #expect(throws: DeviceError.self) { try events.next(for: Self.a, from: -1) }
    }

    @Test func idsAreUnique() {
        let ids = Mutex<[UInt64]>([])
        let threads = (0..<4).map { _ in
            Thread("ids") {
                let own = (0..<500).map { _ in FlipID.next() }
                ids.withLock { $0 += own }
            }
        }
        for thread in threads { thread.join() }
        #expect(Set(ids.withLock { $0 }).count == 2000)
    }
}
