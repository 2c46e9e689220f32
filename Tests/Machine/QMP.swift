import Foundation
import TestSupport

/// QEMU's control socket: one line of JSON for each command and each answer, with events in between (QEMU's docs/interop/qmp-spec).
final class QMP {
    private let socket: UnixSocket
    /// The events received while waiting for answers, each with the id of its device.
    private var events: [(name: String, device: String?)] = []

    init(_ path: String) throws {
        socket = try UnixSocket(path)
        _ = try socket.read(within: 10)
        try execute("qmp_capabilities")
    }

    /// Executes a command and returns its result. Throws QEMU's error.
    @discardableResult
    func execute(_ command: String, _ arguments: [String: Any] = [:], within seconds: Double = 30) throws -> Any {
        try send(command, [arguments])
        return try answer(to: command, within: seconds)
    }

    /// Writes a command once for each of these arguments, all in one write. Each gets an answer, in this order.
    private func send(_ command: String, _ all: [[String: Any]]) throws {
        var lines = Data()
        for arguments in all {
            lines += try JSONSerialization.data(withJSONObject: ["execute": command, "arguments": arguments]) + [UInt8(ascii: "\n")]
        }
        try socket.write(lines)
    }

    private func answer(to command: String, within seconds: Double = 30) throws -> Any {
        while true {
            let message = try next(within: seconds)
            if let value = message["return"] { return value }
            if let error = message["error"] as? [String: Any] { throw MachineError("\(command): \(error["desc"] ?? error)") }
        }
    }

    /// Waits for an event of a device. An event that has already arrived counts, once.
    func wait(for event: String, device: String, within seconds: Double = 60) throws {
        let end = Date.steady + seconds
        while true {
            if let index = events.firstIndex(where: { $0.name == event && $0.device == device }) {
                events.remove(at: index)
                return
            }
            _ = try next(within: end.timeIntervalSince(.steady))
        }
    }

    private func next(within seconds: Double) throws -> [String: Any] {
        let line = try socket.read(within: seconds)
        guard let message = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] else {
            throw MachineError("QMP: not an object: \(String(decoding: line, as: UTF8.self))")
        }
        if let name = message["event"] as? String {
            events.append((name, (message["data"] as? [String: Any])?["device"] as? String))
        }
        return message
    }
}

extension QMP {
    /// Presses keys one after the other, by QEMU's names (`spc`, `pgdn`, `right`).
    func key(_ names: String...) throws {
        for name in names {
            for isDown in [true, false] {
                try input(["type": "key", "data": ["down": isDown, "key": ["type": "qcode", "data": name]]])
                usleep(80_000)
            }
        }
    }

    /// Taps the screen at a place given as fractions of its width and height. QEMU gets both commands at once and makes a tablet report of
    /// each. The guest fetches one after the other. A delay of this process therefore cannot make the tap too long.
    func tap(_ x: Double, _ y: Double) throws {
        for (axis, value) in [("x", x), ("y", y)] {
            try input(["type": "abs", "data": ["axis": axis, "value": Int(value * 0x7fff)]])
        }
        let command = "input-send-event"
        let events: [[String: Any]] = [true, false].map { ["type": "btn", "data": ["down": $0, "button": "left"]] }
        try send(command, events.map { ["events": [$0]] })
        for _ in events { _ = try answer(to: command) }
        usleep(80_000)
    }

    private func input(_ event: [String: Any]) throws { try execute("input-send-event", ["events": [event]]) }
}
