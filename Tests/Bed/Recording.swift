import Foundation

/// The description and the events of a touch device in the format of evemu-record, as guest/replay.c reads it.
package struct Recording: Sendable, Equatable {
    /// A name that is unique within a run.
    package var fileName: String
    /// The content of the file.
    package var text: String

    /// The kinds of touch devices.
    package enum Device: String, Sendable, CaseIterable {
        /// Multitouch protocol B: a slot for each finger; reports only changes.
        case slots
        /// Multitouch protocol A: all fingers in every report, without ids.
        case contacts
        /// One finger and its pressure, as resistive panels report them.
        case single
        /// The absolute pointer of a virtual machine: a button at a place.
        case tablet
    }

    /// A finger from its touch to its lift.
    package struct Stroke: Sendable {
        /// The times of touch and lift in seconds, on one clock for all strokes of a recording.
        package var from: Double, to: Double
        /// The places in fractions of the screen's width and height. The finger moves straight and evenly between them.
        package var begin: (x: Double, y: Double), end: (x: Double, y: Double)

        /// Creates a stroke of a finger that moves from one place to another, or stays if `end` is nil.
        package init(_ from: Double, _ to: Double, at begin: (Double, Double), to end: (Double, Double)? = nil) {
            (self.from, self.to) = (from, to)
            self.begin = (begin.0, begin.1)
            self.end = end.map { ($0.0, $0.1) } ?? (begin.0, begin.1)
        }
    }

    /// Creates the events that `device` sends for these strokes: a report every 10 ms while a finger is down. Each report jitters by a
    /// unit, as on real devices.
    package init(_ name: String, by device: Device, _ strokes: [Stroke]) {
        fileName = "\(name)-\(device.rawValue).evemu"
        var lines = device.description
        var contacts: [Int: Int] = [:]  // stroke → tracking id
        var previous: [Int: (Int, Int)] = [:]
        let begin = strokes.map(\.from).min() ?? 0, end = strokes.map(\.to).max() ?? 0
        for report in 0...Int(((end - begin) * 100).rounded(.up)) {
            let time = begin + Double(report) / 100
            func isDown(_ stroke: Stroke) -> Bool { stroke.from <= time + 0.0001 && time + 0.0001 < stroke.to }
            var places: [Int: (Int, Int)] = [:]
            for (finger, stroke) in strokes.enumerated() where isDown(stroke) {
                let share = (time - stroke.from) / (stroke.to - stroke.from), tremor = Double(report % 3 - 1)
                let x = stroke.begin.x + (stroke.end.x - stroke.begin.x) * share
                let y = stroke.begin.y + (stroke.end.y - stroke.begin.y) * share
                places[finger] = (Int((x * device.maximum + tremor).rounded()), Int((y * device.maximum - tremor).rounded()))
            }
            for finger in places.keys where contacts[finger] == nil { contacts[finger] = 100 + report + finger }
            let events = device.report(places, before: previous, contacts)
            previous = places
            if events.isEmpty { continue }
            let seconds = Int(time - begin), microseconds = Int(((time - begin - Double(seconds)) * 1e6).rounded())
            let stamp = "\(seconds)." + String(repeating: "0", count: 6 - "\(microseconds)".count) + "\(microseconds)"
            lines += (events + [(0, 0, 0)]).map { "E: \(stamp) \(hex($0.0, 4)) \(hex($0.1, 4)) \($0.2)" }
        }
        text = lines.joined(separator: "\n") + "\n"
    }
}

private typealias Event = (Int, Int, Int)

private func hex(_ value: Int, _ digits: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
}

// Types and codes of linux/input-event-codes.h.
private let (synReport, key, absolute) = (0, 1, 3)
private let (synMultitouchReport, buttonLeft, buttonTouch) = (2, 0x110, 0x14A)
private let (absX, absY, absPressure) = (0x00, 0x01, 0x18)
private let (slot, touchMajor, positionX, positionY, trackingID) = (0x2F, 0x30, 0x35, 0x36, 0x39)

extension Recording.Device {
    /// The largest value of the device's axes.
    fileprivate var maximum: Double { self == .tablet ? 32767 : 4095 }

    /// The header lines of evemu-record: name, identity, properties, capabilities.
    fileprivate var description: [String] {
        let range = Int(maximum)
        let single = ["A: \(hex(absX, 2)) 0 \(range) 0 0 0", "A: \(hex(absY, 2)) 0 \(range) 0 0 0"]
        let multiple = [positionX, positionY].map { "A: \(hex($0, 2)) 0 \(range) 0 0 0" }
        switch self {
        case .slots:
            return ["N: Bed panel with slots", "I: 0003 0eef c000 0110", "P: 02 00 00 00 00 00 00 00"] + bits([buttonTouch])
                + ["A: 2f 0 9 0 0 0"] + single + multiple + ["A: 39 0 65535 0 0 0"]
        case .contacts:
            return ["N: Bed panel with contacts", "I: 0003 1ff7 0013 0110", "P: 02 00 00 00 00 00 00 00"] + bits([buttonTouch])
                + single + ["A: 30 0 255 0 0 0"] + multiple
        case .single:
            return ["N: Bed resistive panel", "I: 0003 0eef 0001 0100", "P: 02 00 00 00 00 00 00 00"] + bits([buttonTouch])
                + single + ["A: 18 0 255 0 0 0"]
        case .tablet:
            return ["N: Bed USB Tablet", "I: 0003 0627 0001 0001", "P: 00 00 00 00 00 00 00 00"] + bits([buttonLeft, 0x111, 0x112]) + single
        }
    }

    /// Returns the lines of the capabilities: EV_SYN, EV_KEY and EV_ABS, and these keys.
    private func bits(_ keys: [Int]) -> [String] {
        var bytes = [Int](repeating: 0, count: 96)
        for key in keys { bytes[key / 8] |= 1 << (key % 8) }
        let lines = stride(from: 0, to: 96, by: 8).map { bytes[$0..<$0 + 8].map { hex($0, 2) }.joined(separator: " ") }
        return ["B: 00 0b 00 00 00 00 00 00 00"] + lines.map { "B: 01 \($0)" }
    }

    /// Returns the events for fingers at these places, without the last SYN_REPORT; empty if no finger is or was down.
    fileprivate func report(_ places: [Int: (Int, Int)], before: [Int: (Int, Int)], _ contacts: [Int: Int]) -> [Event] {
        if places.isEmpty, before.isEmpty { return [] }
        let touches: [Event] = places.isEmpty == before.isEmpty ? [] : [(key, buttonTouch, places.isEmpty ? 0 : 1)]
        let first = places.min { $0.key < $1.key }?.value
        let pointer: [Event] = first.map { [(absolute, absX, $0.0), (absolute, absY, $0.1)] } ?? []
        switch self {
        case .slots:
            var events: [Event] = []
            for finger in Set(places.keys).union(before.keys).sorted() {
                events.append((absolute, slot, finger))
                if before[finger] == nil { events.append((absolute, trackingID, contacts[finger] ?? 0)) }
                if let place = places[finger] {
                    events += [(absolute, positionX, place.0), (absolute, positionY, place.1)]
                } else {
                    events.append((absolute, trackingID, -1))
                }
            }
            return events + touches + pointer
        case .contacts:
            let listed = places.sorted { $0.key < $1.key }.flatMap { _, place -> [Event] in
                [
                    (absolute, positionX, place.0), (absolute, positionY, place.1), (absolute, touchMajor, 20),
                    (synReport, synMultitouchReport, 0),
                ]
            }
            return touches + pointer + (listed.isEmpty ? [(synReport, synMultitouchReport, 0)] : listed)
        case .single:
            return touches + pointer + (touches.isEmpty ? [] : [(absolute, absPressure, first == nil ? 0 : 120)])
        case .tablet:
            return pointer + (touches.isEmpty ? [] : [(key, buttonLeft, first == nil ? 0 : 1)])
        }
    }
}
