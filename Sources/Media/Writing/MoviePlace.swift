import Glibc
import KioskPlatform

extension FilmWriter {
    /// Whether a film can have this name: not where something lies there that is no regular file. A film that is finished takes the place of what
    /// had its name, a device's, too.
    package static func checkPlace(_ path: String) throws(FilmError) {
        if let status = stat(at: path), !status.isFile { throw FilmError(path, status.isFolder ? .isDirectory : .isNoFile) }
    }

    /// What is wrong with a name for a film, and what to do; nil for nothing. Without an extension it is as good as another.
    package static func nameProblem(_ path: String) -> String? {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        if path.isEmpty { return "name the file to write" }
        if name.isEmpty { return "\(path): is the name of a folder: name a file in it" }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
            others.contains(name[name.index(after: dot)...].lowercased())
        else { return nil }
        return "\(path): films are MP4: name it \(path.dropLast(name.distance(from: dot, to: name.endIndex))).mp4"
    }

    /// Extensions of other things than MP4.
    private static let others: Set<String> = [
        "3g2", "3gp", "aac", "apng", "asf", "avi", "conf", "divx", "dv", "f4v", "flac", "flv", "gif", "jpeg", "jpg", "m2t", "m2ts", "m2v",
        "m3u",
        "m3u8", "m4a", "mka", "mkv", "mov", "mp3", "mpd", "mpeg", "mpg", "mts", "mxf", "nut", "oga", "ogg", "ogm", "ogv", "opus", "png",
        "rm",
        "rmvb", "toml", "ts", "txt", "vob", "wav", "webm", "webp", "wma", "wmv", "y4m", "zip",
    ]
}
