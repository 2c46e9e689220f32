import CKioskFFmpeg

// What libavformat opens is looked at before it gets it: lists are read here (FileInput.swift), and of the parts of a list one has to know whether they are
// pieces of MP4.

/// The first bytes of what has been opened: a list of HLS or DASH, as their demuxers would take it for one, or anything else.
enum ListBeginning {
    /// A list of HLS, and what has been read of it.
    case hls([UInt8])
    /// A list of DASH, which is at its beginning again.
    case dash
    /// Neither; it is at its beginning again.
    case other

    /// Reads as much of `io` as it takes; a server may send it byte by byte.
    ///
    /// - Parameters:
    ///   - mayBeHLS: whether a list of HLS may be opened; else nobody looks for one.
    ///   - mayBeDASH: the same of DASH.
    init(of io: UnsafeMutablePointer<AVIOContext>, mayBeHLS: Bool, mayBeDASH: Bool) {
        let mark = Array("#EXTM3U".utf8)
        var (text, piece): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 4096))
        self = .other
        while true {
            if mayBeHLS, text.starts(with: mark) {
                self = .hls(text)
                return
            }
            let isPartOfMark = mayBeHLS && mark.starts(with: text)
            // 0xEF begins a byte order mark.
            let mayBeXML = mayBeDASH && text.count < piece.count && [UInt8(ascii: "<"), 0xEF].contains(text.first ?? UInt8(ascii: "<"))
            guard isPartOfMark || mayBeXML else { break }
            let count = avio_read_partial(io, &piece, Int32(piece.count))
            if count <= 0 { break }
            text += piece.prefix(Int(count))
            if mayBeDASH, String(decoding: text, as: UTF8.self).firstRange(of: "<MPD") != nil {
                self = .dash
                break
            }
        }
        avio_seek(io, 0, SEEK_SET)
    }
}

/// What the parts of a list of HLS are, by their first bytes.
struct HLSPieces {
    /// Whether they are pieces of MP4: libavformat cannot go on in another place there.
    private(set) var areMP4 = false
    private var looked = 0
    /// What the first of those headers begins with that the pieces follow.
    private var header: [UInt8] = []
    private static let longestHeader = 4096
    /// The first are lists, keys and what all parts begin with.
    private static let mostLooked = 8

    /// Looks at the beginning of a part, where it is again then.
    ///
    /// - Returns: whether it is a header, and another one than the first.
    mutating func look(at io: UnsafeMutablePointer<AVIOContext>) -> Bool {
        guard areMP4 || looked < Self.mostLooked else { return false }
        looked += 1
        var bytes = [UInt8](repeating: 0, count: Self.longestHeader)
        let count = avio_read_partial(io, &bytes, Int32(bytes.count))
        avio_seek(io, 0, SEEK_SET)
        bytes.removeLast(bytes.count - Int(max(0, count)))
        guard bytes.count >= 8 else { return false }
        let kind = String(decoding: bytes[4..<8], as: UTF8.self)
        if ["ftyp", "styp", "moof", "sidx"].contains(kind) { areMP4 = true }
        guard kind == "ftyp" else { return false }
        if header.isEmpty {
            header = bytes
            return false
        }
        let common = min(bytes.count, header.count)
        return !bytes.prefix(common).elementsEqual(header.prefix(common))
    }
}

extension UnsafeMutablePointer<AVIOContext> {
    /// One that reads these bytes as if they were a file; ``FileInput/free(_:)`` frees it.
    static func reading(_ bytes: [UInt8]) -> Self {
        let memory = av_malloc(max(bytes.count, 1)).assumingMemoryBound(to: UInt8.self)
        memory.update(from: bytes, count: bytes.count)
        // Without a function that reads it is at its end behind its memory.
        return avio_alloc_context(memory, Int32(bytes.count), 0, nil, nil, nil, nil)!
    }
}
