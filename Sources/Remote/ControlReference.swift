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
