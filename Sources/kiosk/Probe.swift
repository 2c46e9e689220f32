import Media
import Platform
import Vocabulary

/// Opens a file that is new, decodes its first picture and what is left at its end, and says why it cannot be played; nil where it can. A
/// file that is cut off is one that cannot, here: somebody is still copying it, or has not copied it to its end.
func probe(_ item: PlaylistItem) -> String? {
    do throws(MediaError) {
        var reader = try MediaReader.open(item.source, samples: AudioFormat(sampleRate: 48000, channelCount: 2), deinterlacing: .off)
        guard reader.description.isSeekable, !reader.description.isStill,
            let length = reader.description.video?.duration ?? reader.description.duration
        else { return nil }
        // A cut in the last second shows when that is read; one before it when nothing is found there.
        guard (try? reader.seek(to: max(.zero, length - .seconds(1)), precision: .keyFrame())) != nil else { return nil }
        while reader.nextFrame() != nil {}
        return reader.prematureEnd.map { "it is cut off: \($0)" }
    } catch {
        return error.reason.text
    }
}
