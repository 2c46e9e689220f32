import CKioskFFmpeg

extension MediaReader {
    /// FFmpeg's names of what names other files and hosts, instead of being a clip.
    private static let lists: Set<String> = ["hls", "dash", "concat", "sdp", "imf"]

    /// FFmpeg's name of the list that the regular file at `path` is by its bytes, whatever its name says; nil where it is none. Nothing that it names is
    /// opened. Blocks as long as its file system does. The corresponding C function is `av_probe_input_buffer2`.
    package static func listFormat(ofFile path: String) -> String? {
        var file: UnsafeMutablePointer<AVIOContext>?
        guard avio_open(&file, "file:" + path, AVIO_FLAG_READ) >= 0, let opened = file else { return nil }
        defer { avio_closep(&file) }
        var format: UnsafePointer<AVInputFormat>?
        guard av_probe_input_buffer2(opened, &format, path, nil, 0, 0) >= 0, let format else { return nil }
        let name = String(cString: format.pointee.name)
        return name.split(separator: ",").contains { lists.contains(String($0)) } ? name : nil
    }
}
