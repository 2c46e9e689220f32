import KioskPlatform
import KioskVocabulary

/// A count of the parts of a source that did not decode, or not in full.
///
/// A picture counts in three cases. The demuxer marks its packet as damaged; libavcodec refuses it (`avcodec_send_packet`,
/// `avcodec_receive_frame`); or the decoder conceals an error in it (``VideoFrame/isDamaged``). Pictures before the first key frame are not
/// damage: such a stream was joined in its middle.
package struct MediaDamage: Hashable, Sendable, CustomStringConvertible {
    /// The number of pictures, and of packets of sound.
    package internal(set) var pictures = 0, sound = 0
    /// The approximate time of the first damage: item time from ``MediaReader``, container time within Media.
    package internal(set) var begin: MediaTime?

    /// Creates a count of damage; none by default.
    package init(pictures: Int = 0, sound: Int = 0, begin: MediaTime? = nil) {
        (self.pictures, self.sound, self.begin) = (pictures, sound, begin)
    }

    /// Whether there is none.
    package var isEmpty: Bool { pictures + sound == 0 }

    /// `is damaged from 0:02.3 on: 37 pictures and 4 packets of sound could not be decoded in full: copy or export it again`.
    package var description: String {
        func count(_ number: Int, _ one: String, _ several: String) -> String? {
            number == 0 ? nil : "\(number) \(number == 1 ? one : several)"
        }
        let parts = [count(pictures, "picture", "pictures"), count(sound, "packet of sound", "packets of sound")].compactMap { $0 }
        return
            "is damaged\(begin.map { " from \(max($0, .zero)) on" } ?? ""): \(parts.joined(separator: " and ")) could not be decoded in full: "
            + "copy or export it again"
    }

    /// Takes the worse of two passes through a source.
    package mutating func merge(_ other: MediaDamage) {
        pictures = max(pictures, other.pictures)
        sound = max(sound, other.sound)
        begin = [begin, other.begin].compactMap { $0 }.min()
    }

    mutating func addPicture(at time: MediaTime?) {
        pictures += 1
        add(time)
    }

    mutating func addSound(at time: MediaTime?) {
        sound += 1
        add(time)
    }

    private mutating func add(_ time: MediaTime?) { begin = [begin, time].compactMap { $0 }.min() }
}

extension MediaReader {
    /// The damage found so far, in item time.
    package var damage: MediaDamage {
        mutating get {
            var damage = MediaDamage()
            if let pictures = pictures?.damage { damage = pictures }
            if let sound = sound?.damage, !sound.isEmpty {
                damage.sound = sound.sound
                damage.begin = [damage.begin, sound.begin].compactMap { $0 }.min()
            }
            damage.begin = damage.begin.map { $0 - origin }
            return damage
        }
    }
}
