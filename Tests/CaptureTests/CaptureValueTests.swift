import CKioskFFmpeg
import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskCaptureCore

@Suite struct CaptureValueTests {
    // MARK: Formats

    /// The formats of a USB 2 webcam, which sends large pictures only as JPEG.
    static let webcam: [CameraFormat] = [
        format("YUYV", 640, 480, 30), format("YUYV", 1280, 720, 10), format("YUYV", 1920, 1080, 5), format("MJPG", 640, 480, 30),
        format("MJPG", 1280, 720, 30), format("MJPG", 1280, 720, 60), format("MJPG", 1920, 1080, 30), format("RG10", 1280, 720, 60),
    ]

    static func format(_ code: String, _ width: Int, _ height: Int, _ rate: UInt32) -> CameraFormat {
        CameraFormat(code: code, width: width, height: height, numerator: 1, denominator: rate)
    }

    @Test(
        arguments: [
            (nil, "1280x720@30 MJPG"), ("1280x720@10", "1280x720@10 YUYV"), ("1280x720@60", "1280x720@60 MJPG"),
            ("640x480", "640x480@30 YUYV"),
            ("1920x1080", "1920x1080@30 MJPG"), ("@10", "1280x720@10 YUYV"), ("@5", "1920x1080@5 YUYV"), ("800x600", nil),
            ("640x480@60", nil),
        ] as [(String?, String?)])
    func theBestFormat(wanted: String?, expected: String?) throws {
        let mode = try wanted.map { try #require(CameraMode($0)) } ?? CameraMode()
        #expect(CameraFormat.choose(mode, from: Self.webcam)?.description == expected)
    }

    @Test func whatIsOfferedIsListed() {
        let hostile = [Self.format("YUYV", Int(UInt32.max), Int(UInt32.max), .max), Self.format("YUYV", 1, Int(UInt32.max), 0)]
        #expect(CameraFormat.choose(CameraMode(), from: Self.webcam + hostile) == CameraFormat.choose(CameraMode(), from: Self.webcam))
        #expect(CameraFormat.list(hostile).hasPrefix("4294967295x4294967295"))
        #expect(CameraFormat.list(Self.webcam) == "1920x1080 at 30, 5; 1280x720 at 60, 30, 10; 640x480 at 30")
        #expect(CameraFormat.choose(CameraMode(), from: [Self.format("RG10", 1280, 720, 60)]) == nil)
    }

    @Test func fractionsOfRates() throws {
        let ntsc = CameraFormat(code: "YUYV", width: 640, height: 480, numerator: 1001, denominator: 30000)
        #expect(CameraFormat.choose(try #require(CameraMode("640x480@30")), from: [ntsc]) == ntsc)
        #expect(ntsc.description == "640x480@29.97 YUYV")
    }

    @Test(arguments: ["1280x720@30", "1280x720", "@25", "640x480@12.5"]) func modesAreRead(text: String) {
        #expect(CameraMode(text)?.description == text)
    }

    @Test(arguments: [
        "", "x", "1280", "1280x", "1280x720@", "1280x720@0", "1280x720@1000", "1x1", "99999x1", "a@b", "1280x720@30@3", "-1x720",
    ])
    func otherModesAreNot(text: String) { #expect(CameraMode(text) == nil) }

    // MARK: Cameras

    static let cameras = [
        Camera(path: "/dev/video0", name: "HD Webcam C525", bus: "usb-0000:00:14.0-5", position: nil),
        Camera(path: "/dev/video2", name: "Front Camera", bus: "usb-1", position: .front),
        Camera(path: "/dev/video4", name: "ov8865", bus: "platform:isp", position: .rear),
    ]

    @Test(arguments: [("auto", 0), ("front", 1), ("rear", 2), ("/dev/video2", 1), ("c525", 0), ("platform", 2)])
    func theCameraThatIsMeant(text: String, index: Int) throws {
        #expect(try #require(CameraChoice(text)).choose(Self.cameras, refused: []) == Self.cameras[index])
    }

    @Test func errorsSayWhatThereIs() {
        func failure(_ text: String, _ cameras: [Camera], refused: [(path: String, errno: Int32)] = []) -> String {
            do throws(CaptureError) {
                _ = try CameraChoice(text)!.choose(cameras, refused: refused)
                return ""
            } catch { return error.description }
        }
        #expect(failure("auto", []) == "there is no camera: plug one in; `kiosk devices` lists the cameras")
        #expect(
            failure("auto", [], refused: [("/dev/video0", EACCES)]) == "no permission to open /dev/video0: add the user to the group video")
        #expect(
            failure("front", [Self.cameras[0]]) == "there is no camera front; there are HD Webcam C525 (/dev/video0)")
        #expect(failure("/dev/null", [Self.cameras[2]]) == "/dev/null is not a camera; there are ov8865 (/dev/video4, rear)")
        #expect(failure("/dev/video77", []) == "there is no camera: plug one in; `kiosk devices` lists the cameras")
    }

    @Test(
        arguments: [
            (nil, nil, "Integrated Front Camera", Camera.Position.front), (1, "front", "x", .rear), (nil, "back", "Front", .rear),
            (2, nil, "USB Camera", nil), (nil, nil, "Frontier Cam", nil), (0, nil, "", .front),
        ] as [(Int32?, String?, String, Camera.Position?)])
    func whereACameraLooks(orientation: Int32?, panel: String?, name: String, expected: Camera.Position?) {
        #expect(Camera.position(orientation: orientation, panel: panel, name: name) == expected)
    }

    @Test func theMicrophoneOfTheCamera() {
        let microphones = [
            Microphone(pcm: "hw:CARD=Loopback,DEV=0", name: "", card: 0, isVirtual: true),
            Microphone(pcm: "hw:CARD=PCH,DEV=0", name: "", card: 1, isVirtual: false),
            Microphone(pcm: "hw:CARD=C525,DEV=0", name: "", card: 2, isVirtual: false),
        ]
        let devices = [
            "/sys/class/video4linux/video0/device": "/sys/devices/usb1/1-5/1-5:1.0",
            "/sys/class/sound/card1/device": "/sys/devices/pci/0000:00:1f.3",
            "/sys/class/sound/card2/device": "/sys/devices/usb1/1-5/1-5:1.2",
        ]
        #expect(Microphone.choose(microphones, beside: Self.cameras[0]) { devices[$0] }?.card == 2)
        #expect(Microphone.choose(microphones, beside: Self.cameras[1]) { devices[$0] }?.card == 1)
        #expect(Microphone.choose([microphones[0]], beside: Self.cameras[0]) { devices[$0] } == nil)
    }

    // MARK: Times of pictures

    @Test func jitterIsSmoothedAndDropsAreCounted() {
        var clock = FrameClock(frameDuration: .milliseconds(33))
        let origin = HostTime(nanoseconds: 1_000_000_000)
        let period = 1.0 / 29.97
        var seed: UInt64 = 7
        var (worst, number, dropped) = (0.0, UInt32.max - 20, 0)
        var before = HostTime(nanoseconds: 0)
        for index in 0..<3000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let jitter = Double(seed >> 40) / Double(1 << 24) * 0.004 - 0.002
            defer { number &+= 1 }
            if [500, 501, 1700].contains(index) {
                dropped += 1
                continue
            }
            let truth = Double(index) * period
            let time = clock.time(ofPicture: number, stamp: origin + .seconds(truth + jitter))
            #expect(time > before)
            before = time
            if index > 100 { worst = max(worst, abs((time - origin).seconds - truth)) }
        }
        #expect(clock.droppedCount == 3 && dropped == 3)
        #expect(worst < 0.0015, "\(worst * 1000) ms of 2 ms jitter")
        #expect(abs(clock.frameDuration.seconds - period) < 0.0005)
    }

    @Test func inTheDarkThereAreFewerPictures() {
        var clock = FrameClock(frameDuration: .milliseconds(33))
        var time = HostTime(nanoseconds: 0)
        for index in 0..<100 as Range<UInt32> {
            time += index < 50 ? .milliseconds(33) : .milliseconds(66)
            let told = clock.time(ofPicture: index, stamp: time)
            #expect(abs((told - time).seconds) < 0.002)
        }
        #expect(clock.droppedCount == 0)
        #expect(abs(clock.frameDuration.seconds - 0.066) < 0.001)
    }

    @Test func driversThatDoNotCount() {
        var clock = FrameClock(frameDuration: .milliseconds(40))
        for index in 0..<50 {
            let stamp = HostTime(nanoseconds: Int64(index) * 40_000_000)
            #expect(clock.time(ofPicture: 0, stamp: stamp) == stamp)
        }
        #expect(clock.droppedCount == 0)
    }

    // MARK: The film's time

    @Test func pausesAreCutOut() {
        var film = FilmClock()
        func at(_ seconds: Double) -> MediaTime? { film.film(HostTime(nanoseconds: 0) + .seconds(seconds)) }
        func host(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 0) + .seconds(seconds) }
        #expect(at(5) == nil)
        film.begin(at: host(10))
        film.begin(at: host(11))
        #expect(at(9.99) == nil)
        #expect(at(12) == .seconds(2))
        film.pause(at: host(13))
        #expect(at(12.5) == .seconds(2.5))
        #expect(at(13) == nil)
        film.resume(at: host(20))
        #expect(at(12.5) == .seconds(2.5))
        #expect(at(15) == nil)
        #expect(at(20) == .seconds(3))
        film.pause(at: host(21))
        film.resume(at: host(22))
        #expect(at(20.5) == .seconds(3.5))
        #expect(at(12.5) == .seconds(2.5))
        #expect(at(23) == .seconds(5))
        film.resume(at: host(24))
        #expect(at(25) == .seconds(7))
    }

    // MARK: Files

    private func boxes(_ list: [(String, Int64)], size: Int64) -> RecordingFile.Extent? {
        var (offset, table) = (Int64(0), [Int64: (String, Int64)]())
        for (type, size) in list {
            table[offset] = (type, size)
            offset += size
        }
        return RecordingFile.Extent(fileSize: size) { table[$0].map { (type: $0.0, size: $0.1) } }
    }

    @Test func whatOfADraftCanBePlayed() {
        let film: [(String, Int64)] = [("ftyp", 28), ("moov", 1000), ("moof", 200), ("mdat", 5000), ("moof", 200), ("mdat", 4000)]
        #expect(boxes(film, size: 10428)?.byteCount == 10428)
        #expect(boxes(film, size: 10428)?.fragments == 2)
        // Truncated in the last fragment, in that fragment's header, at the first fragment's end, and before it.
        #expect(boxes(film, size: 10000)?.byteCount == 6228)
        #expect(boxes(film, size: 6300)?.byteCount == 6228)
        #expect(boxes(film, size: 6228)?.byteCount == 6228)
        #expect(boxes(film, size: 6000) == nil)
        #expect(boxes(film, size: 0) == nil)
        // The draft of an export, and a damaged file.
        #expect(boxes([("ftyp", 28), ("free", 8), ("mdat", 5000)], size: 5036) == nil)
        #expect(boxes([("ftyp", 0)], size: 100) == nil)
    }
}
