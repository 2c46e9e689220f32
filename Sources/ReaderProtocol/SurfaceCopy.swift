import KioskPlatform

// The display shows a picture in a device's surface as it is. Others need it in memory: a display that does not take the surface, a
// snapshot, a fade. They have the reader copy it, which has the driver: only the driver knows the layout of a surface. The player states
// the picture by its slot, and a number. The reader copies it into the arena, publishes a record of the copy, and then the number.
//
// One at a time. A copy stays in place until the next one.

extension ControlPage {
    /// Has the reader copy a picture, and waits until `deadline`; nil if the copy does not come. `number` must differ from that of the last
    /// call.
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

    /// Waits for the player's request: returns its slot, and the value to answer with. nil if there is none by `deadline`.
    package func wantedCopy(until deadline: HostTime) -> (slot: Int, answer: UInt32)? {
        let (made, wanted) = (load(.copyMade), load(.copyWanted))
        if wanted != made { return (Int(wanted & 0xFF), wanted) }
        _ = sleep(.copyWanted, wanted, until: deadline)
        let now = load(.copyWanted)
        return now == made ? nil : (Int(now & 0xFF), now)
    }

    /// Publishes a copy, or its failure.
    package func answerCopy(_ answer: UInt32, _ record: PictureRecord?) {
        setRecord(at: ControlLayout.copy, record.map { RawPicture($0) } ?? .end)
        store(.copyMade, answer)
        wake(.copyMade)
    }
}
