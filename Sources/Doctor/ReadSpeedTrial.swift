import CKioskPlatform
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders

// The read speed of a clip's disk. The page cache would hide a disk that is far too slow. So the kernel is first asked to drop the file's
// pages (posix_fadvise), which works for pages that nobody has mapped or written to. The clip's rate is its size divided by its length. As
// root, kiosk does not open the clip for its length, because anybody may have made it, and only reads its bytes. Both happen on a thread of
// their own: a dead share blocks that thread, but not the doctor.
enum ReadSpeedTrial {
    /// The most bytes to read: enough to fill a disk's read-ahead, and a second's work for an SD card.
    private static let most = 16 << 20

    static func run(_ path: String, isRoot: Bool = geteuid() == 0) -> BoxFacts.Storage {
        let end = HostTime.now + BoxFacts.limit
        let answer = BoxFacts.answer(within: BoxFacts.limit) { measure(path, isRoot: isRoot, until: end) }
        return answer ?? .overdue(path: path, seconds: BoxFacts.limit.seconds)
    }

    private static func measure(_ path: String, isRoot: Bool, until end: HostTime) -> BoxFacts.Storage {
        guard let file = Descriptor(opening: path, O_RDONLY | O_NONBLOCK) else { return .failed(path: path, reason: "\(SystemError())") }
        guard let status = file.status, status.isFile else { return .failed(path: path, reason: "it is not a file") }
        let rate = isRoot ? nil : rate(path, size: Int(status.st_size))
        posix_fadvise(file.raw, 0, 0, POSIX_FADV_DONTNEED)
        var piece = [UInt8](repeating: 0, count: 1 << 18)
        var bytes = 0
        let begin = HostTime.now
        // Stops shortly before the limit: a partial read is a result, too.
        while bytes < most, HostTime.now + .milliseconds(200) < end {
            let count = read(file.raw, &piece, piece.count)
            if count < 0 { return .failed(path: path, reason: "\(SystemError())") }
            if count == 0 { break }
            bytes += count
        }
        return .read(path: path, bytes: bytes, seconds: (HostTime.now - begin).seconds, rate: rate)
    }

    /// Returns the bytes played in a second; nil for a still, and for an unknown length.
    private static func rate(_ path: String, size: Int) -> Double? {
        guard let asset = try? ReaderClient(OpenOrder(.play, path), by: .shared, Interruption()).description, !asset.isStill,
            let length = asset.duration, length > .milliseconds(100)
        else { return nil }
        return Double(size) / length.seconds
    }
}
