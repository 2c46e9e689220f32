import KioskPlatform

/// A value over time: it changes at instants and along linear ramps.
package struct Ramps<Value: Hashable & Sendable>: Hashable, Sendable {
    private struct Ramp: Hashable, Sendable {
        var start: MediaTime, end: MediaTime
        var from: Value, to: Value
    }

    /// The value before the first change.
    package var base: Value
    /// In the order of their starts.
    private var ramps: [Ramp] = []

    /// Creates a constant value.
    package init(_ base: Value) { self.base = base }

    /// Whether the value never changes.
    package var isConstant: Bool { ramps.isEmpty }

    /// Adds a ramp; an end at or before the start is a change at that instant. A later ramp ends an earlier one at its start; of ramps
    /// with the same start the last one added counts.
    package mutating func add(from: Value, to: Value, start: MediaTime, end: MediaTime) {
        let place = ramps.firstIndex { $0.start > start } ?? ramps.endIndex
        ramps.insert(Ramp(start: start, end: max(end, start), from: from, to: to), at: place)
    }

    /// Returns the values of the ramp at a time, and the share of it that is over, 0…1.
    package func at(_ time: MediaTime) -> (from: Value, to: Value, share: Double) {
        guard let ramp = ramps.last(where: { $0.start <= time }) else { return (base, base, 0) }
        guard time < ramp.end else { return (ramp.to, ramp.to, 1) }
        return (ramp.from, ramp.to, (time - ramp.start).seconds / (ramp.end - ramp.start).seconds)
    }
}

extension Ramps where Value == Double {
    /// Returns the value at a time.
    package func value(at time: MediaTime) -> Double {
        let (from, to, share) = at(time)
        return from + (to - from) * share
    }

    /// The highest value.
    package var highest: Double { ramps.reduce(base) { max($0, $1.from, $1.to) } }
}
