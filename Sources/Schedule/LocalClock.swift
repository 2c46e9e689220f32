/// The clocks of a place: its time zone, and the sun there.
package struct LocalClock: Hashable, Sendable {
    package var zone: TimeZoneRules
    /// The place; nil if it is not configured: then the sun rises at 06:00 and sets at 18:00.
    package var place: GeographicPlace?

    package init(zone: TimeZoneRules, place: GeographicPlace? = nil) { (self.zone, self.place) = (zone, place) }

    /// Returns whether a rule holds at an instant, in seconds since 1970.
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

    /// Returns the spans of a day, in seconds since its midnight; times after the next midnight exceed 86 400.
    func spans(of hours: DayHours, on date: CalendarDate) -> [Range<Int>] {
        hours.spans.compactMap { span in
            let start = second(of: span.start, on: date)
            let end = second(of: span.end, on: span.isOvernight ? date + 1 : date) + (span.isOvernight ? 86_400 : 0)
            // With the sun's times, a span can be empty.
            return start < end ? start..<end : nil
        }
    }

    /// Returns the local time of a time of day, in seconds since midnight.
    func second(of time: TimeOfDay, on date: CalendarDate) -> Int {
        let minutes = time.minutes * 60
        if time.anchor == .midnight { return minutes }
        guard let place else { return (time.anchor == .sunrise ? 6 : 18) * 3600 + minutes }
        switch Daylight(on: date, at: place, zone) {
        case .rises(let rise, let set):
            // Rounded down to the minute, as in calendars.
            let local = zone.local(at: (time.anchor == .sunrise ? rise : set) / 60 * 60)
            return (local.date.day - date.day) * 86_400 + local.second + minutes
        // The sun is up all day, or not at all.
        case .always: return time.anchor == .sunrise ? 0 : 86_400
        case .never: return 43_200
        }
    }

    /// Returns the first instant after `instant` at which a rule may begin or end; some of these change nothing. nil if the rule is empty.
    func nextEdge(of rule: TimeRule, after instant: Int64) -> Int64? {
        if rule.isAlways { return nil }
        let today = zone.local(at: instant).date
        // A span may have begun yesterday, and a night between two days may be longer than its local times.
        var edges: [Int64] = (-1...2).flatMap { days -> [Int64] in
            let date = today + days
            let seconds = [0] + (rule.hours.map { spans(of: $0, on: date) } ?? []).flatMap { [$0.lowerBound, $0.upperBound] }
            return seconds.flatMap { second -> [Int64] in
                let local = LocalTime(seconds: Int64(date.day) * 86_400 + Int64(second))
                return zone.instants(of: local) + [zone.firstInstant(notBefore: local)]
            }
        }
        // The local time jumps there.
        if let transition = zone.nextTransition(after: instant) { edges.append(transition) }
        return edges.filter { $0 > instant }.min()
    }

    /// Returns the instant of a time of day on a date: exactly one, even if the clocks show that time twice or never.
    func instant(of time: TimeOfDay, on date: CalendarDate) -> Int64 {
        let second = Int64(self.second(of: time, on: date))
        return zone.firstInstant(notBefore: LocalTime(seconds: Int64(date.day) * 86_400 + second))
    }
}
