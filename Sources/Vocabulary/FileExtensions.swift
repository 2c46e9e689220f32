/// The extensions of playable files in a folder, without the dot and in lower case, by their expected kind. Only the contents of a file
/// decide its kind.
package enum FileExtensions {
    package static let video: Set<String> = [
        "3g2", "3gp", "asf", "avi", "divx", "dv", "f4v", "flv", "h264", "hevc", "ivf", "m2t", "m2ts", "m2v", "m4v", "mkv",
        "mod", "mov", "mp4", "mpe", "mpeg", "mpg", "mts", "mxf", "nut", "ogm", "ogv", "qt", "ts", "vob", "webm", "wmv",
    ]
    package static let sound: Set<String> = [
        "aac", "ac3", "aif", "aiff", "flac", "m4a", "m4b", "mka", "mp2", "mp3", "oga", "ogg", "opus", "wav", "wma",
    ]
    package static let image: Set<String> = [
        "apng", "avif", "bmp", "gif", "heic", "heif", "hif", "jfif", "jp2", "jpe", "jpeg", "jpg", "jxl", "png", "tga", "tif",
        "tiff", "webp",
    ]
    package static let all = video.union(sound).union(image)
    /// The extensions of subtitles beside a clip.
    package static let subtitles: Set<String> = ["ass", "srt", "ssa", "vtt"]

    /// Returns the names of subtitles beside the clips of a folder: `film.de.srt` for `film.mp4`.
    package static func subtitles<Name: StringProtocol>(in names: [Name], beside clips: [some StringProtocol]) -> Set<String> {
        let stems = Set(clips.compactMap { clip in clip.lastIndex(of: ".").map { String(clip[..<$0]) } })
        let found = names.filter { name in
            guard let dot = name.lastIndex(of: "."), subtitles.contains(name[name.index(after: dot)...].lowercased()) else { return false }
            return name.indices.contains { name[$0] == "." && stems.contains(String(name[..<$0])) }
        }
        return Set(found.map { String($0) })
    }
}
