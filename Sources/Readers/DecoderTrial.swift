import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

/// Decodes the beginning of a file by hardware and by software, and compares the pictures: for `kiosk devices --test`.
package struct DecoderTrial: Sendable {
    /// The decoder: `vaapi (…)`; `software` if no device took it.
    package private(set) var decoder = ""
    /// The number of pictures decoded, and of those compared.
    package private(set) var decoded = 0, compared = 0
    /// The average time of a picture, and the longest except the first, which opens the device.
    package private(set) var hardwareTime = MediaTime.zero, softwareTime = MediaTime.zero, worst = MediaTime.zero
    /// The greatest difference of a sample, and the peak signal-to-noise ratio of all in dB; nil if nothing could be compared. The ratio is
    /// also nil for equal pictures.
    package private(set) var difference: Int?, ratio: Double?
    /// The surfaces: `NV12, modifier 0x0, 1 object`, and the number of different ones.
    package private(set) var surface: String?, surfaces = 0
    /// The faults found.
    package private(set) var problems: [String] = []

    /// The most pictures, and the time limit.
    package static let mostPictures = 100, timeLimit = MediaTime.seconds(10)

    /// Decodes the beginning of `source` twice, with `device` or the first that takes it. Blocks at most a little longer than
    /// ``timeLimit``.
    package static func run(_ source: String, device: String? = nil, by readers: Readers = .shared) -> DecoderTrial {
        var trial = DecoderTrial()
        do throws(MediaError) { try trial.decode(source, device, by: readers) } catch { trial.problems.append(error.reason.text) }
        return trial
    }

    private mutating func decode(_ source: String, _ device: String?, by readers: Readers) throws(MediaError) {
        let begin = HostTime.now
        func open(_ setting: DecoderSetting) throws(MediaError) -> ReaderClient {
            var order = OpenOrder(.play, source)
            (order.usesDevices, order.decoder) = (setting == .hardware, DecoderWish(setting, device: device))
            return try ReaderClient(order, by: readers, Interruption())
        }
        let hardware = try open(.hardware)
        decoder = hardware.decoder
        if decoder == DecoderSetting.software.rawValue {
            problems = hardware.problems
            return
        }
        let software = try open(.software)
        var (squares, samples, peak) = (0.0, 0, 255.0)
        var inodes: Set<UInt64> = []
        var times = (hardware: MediaTime.zero, software: MediaTime.zero)
        while decoded < Self.mostPictures, HostTime.now - begin < Self.timeLimit {
            let start = HostTime.now
            guard let drawn = hardware.nextFrame() else { break }
            let half = HostTime.now
            guard let expected = software.nextFrame() else { break }
            times.hardware += half - start
            times.software += HostTime.now - half
            if decoded > 0 { worst = max(worst, half - start) }
            decoded += 1
            if let inode = drawn.frame.surfaceInode { inodes.insert(inode) }
            surface = surface ?? drawn.frame.surfaceText
            // Reading a surface is slow: compare the first ten, then each tenth.
            guard decoded <= 10 || decoded % 10 == 0 else { continue }
            let picture = drawn.frame.downloaded()
            guard picture != nil else {
                problems.append("the driver does not let its pictures be read")
                break
            }
            guard let found = picture!.difference(from: expected.frame) else {
                problems.append("its pictures are of another size or format than software's")
                break
            }
            compared += 1
            difference = max(difference ?? 0, found.greatest)
            squares += found.squares
            samples += found.samples
            peak = found.peak
        }
        if decoded > 0 {
            hardwareTime = MediaTime(nanoseconds: times.hardware.nanoseconds / Int64(decoded))
            softwareTime = MediaTime(nanoseconds: times.software.nanoseconds / Int64(decoded))
        }
        if squares > 0 { ratio = 10 * log10(peak * peak * Double(samples) / squares) }
        surfaces = inodes.count
        problems += hardware.problems
        if hardware.decoder != decoder { problems.append("left at picture \(decoded): \(hardware.decoder) went on") }
    }
}

extension VideoFrame {
    /// `NV12, modifier 0x0, 1 object`; nil in ordinary memory.
    fileprivate var surfaceText: String? {
        guard let surface else { return nil }
        let code = surface.pointee.layers.0.format
        let name = String(decoding: (0..<4).map { UInt8(truncatingIfNeeded: code >> (8 * UInt32($0))) }, as: UTF8.self)
        let modifier = String(surface.pointee.objects.0.format_modifier, radix: 16)
        return "\(name), \(surface.pointee.nb_layers) layers, modifier 0x\(modifier), \(surface.pointee.nb_objects) objects"
    }

    fileprivate var surfaceInode: UInt64? {
        guard let surface else { return nil }
        var status = stat()
        return fstat(surface.pointee.objects.0.fd, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}
