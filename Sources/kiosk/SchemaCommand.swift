import ArgumentParser
import Configuration

/// `kiosk schema`: what kiosk.conf may have, for editors.
struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print a JSON Schema of kiosk.conf, for editors.",
        discussion: """
            Editors that take a schema for TOML complete the keys of kiosk.conf with it, show what each means, and mark mistakes while you \
            type. It is the same for every kiosk.conf, and is not read from one.
            """)

    func run() { Swift.print(Configuration.schema, terminator: "") }
}
