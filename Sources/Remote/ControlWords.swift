// The words of `kiosk ctl`: `seek +10`, `playlist append a.mp4 --at now`. They become a request by the command's schema; what they cannot
// say right is refused before anything is sent.

import Configuration

/// Why words are not a command; what is wrong, and what there is.
package struct ControlWordsFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line.
    package let description: String
}

extension ControlRequest {
    /// The request that the words of a command line are.
    ///
    /// - Parameter path: makes an absolute path of a source, which the words may give relative to the present folder.
    /// - Throws: what is wrong with them.
    package static func line(words: [String], path: (String) -> String) throws(ControlWordsFault) -> String {
        guard let (command, rest) = ControlCommand.find(words) else {
            guard let first = words.first else {
                throw ControlWordsFault(description: "what to ask for is missing: kiosk ctl help lists the commands")
            }
            // Of a first word that several have, those.
            let family = ControlCommand.allCases.map(\.rawValue).filter { $0.hasPrefix("\(first) ") }
            let given = family.isEmpty ? first : words.prefix(2).joined(separator: " ")
            let near =
                if family.isEmpty {
                    suggestion(for: first, among: ControlCommand.allCases.map(\.rawValue) + ["watch"])
                } else {
                    suggestion(for: words.dropFirst().first ?? "", among: family.map { String($0.dropFirst(first.count + 1)) }).map {
                        "\(first) \($0)"
                    }
                }
            let advice =
                near.map { "did you mean “\($0)”?" }
                ?? (family.isEmpty ? "kiosk ctl help lists them" : "there are \(family.joined(separator: ", "))")
            throw ControlWordsFault(description: "there is no command “\(given)”; \(advice)")
        }
        let schema = command.schema
        var members: [String: JSONValue] = ["command": .string(command.rawValue)]
        var places = schema.parameters.filter { $0.word == .place || $0.word == .rest }
        var index = rest.startIndex
        func fault(_ text: String) -> ControlWordsFault { ControlWordsFault(description: "\(command.rawValue): \(text)\n\(schema.usage)") }
        while index < rest.endIndex {
            let word = rest[index]
            index += 1
            if word.hasPrefix("--"), word.count > 2 {
                let name = String(word.dropFirst(2))
                guard let parameter = schema.parameters.first(where: { $0.name == name }) else { throw fault("there is no option \(word)") }
                guard index < rest.endIndex else { throw fault("\(word) needs \(parameter.kind.expectation)") }
                members[name] = parameter.kind.value(of: rest[index])
                index += 1
            } else if word.first == "+" || word.first == "-", let signed = schema.parameters.first(where: { $0.word == .signed }) {
                members[signed.name] = signed.kind.value(of: word)
                places.removeAll { schema.oneOf.contains($0.name) }
            } else if let next = places.first {
                if next.word == .rest {
                    var words: [JSONValue] = []
                    if case .array(let before)? = members[next.name] { words = before }
                    members[next.name] = .array(words + [.string(word)])
                } else {
                    members[next.name] = next.kind.value(of: word)
                    places.removeFirst()
                }
            } else {
                throw fault("“\(word)” is too much")
            }
        }
        if case .array(let texts)? = members["sources"] { members["sources"] = .array(texts.map { .string(path($0.text ?? "")) }) }
        if case .string(let text)? = members["source"] { members["source"] = .string(path(text)) }
        do throws(ControlRefusal) {
            _ = try ControlArguments(members, of: schema)
        } catch {
            throw ControlWordsFault(description: "\(error.message)\n\(schema.usage)")
        }
        return JSONValue.object(members).line
    }
}

extension ControlCommand {
    /// The command that words begin with, and the other words; the longest name counts.
    package static func find(_ words: [String]) -> (command: ControlCommand, rest: [String])? {
        let names =
            allCases.map { (command: $0, words: $0.rawValue.split(separator: " ").map(String.init)) } + [(.playlist, ["playlist"])]
        let known = names.filter { words.starts(with: $0.words) }.max { $0.words.count < $1.words.count }
        return known.map { ($0.command, Array(words.dropFirst($0.words.count))) }
    }

    /// What may stand next on a command line behind `words`, for completion: commands, options, and words where there is a choice.
    package static func completions(after words: [String]) -> [String] {
        var found: [String] = []
        for command in allCases {
            let name = command.rawValue.split(separator: " ").map(String.init)
            if name.count > words.count, name.starts(with: words) { found.append(name[words.count]) }
        }
        guard let (command, rest) = find(words) else { return unique(found) }
        let schema = command.schema
        if let last = rest.last, last.hasPrefix("--"), let parameter = schema.parameters.first(where: { "--\($0.name)" == last }) {
            return parameter.kind.choices
        }
        let given = rest.filter { !$0.hasPrefix("--") }.count
        let places = schema.parameters.filter { $0.word == .place || $0.word == .rest }
        if let next = places.dropFirst(given).first ?? places.last(where: { $0.word == .rest }) { found += next.kind.choices }
        found += schema.parameters.filter { $0.word == .option && !rest.contains("--\($0.name)") }.map { "--\($0.name)" }
        return unique(found)
    }

    private static func unique(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { seen.insert($0).inserted }
    }
}

extension ControlSchema {
    /// `kiosk ctl seek TO | ±BY`.
    package var usage: String {
        var words = parameters.filter { $0.word != .option }.map { parameter -> String in
            let name = parameter.name.uppercased()
            let word = parameter.word == .signed ? "±\(name)" : parameter.word == .rest ? "\(name)…" : name
            return parameter.isRequired || oneOf.contains(parameter.name) ? word : "[\(word)]"
        }
        if !oneOf.isEmpty { words = [words.joined(separator: " | ")] }
        words += parameters.filter { $0.word == .option }.map { "[--\($0.name) \($0.name.uppercased())]" }
        return (["kiosk ctl", command.rawValue] + words).joined(separator: " ")
    }
}

extension ControlKind {
    /// The words there are to choose from; none where there is no choice.
    var choices: [String] {
        switch self {
        case .word(let words), .words(let words): words
        case .degrees: ["0", "90", "180", "270"]
        case .flag: ["true", "false"]
        case .track: ["auto", "off"]
        default: []
        }
    }

    /// What a word stands for; where it is no value of this kind the schema refuses it.
    func value(of word: String) -> JSONValue {
        switch self {
        case .time, .span, .number, .integer, .degrees, .item, .track: Self.number(word).map { .number($0) } ?? .string(word)
        case .flag: word == "true" ? .bool(true) : word == "false" ? .bool(false) : .string(word)
        case .texts, .words: .array([.string(word)])
        case .text, .word: .string(word)
        }
    }

    private static func number(_ word: String) -> Double? {
        guard word.wholeMatch(of: /[+-]?[0-9]{1,9}(\.[0-9]{1,9})?/) != nil else { return nil }
        return Double(word)
    }
}
