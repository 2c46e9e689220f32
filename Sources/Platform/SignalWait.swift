import Glibc

/// Receives signals by waiting for them (sigtimedwait(2)) instead of by handlers.
package struct SignalWait: Sendable {
    private let signals: [Int32]

    /// Blocks `wanted` in the calling thread and every thread that it starts from now on; make it before there are any. SIGHUP is left out
    /// where the process was started with it ignored: `nohup kiosk &` must outlive its terminal.
    package init(_ wanted: [Int32]) {
        let signals = wanted.filter { $0 != SIGHUP || !Self.isIgnored($0) }
        self.signals = signals
        var set = Self.set(signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Has the signals do in the calling thread what they would do without this, and in a program that it becomes.
    package func end() {
        var set = Self.set(signals)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// The next of the signals; nil when none came within `time`. Without a time it waits for ever. Call on one thread.
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
