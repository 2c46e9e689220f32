import KioskPlatform

// A picture in a surface of a device is shown as it is. Whoever needs it in memory (a display that does not take the surface, a snapshot, a fade) has the
// reader copy it, which has the driver: only that knows how the bytes of a surface lie. The player says which picture, by its slot and a number; the
// reader copies it into the arena, publishes a record of that, and the number.
//
// One at a time. What is copied stays where it is until the next copy.

extension ControlPage {
    /// Has the reader copy a picture, and waits for it at most until `deadline`; nil where it does not come. `number` is another one than the last time.
    package func copy(_ slot: Int, number: UInt32, until deadline: HostTime, _ rules: PictureRules) throws(ReaderLie) -> PictureRecord? {
        let wanted = number << 8 | UInt32(truncatingIfNeeded: slot) & 0xFF
        store(.copyWanted, wanted)
        wake(.copyWanted)
        while true {
            let made = load(.copyMade)
            if made == wanted { break }
            if HostTime.now >= deadline { return nil }
            _ = sleep(.copyMade, made, until: deadline)
        }
        let raw = record(at: ControlLayout.copy)
        if raw[RawPicture.kind] == RawPicture.Kind.end.rawValue { return nil }
        var rules = rules
        rules.places = [.arena]
        return try PictureRecord.checked(raw, rules)
    }

    /// The copy that the player waits for: its slot, and what to answer. nil where there is none by `deadline`.
    package func wantedCopy(until deadline: HostTime) -> (slot: Int, answer: UInt32)? {
        let (made, wanted) = (load(.copyMade), load(.copyWanted))
        if wanted != made { return (Int(wanted & 0xFF), wanted) }
        _ = sleep(.copyWanted, wanted, until: deadline)
        let now = load(.copyWanted)
        return now == made ? nil : (Int(now & 0xFF), now)
    }

    /// Publishes a copy, or that there can be none.
    package func answerCopy(_ answer: UInt32, _ record: PictureRecord?) {
        setRecord(at: ControlLayout.copy, record.map { RawPicture($0) } ?? .end)
        store(.copyMade, answer)
        wake(.copyMade)
    }
}
