/// One thing that can be wrong with a box. Pure: facts in, findings out.
package struct BoxCheck: Sendable {
    /// The word of its findings.
    package var code: String
    /// What is so when there is no finding.
    package var subject: String
    /// Why the facts do not tell, where they do not.
    package var unknown = "the system does not tell"
    /// Findings; none when all is well; nil where the facts do not tell.
    package var judge: @Sendable (BoxFacts) -> [Finding]?

    /// All of them, in the order in which they are reported.
    package static let all: [BoxCheck] =
        BoxFacts.Node.Use.allCases.map(permission) + [
            displayDevice, displayConnected, displayHolder, consoleBlanking, commandLine, displayManager, getty, service, servicePath, keys,
            clock, decoders, soundCard, soundMuted, storage, freeSpace, temperature, power,
        ]

    /// What is wrong with the box, and one line for each check that found nothing.
    package static func diagnose(_ facts: BoxFacts) -> [Finding] {
        all.flatMap { check -> [Finding] in
            guard let findings = check.judge(facts) else {
                return [Finding(check.code, .unknown, "not checked: \(check.subject): \(check.unknown)")]
            }
            return findings.isEmpty ? [Finding(check.code, .ok, check.subject)] : findings
        }
    }
}
