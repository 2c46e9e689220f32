/// One check of the machine. A pure value: it takes facts, and returns findings.
package struct BoxCheck: Sendable {
    /// The code of its findings.
    package let code: String
    /// The statement that is true if there is no finding.
    package let subject: String
    /// The reason if the facts are unknown.
    package let unknown: String
    /// Returns the findings; none if all is well; nil if the facts are unknown.
    package let judge: @Sendable (BoxFacts) -> [Finding]?

    init(
        _ code: String, _ subject: String, unknown: String = "the system does not report it",
        judge: @escaping @Sendable (BoxFacts) -> [Finding]?
    ) {
        (self.code, self.subject, self.unknown, self.judge) = (code, subject, unknown, judge)
    }

    /// All checks, in the order of the report.
    package static let all: [BoxCheck] =
        BoxFacts.Node.Use.allCases.map(permission) + [
            displayDevice, displayConnected, displayHolder, consoleBlanking, commandLine, displayManager, getty, service, servicePath, keys,
            clock, decoders, isolation, soundCard, soundMuted, storage, freeSpace, temperature, power,
        ]

    /// Returns all findings, and a line for each check without one.
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
    /// Makes a list of one finding; ``BoxCheck/diagnose(_:)`` adds the check's code.
    static func found(_ severity: Finding.Severity, _ text: String, advice: [String] = [], remedies: [Remedy] = []) -> Self {
        [Finding("", severity, text, advice: advice, remedies: remedies)]
    }
}
