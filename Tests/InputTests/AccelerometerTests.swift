import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskInputCore

@Suite struct AccelerometerTests {
    private static func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: 3_000_000_000) + .milliseconds(milliseconds) }

    /// Returns the reading of a machine turned clockwise by `turned` degrees and leaning back by `lean` degrees.
    private static func reading(_ turned: Double, lean: Double = 0) -> (Double, Double, Double) {
        let (angle, back) = (turned * .pi / 180, lean * .pi / 180)
        return (sin(angle) * cos(back) * 9.8, -cos(angle) * cos(back) * 9.8, sin(back) * 9.8)
    }

    /// One step: the time, the machine's angle from then on, and the reported rotation.
    typealias Step = (Int64, Double, Rotation?)

    private func play(_ steps: [Step], lean: Double = 0) {
        var orientation = ScreenOrientation()
        for (time, turned, rotation) in steps {
            let (x, y, z) = Self.reading(turned, lean: lean)
            #expect(orientation.update(x: x, y: y, z: z, at: Self.at(time)) == rotation, "at \(time)")
        }
    }

    @Test func theFirstIsToldWhenItHasSettled() {
        play([(0, 0, nil), (200, 0, nil), (400, 0, nil), (500, 0, Rotation.none), (700, 0, nil), (5000, 0, nil)])
        play([(0, 90, nil), (600, 90, .clockwise270)])
        play([(0, 180, nil), (600, 180, .clockwise180)])
        play([(0, 270, nil), (600, 270, .clockwise90)])
        play([(0, -90, nil), (600, -90, .clockwise90)])
    }

    @Test func aTurnThatIsNotHeldIsNone() {
        play([
            (0, 0, nil), (500, 0, Rotation.none), (1000, 90, nil), (1400, 90, nil), (1450, 10, nil), (1600, 90, nil), (2000, 90, nil),
            (2100, 90, .clockwise270),
        ])
        // From one orientation through a second to a third.
        play([(0, 0, nil), (500, 0, Rotation.none), (1000, 90, nil), (1300, 180, nil), (1700, 180, nil), (1800, 180, .clockwise180)])
    }

    @Test func betweenTwoItStaysAsItWas() {
        play([
            (0, 0, nil), (500, 0, Rotation.none), (1000, 59, nil), (3000, 59, nil), (4000, 61, nil), (4500, 61, .clockwise270),
            (5000, 31, nil), (9000, 31, nil), (9500, 29, nil), (10_000, 29, Rotation.none),
        ])
        play([(0, 0, nil), (500, 0, Rotation.none), (1000, -59, nil), (3000, -59, nil), (4000, -61, nil), (4500, -61, .clockwise90)])
        play([
            (0, 180, nil), (500, 180, .clockwise180), (1000, -121, nil), (3000, -121, nil), (4000, -119, nil), (4600, -119, .clockwise90),
        ])
    }

    @Test func lyingFlatItStaysAsItWas() {
        play([(0, 90, nil), (9000, 90, nil)], lean: 61)
        play([(0, 90, nil), (900, 90, .clockwise270)], lean: 59)
        var orientation = ScreenOrientation()
        for (x, y, z) in [(0.0, 0.0, 0.0), (.nan, 0, 0), (.infinity, 1, 1)] {
            #expect(orientation.update(x: x, y: y, z: z, at: Self.at(0)) == nil && orientation.rotation == nil)
        }
    }

    @Test(arguments: [
        ("1, 0, 0; 0, 1, 0; 0, 0, 1", [1.0, 0, 0, 0, 1, 0, 0, 0, 1]), ("0,-1,0;1,0,0;0,0,1", [0, -1, 0, 1, 0, 0, 0, 0, 1]),
        ("1, 0, 0; 0, 1, 0", nil), ("0, 0, 0; 0, 0, 0; 0, 0, 0", nil), ("a, 0, 0; 0, 1, 0; 0, 0, 1", nil), ("", nil),
    ])
    func mountMatrices(_ text: String, _ matrix: [Double]?) { #expect(AccelerometerDevice.matrix(text) == matrix) }

    /// A folder with devices, as in sysfs.
    private struct Folder: ~Copyable {
        let path = "/tmp/kiosk-iio-\(UInt64.random(in: 0 ... .max))"

        init() { mkdir(path, 0o755) }

        func write(_ device: String, _ files: [String: String]) throws {
            mkdir("\(path)/\(device)", 0o755)
            for (name, text) in files {
                let file = try #require(fopen("\(path)/\(device)/\(name)", "w"))
                fputs(text + "\n", file)
                fclose(file)
            }
        }

        func read(_ device: String, _ x: Int, _ y: Int, _ z: Int) throws {
            try write(device, ["in_accel_x_raw": "\(x)", "in_accel_y_raw": "\(y)", "in_accel_z_raw": "\(z)"])
        }

        deinit { _ = system("rm -rf '\(path)'") }
    }

    @Test func whichDeviceAndHowItIsMounted() throws {
        let folder = Folder()
        #expect(AccelerometerDevice.all(in: folder.path).isEmpty && AccelerometerDevice.all(in: "/nowhere").isEmpty)
        try folder.write("iio:device0", ["in_illuminance_raw": "12"])
        try folder.read("iio:device1", 1, 2, 3)
        try folder.read("iio:device2", 10, 20, 30)
        try folder.write("iio:device2", ["label": "accel-display", "in_mount_matrix": "0, 1, 0; -1, 0, 0; 0, 0, 1"])
        try folder.read("iio:device3", 0, 0, 0)
        try folder.write("iio:device3", ["label": "accel-base"])
        let devices = AccelerometerDevice.all(in: folder.path)
        #expect(devices.map { String($0.path.dropFirst(folder.path.count + 1)) } == ["iio:device2", "iio:device1"])
        let (turned, plain) = (try #require(devices[0].read()), try #require(devices[1].read()))
        #expect(turned == (20, -10, 30) && plain == (1, 2, 3))
        try folder.write("iio:device1", ["in_accel_y_raw": ""])
        #expect(devices[1].read() == nil)
    }

    /// The whole path: a machine stands upright, and then turns.
    @Test func turnsAreTold() throws {
        let folder = Folder()
        try folder.read("iio:device0", 0, -256, 10)
        let told = Monitor<[Rotation]>([])
        let accelerometer = Accelerometer(folder: folder.path)
        accelerometer.start { rotation, _ in told.signal { $0.append(rotation) } }
        defer { accelerometer.stop() }
        #expect(told.wait(until: .now + .seconds(120)) { $0 == [.none] ? true : nil } == true)
        try folder.read("iio:device0", 256, 0, 10)
        #expect(told.wait(until: .now + .seconds(120)) { $0 == [.none, .clockwise270] ? true : nil } == true)
    }
}
