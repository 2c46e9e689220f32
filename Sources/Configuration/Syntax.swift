// Parses bytes into a TOML tree, with as many complaints as can be trusted.
//
// The parser stops at the first error. Most often that is one line, such as `gravity = fit` without quotes, and the rest of the file is
// valid. kiosk then blanks that line and parses the text again, so that all complaints appear at once. It does so only if the lines above
// are a complete document by themselves, and the line begins with a key: then only that key's value is lost. Anywhere else (a heading, the
// inside of an array) the rest would be misread, so the first complaint remains the only one.

/// Parses `text` as TOML. The tree is nil if the text is invalid; then there is at least one complaint.
func readSyntax(_ text: [UInt8], path: String) -> (root: TOMLValue?, complaints: [Complaint]) {
    if let complaint = complainAboutEncoding(text, path: path) { return (nil, [complaint]) }
    var text = text
    var complaints: [Complaint] = []
    while true {
        let fault: TOMLFault
        do throws(TOMLFault) { return (try TOMLDocument.parse(text), complaints) } catch { fault = error }
        guard let position = fault.position, let line = lineRange(position.line, in: text) else {
            return (nil, complaints + [Complaint(path: path, position: fault.position, text: oneLine(fault.text))])
        }
        complaints.append(complaint(fault, at: position, line: String(decoding: text[line], as: UTF8.self), path: path))
        // Each round parses the text twice, so long texts get fewer rounds.
        guard complaints.count < 20, complaints.count * text.count < 2 << 20, startsWithKey(text[line]),
            (try? TOMLDocument.parse(Array(text[..<line.lowerBound]))) != nil
        else { return (nil, complaints) }
        for index in line { text[index] = UInt8(ascii: " ") }
    }
}

private func complaint(_ fault: TOMLFault, at position: SourcePosition, line: String, path: String) -> Complaint {
    let name = fault.text.split(separator: "'", omittingEmptySubsequences: false).dropFirst().dropLast().joined(separator: "'")
    if fault.isDuplicate {
        // toml++ reports the position after the key.
        let column = 1 + line.unicodeScalars.prefix { $0 == " " || $0 == "\t" }.count
        let text =
            switch (name, line.contains("[") && !startsWithKey(line.utf8)) {
            case ("playlist", true): "[[playlist]]: a second table of that name; write [[playlist]], in double brackets, for every entry"
            case (_, true): "[\(oneLine(name))]: a second table of that name; put all its keys under one heading"
            case (_, false): "\(oneLine(name)): the key is already set further up"
            }
        return Complaint(path: path, position: SourcePosition(line: position.line, column: column), text: text)
    }
    var text = oneLine(fault.text)
    let prefix = "Error while parsing "
    if text.hasPrefix(prefix) { text.removeFirst(prefix.count) }
    // The usual mistakes: `gravity = fit`, `mode = 1920x1080` or `background = #00ff80`.
    if text.hasPrefix("boolean:") || text.hasPrefix("value: could not determine") {
        text = "not a value; text must stand in quotes"
    } else if let bare = bareText(line), !text.contains("quotes") {
        text = "not a value; text must stand in quotes: \"\(oneLine(bare, longest: 60))\""
    }
    return Complaint(path: path, position: position, text: text)
}

/// Returns the unquoted text of a line `key = 1920x1080`, if it begins like a number or is a colour, but is neither; nil for other lines.
private func bareText(_ line: String) -> String? {
    guard startsWithKey(line.utf8), let match = line.wholeMatch(of: /[^"'#=]*=\s*(#?[0-9+\-][^\s"'#,\[\]{}]*|#[0-9A-Fa-f]{6})\s*(?:#.*)?/)
    else { return nil }
    let bare = match.1
    let isNumber = bare.wholeMatch(of: /[+\-]?[0-9._+\-]*/) != nil
    return isNumber || bare.contains("\0") ? nil : String(bare)
}

private func complainAboutEncoding(_ text: [UInt8], path: String) -> Complaint? {
    do throws(UTF8.ValidationError) {
        _ = try UTF8Span(validating: text.span)
        return nil
    } catch {
        let before = String(decoding: text[..<error.byteOffsets.lowerBound], as: UTF8.self).unicodeScalars
        let line = before.count { $0 == "\n" } + 1
        let column = before.reversed().prefix { $0 != "\n" }.count + 1
        return Complaint(
            path: path, position: SourcePosition(line: line, column: column), text: "not UTF-8 text; save the file in the encoding UTF-8")
    }
}

/// Returns the byte range of line `number`, from 1, without its end; nil if there is no such line.
private func lineRange(_ number: Int, in text: [UInt8]) -> Range<Int>? {
    var start = 0
    for _ in 1..<max(number, 1) {
        guard let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        start = end + 1
    }
    let end = text[start...].firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? text.count
    return start..<end
}

private func startsWithKey(_ line: some Sequence<UInt8>) -> Bool {
    guard let first = line.first(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else { return false }
    return first != UInt8(ascii: "[") && first != UInt8(ascii: "#")
}

/// Returns `key` for a complaint: bare if TOML allows that, else in quotes.
func shownKey(_ key: String) -> String {
    let isBare = !key.isEmpty && key.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    return isBare ? oneLine(key, longest: 60) : "\"\(oneLine(key, longest: 60))\""
}

/// Returns `text` without control characters, cut to fit a log line.
func oneLine(_ text: String, longest: Int = 160) -> String {
    var result = ""
    for (count, scalar) in text.unicodeScalars.enumerated() {
        if count == longest { return result + "…" }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse:
            result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
