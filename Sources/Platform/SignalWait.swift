import Glibc

/// Receives signals by waiting for them (sigtimedwait(2)), without handlers.
package struct SignalWait: Sendable {
    private let signals: [Int32]

    /// Blocks `wanted` in the calling thread and in every thread that it starts later; call it before there are threads. Omits SIGHUP if
    /// the process started with it ignored: `nohup kiosk &` must outlive its terminal.
    package init(_ wanted: [Int32]) {
        let signals = wanted.filter { $0 != SIGHUP || !Self.isIgnored($0) }
        self.signals = signals
        var set = Self.set(signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Restores the signals' usual effect in the calling thread, and in a program that it executes.
    package func end() {
        var set = Self.set(signals)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Returns the next signal; nil if none arrives within `time`. Without a time it waits for ever. Call on one thread.
    package func wait(for time: MediaTime?) -> Int32? {
        var set = Self.set(signals)
        var timeout = time.map { HostTime(nanoseconds: $0.nanoseconds).timespec }
        while true {
            let signal = timeout == nil ? sigwaitinfo(&set, nil) : sigtimedwait(&set, nil, &timeout!)
            if signal > 0 { return signal }
            if errno != EINTR { return nil }
        }
    }

    /// Ends a ``wait(for:)`` with `signal`, from any thread. The corresponding C function is `kill`.
    package func raise(_ signal: Int32) { kill(getpid(), signal) }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private static func set(_ signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}
