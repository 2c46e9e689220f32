import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

/// Sends subtitles to the player: their pixels through the memory for them, and a message about each. Owned by one thread.
///
/// The memory is a ring. Pixels stay until the player has copied them, which it does when it takes the message.
final class SubtitlePublisher: @unchecked Sendable {
    // Sendable because only the composer's thread publishes.
    private let channel: ReaderChannel
    private let page: ControlPage
    private let memory: SharedMemory
    private var serial: UInt32 = 0
    /// The parts that the player may not have copied yet, the oldest first: serial and range.
    private var outstanding: [(serial: UInt32, range: Range<Int>)] = []
    private var end = 0
    private var complaints: Set<String> = []

    /// How long the player may take to copy.
    private static let limit = MediaTime.seconds(1)

    init(_ channel: ReaderChannel, _ page: ControlPage, _ memory: SharedMemory) {
        (self.channel, self.page, self.memory) = (channel, page, memory)
    }

    /// Publishes the subtitles visible from the picture of an item time on.
    func publish(_ parts: [SubtitlePicture], on screen: PixelSize, at time: MediaTime) {
        var placed: [ReaderSubtitle.Part] = []
        let bytes = parts.reduce(0) { $0 + $1.pixels.count * 4 }
        if bytes > 0 {
            if bytes > memory.bytes.count { return complain("a subtitle is left out, as it is larger than two screens") }
            // The player takes none, for instance while the clip fades out.
            guard let place = room(for: bytes) else { return }
            var offset = place
            for part in parts {
                part.pixels.withUnsafeBytes { pixels in
                    UnsafeMutableRawBufferPointer(rebasing: memory.bytes[offset..<offset + pixels.count]).copyMemory(from: pixels)
                }
                placed.append(.init(x: part.x, y: part.y, width: part.width, height: part.height, offset: offset))
                offset += part.pixels.count * 4
            }
            outstanding.append((serial &+ 1, place..<offset))
            end = offset
        }
        serial &+= 1
        say(.subtitle(ReaderSubtitle(serial: serial, time: time, screen: screen, parts: placed)))
    }

    func tell(_ cue: ReaderCue) { say(.cue(cue)) }

    /// Reports a fault of the source; each once.
    func complain(_ problem: String) { if complaints.insert(problem).inserted { say(.problem(problem)) } }

    private func say(_ message: ReaderMessage) {
        channel.send(message)
        page.countMessage()
    }

    /// Waits for a free place of this size; nil if the player takes too long.
    private func room(for count: Int) -> Int? {
        let deadline = HostTime.now + Self.limit
        while true {
            let taken = page.subtitlesTaken
            outstanding.removeAll { Int32(bitPattern: taken &- $0.serial) >= 0 }
            let place = end + count <= memory.bytes.count ? end : 0
            let range = place..<place + count
            if !outstanding.contains(where: { $0.range.overlaps(range) }) { return place }
            if HostTime.now > deadline || channel.isClosed { return nil }
            usleep(2000)
        }
    }
}
