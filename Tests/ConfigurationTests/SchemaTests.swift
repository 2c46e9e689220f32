import Foundation
import Testing

@testable import KioskConfiguration

/// Checks that the schema for editors accepts and rejects the same values as the player.
@Suite struct SchemaTests {
    /// Returns the faults of `value`, each with its place. Implements only the keywords of JSON Schema (draft 7) that the schema uses.
    private static func faults(_ value: TOMLValue.Kind, _ schema: [String: Any], at place: String = "") -> [String] {
        var faults: [String] = []
        func demand(_ isRight: Bool, _ text: String) { if !isRight { faults.append("\(place): \(text)") } }
        for (name, rule) in schema {
            switch (name, rule) {
            case ("$schema", _), ("title", _), ("description", _), ("default", _): break
            case ("type", let type as String): demand(has(value, type), type)
            case ("type", let types as [String]): demand(types.contains { has(value, $0) }, types.joined(separator: ", "))
            case ("enum", let words as [String]): demand(value.string.map(words.contains) ?? false, "none of \(words)")
            case ("enum", let numbers as [Double]): demand(number(value).map(numbers.contains) ?? false, "none of \(numbers)")
            case ("anyOf", let schemas as [[String: Any]]):
                demand(schemas.contains { Self.faults(value, $0).isEmpty }, "none of \(schemas)")
            case ("minimum", let limit as Double): demand(number(value).map { $0 >= limit } ?? true, "less than \(limit)")
            case ("maximum", let limit as Double): demand(number(value).map { $0 <= limit } ?? true, "more than \(limit)")
            case ("minLength", let limit as Int): demand((value.string?.unicodeScalars.count ?? limit) >= limit, "too short")
            case ("maxLength", let limit as Int): demand((value.string?.unicodeScalars.count ?? limit) <= limit, "too long")
            case ("pattern", let pattern as String):
                guard let text = value.string else { break }
                demand(text.range(of: pattern, options: .regularExpression) != nil, "not \(pattern)")
            case ("maxItems", let limit as Int): if case .array(let items) = value { demand(items.count <= limit, "too many") }
            case ("items", let schema as [String: Any]):
                guard case .array(let items) = value else { break }
                for (index, item) in items.enumerated() { faults += Self.faults(item.kind, schema, at: "\(place)[\(index)]") }
            case ("maxProperties", let limit as Int): demand(members(value).count <= limit, "too many")
            case ("required", let names as [String]):
                if case .table = value { for name in names { demand(members(value).contains { $0.key == name }, "no \(name)") } }
            case ("properties", let known as [String: [String: Any]]):
                for member in members(value) {
                    if let schema = known[member.key] { faults += Self.faults(member.value.kind, schema, at: "\(place).\(member.key)") }
                }
            case ("additionalProperties", let other):
                let known = schema["properties"] as? [String: Any] ?? [:]
                for member in members(value) where known[member.key] == nil {
                    let schema = other as? [String: Any]
                    faults += schema.map { Self.faults(member.value.kind, $0, at: "\(place).\(member.key)") } ?? ["\(place): \(member.key)"]
                }
            default: faults.append("\(place): the schema has \(name), which this test does not know")
            }
        }
        return faults
    }

    private static func has(_ value: TOMLValue.Kind, _ type: String) -> Bool {
        switch (value, type) {
        case (.string, "string"), (.integer, "integer"), (.integer, "number"), (.float, "number"), (.boolean, "boolean"), (.array, "array"),
            (.table, "object"):
            true
        default: false
        }
    }

    private static func number(_ value: TOMLValue.Kind) -> Double? {
        switch value {
        case .integer(let number): Double(number)
        case .float(let number): number
        default: nil
        }
    }

    private static func members(_ value: TOMLValue.Kind) -> [TOMLEntry] { if case .table(let entries) = value { entries } else { [] } }

    private static func faults(of text: String) throws -> [String] {
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(Configuration.schema.utf8)) as? [String: Any])
        return faults(try TOMLDocument.parse(Array(text.utf8)).kind, schema)
    }

    @Test("The sample is right, with its comments and without", arguments: [(false, false), (true, false), (true, true)])
    func sample(uncommented: Bool, examples: Bool) throws {
        #expect(try Self.faults(of: Manual.text(uncommented: uncommented, examples: examples)) == [])
        #expect(try Self.faults(of: "") == [])
    }

    @Test(
        "What the player refuses an editor marks",
        arguments: [
            "x = 1", "[wallpaper]\nx = 1", "[[display]]\nrotation = 90", "[playlist]\nsource = \"a\"", "[[playlist]]\nmuted = true",
            "[display]\nrotatoin = 90", "[display]\nrotation = 45", "[display]\nrotation = \"90\"", "[display]\ngravity = \"cover\"",
            "[display]\nbackground = \"red\"", "[display]\nmode = \"1080p\"", "[audio]\nvolume = 101", "[audio]\nvolume = -1",
            "[audio]\nvolume = 50.5", "[audio]\nmuted = 1", "[playback]\nseek-step = 0", "[playback]\nseek-step = \"1:60\"",
            "[playback]\nseek-step = 3600001", "[playback]\ndecoder-device = \"renderD128\"", "[playback]\nmore-formats = [\"A\"]",
            "[network]\nheaders = { a = 1 }", "[network]\nuser-agent = \"\"", "[input]\nkeys = \"all\"", "[input.keys]\nspace = 3",
            "[input.gestures]\nlong-pres = \"next\"", "[input]\nallow = \"tap\"", "[input]\nmap = 3", "[theme]\nopacity = 1.5",
            "[theme]\nslider = \"no\"", "[shelf]\nfolders = \"usb\"", "[idle]\nafter = -1", "[control]\nsocket = \"control.sock\"",
            "[record]\nkeep-number = 0", "[log]\nlevel = \"loud\"", "[[playlist]]\nsource = \"a\"\nwait-for = \"touch\"",
            "[[playlist]]\nsource = \"a\"\nrepeat = 0",
        ]) func mistakes(_ text: String) throws
    {
        #expect(throws: ConfigurationError.self) { _ = try parsed(text) }
        #expect(try !Self.faults(of: text).isEmpty)
    }

    @Test("An editor is told what a key means, its default, and whether a change needs a restart") func descriptions() throws {
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(Configuration.schema.utf8)) as? [String: Any])
        func member(_ names: String...) -> [String: Any]? {
            names.reduce(schema as [String: Any]?) { ($0?["properties"] as? [String: Any])?[$1] as? [String: Any] }
        }
        let connector = member("display", "connector")
        #expect(connector?["default"] as? String == "auto")
        let description = connector?["description"] as? String
        #expect(description?.hasPrefix("\"auto\" is the first connector") == true && description?.contains("needs a restart") == true)
        #expect(
            member("playback", "transition-duration")?["description"] as? String == member("playback", "transition")?["description"]
                as? String)
        #expect(member("display", "physical-size")?["default"] == nil)
    }
}
