// Requests to a server, and the meaning of its answers. Pure values: they take the kept files and an answer's head, and return the action.

/// The head of an answer.
struct ResponseHead: Hashable, Sendable {
    private(set) var status = 0
    /// The headers by lower-case name; of repeated ones the last.
    private(set) var headers: [String: String] = [:]

    /// Adds a header line; a status line, as after a redirection, begins a new head.
    mutating func add(line: String) {
        let line = String(line.unicodeScalars.filter { $0.properties.generalCategory != .control }.map(Character.init))
        if line.hasPrefix("HTTP/") {
            let words = line.split(separator: " ")
            (status, headers) = (words.count > 1 ? Int(words[1]) ?? 0 : 0, [:])
        } else if let colon = line.firstIndex(of: ":") {
            var value = line[line.index(after: colon)...].drop { $0 == " " }
            while value.last == " " { value.removeLast() }
            headers[line[..<colon].lowercased()] = String(value.prefix(1000))
        }
    }

    var validators: Validators { Validators(tag: headers["etag"], modified: headers["last-modified"]) }

    /// The target of a redirection, as the server writes it; nil for any other status.
    var location: String? { [301, 302, 303, 307, 308].contains(status) ? headers["location"] : nil }

    /// The length of the body in bytes.
    var length: Int64? { headers["content-length"].flatMap(Int64.init).flatMap { $0 >= 0 ? $0 : nil } }

    /// `bytes 100-199/200`: the offset of the body, and the size of the whole file.
    var range: (begin: Int64, size: Int64)? {
        guard let text = headers["content-range"], let match = text.wholeMatch(of: /bytes ([0-9]{1,18})-[0-9]{1,18}\/([0-9]{1,18})/),
            let begin = Int64(match.1), let size = Int64(match.2)
        else { return nil }
        return (begin, size)
    }

    /// Whether a body is a stream's list, judged by its first bytes.
    static func isStreamList(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let text = String(decoding: bytes.prefix(1024), as: UTF8.self)
        return text.hasPrefix("#EXTM3U") || text.hasPrefix("ffconcat") || text.contains("<MPD")
    }

    /// Whether it is a stream's list (HLS, DASH), whose segments would have to be kept instead.
    var isStreamList: Bool {
        let type = (headers["content-type"] ?? "").lowercased()
        return ["mpegurl", "dash+xml", "ms-sstr+xml"].contains { type.contains($0) }
    }
}

/// A request for a file, depending on the bytes already present.
struct TransferPlan: Hashable, Sendable {
    /// The complete kept file.
    var kept: CacheEntry?
    /// The entry of the partial file, and its bytes.
    var part: CacheEntry?
    var partBytes: Int64 = 0

    /// The meaning of an answer.
    enum Verdict: Hashable, Sendable {
        /// The kept file is current.
        case unchanged
        /// The body continues the partial file.
        case resume
        /// The body is the whole file, of this size.
        case begin(size: Int64)
        /// The partial file is useless: request the whole.
        case restart
        /// The file cannot be kept. `isLasting` is false if that may soon change, as with an overloaded server.
        case refused(String, isLasting: Bool)
    }

    /// The headers of the request.
    var headers: [String] {
        if let part, partBytes > 0, let validator = part.validators.forRange {
            return ["Range: bytes=\(partBytes)-", "If-Range: \(validator)"]
        }
        guard let kept else { return [] }
        var headers: [String] = []
        if let tag = kept.validators.tag { headers.append("If-None-Match: \(tag)") }
        // The entity tag takes precedence: a server would ignore the date as well.
        if kept.validators.tag == nil, let modified = kept.validators.modified { headers.append("If-Modified-Since: \(modified)") }
        return headers
    }

    /// Whether to request only the head: the kept file has no validators, so only its size can be compared.
    var isHead: Bool { kept.map { $0.validators.isEmpty } ?? false && headers.isEmpty }

    /// Returns the meaning of an answer's head.
    func verdict(_ head: ResponseHead) -> Verdict {
        switch head.status {
        case 304 where kept != nil: return .unchanged
        case 206:
            guard let part, let range = head.range, range.begin == partBytes, range.size == part.size else { return .restart }
            if let tag = head.validators.tag, let before = part.validators.tag, tag != before { return .restart }
            return .resume
        case 416: return .restart
        case 200:
            if head.isStreamList { return .refused("it is the list of a stream, which the cache does not keep", isLasting: true) }
            guard let length = head.length else { return .refused("the server does not say how long it is", isLasting: true) }
            if length == 0 { return .refused("it is empty", isLasting: false) }
            if head.headers["content-encoding"].map({ $0.lowercased() != "identity" }) ?? false {
                return .refused("the server compresses it", isLasting: true)
            }
            if let kept, kept.size == length, kept.validators == head.validators { return .unchanged }
            return .begin(size: length)
        case 401, 403, 404, 410, 451: return .refused("the server answers \(head.status)", isLasting: true)
        default: return .refused("the server answers \(head.status)", isLasting: false)
        }
    }
}
