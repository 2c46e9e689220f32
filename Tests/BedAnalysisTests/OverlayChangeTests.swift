import Bed
import Testing

struct OverlayChangeTests {
    private func log(_ planes: [String]) -> [Vblank] {
        planes.enumerated().compactMap { index, words in
            Vblank(line: "\(index + 1) \(index * 16_667) 0 1 0 \(index + 1) 31:70:XR24:0,0,1280,720:0,0,1280,720:1 \(words)", start: 0)
        }
    }

    @Test func `what comes and goes over the picture`() {
        let (a, b) = ("40:80:AR24:0,0,100,50:0,0,100,50:1", "41:82:AR24:0,0,64,64:600,300,64,64:1")
        let log = log(["", a, a, a.replacing("40:80", with: "40:81"), "\(a) \(b)", b, b.replacing("600,300", with: "601,300"), "", ""])
        #expect(log.count == 9)
        let changes = OverlayChange.all(in: log)
        #expect(changes.map(\.sequence) == [2, 4, 5, 6, 7, 8])
        #expect(changes.map(\.kind) == [.shown, .changed, .changed, .changed, .changed, .hidden])
        #expect(changes[0].time == .microseconds(16_667))
        #expect(log[4].overlays.map(\.plane) == [40, 41])
    }

    /// A video plane above the background is not an overlay. Nor is the lowest plane, whatever its format.
    @Test func `the picture's own planes`() {
        let video = "40:80:NV12:0,0,100,50:0,0,100,50:1"
        #expect(OverlayChange.all(in: log(["", video, ""])).isEmpty)
        let alone = Vblank(line: "1 0 0 1 0 1 31:70:AR24:0,0,1280,720:0,0,1280,720:1", start: 0)
        #expect(alone?.overlays.isEmpty == true)
    }
}
