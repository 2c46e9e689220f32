import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary

/// Checks whether a newly arrived file can be played. Blocks for opening it, and for reading its end.
package enum FileTrial {
    /// Opens a new file, decodes its first picture and its end, and returns the reason why it cannot be played; nil if it can. A truncated
    /// file counts as unplayable here: someone is still copying it, or has not copied it to its end.
    package static func flaw(of item: PlaylistItem, by readers: Readers) -> String? {
        var item = item
        item.deinterlace = .off
        do throws(MediaError) {
            let reader = try ItemInspection.open(item, by: readers)
            let asset = reader.description
            guard asset.isSeekable, !asset.isStill, let length = asset.video?.duration ?? asset.duration else { return nil }
            // A cut in the last second shows when that second is read; an earlier cut shows when the seek finds nothing there.
            guard (try? reader.seek(to: max(.zero, length - .seconds(1)), precision: .keyFrame())) != nil else {
                return "it is cut off: its end cannot be read"
            }
            var end = MediaTime.zero
            while let frame = reader.nextFrame() { end = max(end, frame.time + frame.duration) }
            if let problem = reader.prematureEnd { return "it is cut off: \(problem)" }
            // If the container gives no length of the picture, the length of the whole may be that of the sound.
            guard let picture = asset.video?.duration, picture - end > .seconds(1) else { return nil }
            return "it is cut off: its picture ends at \(end) of \(picture)"
        } catch {
            return error.reason.text
        }
    }

    /// Opens a file from a visitor's stick, and returns the reason why it cannot be played; nil if it can. Lists are refused: the visitor
    /// controls a list, and it would choose what kiosk reads.
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
