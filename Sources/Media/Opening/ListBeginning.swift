import CKioskFFmpeg

// kiosk looks at the beginning of everything that libavformat opens. It reads lists itself (FileInput.swift), and must know whether a
// list's parts are pieces of MP4.

/// The kind of an opened resource by its first bytes: a list that the demuxer of HLS or DASH would accept, or anything else.
enum ListBeginning {
    /// An HLS list, and the bytes read of it.
    case hls([UInt8])
    /// A DASH list, rewound to its beginning.
    case dash
    /// Neither; rewound to its beginning.
    case other

    /// Reads as much of `io` as necessary; a server may send it byte by byte.
    ///
    /// - Parameters:
    ///   - mayBeHLS: whether to look for an HLS list.
    ///   - mayBeDASH: whether to look for a DASH list.
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

/// The format of an HLS list's parts, by their first bytes.
struct HLSPieces {
    /// Whether they are pieces of MP4: libavformat cannot seek in those.
    private(set) var areMP4 = false
    private var looked = 0
    /// The beginning of the first header for the pieces.
    private var header: [UInt8] = []
    private static let longestHeader = 4096
    /// The first parts are lists, keys and the common header.
    private static let mostLooked = 8

    /// Looks at the beginning of a part and rewinds it.
    ///
    /// - Returns: whether it is a header that differs from the first one.
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
    /// Returns a context that reads these bytes like a file; ``ByteStream/free(_:)`` frees it.
    static func reading(_ bytes: [UInt8]) -> Self {
        let memory = av_malloc(max(bytes.count, 1)).assumingMemoryBound(to: UInt8.self)
        memory.update(from: bytes, count: bytes.count)
        // Without a read function, the context ends after its memory.
        return avio_alloc_context(memory, Int32(bytes.count), 0, nil, nil, nil, nil)!
    }
}
