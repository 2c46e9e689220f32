import CKioskEvdev

/// The contacts of a device with multi-touch protocol A. Its reports have the positions of all fingers, but not their identities. A pure
/// value: events in, contacts with ids out. libevdev passes such events on unchanged.
///
/// Each contact is some ABS_MT events and SYN_MT_REPORT; SYN_REPORT ends the report. Distance decides which contact of the previous report
/// a contact continues. The nearest pair comes first, then the nearest of the rest, within ``farthest``. If a driver tracks contacts itself
/// (ABS_MT_TRACKING_ID), its ids count.
struct AnonymousContacts {
    /// One contact of a report.
    struct Touch: Hashable {
        /// The id of the contact: the lowest free number from 0, or the driver's.
        var id = -1
        var x: Int32 = 0, y: Int32 = 0
        var major: Int32?, pressure: Int32?
        var isPalmTool = false
    }

    /// The longest move of a finger between two reports, as a part of the whole width and height.
    static let farthest = 0.25

    private let width: Double, height: Double
    /// The contacts as of the last report.
    private(set) var touches: [Touch] = []
    private var pending: [Touch] = []
    private var current = Touch()
    private var hasPosition = false
    /// Whether the report has any information about contacts.
    private var hasContacts = false

    /// Creates a value for a device whose positions have these ranges.
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
            // An event without a position means that nothing touches. In old drivers, a size of 0 means the same for one contact.
            if hasPosition, current.major != 0, pending.count < 32 { pending.append(current) }
            (current, hasPosition, hasContacts) = (Touch(), false, true)
        // A driver with a button may report the lift of the last finger with the button alone.
        case (EV_KEY, BTN_TOUCH) where value == 0: hasContacts = true
        default: break
        }
    }

    /// Ends the report, and updates ``touches``.
    mutating func endReport() {
        defer { (pending, current, hasPosition, hasContacts) = ([], Touch(), false, false) }
        guard hasContacts else { return }
        let isTracked = pending.allSatisfy { $0.id >= 0 } && Set(pending.map(\.id)).count == pending.count
        touches = isTracked ? pending : matched()
    }

    /// Returns the pending touches, with the ids of those of ``touches`` that they continue.
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
        // Not an id of the previous report: a finger that comes while another goes is a new one.
        var taken = Set(touches.map(\.id))
        return pending.enumerated().map { index, touch in
            var touch = touch
            touch.id = ids[index] ?? (0...).first { !taken.contains($0) }!
            taken.insert(touch.id)
            return touch
        }
    }
}
