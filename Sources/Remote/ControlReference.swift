// docs/control-commands.md, made of the table of commands. A test compares the two.

/// The reference page of the control socket.
package enum ControlReference {
    /// The whole file.
    package static var page: String {
        var lines = [
            "# Commands of the control socket", "",
            "Made of the table in `Sources/Remote/ControlCommands.swift`; do not edit: "
                + "`KIOSK_RECORD=1 swift test --filter ControlReferenceTests` writes it anew. [remote.md](remote.md) explains the socket.",
            "",
        ]
        for command in ControlCommand.allCases { lines += section(command.schema) }
        lines += ["## Events", "", "A line for each, to clients that `observe`: `{\"event\":\"status\",\"state\":\"paused\"}`.", ""]
        lines += ["| event | when, and its members |", "|---|---|"]
        lines += ControlTopic.allCases.map { "| `\($0.rawValue)` | \($0.text) |" }
        return lines.joined(separator: "\n") + "\n"
    }

    /// What `kiosk ctl help` prints: all commands, one a line, or how the one is asked that the words are. nil where they are none.
    package static func help(_ words: [String]) -> String? {
        if words.isEmpty {
            let names =
                ControlCommand.allCases.map { ($0.rawValue, $0.schema.summary) } + [("watch", "Shows what happens, a line of JSON each.")]
            let width = names.map(\.0.count).max() ?? 0
            return names.map { $0 + String(repeating: " ", count: width - $0.count + 2) + $1 }.joined(separator: "\n")
        }
        guard let (command, rest) = ControlCommand.find(words), rest.isEmpty else { return nil }
        let schema = command.schema
        return
            ([schema.usage, schema.summary]
            + schema.parameters.map {
                "  \($0.name): \($0.text) \($0.kind.expectation.prefix(1).uppercased() + $0.kind.expectation.dropFirst())."
            })
            .joined(separator: "\n")
    }

    private static func section(_ schema: ControlSchema) -> [String] {
        var lines = ["## \(schema.command.rawValue)", "", schema.summary, "", "    \(schema.usage)", ""]
        if !schema.parameters.isEmpty {
            lines += ["| parameter | values | |", "|---|---|---|"]
            lines += schema.parameters.map { parameter in
                "| `\(parameter.name)`\(parameter.isRequired ? " (required)" : "") | \(parameter.kind.expectation) | \(parameter.text) |"
            }
            lines.append("")
            if !schema.oneOf.isEmpty { lines += ["One of \(schema.oneOf.map { "`\($0)`" }.joined(separator: " and ")) is required.", ""] }
        }
        lines.append("Answered \(schema.effect)\(schema.answer.isEmpty ? "." : ":")")
        lines.append("")
        if !schema.answer.isEmpty { lines += schema.answer.map { "- `\($0.name)`: \($0.text)" } + [""] }
        return lines
    }
}
