import KioskPlatform
import KioskVocabulary

/// Fetches a news feed regularly, and reports its titles when they change.
///
/// Thread `feed` fetches it every five minutes, with the validators of the last answer. After a failure it keeps the last titles, and
/// retries after five seconds, then after twice as long each time, up to five minutes.
package final class FeedWatch: Sendable {
    /// An event to report.
    package enum News: Hashable, Sendable {
        case titles([String])
        /// A line for the log; reported once until it changes.
        case problem(String)
    }

    private let url: String
    private let settings: StreamSettings
    private let isStopping = Monitor(false)

    /// The most bytes of an answer to read.
    private static let mostBytes = 1 << 20
    private static let pause = MediaTime.seconds(300), firstRetry = MediaTime.seconds(5)

    /// Makes a watch for a feed at an http or https address, with these network settings.
    package init(_ url: String, _ settings: StreamSettings) { (self.url, self.settings) = (url, settings) }

    /// Starts; calls `tell` on a thread of its own. Call once.
    package func start(_ tell: @escaping @Sendable (News) -> Void) {
        Thread("feed") { [self] in
            var (validators, titles, problem): (Validators, [String]?, String?) = (Validators(), nil, nil)
            var retry = Self.firstRetry
            while true {
                var pause = Self.pause
                switch ask(validators) {
                case .unchanged: (problem, retry) = (nil, Self.firstRetry)
                case .changed(let new, let with):
                    (validators, problem, retry) = (with, nil, Self.firstRetry)
                    if new != titles {
                        titles = new
                        tell(.titles(new))
                    }
                case .failed(let reason):
                    if reason != problem { tell(.problem("\(url.withoutCredentials): \(reason)")) }
                    problem = reason
                    pause = retry
                    retry = min(retry * 2, Self.pause)
                }
                if isStopping.wait(until: .now + pause, { $0 ? true : nil }) != nil { return }
            }
        }.detach()
    }

    package func stop() { isStopping.signal { $0 = true } }

    private enum Answer {
        case unchanged
        case changed([String], Validators)
        case failed(String)
    }

    private func ask(_ validators: Validators) -> Answer {
        guard Transfer.isAvailable else { return .failed(Transfer.absence) }
        var headers = validators.tag.map { ["If-None-Match: \($0)"] } ?? []
        if headers.isEmpty, let modified = validators.modified { headers.append("If-Modified-Since: \(modified)") }
        var (bytes, isTooLong): ([UInt8], Bool) = ([], false)
        let outcome = Transfer(url: url, headers: headers, settings: settings).run { _, more in
            isTooLong = bytes.count + more.count > Self.mostBytes
            if !isTooLong { bytes += more }
            return !isTooLong
        } goesOn: {
            !self.isStopping.withLock { $0 }
        }
        if isTooLong { return .failed("the feed is longer than a megabyte") }
        switch outcome.head.status {
        case 304: return .unchanged
        case 200:
            if let problem = outcome.problem { return .failed(problem) }
            let titles = FeedTitles.titles(in: bytes)
            return titles.isEmpty ? .failed("there is no title in it: is it RSS or Atom?") : .changed(titles, outcome.head.validators)
        case 0: return .failed(outcome.problem ?? "the server gives no answer")
        case let status: return .failed("the server answers \(status)")
        }
    }
}
