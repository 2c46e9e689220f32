import Glibc
import Testing

@testable import Display

struct AtomicRequestTests {
    @Test func whatWasAskedAndWhatTheKernelSaid() {
        let (fb, crtc) = (PropertyID(rawValue: 1, name: "FB_ID"), PropertyID(rawValue: 2, name: "CRTC_ID"))
        let changes: [AtomicRequest.Change] = [
            .init(kind: PlaneID.kind, object: 31, property: fb, value: 70),
            .init(kind: PlaneID.kind, object: 31, property: crtc, value: 42),
            .init(kind: CRTCID.kind, object: 42, property: PropertyID(rawValue: 3, name: "ACTIVE"), value: 1),
        ]
        let error = DeviceError("flip", code: -22, changes: changes)
        #expect("\(error)" == "flip: Invalid argument (plane 31: FB_ID 70, CRTC_ID 42; CRTC 42: ACTIVE 1)")
        #expect("\(DeviceError("open x", code: 2))" == "open x: No such file or directory")
    }

    /// To make the text of a message can change it.
    @Test func errnoIsReadFirst() {
        func text() -> String {
            errno = EBADF
            return "open"
        }
        errno = ENOSPC
        let error = DeviceError("\(text()) it")
        #expect(error.code == ENOSPC && error.action == "open it")
    }

    @Test func aRequestThatCannotBeMadeSaysWhy() throws {
        let card = DRMCard(
            path: "/dev/dri/card9", descriptor: try Descriptor.open("/dev/null"), isAtomic: true, hasMonotonicTimestamps: true)
        func message(_ body: (inout AtomicRequest) throws(DeviceError) -> Void) -> String {
            var request = AtomicRequest(card)
            do throws(DeviceError) {
                try body(&request)
                return ""
            } catch { return "\(error)" }
        }
        let fb = PropertyID(rawValue: 1, name: "FB_ID")
        let lacking = message { request throws(DeviceError) in
            request.set(PlaneID(rawValue: 31), nil, 1)
            request.set(PlaneID(rawValue: 31), fb, 70)
            try request.commit("flip", 0)
        }
        #expect(lacking == "set a property that plane 31 of /dev/dri/card9 lacks: Operation not supported")
        // /dev/null is no card.
        let refused = message { request throws(DeviceError) in
            request.set(PlaneID(rawValue: 31), fb, 69)
            request.reset()
            request.setIfOffered(PlaneID(rawValue: 31), nil, 1)
            request.set(PlaneID(rawValue: 31), fb, 70)
            try request.test("try it", 0)
        }
        #expect(refused == "try it: Inappropriate ioctl for device (plane 31: FB_ID 70)")
    }
}
