import Foundation

/// An undamaged file of the fuzz gallery, one for each container. Small and short, so that a run can try many damaged copies.
package struct Original: Sendable {
    /// The file's extension, which is the container.
    package var name: String
    /// Its bytes.
    package var bytes: [UInt8]

    private static let picture = ["-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=1"]
    private static let sound = ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=1", "-ac", "2"]
    private static let h264 = ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-g", "10", "-c:a", "aac"]
    private static let still = picture + ["-frames:v", "1", "-update", "1"]

    /// The ffmpeg arguments for each file.
    private static let recipes: [(name: String, arguments: [String])] = [
        ("mp4", picture + sound + h264),
        ("mov", picture + sound + ["-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-c:a", "pcm_s16le"]),
        ("mkv", picture + sound + ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-c:a", "flac"]),
        ("webm", picture + sound + ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-c:a", "libopus"]),
        ("avi", picture + sound + ["-c:v", "mpeg4", "-g", "10", "-c:a", "libmp3lame"]),
        ("ts", picture + sound + h264),
        ("mpg", picture + sound + ["-c:v", "mpeg2video", "-c:a", "mp2"]),
        ("flv", picture + sound + h264),
        ("asf", picture + sound + ["-c:v", "msmpeg4v3", "-c:a", "wmav2"]),
        ("ogv", picture + sound + ["-c:v", "libtheora", "-c:a", "libvorbis"]),
        ("mxf", picture + sound + ["-c:v", "mpeg2video", "-c:a", "pcm_s16le"]),
        ("nut", picture + sound + ["-c:v", "ffv1", "-c:a", "ac3"]),
        ("gif", picture), ("apng", picture + ["-plays", "0"]),
        ("wav", sound), ("flac", sound), ("mp3", sound), ("ogg", sound + ["-c:a", "libvorbis"]), ("opus", sound + ["-c:a", "libopus"]),
        ("m4a", sound + ["-c:a", "alac"]), ("aiff", sound), ("aac", sound),
        ("png", still), ("jpg", still), ("webp", still), ("bmp", still), ("tiff", still),
    ]

    /// Makes the files that `folder` lacks, and returns all; needs ffmpeg.
    package static func all(in folder: String) throws -> [Original] {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return try recipes.map { recipe in
            let path = "\(folder)/original.\(recipe.name)"
            if !FileManager.default.fileExists(atPath: path) {
                // Under another name first: another process may be making the same file.
                let partial = "\(folder)/\(getpid()).\(recipe.name)"
                try draw(partial, recipe.arguments)
                guard rename(partial, path) == 0 else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
            }
            return Original(name: recipe.name, bytes: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))))
        }
    }

    /// Makes a file with ffmpeg.
    static func draw(_ path: String, _ arguments: [String]) throws {
        let ffmpeg = Process()
        ffmpeg.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        ffmpeg.arguments = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y"] + arguments + [path]
        try ffmpeg.run()
        ffmpeg.waitUntilExit()
        guard ffmpeg.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
    }

    /// Returns file `number` of the gallery of `seed`: always the same bytes. The number decides the container.
    ///
    /// Most damage goes into headers, as their numbers decide allocations, divisions and waits. It hits the first 2 KB, the last 2 KB (an
    /// MP4's index, an Ogg's last page), and fields after four-letter names. The rest goes anywhere in the file.
    package static func damaged(_ originals: [Original], seed: UInt64, number: Int) -> (name: String, bytes: [UInt8]) {
        let original = originals[number % originals.count]
        var random = SplitMix64(state: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
        var bytes = original.bytes
        switch random.below(8) {
        case 0, 1: for _ in 0...random.below(3) { flip(&bytes, in: 0..<min(2048, bytes.count), &random) }
        case 2: for _ in 0...random.below(3) { flip(&bytes, in: max(0, bytes.count - 2048)..<bytes.count, &random) }
        case 3: for _ in 0...random.below(64) { flip(&bytes, in: 0..<bytes.count, &random) }
        case 4, 5:  // a field after a name gets a number that programs trip over
            let begin = random.below(bytes.count)
            let starts = begin..<max(begin, bytes.count - 4)
            let name = starts.first { start in bytes[start..<start + 4].allSatisfy { 0x61...0x7a ~= $0 } } ?? begin
            let place = name + 4 + 4 * random.below(12)
            let value: [UInt8] = [
                [255, 255, 255, 255], [127, 255, 255, 255], [128, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [255, 255, 255, 127],
            ][
                random.below(6)]
            for (index, byte) in value.enumerated() where place + index < bytes.count { bytes[place + index] = byte }
        case 6: bytes = Array(bytes.prefix(random.below(bytes.count)))
        default:  // a piece again, elsewhere
            let from = random.below(bytes.count)
            bytes.insert(contentsOf: bytes[from..<min(bytes.count, from + random.below(4096))], at: random.below(bytes.count))
        }
        return (original.name, bytes)
    }

    private static func flip(_ bytes: inout [UInt8], in range: Range<Int>, _ random: inout SplitMix64) {
        bytes[range.lowerBound + random.below(range.count)] ^= 1 << random.below(8)
    }
}

/// Pseudo-random numbers, determined by a seed.
struct SplitMix64 {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        guard bound > 0 else { return 0 }
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
