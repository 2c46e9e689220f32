import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary

/// Whether a file can be played that somebody has just brought. Blocks for opening it, and for reading its end.
package enum FileTrial {
    /// Opens a file that is new, decodes its first picture and what is left at its end, and says why it cannot be played; nil where it can. A
    /// file that is cut off is one that cannot, here: somebody is still copying it, or has not copied it to its end.
    package static func flaw(of item: PlaylistItem, by readers: Readers) -> String? {
        var item = item
        item.deinterlace = .off
        do throws(MediaError) {
            let reader = try ItemInspection.open(item, by: readers)
            let asset = reader.description
            guard asset.isSeekable, !asset.isStill, let length = asset.video?.duration ?? asset.duration else { return nil }
            // A cut in the last second shows when that is read; one before it when nothing is found there.
            guard (try? reader.seek(to: max(.zero, length - .seconds(1)), precision: .keyFrame())) != nil else {
                return "it is cut off: its end cannot be read"
            }
            var end = MediaTime.zero
            while let frame = reader.nextFrame() { end = max(end, frame.time + frame.duration) }
            if let problem = reader.prematureEnd { return "it is cut off: \(problem)" }
            // Where the container tells no length of the picture that of the whole may be the sound's.
            guard let picture = asset.video?.duration, picture - end > .seconds(1) else { return nil }
            return "it is cut off: its picture ends at \(end) of \(picture)"
        } catch {
            return error.reason.text
        }
    }

    /// Opens a file that somebody's stick has brought, and says why it cannot be played; nil where it can. A list is not: it is theirs, and would
    /// say what is read here.
    package static func flaw(ofStick path: String, by readers: Readers) -> String? {
        var item = PlaylistItem(source: path)
        item.deinterlace = .off
        do throws(MediaError) {
            _ = try ItemInspection.open(item, by: readers, takesNoLists: true)
            return nil
        } catch {
            guard case .formatNotPlayed(let list, isList: true) = error.reason else { return error.reason.text }
            return "it is a list (\(list)); kiosk takes only clips from sticks"
        }
    }
}
