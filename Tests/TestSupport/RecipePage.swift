import Foundation

/// docs/recipes.md, for its tests.
package struct RecipePage {
    /// A heading and the indented blocks below it.
    package struct Recipe {
        package var heading: String
        package var blocks: [String] = []
    }

    /// The text above the first recipe, without its blocks.
    package var introduction = ""
    /// The blocks above the first recipe.
    package var introductoryBlocks: [String] = []
    package var recipes: [Recipe] = []

    /// All blocks of the page.
    package var blocks: [String] { introductoryBlocks + recipes.flatMap(\.blocks) }
    /// The blocks that are a whole kiosk.conf.
    package var configurations: [String] { blocks.filter { $0.hasPrefix("[") } }
    /// The other blocks, for a shell.
    package var scripts: [String] { blocks.filter { !$0.hasPrefix("[") } }

    /// Reads the page.
    package init() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../docs/recipes.md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var block = ""
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("    ") {
                block += line.dropFirst(4) + "\n"
            } else if !line.isEmpty {
                add(block)
                block = ""
                if line.hasPrefix("## ") {
                    recipes.append(Recipe(heading: String(line.dropFirst(3))))
                } else if recipes.isEmpty {
                    introduction += line + "\n"
                }
            }
        }
        add(block)
    }

    private mutating func add(_ block: String) {
        if block.isEmpty { return }
        if recipes.isEmpty { introductoryBlocks.append(block) } else { recipes[recipes.count - 1].blocks.append(block) }
    }

    /// Returns the kiosk.conf of the recipe with this heading; nil if it has none.
    package func configuration(of heading: String) -> String? {
        recipes.first { $0.heading == heading }?.blocks.first { $0.hasPrefix("[") }
    }
}
