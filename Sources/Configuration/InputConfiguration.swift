// [input] and its tables: the values, their defaults, and how they are read.
import Commands
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[input]`, `[input.gestures]` and `[input.keys]`.
    package struct Input: Hashable, Sendable {
        /// `controls`.
        package var controls = ControlsMode.full
        /// `touch`: whether touch screens are used.
        package var usesTouch = true
        /// `scrub-plays`: whether playback goes on while a finger holds the slider.
        package var scrubPlays = false
        /// `allow-quit`: whether a key bound to `quit` ends the program.
        package var allowsQuit = false
        /// `grab`: whether the devices are kept from everything else on the machine, the console above all.
        package var grabsDevices = true
        /// `locked` and `allow`.
        package var lock = InputLock()
        /// `map`: which touch screen belongs to which display.
        package var map: [DeviceMapping] = []
        /// `accelerometer`: whether one turns the picture.
        package var usesAccelerometer = false
        /// What `[input.gestures]` says; nil is `none`.
        package var ownGestures: [GestureName: Command?] = [:]
        /// The defaults without those the file binds anew, then the file's own in its order, those bound to `none` included.
        package var bindings = KeyBinding.defaults

        /// What each gesture does: the file's, and the defaults for what it does not say. Where nothing is drawn the defaults are a tap and
        /// the swipes. What the lock does not allow is left out.
        package var gestures: [GestureName: Command] {
            var result = Self.defaultGestures.filter { controls != .none || [.tap, .swipeLeft, .swipeRight].contains($0.key) }
            for (name, command) in ownGestures { result[name] = command }
            return result.filter { lock.allows($0.key) }
        }

        /// ``bindings`` without those that the lock does not allow.
        package var allowedBindings: [KeyBinding] { bindings.filter { lock.allows($0.trigger) } }

        /// What gestures do where the file says nothing. The command of ``GestureName/volumeDrag`` is for a hundredth of the height.
        package static let defaultGestures: [GestureName: Command] = {
            var result: [GestureName: Command] = [.volumeDrag: .player(.changeVolume(by: 1))]
            for case .plain(let command, _, let gestures) in CommandTable.ofViewers.flatMap(\.forms) {
                for gesture in gestures { result[gesture] = command }
            }
            return result
        }()
    }
}

/// One entry of `[input] map`: the touch screen whose name contains `device` lies on the display at `connector`.
package struct DeviceMapping: Hashable, Sendable {
    /// Part of the name that the device gives itself; case does not count.
    package var device: String
    /// The display's connector.
    package var connector: DisplayConnector

    /// A mapping from its parts.
    package init(device: String, connector: DisplayConnector) { (self.device, self.connector) = (device, connector) }
}

extension Configuration.Input {
    mutating func read(_ table: TableReader, _ words: CommandWords, _ complaints: ComplaintList) {
        controls = table.word("controls", ControlsMode.self) ?? controls
        usesTouch = table.flag("touch") ?? usesTouch
        scrubPlays = table.flag("scrub-plays") ?? scrubPlays
        allowsQuit = table.flag("allow-quit") ?? allowsQuit
        grabsDevices = table.flag("grab") ?? grabsDevices
        usesAccelerometer = table.flag("accelerometer") ?? usesAccelerometer
        if let entries = entries("map", table, complaints) { map = entries.compactMap { readMapping($0, complaints) } }
        if let entries = entries("gestures", table, complaints) {
            let position = table.entry("gestures")?.value.position ?? table.position
            readGestures(TableReader(Grammar.gestures, entries, at: position, complaints), words)
        }
        if let entries = entries("keys", table, complaints) {
            let own = readBindings(entries, words, complaints)
            let triggers = Set(own.map(\.trigger.withoutRepeat))
            bindings = bindings.filter { !triggers.contains($0.trigger.withoutRepeat) } + own
        }
        let isLocked = table.flag("locked") ?? false
        let allowed = readAllowed(table, complaints)
        if isLocked { lock = InputLock(allowed: allowed) }
    }

    /// The entries of a table in `[input]`.
    private func entries(_ key: String, _ table: TableReader, _ complaints: ComplaintList) -> [TOMLEntry]? {
        guard let entry = table.entry(key) else { return nil }
        if case .table(let entries) = entry.value.kind { return entries }
        complaints.add("[input.\(key)]: expected a table, found \(entry.value.kind.shown)", at: entry.value.position)
        return nil
    }

    private func readMapping(_ entry: TOMLEntry, _ complaints: ComplaintList) -> DeviceMapping? {
        if entry.key.isEmpty {
            complaints.add("[input.map] \"\": expected a part of the name of a touch screen; kiosk devices lists them", at: entry.position)
            return nil
        }
        switch entry.value.kind.string.flatMap(DisplayConnector.init) {
        case .named(let name, let card): return DeviceMapping(device: entry.key, connector: .named(name, card: card))
        case .framebuffer(let path): return DeviceMapping(device: entry.key, connector: .framebuffer(path))
        default:
            let expected = "a connector such as \"HDMI-A-1\" or \"card1:HDMI-A-1\", or \"/dev/fb0\""
            complaints.add(
                "[input.map] \(shownKey(entry.key)): expected \(expected), found \(entry.value.kind.shown)", at: entry.value.position)
            return nil
        }
    }

    private mutating func readGestures(_ table: TableReader, _ words: CommandWords) {
        for name in GestureName.allCases where name != .volumeDrag {
            if let command = table.command(name.rawValue, words) { ownGestures[name] = .some(command) }
        }
        if let isUsed = table.flag(GestureName.volumeDrag.rawValue) {
            ownGestures[.volumeDrag] = .some(isUsed ? Self.defaultGestures[.volumeDrag] : nil)
        }
    }

    private func readBindings(_ entries: [TOMLEntry], _ words: CommandWords, _ complaints: ComplaintList) -> [KeyBinding] {
        var bindings: [KeyBinding] = []
        var writtenAs: [KeyTrigger: TOMLEntry] = [:]
        for entry in entries {
            let shown = "[input.keys] \(shownKey(entry.key))"
            guard let trigger = KeyTrigger(entry.key) else {
                complaints.add(
                    "\(shown): not a key; keys are such as KEY_SPACE, space, \"ctrl+KEY_Q\" or \"hold KEY_POWER\"", at: entry.position)
                continue
            }
            if let first = writtenAs[trigger.withoutRepeat] {
                complaints.add("\(shown): the same key as “\(first.key)” in line \(first.position.line)", at: entry.position)
                continue
            }
            writtenAs[trigger.withoutRepeat] = entry
            do throws(CommandFault) {
                bindings.append(KeyBinding(trigger: trigger, command: try words.command(entry.value.kind), position: entry.position))
            } catch {
                complaints.add("\(shown): \(error.text)", at: entry.value.position)
            }
        }
        return bindings
    }

    /// What `allow` lists.
    private func readAllowed(_ table: TableReader, _ complaints: ComplaintList) -> Set<InputLock.Entry> {
        guard let entry = table.entry("allow") else { return [] }
        guard case .array(let items) = entry.value.kind else {
            table.complain("expected a list such as [\"tap\", \"KEY_SPACE\"], found \(entry.value.kind.shown)", about: "allow")
            return []
        }
        var allowed: Set<InputLock.Entry> = []
        let bound = Set(bindings.map(\.trigger.withoutRepeat))
        for item in items {
            guard let text = item.kind.string, let found = InputLock.Entry(text) else {
                let words = GestureName.allCases.map(\.rawValue) + ControlsPart.allCases.map(\.rawValue)
                let near = item.kind.string.flatMap { suggestion(for: $0, among: words) }.map { ", did you mean “\($0)”?" } ?? ""
                let expected =
                    "a key such as \"KEY_SPACE\", a gesture such as \"tap\", a part of the controls such as \"slider\", or \"device NAME\", "
                    + "\"place PLACE\" or \"id VENDOR:PRODUCT\""
                complaints.add("[input] allow: expected \(expected), found \(item.kind.shown)\(near)", at: item.position)
                continue
            }
            if case .key(let trigger) = found, !bound.contains(trigger) {
                complaints.add("[input] allow: \(trigger) is not bound to anything in [input.keys]", at: item.position)
            }
            allowed.insert(found)
        }
        return allowed
    }
}
