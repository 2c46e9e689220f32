import CKioskFFmpeg
import CKioskMedia
import KioskPlatform
import KioskVocabulary
import Synchronization

/// The TLS requirements for servers on connections that libavformat opens without options: those of `rtsps`, `rtmpts` and DASH parts.
///
/// These connections use the defaults of libavformat's `tls` protocol, one set for the process. So a source with such connections claims
/// them. `rtsps` and `rtmpts` do while opening, since they connect only then; DASH does as long as it is open. Sources with the same terms
/// share a claim. Others wait for sources that are opening, and fail while a source that stays open has other terms. All other connections
/// receive their terms with each request (``SourceOptions``). Unclaimed defaults are strict.
final class TLSTerms: Sendable {
    private struct Terms: Hashable {
        var verifies = true
        /// The file of certificate authorities; nil means the system's.
        var authorities: String?

        init() {}
        init(_ settings: StreamSettings) { (verifies, authorities) = (settings.verifiesTLS, settings.certificateAuthorities) }
    }

    private struct Claims {
        var terms: Terms
        var opening = 0
        var open = 0
        var count: Int { opening + open }
    }

    private static let taken = MediaError.Reason.failed(
        "cannot be opened: ca-file or tls-verify differ from those of a DASH entry that is open, and rtsps and DASH share them: give "
            + "all such entries the same, in [network]")
    private static let unknown = MediaError.Reason.failed("cannot be opened: this FFmpeg does not verify the server’s certificate")
    private static let interrupted = MediaError.Reason.failed(
        "cannot be opened: another entry with another ca-file or tls-verify has been opening for too long")

    /// The present claims; nil if libavformat's defaults could not be set.
    private static let claims = Monitor<Claims?>(setDefaults() ? Claims(terms: Terms()) : nil)
    private static let slice = MediaTime.milliseconds(50)

    private let staysOpen: Bool

    private init(staysOpen: Bool) { self.staysOpen = staysOpen }

    /// Releases the claim; the last release restores the strict defaults.
    deinit {
        Self.claims.signal { [staysOpen] claims in
            claims?.opening -= staysOpen ? 0 : 1
            claims?.open -= staysOpen ? 1 : 0
            if claims?.count == 0, claims?.terms != Terms() { claims = Self.set(Terms()) ? Claims(terms: Terms()) : nil }
        }
    }

    /// Claims the terms of `settings` until the result is released. Blocks while a source with other terms opens, as long as `interruption`
    /// allows.
    static func claim(_ settings: StreamSettings, staysOpen: Bool, _ interruption: Interruption) throws(MediaError.Reason) -> TLSTerms {
        let terms = Terms(settings)
        while !interruption.isOver {
            let outcome: Result<TLSTerms, MediaError.Reason>? = claims.wait(until: .now + slice) { claims in
                guard let present = claims else { return .failure(unknown) }
                if present.terms != terms {
                    if present.open > 0 { return .failure(taken) }
                    if present.opening > 0 { return nil }
                    guard terms.authorities == nil || SourceOptions.systemAuthorities != nil, set(terms) else {
                        claims = set(Terms()) ? present : nil
                        return .failure(unknown)
                    }
                    claims?.terms = terms
                }
                claims?.opening += staysOpen ? 0 : 1
                claims?.open += staysOpen ? 1 : 0
                return .success(TLSTerms(staysOpen: staysOpen))
            }
            if let outcome { return try outcome.get() }
        }
        throw interrupted
    }

    /// Makes libavformat verify servers and follow no redirection by default. If that fails, every ``claim(_:staysOpen:_:)`` throws. Call
    /// before opening anything.
    static func prepare() { claims.withLock { _ in } }

    private static func setDefaults() -> Bool {
        func follow(_ protocolName: String) -> Bool {
            avio_protocol_get_class(protocolName).map { kiosk_set_default($0, "max_redirects", 0) == 0 } ?? false
        }
        let strict = set(Terms())
        return follow("http") && follow("https") && strict
    }

    private static func set(_ terms: Terms) -> Bool {
        guard let tls = avio_protocol_get_class("tls") else { return false }
        // Two names of one option: the second one's default applies last.
        let status = ["ca_file", "cafile"].map { (name: String) in kiosk_set_default_text(tls, name, terms.authorities) }
        return kiosk_set_default(tls, "tls_verify", terms.verifies ? 1 : 0) == 0 && status == [0, 0]
    }
}
