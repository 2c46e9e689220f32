// What is asked of a server and what its answer means. Pure values: what is kept and an answer's head in, what to do out.

/// The head of an answer.
struct ResponseHead: Hashable, Sendable {
    private(set) var status = 0
    /// By their names in lower case; of several of one name the last.
    private(set) var headers: [String: String] = [:]

    /// Takes a line of it; the first line of another answer (after a redirection) begins anew.
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

    /// Where a redirection leads to, as the server writes it; nil where it is none.
    var location: String? { [301, 302, 303, 307, 308].contains(status) ? headers["location"] : nil }

    /// Bytes that follow.
    var length: Int64? { headers["content-length"].flatMap(Int64.init).flatMap { $0 >= 0 ? $0 : nil } }

    /// `bytes 100-199/200`: where what follows begins, and how long the whole is.
    var range: (begin: Int64, size: Int64)? {
        guard let text = headers["content-range"], let match = text.wholeMatch(of: /bytes ([0-9]{1,18})-[0-9]{1,18}\/([0-9]{1,18})/),
            let begin = Int64(match.1), let size = Int64(match.2)
        else { return nil }
        return (begin, size)
    }

    /// Whether bytes are the beginning of such a list, whatever the head says.
    static func isStreamList(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let text = String(decoding: bytes.prefix(1024), as: UTF8.self)
        return text.hasPrefix("#EXTM3U") || text.hasPrefix("ffconcat") || text.contains("<MPD")
    }

    /// Whether it is the list of a stream (HLS, DASH), whose segments are what would have to be kept.
    var isStreamList: Bool {
        let type = (headers["content-type"] ?? "").lowercased()
        return ["mpegurl", "dash+xml", "ms-sstr+xml"].contains { type.contains($0) }
    }
}

/// One request for a file: what is sent, by what is there of it.
struct TransferPlan: Hashable, Sendable {
    /// What is kept of it and complete.
    var kept: CacheEntry?
    /// What has been fetched of it, and so many bytes.
    var part: CacheEntry?
    var partBytes: Int64 = 0

    /// What an answer means.
    enum Verdict: Hashable, Sendable {
        /// What is kept is what the server has.
        case unchanged
        /// What follows comes behind the part.
        case resume
        /// What follows is the whole file, of this length.
        case begin(size: Int64)
        /// What has been fetched cannot be gone on with: ask for the whole.
        case restart
        /// It cannot be kept. Whether that may change soon: a server that is overloaded.
        case refused(String, isLasting: Bool)
    }

    /// Headers of the request.
    var headers: [String] {
        if let part, partBytes > 0, let validator = part.validators.forRange {
            return ["Range: bytes=\(partBytes)-", "If-Range: \(validator)"]
        }
        guard let kept else { return [] }
        var headers: [String] = []
        if let tag = kept.validators.tag { headers.append("If-None-Match: \(tag)") }
        // Where there is a tag that alone counts: a server would not look at the date either.
        if kept.validators.tag == nil, let modified = kept.validators.modified { headers.append("If-Modified-Since: \(modified)") }
        return headers
    }

    /// Whether the head alone is asked for: what is kept has nothing but its length to be known by.
    var isHead: Bool { kept.map { $0.validators.isEmpty } ?? false && headers.isEmpty }

    /// What the head of the answer means.
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
