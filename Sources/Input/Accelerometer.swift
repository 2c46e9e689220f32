import Glibc
import KioskPlatform
import KioskVocabulary
import Logging
import Synchronization

/// Reads an accelerometer of the kernel's iio kind five times a second. Reports the rotation that the picture needs
/// (``ScreenOrientation``).
///
/// Uses a thread of its own: a reading is a transfer on a slow bus. It finds a device that comes later, or goes and comes back, within some
/// seconds.
package final class Accelerometer: Sendable {
    /// The folder in which the kernel lists iio devices.
    package static let folder = "/sys/bus/iio/devices"
    private static let readInterval = MediaTime.milliseconds(200)
    private static let lookInterval = MediaTime.seconds(5)

    private let folder: String
    private let wakeUp = WakeUp()
    private let isStopped = Atomic(false)

    /// Creates a reader that looks for devices in `folder`.
    package init(folder: String = Accelerometer.folder) { self.folder = folder }

    /// Starts to read. `rotate` is called on a thread of this value's own, with the rotation and the time of the deciding reading. Call
    /// once.
    package func start(_ rotate: @escaping @Sendable (Rotation, HostTime) -> Void) {
        Thread("accelerometer") { [self] in run(rotate) }.detach()
    }

    /// Ends the reading. Does not wait for the thread: a bus may hang.
    package func stop() {
        isStopped.store(true, ordering: .releasing)
        wakeUp.wake()
    }

    private func run(_ rotate: (Rotation, HostTime) -> Void) {
        var orientation = ScreenOrientation()
        var device: AccelerometerDevice?
        var wasFound: Bool?
        while !isStopped.load(ordering: .acquiring) {
            if device == nil {
                device = AccelerometerDevice.all(in: folder).first
                if wasFound != (device != nil) {
                    log.notice("\(device.map { "accelerometer \($0.path), mount matrix \($0.matrix)" } ?? "no accelerometer in \(folder)")")
                    wasFound = device != nil
                }
            }
            if let reading = device?.read() {
                let now = HostTime.now
                if let rotation = orientation.update(x: reading.x, y: reading.y, z: reading.z, at: now),
                    !isStopped.load(ordering: .acquiring)
                {
                    rotate(rotation, now)
                }
            } else {
                device = nil
            }
            wakeUp.wait(until: .now + (device == nil ? Self.lookInterval : Self.readInterval))
        }
    }
}

/// An iio device with an accelerometer of three axes.
struct AccelerometerDevice {
    let path: String
    /// Maps the chip's axes to the machine's, row by row.
    let matrix: [Double]

    /// Returns the accelerometers in a folder. In a machine with two of them, the one in the lid comes first; the one beside the keyboard
    /// is ignored.
    static func all(in folder: String) -> [AccelerometerDevice] {
        var found: [(device: AccelerometerDevice, isDisplay: Bool)] = []
        for name in Folder.names(in: folder) {
            let path = "\(folder)/\(name)"
            guard name.hasPrefix("iio:device"), text("\(path)/in_accel_x_raw") != nil else { continue }
            let label = text("\(path)/label")
            if label == "accel-base" { continue }
            found.append((AccelerometerDevice(path: path, matrix: mountMatrix(path)), label == "accel-display"))
        }
        return found.sorted { ($0.isDisplay ? 0 : 1, $0.device.path) < ($1.isDisplay ? 0 : 1, $1.device.path) }.map(\.device)
    }

    /// Returns the current reading, in the machine's axes; nil if it cannot be read.
    func read() -> (x: Double, y: Double, z: Double)? {
        let raw = ["x", "y", "z"].compactMap { axis in Self.text("\(path)/in_accel_\(axis)_raw").flatMap { Double($0) } }
        guard raw.count == 3 else { return nil }
        let place = (0..<3).map { row in (0..<3).reduce(0) { $0 + matrix[row * 3 + $1] * raw[$1] } }
        return (place[0], place[1], place[2])
    }

    /// Returns the matrix of a device. udev's corrects the kernel's and comes first (ACCEL_MOUNT_MATRIX, from its hardware database). The
    /// kernel's is next, then the identity.
    private static func mountMatrix(_ path: String) -> [Double] {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let own = ["in_accel_mount_matrix", "in_mount_matrix", "mount_matrix"].lazy.compactMap { text("\(path)/\($0)") }
        let texts = [DeviceProperties.of("/dev/\(name)", names: ["ACCEL_MOUNT_MATRIX"])?.values.first, own.first]
        return texts.lazy.compactMap { $0 }.compactMap(matrix).first ?? [1, 0, 0, 0, 1, 0, 0, 0, 1]
    }

    /// Parses nine numbers separated by commas and semicolons: `0, 1, 0; -1, 0, 0; 0, 0, 1`.
    static func matrix(_ text: String) -> [Double]? {
        let values = text.split(whereSeparator: { ",; \t".contains($0) }).map { Double($0) }
        let numbers = values.compactMap { $0 }.filter(\.isFinite)
        return values.count == 9 && numbers.count == 9 && numbers.contains { $0 != 0 } ? numbers : nil
    }

    /// Returns the first line of a small file, without the blanks around it; nil if it cannot be read.
    private static func text(_ path: String) -> String? {
        guard let bytes = SmallFile.bytes(path, atMost: 256), !bytes.isEmpty else { return nil }
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self).split(separator: " ").joined(separator: " ")
    }
}
