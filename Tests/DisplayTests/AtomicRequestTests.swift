import Glibc
import KioskPlatform
import KioskPlayback
import Testing

@testable import KioskDisplayCore

struct AtomicRequestTests {
    @Test func whatWasAskedAndWhatTheKernelSaid() {
        let (fb, crtc) = (PropertyID<PlaneID>(rawValue: 1, name: "FB_ID"), PropertyID<PlaneID>(rawValue: 2, name: "CRTC_ID"))
        let changes: [AtomicRequest.Change] = [
            .init(PlaneID(rawValue: 31), fb, 70),
            .init(PlaneID(rawValue: 31), crtc, 42),
            .init(CRTCID(rawValue: 42), PropertyID(rawValue: 3, name: "ACTIVE"), 1),
        ]
        let error = DeviceError("flip", code: -22, changes: changes)
        #expect("\(error)" == "flip: Invalid argument (plane 31: FB_ID 70, CRTC_ID 42; CRTC 42: ACTIVE 1)")
        #expect("\(DeviceError("open x", code: 2))" == "open x: No such file or directory")
    }

    /// Building the text of a message can change errno.
    @Test func errnoIsReadFirst() {
        func text() -> String {
            errno = EBADF
            return "open"
        }
        errno = ENOSPC
        let error = DeviceError("\(text()) it")
        #expect(error.call.error.code == ENOSPC && error.call.action == "open it")
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
        let fb = PropertyID<PlaneID>(rawValue: 1, name: "FB_ID")
        let lacking = message { request throws(DeviceError) in
            request.set(PlaneID(rawValue: 31), nil, 1)
            request.set(PlaneID(rawValue: 31), fb, 70)
            try request.commit("flip", 0)
        }
        #expect(lacking == "set a property that plane 31 of /dev/dri/card9 lacks: Operation not supported")
        // /dev/null is not a DRM device.
        let refused = message { request throws(DeviceError) in
            request.set(PlaneID(rawValue: 31), fb, 69)
            request.reset()
            request.setIfOffered(PlaneID(rawValue: 31), nil, 1)
            request.set(PlaneID(rawValue: 31), fb, 70)
            try request.test("try it", 0)
        }
        #expect(refused == "try it: Inappropriate ioctl for device (plane 31: FB_ID 70)")
    }

    /// The request that shows something on a plane which another program left rotated and half transparent.
    @Test func aPlaneIsSetUpWhole() throws {
        let card = DRMCard(
            path: "/dev/dri/card9", descriptor: try Descriptor.open("/dev/null"), isAtomic: true, hasMonotonicTimestamps: true)
        let names = ["FB_ID", "CRTC_ID", "SRC_X", "SRC_Y", "SRC_W", "SRC_H", "CRTC_X", "CRTC_Y", "CRTC_W", "CRTC_H"]
        var entries: [String: Property] = [:]
        for (index, name) in names.enumerated() { entries[name] = .init(id: UInt32(index + 1), value: 9) }
        let geometry =
            "FB_ID 70, CRTC_ID 7, SRC_X 0, SRC_Y 0, SRC_W 655360, SRC_H 1310720, CRTC_X 4, CRTC_Y 18446744073709551614, CRTC_W 10, CRTC_H 20"
        func asked(_ body: (PlaneProperties, inout AtomicRequest) -> Void) -> String {
            var request = AtomicRequest(card)
            body(PlaneProperties(PropertyTable(entries), of: PlaneID(rawValue: 40)), &request)
            do throws(DeviceError) { try request.test("try", 0) } catch { return error.call.changes.text }
            return ""
        }
        func show(_ plane: PlaneProperties, _ request: inout AtomicRequest) {
            let place = PixelRectangle(x: 4, y: -2, width: 10, height: 20)
            plane.show(FramebufferID(rawValue: 70), at: place, on: CRTCID(rawValue: 7), zpos: 2, in: &request)
        }
        #expect(asked(show) == "plane 40: \(geometry)")
        entries["rotation"] = .init(id: 11, value: 1, choices: ["rotate-0": 0])
        entries["zpos"] = .init(id: 12, value: 0, range: 0...0, isImmutable: true)
        #expect(asked(show) == "plane 40: \(geometry), rotation 1")
        entries["rotation"]?.value = 4
        entries["alpha"] = .init(id: 13, value: 0x7fff)
        entries["pixel blend mode"] = .init(id: 14, value: 0, choices: ["None": 0, "Pre-multiplied": 1, "Coverage": 2])
        entries["zpos"] = .init(id: 12, value: 0, range: 0...3)
        #expect(asked(show) == "plane 40: \(geometry), rotation 1, alpha 65535, pixel blend mode 1, zpos 2")
        #expect(asked { $0.hide(in: &$1) } == "plane 40: FB_ID 0, CRTC_ID 0")
    }
}
