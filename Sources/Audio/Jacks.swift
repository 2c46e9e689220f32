import CKioskALSA
import Glibc

// Finds out whether something is plugged into a card's headphone or line output. Drivers that detect plugs have a boolean control of
// interface CARD for each jack: `Headphone Jack`, `Line Out Front Jack`, `HDMI/DP,pcm=3 Jack`. The word Phantom means that the driver knows
// the jack but cannot detect a plug. Displays are detected by their ELD instead (DisplaySound.swift).

/// A control of a card, from the card's list of controls.
struct CardControl: Hashable {
    var interface: snd_ctl_elem_iface_t
    var name: String
    /// The PCM of the control, if it has one.
    var device: Int
    var number: UInt32

    static func == (a: CardControl, b: CardControl) -> Bool { a.number == b.number && a.name == b.name }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }

    /// Returns all controls of a card; empty if they cannot be listed.
    static func all(of control: OpaquePointer) -> [CardControl] {
        var list: OpaquePointer?
        snd_ctl_elem_list_malloc(&list)
        defer { snd_ctl_elem_list_free(list) }
        guard snd_ctl_elem_list(control, list) == 0 else { return [] }
        let count = snd_ctl_elem_list_get_count(list)
        guard count > 0, snd_ctl_elem_list_alloc_space(list, count) == 0 else { return [] }
        defer { snd_ctl_elem_list_free_space(list) }
        guard snd_ctl_elem_list(control, list) == 0 else { return [] }
        return (0..<snd_ctl_elem_list_get_used(list)).map { index in
            CardControl(
                interface: snd_ctl_elem_list_get_interface(list, index),
                name: snd_ctl_elem_list_get_name(list, index).map { String(cString: $0) } ?? "",
                device: Int(snd_ctl_elem_list_get_device(list, index)), number: snd_ctl_elem_list_get_numid(list, index))
        }
    }

    /// Returns the value of a boolean control; nil if it cannot be read.
    func flag(_ control: OpaquePointer) -> Bool? {
        read(control, SND_CTL_ELEM_TYPE_BOOLEAN) { _, value in snd_ctl_elem_value_get_boolean(value, 0) != 0 }
    }

    /// Returns the value of a control of type bytes; empty if it cannot be read.
    func bytes(_ control: OpaquePointer) -> [UInt8] {
        read(control, SND_CTL_ELEM_TYPE_BYTES) { info, value in
            (0..<min(512, snd_ctl_elem_info_get_count(info))).map { snd_ctl_elem_value_get_byte(value, $0) }
        } ?? []
    }

    private func read<Value>(
        _ control: OpaquePointer, _ type: snd_ctl_elem_type_t, _ body: (_ info: OpaquePointer?, _ value: OpaquePointer?) -> Value
    ) -> Value? {
        var (info, value): (OpaquePointer?, OpaquePointer?)
        snd_ctl_elem_info_malloc(&info)
        snd_ctl_elem_value_malloc(&value)
        defer {
            snd_ctl_elem_info_free(info)
            snd_ctl_elem_value_free(value)
        }
        snd_ctl_elem_info_set_numid(info, number)
        guard snd_ctl_elem_info(control, info) == 0, snd_ctl_elem_info_get_type(info) == type else { return nil }
        snd_ctl_elem_value_set_numid(value, number)
        return snd_ctl_elem_read(control, value) == 0 ? body(info, value) : nil
    }
}

/// A jack of a card, and whether something is plugged in.
struct Jack: Hashable {
    var name: String
    var isPlugged: Bool

    /// Returns the jacks of a card that detect plugs.
    static func all(of control: OpaquePointer, among controls: [CardControl]) -> [Jack] {
        controls.filter { $0.interface == SND_CTL_ELEM_IFACE_CARD && isOutput($0.name) }.compactMap { element in
            element.flag(control).map { Jack(name: element.name, isPlugged: $0) }
        }
    }

    /// Returns whether a control of this name is for headphones or a line output.
    static func isOutput(_ name: String) -> Bool {
        guard name.hasSuffix(" Jack"), !name.contains("Phantom"), !name.contains("HDMI") else { return false }
        return ["Headphone", "Headset", "Line Out", "Lineout"].contains { name.contains($0) } && !name.contains("Mic")
    }

    /// The PCM in its name: 2 in `Headphone,pcm=2 Jack`.
    var device: Int? { name.firstMatch(of: /pcm=([0-9]{1,3})/).flatMap { Int($0.1) } }

    /// Returns whether something is plugged into a device of a card with these jacks; nil if no jack reports it. Jacks without a device
    /// belong to the card's first device, `isFirst`.
    static func isPlugged(_ jacks: [Jack], device: Int, isFirst: Bool) -> Bool? {
        let own = jacks.filter { $0.device.map { $0 == device } ?? isFirst }
        return own.isEmpty ? nil : own.contains { $0.isPlugged }
    }
}
