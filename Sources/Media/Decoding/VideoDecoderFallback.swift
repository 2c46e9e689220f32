import CKioskFFmpeg
import DequeModule
import KioskPlatform
import Logging

// From hardware to software and back: VideoDecoder says when.

extension VideoDecoder {
    /// What there is to be said of the decoder since the last call.
    mutating func takeProblem() -> String? { problem.take() }

    /// Opens the first of the ways that can be opened; false where none can.
    mutating func beginHardware() -> Bool {
        while !ways.isEmpty {
            let way = ways.removeFirst()
            do throws(SurfaceError) {
                codec = try plan.hardware(way)
                codec?.lease?.limit = driverLimit
                (hardware, method) = (codec?.lease?.name, way.method)
                if skipsNonReferences { setDecodesOnlyReferences(true) }
                return true
            } catch {
                refusals.append("\(way.method.rawValue): \(error.text)")
            }
        }
        return false
    }

    /// Leaves the hardware decoder, and has what it was given decoded again.
    mutating func fail(_ reason: String) {
        guard let name = hardware.take() else { return }
        let hasGap = !kept.isComplete
        repeatKept()
        // Some devices have one decoder only.
        codec?.lease?.isSound = false
        codec = nil
        if !hasGivenOut || isOnTrial {
            refusals.append("\(name): \(reason)")
            if beginHardware() { return }
            (isOnTrial, catchUp) = (false, lastStamp)
            sayRefusals()
        } else {
            (catchUp, awaitsKey) = (lastStamp, hasGap)
            if let first = unfiltered.first { (catchUp, lastTime, unfiltered) = (first - 1, nil, []) }
            problem = "its hardware decoder, \(name), failed (\(reason)): decoded in software from here on\(hasGap ? ", after a gap" : "")"
            HardwareHistory.failed(plan.source, "its hardware decoder failed a while ago (\(reason))")
        }
        beginSoftware()
    }

    /// Leaves the hardware decoder because of what the device's filter could not do with its frames.
    mutating func leaveHardware(because reason: String) { fail(reason) }

    /// Opens a decoder anew that cannot drop what it holds. Where that fails, as the pictures of the old one may be in use and the device have one
    /// decoder only, software goes on.
    mutating func reopen() {
        guard let way = codec?.lease?.identity.way else { return }
        codec = nil
        (hardware, ways, refusals) = (nil, [way], [])
        if beginHardware() { return }
        sayRefusals()
        beginSoftware()
    }

    /// Has software decode what a decoder that is through has kept back; false where that is nothing. FFmpeg's V4L2 decoder takes an error, and that
    /// all of its buffers are in use, for the end of what it has to give out.
    mutating func leavesEnd() -> Bool {
        guard kept.isComplete, let last = kept.lastStamp, last > lastStamp ?? .min, let name = hardware.take() else { return false }
        HardwareHistory.log.debug("\(plan.source.withoutCredentials): \(name) has kept back the last pictures: decoded in software")
        repeatKept()
        codec = nil
        catchUp = lastStamp
        beginSoftware()
        return true
    }

    /// Has what is kept decoded again, by whatever follows.
    mutating func repeatKept() {
        var again = UniqueDeque<Packet>()
        while let packet = kept.popFirst() { again.append(packet) }
        while let packet = replay.popFirst() { again.append(packet) }
        replay = again
        kept.removeAll()
        (knowsEnd, stalls) = (false, 0)
    }

    /// Leaves software for a hardware decoder that may have come free, where that does not take long.
    mutating func tryHardwareAgain() {
        guard hardware == nil, kept.hasKey, kept.isComplete, kept.count <= Self.mostRepeated, lastStamp != nil || !hasGivenOut else {
            return
        }
        repeatKept()
        codec = nil
        (place, ways) = (nil, allWays)
        (catchUp, isOnTrial) = (lastStamp, true)
        if beginHardware() { return }
        isOnTrial = false
        sayRefusals()
        beginSoftware()
    }

    mutating func beginSoftware() {
        do throws(MediaError) {
            codec = try plan.software(threads: plan.threads)
            if skipsNonReferences { setDecodesOnlyReferences(true) }
        } catch {
            problem = error.reason.text
        }
    }

    /// Says why software decodes, where anybody wants to know. Where the device may be busy that is not said before it has been tried again.
    mutating func sayRefusals() {
        if place != nil { return }
        if DecoderShelf.inUse > 0, !allWays.isEmpty {
            place = DecoderShelf.Place()
            refusals = []
            return
        }
        let reasons = refusals.joined(separator: "; ")
        if warns {
            problem = "is decoded in software: \(reasons)"
        } else {
            HardwareHistory.log.debug("\(plan.source.withoutCredentials): decoded in software: \(reasons)")
        }
    }
}
