// Checks of the devices that kiosk opens.

extension BoxCheck {
    /// Checks whether the player may open the devices of one use.
    static func permission(_ use: BoxFacts.Node.Use) -> BoxCheck {
        let what =
            switch use {
            case .display: "the display"
            case .sound: "the sound cards"
            case .input: "the input devices"
            case .decoder: "the hardware decoders"
            }
        return BoxCheck("\(use.rawValue)-permission", "\(what) can be opened", unknown: "there is no such device") { facts in
            let nodes = facts.nodes.filter { $0.use == use }
            if nodes.isEmpty { return nil }
            let closed = nodes.filter { !$0.opens(for: facts.player) }
            // One finding for each group, because its devices need the same fix.
            return Dictionary(grouping: closed, by: \.group).sorted { $0.key < $1.key }.flatMap { group, nodes in
                findings(use, nodes, group: group, facts)
            }
        }
    }

    private static func findings(_ use: BoxFacts.Node.Use, _ nodes: [BoxFacts.Node], group: UInt32, _ facts: BoxFacts) -> [Finding] {
        let severity: Finding.Severity = use == .display || use == .sound ? .error : .warning
        let paths = nodes.map(\.path).joined(separator: ", ")
        let text = "the user \(facts.player.name) may not open \(paths)"
        let groupOpens = group != 0 && !facts.player.groups.contains(group) && nodes.allSatisfy { $0.mode & 0o060 == 0o060 }
        guard groupOpens, let name = facts.groupNames[group] else {
            return .found(
                severity, "\(text): its group is \(facts.groupNames[group] ?? "\(group)"), its mode \(String(nodes[0].mode, radix: 8))",
                advice: ["install kiosk's udev rule 70-kiosk.rules, then: sudo udevadm control --reload && sudo udevadm trigger"])
        }
        let words = ["usermod", "-aG", name, facts.player.name]
        let after = facts.units.isInstalled ? "sudo systemctl restart kiosk" : "log in again"
        return .found(
            severity, "\(text): the user is not in the group \(name)", advice: ["sudo \(words.joined(separator: " "))", after],
            remedies: [.run(words)])
    }

    /// Checks whether there is a display device.
    static let displayDevice = BoxCheck("display-device", "there is a display device") { facts in
        if facts.hasDisplayDevice { return [] }
        return .found(
            .error, "there is neither /dev/dri/card* nor /dev/fb*: the kernel has no driver for this graphics chip",
            advice: ["sudo dmesg | grep -iE 'drm|fb|firmware' shows the drivers' messages; take nomodeset off the kernel's command line"])
    }

    /// Checks whether a display is plugged in.
    static let displayConnected = BoxCheck(
        "display-connected", "a display is connected", unknown: "there is no graphics card with connectors"
    ) { facts in
        if facts.connectors.isEmpty { return nil }
        if facts.connectors.values.contains("connected") { return [] }
        let names = facts.connectors.keys.sorted().joined(separator: ", ")
        return .found(
            .error, "no display answers at \(names)",
            advice: ["check the cable and the display's input; kiosk devices shows the new state"])
    }

    /// Checks whether another program holds the display.
    static let displayHolder = BoxCheck("display-holder", "no other program has the display", unknown: "there is no display device") {
        facts in
        if !facts.hasDisplayDevice { return nil }
        // A program that is not the DRM master does not block kiosk.
        return facts.holders.filter { $0.isMaster != false }.flatMap { holder -> [Finding] in
            let masters = holder.isMaster == true
            let stop =
                facts.units.displayManager.map { "sudo systemctl stop \($0)" }
                ?? "end that program; if it is a desktop: sudo systemctl stop display-manager"
            return .found(
                masters ? .error : .warning,
                "\(holder.program) \(masters ? "holds" : "has opened") \(holder.card)"
                    + (masters ? ": kiosk shows nothing until that program lets go" : ", and may hold it"), advice: [stop])
        }
    }

    /// Checks whether there is a sound card.
    static let soundCard = BoxCheck("sound-card", "there is a sound card", unknown: "sound is off, or the kernel has no ALSA") { facts in
        guard facts.wantsSound, let cards = facts.cards else { return nil }
        if cards.contains(where: { !$0.isVirtual }) { return [] }
        let what = cards.isEmpty ? "there is no sound card" : "the only sound card is \(cards[0].name), which has no loudspeaker"
        return .found(
            .error, what,
            advice: [
                "sudo dmesg | grep -iE 'snd|audio|hda' shows the drivers' messages",
                "if you need no sound: device = \"off\" in [audio] of kiosk.conf",
            ])
    }

    /// Checks whether a mixer silences a card.
    static let soundMuted = BoxCheck("sound-muted", "no mixer is muted", unknown: "sound is off, or there is no sound card") { facts in
        guard facts.wantsSound, let cards = facts.cards, cards.contains(where: { !$0.isVirtual }) else { return nil }
        return cards.filter { !$0.isVirtual }.flatMap(\.silencers).flatMap { silencer -> [Finding] in
            // The mixer's own sentence ends with the command.
            let parts = silencer.split(separator: ": ", maxSplits: 1).map(String.init)
            return .found(.warning, parts[0], advice: parts.dropFirst() + ["sudo alsactl store keeps this for the next boot"])
        }
    }
}
