import CKioskEvdev

/// The contacts of a device with multi-touch protocol A, which says in each report where all fingers are and not which is which. A pure
/// value: events in, contacts with ids out. libevdev hands such events on as they are.
///
/// Each contact is some ABS_MT events and SYN_MT_REPORT; SYN_REPORT ends the report. Which contact of the report before it was is decided
/// by distance: the nearest pair first, then the next of what is left, within ``farthest``. A driver that tracks (ABS_MT_TRACKING_ID) is
/// believed.
struct AnonymousContacts {
    /// One contact of a report.
    struct Touch: Hashable {
        /// By which contacts are told apart: from 0, the lowest that is free, or the driver's.
        var id = -1
        var x: Int32 = 0, y: Int32 = 0
        var major: Int32?, pressure: Int32?
        var isPalmTool = false
    }

    /// Of the whole width and height; a finger does not move farther between two reports.
    static let farthest = 0.25

    private let width: Double, height: Double
    /// As of the last report.
    private(set) var touches: [Touch] = []
    private var pending: [Touch] = []
    private var current = Touch()
    private var hasPosition = false
    /// Whether the report has said anything about contacts.
    private var hasContacts = false

    /// For a device whose positions have these ranges.
    init(width: Int32, height: Int32) { (self.width, self.height) = (Double(max(1, width)), Double(max(1, height))) }

    /// Takes an event other than SYN_REPORT.
    mutating func take(type: Int32, code: Int32, value: Int32) {
        switch (type, code) {
        case (EV_ABS, ABS_MT_POSITION_X): (current.x, hasPosition) = (value, true)
        case (EV_ABS, ABS_MT_POSITION_Y): (current.y, hasPosition) = (value, true)
        case (EV_ABS, ABS_MT_TRACKING_ID): current.id = Int(value)
        case (EV_ABS, ABS_MT_TOUCH_MAJOR): current.major = value
        case (EV_ABS, ABS_MT_PRESSURE): current.pressure = value
        case (EV_ABS, ABS_MT_TOOL_TYPE): current.isPalmTool = value == MT_TOOL_PALM
        case (EV_SYN, SYN_MT_REPORT):
            // One without a position says that nothing touches. A size of 0 says the same of one contact, in old drivers.
            if hasPosition, current.major != 0, pending.count < 32 { pending.append(current) }
            (current, hasPosition, hasContacts) = (Touch(), false, true)
        // A driver that has a button may say with it alone that the last finger is lifted.
        case (EV_KEY, BTN_TOUCH) where value == 0: hasContacts = true
        default: break
        }
    }

    /// Ends the report: ``touches`` are what touches now.
    mutating func endReport() {
        defer { (pending, current, hasPosition, hasContacts) = ([], Touch(), false, false) }
        guard hasContacts else { return }
        let isTracked = pending.allSatisfy { $0.id >= 0 } && Set(pending.map(\.id)).count == pending.count
        touches = isTracked ? pending : matched()
    }

    /// The pending touches, with the ids of those of ``touches`` that they continue.
    private func matched() -> [Touch] {
        var pairs: [(old: Int, new: Int, distance: Double)] = []
        for (old, before) in touches.enumerated() {
            for (new, after) in pending.enumerated() {
                let distance = max(abs(Double(after.x) - Double(before.x)) / width, abs(Double(after.y) - Double(before.y)) / height)
                if distance <= Self.farthest { pairs.append((old, new, distance)) }
            }
        }
        pairs.sort { ($0.distance, $0.old, $0.new) < ($1.distance, $1.old, $1.new) }
        var ids: [Int?] = Array(repeating: nil, count: pending.count)
        var used: Set<Int> = []
        for pair in pairs where ids[pair.new] == nil && !used.contains(pair.old) {
            ids[pair.new] = touches[pair.old].id
            used.insert(pair.old)
        }
        // Not an id of the report before: a finger that comes while another goes is not the same.
        var taken = Set(touches.map(\.id))
        return pending.enumerated().map { index, touch in
            var touch = touch
            touch.id = ids[index] ?? (0...).first { !taken.contains($0) }!
            taken.insert(touch.id)
            return touch
        }
    }
}
