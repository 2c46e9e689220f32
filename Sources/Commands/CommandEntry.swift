// The parts of a command: its name, parameters, origin (viewers or programs), preconditions, answer and line of help.
// CommandTable.swift is the table of commands. Every command language is derived from that table:
// - the words of kiosk.conf, with the default keys and gestures (CommandWords.swift)
// - the checks of a line of the control socket, and its refusals (ControlRequest)
// - the words of `kiosk ctl`, with their help and completion (ControlWords.swift)
// - docs/control-commands.md (ControlReference.swift)
//
// An entry turns input into a typed value: words of kiosk.conf become a ``Command``, a line of the socket becomes a ``Request``.
// The code that carries them out switches over all cases, so a command without an implementation does not compile.
import KioskPlatform
import KioskVocabulary

/// One command.
package struct CommandEntry: Sendable {
    /// Its name on the socket, and its word in kiosk.conf.
    package let name: String
    /// The command's effect, in one sentence.
    package var summary = ""
    /// The parameters that the command takes on the socket.
    package var parameters: [ParameterFacts] = []
    /// The parameters of which a request must have exactly one.
    package var oneOf: [String] = []
    /// The precondition that kiosk checks before it carries the command out.
    package var need: CommandNeed?
    /// When kiosk answers.
    package var effect = "at once"
    /// The error if the command should move the playhead and does not; nil if that is no error.
    package var problem: String?
    /// The members of the answer.
    package var answer: CommandAnswer = [:]
    /// The right that a program needs which asks over a network.
    package var scope = CommandScope.control
    /// Whether the command only reports.
    package var reading = CommandReading.never
    /// How kiosk.conf writes the command for keys, gestures, taps and the idle time; empty if viewers may not use it.
    package var forms: [CommandForm] = []
    /// Makes a request of its checked members; nil if programs may not use the command.
    package var request: (@Sendable ([String: JSONValue]) -> Request)?

    init(_ name: String, _ forms: [CommandForm]) { (self.name, self.forms) = (name, forms) }
}

/// The right that a program needs which asks over a network. Each includes none of the others.
package enum CommandScope: String, Hashable, Sendable, CaseIterable {
    /// See the state and the screen.
    case view
    /// Control playback, sound and picture.
    case control
    /// Change what there is to play.
    case content
    /// Change the program itself.
    case admin
}

/// Whether a command only reports.
package enum CommandReading: Sendable {
    case never, always
    /// If it has no parameters.
    case withoutParameters
}

/// The precondition of a command.
package enum CommandNeed: Sendable {
    /// A seekable item on the screen.
    case seekableItem
    /// `[record] folder`.
    case recorder
    /// `[playback] cache`.
    case cache
    /// `[input] allow-quit`.
    case permissionToQuit
}

/// The members of an answer besides `id` and `ok`.
package enum CommandAnswer: Sendable, ExpressibleByDictionaryLiteral {
    /// The player's position once the effect is visible.
    case place
    /// These members: of `status` for a player command, from the command's owner otherwise.
    case members([AnswerMember])

    /// Members, by name.
    package init(dictionaryLiteral members: (String, String)...) {
        self = .members(members.map { AnswerMember(name: $0, text: $1) })
    }

    package var members: [AnswerMember] {
        switch self {
        case .place: AnswerMember.place
        case .members(let members): members
        }
    }
}

/// A member of an answer.
package struct AnswerMember: Sendable {
    package let name: String
    package let text: String

    static let place = [
        AnswerMember(name: "item", text: "the item on the screen: `id`, `place`, `title` and `source`; null if there is none"),
        AnswerMember(name: "time", text: "the position in the item, in seconds"),
        AnswerMember(name: "shown", text: "false if there is no display"),
    ]
}

/// How a command is written in kiosk.conf: a word, the name of its entry, and for some an argument.
package enum CommandForm: Sendable {
    /// The word alone, with its default keys (written as for ``KeyTrigger``) and gestures.
    case plain(Command, keys: [String] = [], gestures: [GestureName] = [])
    /// The word and an argument, with a description of the argument.
    case argument(String, @Sendable (String) -> Command?)
    /// The word, and a file or a URL to play.
    case source(String)

    static func number(_ text: String, in range: ClosedRange<Int>, _ make: @escaping @Sendable (Int) -> PlayerCommand) -> CommandForm {
        .argument(text) { word in
            Int(word).flatMap { range ~= $0 && word.allSatisfy(\.isNumber) ? .player(make($0)) : nil }
        }
    }
}

/// A parameter of a command on the socket, and the reader of its value.
struct Parameter<Value: Sendable>: Sendable {
    let facts: ParameterFacts
    /// The value of a checked member; nil if the request does not have it.
    let value: @Sendable (JSONValue?) -> Value

    /// A parameter that a request must have.
    static func required(
        _ name: String, _ kind: ParameterKind<Value>, _ text: String, _ form: ParameterForm = .place, scope: CommandScope? = nil
    ) -> Parameter {
        Parameter(facts: ParameterFacts(name, kind, text, form, scope, isRequired: true)) { kind.read($0 ?? .null)! }
    }

    /// A parameter that a request may have.
    static func optional<Wrapped>(
        _ name: String, _ kind: ParameterKind<Wrapped>, _ text: String, _ form: ParameterForm = .option, scope: CommandScope? = nil
    ) -> Parameter where Value == Wrapped? {
        Parameter(facts: ParameterFacts(name, kind, text, form, scope, isRequired: false)) { $0.flatMap(kind.read) }
    }
}

/// The description of a parameter, independent of its type.
package struct ParameterFacts: Sendable {
    /// The name of the member in the request.
    package let name: String
    /// Whether a request must have it.
    package let isRequired: Bool
    /// The description, in one sentence.
    package let text: String
    /// How `kiosk ctl` writes the parameter.
    package let form: ParameterForm
    /// The expected value in words, for refusals and the reference.
    package let expectation: String
    /// The words to choose from; empty if the value is free.
    package let choices: [String]
    /// The members of a JSON Schema that describe its values.
    package let schema: String
    /// The right that a request with this parameter needs as well; nil for none.
    package let scope: CommandScope?
    /// Returns whether a value is valid.
    package let allows: @Sendable (JSONValue) -> Bool
    /// Converts a word of the command line to JSON; the result may be invalid.
    package let member: @Sendable (String) -> JSONValue

    init<Value>(
        _ name: String, _ kind: ParameterKind<Value>, _ text: String, _ form: ParameterForm, _ scope: CommandScope?, isRequired: Bool
    ) {
        (self.name, self.isRequired, self.text, self.form, self.scope) = (name, isRequired, text, form, scope)
        (expectation, choices, schema) = (kind.expectation, kind.choices, kind.schema)
        allows = { kind.read($0) != nil }
        member = { kind.syntax.value(of: $0) }
    }
}

/// How a word on the command line becomes a parameter.
package enum ParameterForm: Hashable, Sendable {
    /// `--name value`.
    case option
    /// By position among the words.
    case place
    /// By position, if the word begins with + or -.
    case signed
    /// All words from its position on.
    case rest
}
