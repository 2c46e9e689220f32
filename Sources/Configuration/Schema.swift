extension Configuration {
    /// The JSON Schema of kiosk.conf, for editors that check and complete TOML with it. It uses only keywords with the same meaning from
    /// draft 4 to 2020-12, because such editors differ.
    package static var schema: String {
        """
        {
          "$schema": "http://json-schema.org/draft-07/schema#",
          "title": "kiosk.conf",
          \(KeyFacts.object(keys.map(\.facts), indentation: "  "))
        }

        """
    }
}

extension KeyFacts {
    /// Returns the schema members for a table of `keys`.
    fileprivate static func object(_ keys: [KeyFacts], indentation: String) -> String {
        let next = "\n" + indentation
        var members = ["\"type\": \"object\"", "\"additionalProperties\": false"]
        let required = keys.filter { $0.missing != nil }.map { quoted($0.name) }
        if !required.isEmpty { members.append("\"required\": [\(required.joined(separator: ", "))]") }
        var paragraph = ""
        let properties = keys.map { key in
            if !key.paragraph.isEmpty || key.isTable { paragraph = key.paragraph }
            return "\n\(indentation)  \(quoted(key.name)): \(key.schemaText(described: paragraph, indentation: indentation + "  "))"
        }
        members.append("\"properties\": {\(properties.joined(separator: ","))\(next)}")
        return members.joined(separator: ",\(next)")
    }

    private func schemaText(described paragraph: String, indentation: String) -> String {
        var text = [paragraph]
        if !isTable, !hasDefault { text.append("\(name) = \(sample())") }
        if needs == .restart, origin == nil { text.append("A change needs a restart of the player.") }
        let description = text == [""] ? [] : ["\"description\": \(quoted(text.joined(separator: "\n")))"]
        if !isTable {
            let showsDefault = hasDefault && origin == nil && heading == nil
            return "{ \((description + [schema()] + (showsDefault ? ["\"default\": \(sample())"] : [])).joined(separator: ", ")) }"
        }
        let next = "\n" + indentation + "  "
        let object = Self.object(keys(), indentation: indentation + (isList ? "    " : "  "))
        let members = isList ? ["\"type\": \"array\"", "\"items\": {\(next)  \(object)\(next)}"] : [object]
        return "{\(next)\((description + members).joined(separator: ",\(next)"))\n\(indentation)}"
    }
}
