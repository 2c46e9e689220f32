/// One thing that can be wrong with a box. Pure: facts in, findings out.
package struct BoxCheck: Sendable {
    /// The word of its findings.
    package let code: String
    /// What is so when there is no finding.
    package let subject: String
    /// Why the facts do not tell, where they do not.
    package let unknown: String
    /// Findings; none when all is well; nil where the facts do not tell.
    package let judge: @Sendable (BoxFacts) -> [Finding]?

    init(
        _ code: String, _ subject: String, unknown: String = "the system does not report it",
        judge: @escaping @Sendable (BoxFacts) -> [Finding]?
    ) {
        (self.code, self.subject, self.unknown, self.judge) = (code, subject, unknown, judge)
    }

    /// All of them, in the order in which they are reported.
    package static let all: [BoxCheck] =
        BoxFacts.Node.Use.allCases.map(permission) + [
            displayDevice, displayConnected, displayHolder, consoleBlanking, commandLine, displayManager, getty, service, servicePath, keys,
            clock, decoders, isolation, soundCard, soundMuted, storage, freeSpace, temperature, power,
        ]

    /// What is wrong with the box, and one line for each check that found nothing.
    package static func diagnose(_ facts: BoxFacts) -> [Finding] {
        all.flatMap { check -> [Finding] in
            guard let findings = check.judge(facts) else {
                return [Finding(check.code, .unknown, "not checked: \(check.subject): \(check.unknown)")]
            }
            if findings.isEmpty { return [Finding(check.code, .ok, check.subject)] }
            return findings.map { Finding(check.code, $0.severity, $0.text, advice: $0.advice, remedies: $0.remedies) }
        }
    }
}

extension [Finding] {
    /// What a check has found; the check's word is added by ``BoxCheck/diagnose(_:)``.
    static func found(_ severity: Finding.Severity, _ text: String, advice: [String] = [], remedies: [Remedy] = []) -> Self {
        [Finding("", severity, text, advice: advice, remedies: remedies)]
    }
}
