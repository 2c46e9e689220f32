/// The permissions of a viewer: everything, or on a locked screen only the entries of a list.
package struct InputLock: Hashable, Sendable {
    /// An entry of the list.
    package enum Entry: Hashable, Sendable {
        /// A key binding, written as in `[input.keys]` with the prefixes of its keys: `KEY_SPACE`, `hold KEY_POWER`.
        case key(KeyTrigger)
        case gesture(GestureName)
        case part(ControlsPart)
        /// `device NAME`: a device whose name contains NAME. A device chooses its own name.
        case device(String)
        /// `place PLACE`: the device at that port, in the kernel's notation: `usb-0000:00:14.0-2`.
        case place(String)
        /// `id 222a:0001`: the devices of this vendor and product. `id 222a`: all of this vendor.
        case id(vendor: UInt16, product: UInt16?)
    }

    /// The identity of a device.
    package struct Device: Hashable, Sendable {
        /// Its name, its place and its serial number, separated by blanks.
        package var identity: String
        /// Its port: `usb-0000:00:14.0-1/input0`. Empty if the kernel states none.
        package var place: String
        package var vendor: UInt16, product: UInt16

        package init(identity: String, place: String = "", vendor: UInt16 = 0, product: UInt16 = 0) {
            (self.identity, self.place, self.vendor, self.product) = (identity, place, vendor, product)
        }
    }

    /// nil if everything is allowed.
    package var allowed: Set<Entry>?

    package init(allowed: Set<Entry>? = nil) { self.allowed = allowed }

    /// Whether a key binding acts.
    package func allows(_ trigger: KeyTrigger) -> Bool { allowed?.contains(.key(trigger.withoutRepeat)) ?? true }

    /// Whether a gesture acts.
    package func allows(_ gesture: GestureName) -> Bool { allowed?.contains(.gesture(gesture)) ?? true }

    /// Whether a part of the controls acts when it is touched.
    package func allows(_ part: ControlsPart) -> Bool { allowed?.contains(.part(part)) ?? true }

    /// Whether a device acts. If the list has devices, no others do.
    package func allows(_ device: Device) -> Bool {
        guard let allowed else { return true }
        let answers = allowed.compactMap { entry -> Bool? in
            switch entry {
            case .key, .gesture, .part: nil
            case .device(let name): device.identity.lowercased().contains(name.lowercased())
            // A device behind a hub at that port has another place: `…-2.1`.
            case .place(let place): device.place == place || device.place.hasPrefix(place + "/")
            case .id(let vendor, let product): device.vendor == vendor && product ?? device.product == device.product
            }
        }
        return answers.isEmpty || answers.contains(true)
    }
}

extension InputLock.Entry {
    /// Parses an entry of `[input] allow`; nil if it is invalid.
    package init?(_ text: String) {
        if let gesture = GestureName(rawValue: text) {
            self = .gesture(gesture)
        } else if let part = ControlsPart(rawValue: text) {
            self = .part(part)
        } else if let name = Self.name(after: "device", in: text) {
            self = .device(name)
        } else if let place = Self.name(after: "place", in: text) {
            self = .place(place)
        } else if let id = Self.name(after: "id", in: text) {
            let numbers = id.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { UInt16($0, radix: 16) }
            guard let vendor = numbers[0], numbers.allSatisfy({ $0 != nil }) else { return nil }
            self = .id(vendor: vendor, product: numbers.count > 1 ? numbers[1] : nil)
        } else if let trigger = KeyTrigger(text), Self.hasPrefixes(text) {
            self = .key(trigger.withoutRepeat)
        } else {
            return nil
        }
    }

    /// Returns the text after a word and blanks; nil after another word, or if nothing follows.
    private static func name(after word: String, in text: String) -> String? {
        guard text.hasPrefix(word + " ") else { return nil }
        let name = text.dropFirst(word.count).drop { $0 == " " }
        return 1...100 ~= name.utf8.count ? String(name) : nil
    }

    /// Whether every key has its prefix: `mute` is a part of the controls, `KEY_MUTE` is a key.
    private static func hasPrefixes(_ text: String) -> Bool {
        let chord = text.split(separator: " ").last ?? ""
        return chord.split(separator: "+").allSatisfy { part in
            let part = part.uppercased()
            let isModifier = ["CTRL", "CONTROL", "SHIFT", "ALT", "META", "SUPER", "WIN"].contains(part)
            return isModifier || part.hasPrefix("KEY_") || part.hasPrefix("BTN_") || part.hasPrefix("DIAL-")
        }
    }
}
