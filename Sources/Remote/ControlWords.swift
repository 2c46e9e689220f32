// The words of `kiosk ctl`: `seek +10`, `playlist append a.mp4 --at now`. The command's entry in the table turns them into a request. Wrong
// words are refused before anything is sent.
import KioskCommands
import KioskConfiguration

/// Why words are not a command, with the alternatives.
package struct ControlWordsFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line.
    package let description: String
}

extension ControlRequest {
    /// Returns the request for the words of a command line.
    ///
    /// - Parameter path: makes an absolute path of a source, which the words may give relative to the current folder.
    /// - Throws: the fault of the words.
    package static func line(words: [String], path: (String) -> String) throws(ControlWordsFault) -> String {
        guard let (command, rest) = CommandTable.find(words) else {
            guard let first = words.first else {
                throw ControlWordsFault(description: "the command is missing: kiosk ctl help lists the commands")
            }
            // Lists the commands that share a first word.
            let family = CommandTable.ofPrograms.map(\.name).filter { $0.hasPrefix("\(first) ") }
            let given = family.isEmpty ? first : words.prefix(2).joined(separator: " ")
            let near =
                if family.isEmpty {
                    suggestion(for: first, among: CommandTable.ofPrograms.map(\.name) + ["watch"])
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
        var members: [String: JSONValue] = ["command": .string(command.name)]
        var places = command.parameters.filter { $0.form == .place || $0.form == .rest }
        var index = rest.startIndex
        func fault(_ text: String) -> ControlWordsFault { ControlWordsFault(description: "\(command.name): \(text)\n\(command.usage)") }
        while index < rest.endIndex {
            let word = rest[index]
            index += 1
            if word.hasPrefix("--"), word.count > 2 {
                let name = String(word.dropFirst(2))
                guard let parameter = command.parameters.first(where: { $0.name == name }) else {
                    throw fault("there is no option \(word)")
                }
                guard index < rest.endIndex else { throw fault("\(word) needs \(parameter.expectation)") }
                members[name] = parameter.member(rest[index])
                index += 1
            } else if word.first == "+" || word.first == "-", let signed = command.parameters.first(where: { $0.form == .signed }) {
                members[signed.name] = signed.member(word)
                places.removeAll { command.oneOf.contains($0.name) }
            } else if let next = places.first {
                if next.form == .rest {
                    var words: [JSONValue] = []
                    if case .array(let before)? = members[next.name] { words = before }
                    members[next.name] = .array(words + [.string(word)])
                } else {
                    members[next.name] = next.member(word)
                    places.removeFirst()
                }
            } else {
                throw fault("unexpected argument “\(word)”")
            }
        }
        if case .array(let texts)? = members["sources"] { members["sources"] = .array(texts.map { .string(path($0.text ?? "")) }) }
        if case .string(let text)? = members["source"] { members["source"] = .string(path(text)) }
        do throws(ControlRefusal) {
            try command.check(members)
        } catch {
            throw ControlWordsFault(description: "\(error.message)\n\(command.usage)")
        }
        return JSONValue.object(members).line
    }
}

extension CommandTable {
    /// Returns the command at the beginning of the words, and the other words; the longest name counts.
    package static func find(_ words: [String]) -> (command: CommandEntry, rest: [String])? {
        for count in stride(from: min(words.count, 2), to: 0, by: -1) {
            if let known = named(words.prefix(count).joined(separator: " ")) { return (known, Array(words.dropFirst(count))) }
        }
        return nil
    }

    /// Returns the possible next words after `words`, for completion: commands, options and choices.
    package static func completions(after words: [String]) -> [String] {
        var found: [String] = []
        for command in ofPrograms {
            let name = command.name.split(separator: " ").map(String.init)
            if name.count > words.count, name.starts(with: words) { found.append(name[words.count]) }
        }
        guard let (command, rest) = find(words) else { return unique(found) }
        if let last = rest.last, last.hasPrefix("--"), let parameter = command.parameters.first(where: { "--\($0.name)" == last }) {
            return parameter.choices
        }
        let given = rest.filter { !$0.hasPrefix("--") }.count
        let places = command.parameters.filter { $0.form == .place || $0.form == .rest }
        if let next = places.dropFirst(given).first ?? places.last(where: { $0.form == .rest }) { found += next.choices }
        found += command.parameters.filter { $0.form == .option && !rest.contains("--\($0.name)") }.map { "--\($0.name)" }
        return unique(found)
    }

    private static func unique(_ words: [String]) -> [String] {
        var seen: Set<String> = []
        return words.filter { seen.insert($0).inserted }
    }
}

extension CommandEntry {
    /// `kiosk ctl seek TO | ±BY`.
    package var usage: String {
        var words = parameters.filter { $0.form != .option }.map { parameter -> String in
            let name = parameter.name.uppercased()
            let word = parameter.form == .signed ? "±\(name)" : parameter.form == .rest ? "\(name)…" : name
            return parameter.isRequired || oneOf.contains(parameter.name) ? word : "[\(word)]"
        }
        if !oneOf.isEmpty { words = [words.joined(separator: " | ")] }
        words += parameters.filter { $0.form == .option }.map { "[--\($0.name) \($0.name.uppercased())]" }
        return (["kiosk ctl", name] + words).joined(separator: " ")
    }
}
