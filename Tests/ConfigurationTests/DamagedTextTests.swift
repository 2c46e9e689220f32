import TestSupport
import Testing

@testable import KioskConfiguration

@Suite struct FuzzTests {
    @Test("A damaged kiosk.conf gives values, or complaints that each say where", arguments: 0..<8 as Range<UInt64>) func damage(
        seed: UInt64
    ) throws {
        let originals = [Array(Manual.text().utf8), Array(Manual.text(uncommented: true, examples: true).utf8)]
        var random = Proof.Random(seed: seed)
        for _ in 0..<60 {
            var text = originals.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&text, &random) }
            do throws(ConfigurationError) {
                _ = try Configuration.parse(text, path: "kiosk.conf", folder: "/srv")
            } catch {
                let lines = text.count { $0 == UInt8(ascii: "\n") } + 1
                #expect(!error.complaints.isEmpty)
                #expect(error.complaints.allSatisfy { 1...lines ~= ($0.position?.line ?? 0) && $0.position!.column >= 1 }, "\(error)")
                #expect(error.description.split(separator: "\n", omittingEmptySubsequences: false).count == error.complaints.count)
            }
        }
    }

    private func mutate(_ text: inout [UInt8], _ random: inout Proof.Random) {
        guard !text.isEmpty else { return }
        let start = Int.random(in: 0..<text.count, using: &random)
        let end = min(text.count, start + Int.random(in: 1...40, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: text[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: text[start] = Array("[]{}\"'=.,#\n\r\0\\0aé".utf8).randomElement(using: &random)!
        case 2: text.removeSubrange(start..<end)
        case 3: text.insert(contentsOf: text[start..<end], at: Int.random(in: 0...text.count, using: &random))
        case 4: text.removeSubrange(start...)
        default: text.insert(contentsOf: Array("[[\"\"\"\n".utf8).shuffled(using: &random), at: start)
        }
    }
}
