/// The physical size of a display, as scanned out, before any rotation: `154x86`, in millimetres.
package struct PhysicalSize: Hashable, Sendable, LosslessStringConvertible {
    /// Millimetres, 10…10 000.
    package var width: Double, height: Double

    /// nil unless `text` is two numbers of millimetres with an x between them, and both are in range.
    package init?(_ text: String) {
        guard let match = text.wholeMatch(of: /([0-9]{1,5}(?:\.[0-9]{1,3})?)x([0-9]{1,5}(?:\.[0-9]{1,3})?)/),
            let width = Double(match.1), let height = Double(match.2), 10...10_000 ~= width, 10...10_000 ~= height
        else { return nil }
        (self.width, self.height) = (width, height)
    }

    package var description: String {
        func shown(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\(value)" }
        return "\(shown(width))x\(shown(height))"
    }
}
