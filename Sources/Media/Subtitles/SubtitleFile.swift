import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// Subtitle files beside a clip: `clip.srt`, `clip.de.srt`, `clip.de.forced.ass`.
package enum SubtitleFile {
    /// The extensions, and libavformat's demuxers for them.
    private static let formats = ["srt": "srt", "ass": "ass", "ssa": "ass", "vtt": "webvtt"]
    /// The most bytes of a file.
    package static let largest = 16 << 20
    /// The most files for a clip, and the most names read from a folder.
    package static let most = 32, mostNames = 20_000

    /// Returns the names in a folder that are subtitles of its file `name`, sorted. Blocks as long as the file system does. The
    /// corresponding C function is `readdir`.
    package static func names(beside name: String, in folder: String) -> [String] {
        let stem = name.split(separator: ".", omittingEmptySubsequences: false).dropLast().joined(separator: ".")
        guard !stem.isEmpty, let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        for _ in 0..<mostNames {
            guard let entry = readdir(directory) else { break }
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard let found = String(validating: bytes, as: UTF8.self), track(of: found, stem: stem) != nil else { continue }
            names.append(found)
        }
        return Array(names.sorted().prefix(most))
    }

    /// Returns the track that a file name describes; nil if it does not belong to a clip with this `stem`.
    package static func track(of name: String, stem: String) -> AssetTrack? {
        guard name.hasPrefix(stem + ".") else { return nil }
        var words = name.dropFirst(stem.count + 1).split(separator: ".", omittingEmptySubsequences: false).map { $0.lowercased() }
        guard let ending = words.popLast(), let format = formats[ending], words.count <= 4, !words.contains("") else { return nil }
        var track = AssetTrack(id: 0, kind: .subtitle, number: 1, codec: format == "srt" ? "subrip" : format)
        for word in words {
            switch word {
            case "forced": track.isForced = true
            case "sdh", "cc", "hi": track.isForHardOfHearing = true
            case "default": track.isDefault = true
            default:
                guard track.language == nil, let language = LanguageCode(word) else { return nil }
                track.language = language
            }
        }
        track.title = name.asTitle
        return track
    }

    /// Returns a file's name without its extension.
    package static func stem(of name: String) -> String {
        name.split(separator: ".", omittingEmptySubsequences: false).dropLast().joined(separator: ".")
    }

    /// Loads the character set converters before the process can no longer open files. The C library loads each at its first use.
    package static func loadCharacterSets() { for name in characterSets { if let set = CharacterSet(name) { _ = consume set } } }

    // MARK: Reading

    /// Returns the script and the cues of a file.
    ///
    /// - Parameters:
    ///   - name: the name; its extension gives the format.
    ///   - encoding: the character set of a file not in Unicode; nil for the one of its language.
    /// - Throws: ``MediaError`` if the file has no cues.
    package static func read(
        _ bytes: [UInt8], name: String, language: LanguageCode?, encoding: String?
    ) throws(MediaError) -> (script: SubtitleScript, cues: [SubtitleCue]) {
        let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
        guard let demuxer = formats[ending].flatMap(demuxer) else { throw MediaError(name, .notMedia) }
        let text = Array(self.text(of: bytes, language: language, encoding: encoding).utf8)
        let io = UnsafeMutablePointer<AVIOContext>.reading(text)
        defer { ByteStream.free(io) }
        var context = avformat_alloc_context()
        context?.pointee.pb = io
        context?.pointee.protocol_whitelist = av_strdup("data")
        // The file may not name other files.
        context?.pointee.io_open = { _, _, _, _, _ in shim_averror(EACCES) }
        let status = avformat_open_input(&context, nil, demuxer, nil)
        guard status >= 0, let opened = context else { throw MediaError(name, .damaged(averrorText(status))) }
        defer { avformat_close_input(&context) }
        guard opened.pointee.nb_streams > 0, let stream = opened.pointee.streams[0] else { throw MediaError(name, .hasNoMedia) }
        var decoder = try SubtitleDecoder.open(stream, source: name)
        var cues: [SubtitleCue] = []
        let packet = Packet()
        while av_read_frame(opened, packet.raw) >= 0, cues.count < mostCues {
            cues += decoder.decode(packet.raw)
            av_packet_unref(packet.raw)
        }
        if cues.isEmpty { throw MediaError(name, .hasNoMedia) }
        return (SubtitleScript(header: decoder.header), cues)
    }

    private static let mostCues = 50_000

    private static func demuxer(_ name: String) -> UnsafePointer<AVInputFormat>? {
        var place: UnsafeMutableRawPointer?
        while let format = av_demuxer_iterate(&place) {
            if String(cString: format.pointee.name).split(separator: ",").contains(Substring(name)) { return format }
        }
        return nil
    }

    // MARK: Character sets

    /// Returns a file's text. Decodes Unicode if it is valid. Otherwise uses the given character set, or the one of the language.
    static func text(of bytes: [UInt8], language: LanguageCode?, encoding: String?) -> String {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return String(decoding: bytes.dropFirst(3), as: UTF8.self) }
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) || bytes.starts(with: [0, 0, 0xFE, 0xFF]) {
            return convert(bytes.dropFirst(4), from: bytes[0] == 0xFF ? "UTF-32LE" : "UTF-32BE")
        }
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            return convert(bytes.dropFirst(2), from: bytes[0] == 0xFF ? "UTF-16LE" : "UTF-16BE")
        }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        // In UTF-16, every other byte of ASCII is zero.
        let beginning = bytes.prefix(512)
        let zeroes = (
            even: beginning.indices.count { $0 % 2 == 0 && beginning[$0] == 0 },
            odd: beginning.indices.count { $0 % 2 == 1 && beginning[$0] == 0 }
        )
        if max(zeroes.even, zeroes.odd) > beginning.count / 4 {
            return convert(bytes[...], from: zeroes.odd > zeroes.even ? "UTF-16LE" : "UTF-16BE")
        }
        return convert(bytes[...], from: encoding ?? language.flatMap { sets[$0.primary] } ?? "CP1252")
    }

    /// The Windows character sets of files from before Unicode, by language. All other languages use CP1252.
    private static let sets: [String: String] = {
        let languages = [
            "CP1250": "cs pl hu sk sl hr ro bs sq", "CP1251": "ru uk bg sr mk be", "CP1253": "el", "CP1254": "tr az", "CP1255": "he yi",
            "CP1256": "ar fa ur", "CP1257": "et lv lt", "CP1258": "vi", "CP874": "th", "CP932": "ja", "CP936": "zh", "CP949": "ko",
        ]
        return Dictionary(uniqueKeysWithValues: languages.flatMap { set, codes in codes.split(separator: " ").map { (String($0), set) } })
    }()

    private static let characterSets = Set(sets.values).sorted() + ["CP1252", "CP950", "UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE"]

    /// Owns a conversion into UTF-8. The corresponding C functions are `iconv_open` and `iconv_close`.
    private struct CharacterSet: ~Copyable {
        let raw: iconv_t
        init?(_ name: String) {
            guard let raw = iconv_open("UTF-8", name), Int(bitPattern: raw) != -1 else { return nil }
            self.raw = raw
        }
        deinit { iconv_close(raw) }
    }

    /// Converts the text and drops invalid bytes. Without the character set, drops all that is not ASCII.
    private static func convert(_ bytes: ArraySlice<UInt8>, from name: String) -> String {
        guard let set = CharacterSet(name) else { return String(decoding: bytes.filter { $0 < 0x80 }, as: UTF8.self) }
        var source = bytes.map { CChar(bitPattern: $0) }
        var target = [CChar](repeating: 0, count: source.count * 4 + 16)
        let written = source.withUnsafeMutableBufferPointer { source in
            target.withUnsafeMutableBufferPointer { target -> Int in
                var (from, left) = (source.baseAddress, source.count)
                var (to, room) = (target.baseAddress, target.count)
                while left > 0, Int(bitPattern: UInt(bitPattern: iconv(set.raw, &from, &left, &to, &room))) == -1 {
                    // Invalid bytes.
                    guard errno == EILSEQ || errno == EINVAL, left > 0 else { break }
                    (from, left) = (from.map { $0 + 1 }, left - 1)
                }
                return target.count - room
            }
        }
        return String(decoding: target.prefix(written).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
