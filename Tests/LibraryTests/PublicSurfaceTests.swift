import Foundation
import Testing

/// Compares the public API of the libraries with Expected/public-surface.txt, so that every change is visible.
/// With KIOSK_RECORD=1 in the environment, the test rewrites the file.
@Suite struct PublicSurfaceTests {
    private static let package = String(#filePath.dropLast("/Tests/LibraryTests/PublicSurfaceTests.swift".count))

    private struct Graph: Decodable {
        struct Symbol: Decodable {
            struct Identifier: Decodable { var precise: String }
            struct Fragment: Decodable { var spelling: String, preciseIdentifier: String? }
            var identifier: Identifier
            var pathComponents: [String]
            var declarationFragments: [Fragment]?
        }
        struct Relationship: Decodable { var kind: String, source: String, target: String, targetFallback: String? }
        var symbols: [Symbol]
        var relationships: [Relationship]
    }

    @Test func `the public surface is the one that was agreed on`() throws {
        let folder = NSTemporaryDirectory() + "kiosk-surface-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.package + "/Tools/symbol-graphs")
        process.arguments = [folder]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "Tools/symbol-graphs has failed")

        let graphs = try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { file in
            let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + file))
            let module = file.split(separator: "@")[0].split(separator: ".")[0]
            return (module: String(module), graph: try JSONDecoder().decode(Graph.self, from: data))
        }
        let shared = Set(graphs.flatMap(\.graph.symbols).map(\.identifier.precise))
        let lines = graphs.flatMap { surface($0.graph, of: $0.module, shared: shared) }
        let text = Array(Set(lines)).sorted().joined(separator: "\n") + "\n"
        let path = Self.package + "/Tests/LibraryTests/Expected/public-surface.txt"
        if ProcessInfo.processInfo.environment["KIOSK_RECORD"] == "1" {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }
        let expected = Set(try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init))
        let new = lines.filter { !expected.contains($0) }
        #expect(new == [], "new; KIOSK_RECORD=1 has it agreed on")
        #expect(expected.subtracting(lines).sorted() == [], "gone: applications that use it do not build any more")
    }

    /// Returns a line for each symbol declared here, and for each conformance of a type. `shared` are the symbols of all libraries.
    private func surface(_ graph: Graph, of module: String, shared: Set<String>) -> [String] {
        var names: [String: String] = [:]
        var lines: [String] = []
        for symbol in graph.symbols where !symbol.identifier.precise.contains("::SYNTHESIZED::") {
            let name = module + "." + symbol.pathComponents.joined(separator: ".")
            names[symbol.identifier.precise] = name
            let fragments = symbol.declarationFragments ?? []
            lines.append("\(name)\t\(fragments.map(\.spelling).joined().split(separator: "\n").joined(separator: " "))")
            for fragment in fragments {
                guard let identifier = fragment.preciseIdentifier else { continue }
                let isInside = ["KioskPlayback", "KioskMedia", "KioskVocabulary", "KioskPlatform"].contains {
                    identifier.hasPrefix("s:\($0.count)\($0)")
                }
                #expect(
                    !identifier.hasPrefix("c:") && (!isInside || shared.contains(identifier)),
                    "\(name) shows \(fragment.spelling), which is the engine's or C's")
            }
        }
        for relationship in graph.relationships where relationship.kind == "conformsTo" {
            guard let name = names[relationship.source], let to = relationship.targetFallback else { continue }
            lines.append("\(name)\t: \(to)")
        }
        return lines
    }
}
