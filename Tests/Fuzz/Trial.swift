import Foundation
import KioskAudioCore
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Tries a damaged file: opens it, reads, seeks, reads again; and plays several in a row, offscreen.
package enum Trial {
    /// The longest time for one file; a longer one is a hang.
    package static let timeLimit = MediaTime.seconds(10)

    /// Returns why a file cannot be opened; nil if it can.
    ///
    /// Reads its first frames and samples at four places, and draws previews. Calls `onDeath` with the reason if the reader ends before its
    /// file.
    package static func read(
        _ path: String, threads: Int, by readers: Readers = .inProcess, onDeath: (String) -> Void = { _ in }
    ) -> String? {
        do throws(MediaError) {
            var order = OpenOrder(.play, path)
            (order.samples, order.threads) = (AudioFormat(sampleRate: 48_000, channelCount: 2), threads)
            let client = try ReaderClient(order, by: readers, Interruption())
            var samples = [Float](repeating: 0, count: 2 * 2048)
            for target in [nil, MediaTime.seconds(0.5), .seconds(1e10), .zero] {
                if let target { _ = try? client.seek(to: target, precision: target == .zero ? .keyFrame() : .exact) }
                // Reads past a second of frames (25) and samples (48,000).
                for _ in 0..<40 {
                    let hasFrame = client.nextFrame() != nil
                    let count = samples.withUnsafeMutableBufferPointer { client.readSamples(into: $0, channelCount: 2) }
                    if !hasFrame, count == 0 { break }
                }
            }
            if let death = client.death { onDeath(death.description) }
            if var previews = try? PreviewSession.open(path, fitting: 64, 64, by: readers) {
                for time in [MediaTime.seconds(0.5), .seconds(1e10), .zero] { _ = try? previews.preview(at: time) }
            }
            return nil
        } catch {
            if case .readerFailed(let reason) = error.reason { onDeath(reason) }
            return error.description
        }
    }

    /// Plays files one after the other, a moment each, with a seek in every other one, until the first plays again. Returns the faults.
    ///
    /// `failing` are the indices of the files that cannot be opened. The player must report each by its name.
    package static func play(_ paths: [String], failing: Set<Int>, by readers: Readers = .inProcess) -> [String] {
        struct Seen {
            var started: Set<Int> = []
            var failed: [Int: String] = [:]
            var isRound = false
            /// The files that the player has reached. A file may start, fail, and start again.
            var all: Set<Int> { started.union(failed.keys) }
        }
        let seen = Monitor(Seen())
        var settings = DisplaySettings()
        settings.mode = .size(width: 128, height: 72, refresh: 120)
        let display = DisplayOutput.offscreen(settings)
        var options = PlaybackEngine.Options()
        options.imageDuration = .milliseconds(80)
        options.decoderThreads = 2
        let items = paths.map { PlaylistItem(source: $0, duration: .milliseconds(80)) }
        let player = PlaybackEngine(items: items, options: options, video: display, audio: SilentOutput(), readers: readers)
        player.addObserver { [weak player] event in
            let isNew = seen.signal { seen in
                let before = seen.started
                switch event {
                case .itemStarted(let item, _, _):
                    let index = item.number
                    if seen.started.contains(index), seen.all.count >= paths.count { seen.isRound = true }
                    seen.started.insert(index)
                case .itemFailed(let item, let message): seen.failed[item.number] = message
                case .nothingPlayable: seen.isRound = true
                default: break
                }
                return seen.started != before
            }
            // Seeks once in every other file, as a seek starts it again.
            if isNew, case .itemStarted(let item, _, _) = event, item.number % 2 == 0 { player?.seek(by: .milliseconds(20)) }
        }
        player.start()
        // The limit is for one file: it begins anew each time the player reaches another one.
        var (count, everyone) = (-1, false)
        while !everyone {
            let before = count
            let now: (count: Int, everyone: Bool)? = seen.wait(until: .now + timeLimit) { seen in
                let count = seen.all.count
                return seen.isRound || count > before ? (count, seen.isRound || count == paths.count) : nil
            }
            guard let now else { break }
            (count, everyone) = now
        }
        player.stop()
        display.close()
        let found = seen.withLock { $0 }
        var wrong: [String] = []
        if !everyone {
            let missing = paths.indices.filter { !found.started.contains($0) && found.failed[$0] == nil }
            wrong.append("not come to within \(timeLimit.seconds) s: \(missing.map { paths[$0] }.joined(separator: " "))")
        }
        for index in failing {
            if found.failed[index]?.contains(paths[index]) != true, everyone, !found.started.contains(index) {
                wrong.append("no line in the log: \(paths[index])")
            }
        }
        return wrong
    }

    /// The highest resident memory since ``resetPeak()``, in bytes; 0 if the kernel does not report it.
    package static var peakMemory: Int {
        let line = SmallFile.text("/proc/self/status")?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }.map { $0 << 10 } ?? 0
    }

    /// Resets ``peakMemory``.
    package static func resetPeak() { try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8) }
}
