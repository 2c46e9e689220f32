/// The clocks of a place: its time zone, and the sun there.
package struct LocalClock: Hashable, Sendable {
    package var zone: TimeZoneRules
    /// nil where nobody has said where it is: then the sun rises at 06:00 and sets at 18:00.
    package var place: GeographicPlace?

    package init(zone: TimeZoneRules, place: GeographicPlace? = nil) { (self.zone, self.place) = (zone, place) }

    /// Whether a rule holds at an instant, in seconds since 1970.
    package func isOn(_ rule: TimeRule, at instant: Int64) -> Bool {
        let now = zone.local(at: instant)
        guard let hours = rule.hours else { return rule.includes(now.date) }
        return [0, -1].contains { days in
            let date = now.date + days
            guard rule.includes(date) else { return false }
            let second = now.second - days * 86_400
            return spans(of: hours, on: date).contains { $0.contains(second) }
        }
    }

    /// The spans of a day, in seconds of its clock since its midnight; what goes on after the next one is more than 86 400.
    func spans(of hours: DayHours, on date: CalendarDate) -> [Range<Int>] {
        hours.spans.compactMap { span in
            let start = second(of: span.start, on: date)
            let end = second(of: span.end, on: span.isOvernight ? date + 1 : date) + (span.isOvernight ? 86_400 : 0)
            // Where the sun comes before it or after it there is nothing.
            return start < end ? start..<end : nil
        }
    }

    /// What the clock shows at a time of a day, in seconds since its midnight.
    func second(of time: TimeOfDay, on date: CalendarDate) -> Int {
        let minutes = time.minutes * 60
        if time.anchor == .midnight { return minutes }
        guard let place else { return (time.anchor == .sunrise ? 6 : 18) * 3600 + minutes }
        switch Daylight(on: date, at: place, zone) {
        case .rises(let rise, let set):
            // To the minute, as calendars tell it.
            let local = zone.local(at: (time.anchor == .sunrise ? rise : set) / 60 * 60)
            return (local.date.day - date.day) * 86_400 + local.second + minutes
        // All day long it is up, or none of it.
        case .always: return time.anchor == .sunrise ? 0 : 86_400
        case .never: return 43_200
        }
    }

    /// The first instant after `instant` at which a rule may begin or end: some of these change nothing. nil where the rule says nothing of time.
    func nextEdge(of rule: TimeRule, after instant: Int64) -> Int64? {
        if rule.isAlways { return nil }
        let today = zone.local(at: instant).date
        // A span that has begun yesterday may end today, and a night between two days may be longer than the clock says.
        var edges: [Int64] = (-1...2).flatMap { days -> [Int64] in
            let date = today + days
            let seconds = [0] + (rule.hours.map { spans(of: $0, on: date) } ?? []).flatMap { [$0.lowerBound, $0.upperBound] }
            return seconds.flatMap { second -> [Int64] in
                let local = LocalTime(seconds: Int64(date.day) * 86_400 + Int64(second))
                return zone.instants(of: local) + [zone.firstInstant(notBefore: local)]
            }
        }
        // What the clock shows leaps there.
        if let transition = zone.nextTransition(after: instant) { edges.append(transition) }
        return edges.filter { $0 > instant }.min()
    }

    /// The instants at which something of a moment of the day is to be done, on a day: once, though its clock may show it twice or not at all.
    func instant(of time: TimeOfDay, on date: CalendarDate) -> Int64 {
        let second = Int64(self.second(of: time, on: date))
        return zone.firstInstant(notBefore: LocalTime(seconds: Int64(date.day) * 86_400 + second))
    }
}
