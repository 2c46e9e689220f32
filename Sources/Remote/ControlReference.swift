// Makes docs/control-commands.md of the table of commands. A test compares the two.
import KioskCommands

/// The reference page of the control socket.
package enum ControlReference {
    package static var page: String {
        var lines = [
            "# Commands of the control socket", "",
            "Made from the table in `Sources/Commands/CommandTable.swift`. Do not edit: "
                + "`KIOSK_RECORD=1 swift test --filter ControlReferenceTests` writes it anew. [remote.md](remote.md) explains the socket.",
            "",
        ]
        for command in CommandTable.ofPrograms { lines += section(command) }
        lines += ["## Events", "", "A line for each, to clients that `observe`: `{\"event\":\"status\",\"state\":\"paused\"}`.", ""]
        lines += ["| event | when, and its members |", "|---|---|"]
        lines += ControlTopic.allCases.map { "| `\($0.rawValue)` | \($0.text) |" }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the output of `kiosk ctl help`: all commands, one a line, or the help for the command in `words`. nil if they are no
    /// command.
    package static func help(_ words: [String]) -> String? {
        if words.isEmpty {
            let names =
                CommandTable.ofPrograms.map { ($0.name, $0.summary) } + [("watch", "Show events, a line of JSON for each.")]
            let width = names.map(\.0.count).max() ?? 0
            return names.map { $0 + String(repeating: " ", count: width - $0.count + 2) + $1 }.joined(separator: "\n")
        }
        guard let (command, rest) = CommandTable.find(words), rest.isEmpty else { return nil }
        return
            ([command.usage, command.summary]
            + command.parameters.map {
                "  \($0.name): \($0.text) \($0.expectation.prefix(1).uppercased() + $0.expectation.dropFirst())."
            })
            .joined(separator: "\n")
    }

    private static func section(_ command: CommandEntry) -> [String] {
        var lines = ["## \(command.name)", "", command.summary, "", "    \(command.usage)", ""]
        if !command.parameters.isEmpty {
            lines += ["| parameter | values | |", "|---|---|---|"]
            lines += command.parameters.map { parameter in
                "| `\(parameter.name)`\(parameter.isRequired ? " (required)" : "") | \(parameter.expectation) | \(parameter.text) |"
            }
            lines.append("")
            if !command.oneOf.isEmpty {
                lines += ["One of \(command.oneOf.map { "`\($0)`" }.joined(separator: " and ")) is required.", ""]
            }
        }
        let answer = command.answer.members
        lines.append("Answered \(command.effect)\(answer.isEmpty ? "." : ":")")
        lines.append("")
        if !answer.isEmpty { lines += answer.map { "- `\($0.name)`: \($0.text)" } + [""] }
        return lines
    }
}
