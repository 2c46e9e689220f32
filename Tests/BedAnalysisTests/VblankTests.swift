import Bed
import Testing

struct VblankTests {
    @Test func `a line of the kernel's log`() throws {
        let line = "106 1921389 46 1 d2eba2cbc2d59bbd 26 35:66:XR24:0,0,1280,720:0,0,1280,720:1 37:70:NV12:8,4,640,360:10,-20,320,180:4"
        let vblank = try #require(Vblank(line: line, start: 921_389))
        #expect(vblank.sequence == 106 && vblank.number == 26 && vblank.commits == 1 && vblank.hash == 0xd2eb_a2cb_c2d5_9bbd)
        #expect(vblank.time == .seconds(1) && vblank.lateness == .microseconds(46))
        #expect(vblank.planes.count == 2)
        #expect(vblank.planes[1].format == "NV12" && vblank.planes[1].rotation == 4 && vblank.planes[1].framebuffer == 70)
        #expect(vblank.planes[1].source == Vblank.Rectangle(x: 8, y: 4, width: 640, height: 360))
        #expect(vblank.planes[1].destination == Vblank.Rectangle(x: 10, y: -20, width: 320, height: 180))
    }

    @Test(arguments: ["", "1 2 3", "106 1921389 46 1 xyz 26", "106 1921389 46 1 d2 26 35:66:XR24:0,0,1280"])
    func `a line that was cut off is no vblank`(line: String) { #expect(Vblank(line: line, start: 0) == nil) }
}
