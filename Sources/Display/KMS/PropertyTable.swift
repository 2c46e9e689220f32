import CKioskDRM
import KioskPlatform

/// A property that an object offers.
struct Property {
    /// 0 is none.
    var id: UInt32
    var value: UInt64
    /// The values by name; for a set of bits, the number of each bit. Empty unless it is an enumeration or a set.
    var choices: [String: UInt64] = [:]
    /// The minimum and maximum; nil unless it is a number.
    var range: ClosedRange<UInt64>?
    /// Whether only the kernel changes it.
    var isImmutable = false
}

/// The properties of one KMS object: ids by name, resolved once, and the values at that time.
struct PropertyTable<Object: KMSObject> {
    private var entries: [String: Property] = [:]

    init(_ entries: [String: Property]) { self.entries = entries }

    /// Reads the properties of `object`; none if it has gone. The corresponding C function is `drmModeObjectGetProperties`.
    init(_ card: DRMCard, of object: Object) {
        guard let properties = drmModeObjectGetProperties(card.fd, object.rawValue, Object.objectType) else { return }
        defer { drmModeFreeObjectProperties(properties) }
        for index in 0..<Int(properties.pointee.count_props) {
            guard let (name, property) = Self.describe(properties.pointee.props[index], of: card) else { continue }
            entries[name] = property
            entries[name]!.value = properties.pointee.prop_values[index]
        }
    }

    /// Returns the kernel's description of a property. It stays the same while the card is there, and for all objects that offer the
    /// property, so kiosk asks once. On a card with four planes that takes 72 calls instead of 674 before the first picture. The
    /// corresponding C function is `drmModeGetProperty`.
    private static func describe(_ id: UInt32, of card: DRMCard) -> (name: String, property: Property)? {
        if let known = card.properties.withLock({ $0[id] }) { return known }
        guard let property = drmModeGetProperty(card.fd, id) else { return nil }
        defer { drmModeFreeProperty(property) }
        let name = withUnsafeBytes(of: &property.pointee.name) { $0.text }
        let description = (name: name, property: Property(property.pointee))
        card.properties.withLock { $0[id] = description }
        return description
    }

    /// Returns the property's id; nil if the object does not offer it.
    func id(_ name: String) -> PropertyID<Object>? {
        guard let property = entries[name], property.id != 0 else { return nil }
        return PropertyID(rawValue: property.id, name: name)
    }
    /// Returns the property's value when the table was read; nil if the object does not offer it.
    func value(_ name: String) -> UInt64? { entries[name]?.value }
    /// Returns everything known about the property; nil if the object does not offer it.
    subscript(_ name: String) -> Property? { entries[name] }
    /// Returns the name of an enumeration's value; nil if the object does not offer it.
    func choice(_ name: String) -> String? {
        entries[name].flatMap { property in property.choices.first { $0.value == property.value }?.key }
    }
}

extension Property {
    /// Creates a property from the kernel's description, without a value.
    init(_ property: drmModePropertyRes) {
        self.init(id: property.prop_id, value: 0, isImmutable: property.flags & UInt32(DRM_MODE_PROP_IMMUTABLE) != 0)
        if property.flags & UInt32(DRM_MODE_PROP_ENUM | DRM_MODE_PROP_BITMASK) != 0, let enums = property.enums {
            for choice in UnsafeBufferPointer(start: enums, count: Int(property.count_enums)) {
                choices[withUnsafeBytes(of: choice.name) { $0.text }] = choice.value
            }
        }
        if property.flags & UInt32(DRM_MODE_PROP_RANGE) != 0, let values = property.values, property.count_values >= 2,
            values[0] <= values[1]
        {
            range = values[0]...values[1]
        }
    }
}
