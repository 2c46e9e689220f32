import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// The findings of ``inspect(_:refreshRate:readers:)`` about a playlist item before it goes on the screen.
package struct ItemInspection: Sendable {
    /// The contents of the source; nil if it cannot be opened.
    package var description: AssetDescription?
    /// The reason why the item cannot play; nil if it can.
    package var failure: String?
    /// Warnings about playback problems, one line each.
    package var warnings: [String]

    /// Opens an item as the player would, decodes its first picture and its end, and reports playback problems. Blocks for as long as that
    /// takes.
    ///
    /// - Parameters:
    ///   - refreshRate: The refresh rate of the intended display, in Hz.
    ///   - readers: The readers that open the item.
    package static func inspect(_ item: PlaylistItem, refreshRate: Double, readers: Readers) -> ItemInspection {
        var inspection = ItemInspection(description: nil, failure: nil, warnings: [])
        do throws(MediaError) {
            let reader = try open(item, by: readers)
            inspection.description = reader.description
            inspection.warnings = warnings(reader.description, item, refreshRate: refreshRate)
            inspection.inspectEnd(reader)
            // These include the problems found on the way to the end.
            inspection.warnings += reader.problems
        } catch {
            inspection.failure = error.reason.text
        }
        return inspection
    }

    /// Opens an item for inspection, on one thread: with more, the decoder's concealment of damaged pictures differs from run to run.
    static func open(_ item: PlaylistItem, by readers: Readers, takesNoLists: Bool = false) throws(MediaError) -> any ItemReader {
        var (item, opener) = (item, SourceOpener(samples: AudioFormat(sampleRate: 48000, channelCount: 2), readers: readers))
        (item.decoder, item.isMuted, opener.takesNoLists) = (.software, false, takesNoLists)
        // Lists the subtitle files beside the item, and draws nothing.
        opener.subtitles = { SubtitleOrder() }
        return try opener.open(.init(serial: 0, item: item, time: .zero, precision: .exact), Interruption()).reader
    }

    /// The longest sound after the end of the picture that counts as intended.
    private static let soundSurplus = MediaTime.milliseconds(100)
    private static let longestTail = MediaTime.seconds(3)
    /// The brightness limit of a black picture: limited-range black is 16; noise and rounding add a little.
    private static let blackLimit = 24

    private static func warnings(_ asset: AssetDescription, _ item: PlaylistItem, refreshRate: Double) -> [String] {
        var warnings: [String] = []
        if asset.video == nil { warnings.append("has no picture: kiosk shows the background while its sound plays") }
        if let video = asset.video, let frameRate = video.frameRate {
            let rate = video.isDeinterlaced ? 2 * frameRate : frameRate
            let fits = FrameScheduler.step(cadence: .seconds(1 / rate), period: 1e9 / refreshRate).phase != nil
            if !video.isConstantFrameRate {
                warnings.append("its frame rate varies: kiosk shows each frame at the vblank nearest to its time")
            } else if rate > refreshRate * 1.005 {
                warnings.append("\(decimal(rate)) frames a second on a \(decimal(refreshRate)) Hz display: some are never shown")
            } else if !fits {
                warnings.append("\(decimal(rate)) frames a second do not fit a \(decimal(refreshRate)) Hz display: motion is uneven")
            } else if abs((refreshRate / rate).rounded() / (refreshRate / rate) - 1) > 0.005 {
                warnings.append(
                    "\(decimal(rate)) frames a second on a \(decimal(refreshRate)) Hz display: frames stand for different numbers of vblanks"
                )
            }
        }
        if let video = asset.video, video.isInterlaced, item.deinterlace == .off {
            warnings.append("is interlaced, and `deinterlace` is off: it shows combs")
        }
        if let picture = asset.video.flatMap({ end($0.start, $0.duration) }),
            let sound = asset.audio.flatMap({ end($0.start, $0.duration) })
        {
            let surplus = sound - picture
            if surplus > soundSurplus {
                warnings.append("its sound is \(decimal(surplus.seconds)) s longer than its picture: kiosk cuts off the rest")
            }
            if -surplus > .seconds(1) { warnings.append("its sound ends \(decimal(-surplus.seconds)) s before its picture") }
        }
        if let cut = cut(asset, item) { warnings.append(cut) }
        if let length = asset.duration, item.start >= length { warnings.append("`start` is at or after its end") }
        if item.start > .zero, !asset.isSeekable, !asset.isStill { warnings.append(startIsItsBeginning(item.start)) }
        return warnings
    }

    /// Returns the warning for a source that should begin at `time` but cannot seek.
    static func startIsItsBeginning(_ time: MediaTime) -> String {
        "plays from its beginning instead of \(decimal(time.seconds)) s: it cannot seek. Files, and HLS in pieces of MPEG-TS, can"
    }

    /// Returns the warning for a `duration` that ends a clip before its own end; nil if it does not. It happens in folders with pictures
    /// and clips.
    static func cut(_ asset: AssetDescription, _ item: PlaylistItem) -> String? {
        guard !asset.isStill, let slot = item.duration, let length = asset.video?.duration ?? asset.duration else { return nil }
        let own = min(item.end ?? length, length) - item.start
        // Rounding in a header is invisible.
        guard own - slot > .milliseconds(100) else { return nil }
        return "`duration` cuts it: kiosk plays \(decimal(slot.seconds)) s of \(decimal(own.seconds)) s. "
            + "To hold pictures and play clips to their end, use `image-duration` instead"
    }

    private static func end(_ start: MediaTime?, _ duration: MediaTime?) -> MediaTime? { duration.map { (start ?? .zero) + $0 } }

    /// Returns the warning for a picture that ends at `end`, before the end in its container; nil if the difference is a header's rounding.
    /// If the container gives only the length of the whole, that may be the length of the sound, which ends at `soundEnd` (nil if not
    /// read).
    static func earlyEnd(_ end: MediaTime, of asset: AssetDescription, soundEnd: MediaTime?) -> String? {
        guard let length = asset.video?.duration ?? asset.duration, length - end > .milliseconds(500) else { return nil }
        if asset.video?.duration == nil, asset.audio != nil, soundEnd.map({ length - $0 <= .milliseconds(500) }) ?? true { return nil }
        return "its picture ends \(decimal((length - end).seconds)) s before the end in its header: it may be cut off"
    }

    /// Decodes a still, or the last seconds of a clip. Warns if they cannot be decoded or are black.
    private mutating func inspectEnd(_ reader: any ItemReader) {
        guard let asset = description, asset.video != nil else { return }
        if asset.isStill {
            if let still = reader.nextFrame(), still.frame.isDamaged { warnings.append("is damaged or cut off: copy it again") }
            return
        }
        guard asset.isSeekable, let length = asset.video?.duration ?? asset.duration else { return }
        guard (try? reader.seek(to: max(.zero, length - Self.longestTail), precision: .keyFrame())) != nil else {
            warnings.append("cannot seek")
            return
        }
        var black = 0
        var isDamaged = false
        var end = MediaTime.zero
        while let frame = reader.nextFrame() {
            end = max(end, frame.time + frame.duration)
            if frame.frame.isDamaged { isDamaged = true }
            black = (frame.frame.brightestPatch() ?? 255) <= Self.blackLimit ? black + 1 : 0
        }
        if black > 0 { warnings.append("ends with \(black) black frame\(black == 1 ? "" : "s"): the loop will seem to have a gap") }
        if let problem = reader.prematureEnd { warnings.append("cannot be read to its end: \(problem)") }
        if isDamaged { warnings.append("is damaged near its end: copy or export it again") }
        if let problem = Self.earlyEnd(end, of: asset, soundEnd: reader.soundEnd) { warnings.append(problem) }
    }
}
