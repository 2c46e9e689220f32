import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Opens a file that is new, decodes its first picture and what is left at its end, and says why it cannot be played; nil where it can. A
/// file that is cut off is one that cannot, here: somebody is still copying it, or has not copied it to its end.
func probe(_ item: PlaylistItem) -> String? {
    do throws(MediaError) {
        var reader = try MediaReader.open(item, samples: AudioFormat(sampleRate: 48000, channelCount: 2), fields: .off)
        guard reader.description.isSeekable, !reader.description.isStill,
            let length = reader.description.video?.duration ?? reader.description.duration
        else { return nil }
        // A cut in the last second shows when that is read; one before it when nothing is found there.
        guard (try? reader.seek(to: max(.zero, length - .seconds(1)), precision: .keyFrame())) != nil else {
            return "it is cut off: its end cannot be read"
        }
        var end = MediaTime.zero
        while let frame = reader.nextFrame() { end = max(end, frame.time + frame.duration) }
        if let problem = reader.prematureEnd { return "it is cut off: \(problem)" }
        // Where the container tells no length of the picture that of the whole may be the sound's.
        guard let picture = reader.description.video?.duration, picture - end > .seconds(1) else { return nil }
        return "it is cut off: its picture ends at \(end) of \(picture)"
    } catch {
        return error.reason.text
    }
}

/// Opens a file that somebody's stick has brought, and says why it cannot be played; nil where it can. A list is not: it is theirs, and would
/// say what is read here.
func probe(ofStick path: String) -> String? {
    if let list = MediaReader.listFormat(ofFile: path) { return "it is a list (\(list)); only clips are taken from sticks" }
    do throws(MediaError) {
        _ = try MediaReader.open(PlaylistItem(source: path), samples: AudioFormat(sampleRate: 48000, channelCount: 2), fields: .off)
        return nil
    } catch {
        return error.reason.text
    }
}
