import CKioskCairo
import KioskPlatform
import KioskVocabulary
import Logging
import Synchronization

let log = Logger(label: "controls")

/// Lays out text and draws it, with pango: right-to-left and CJK text, ellipses, figures of equal width. If a font lacks a character,
/// another font supplies it. A character that no font has becomes a box with its number. The log reports that once for each text, and a
/// missing font once. Belongs to one thread.
@safe package struct Typesetter: ~Copyable {
    /// nil if no font is installed; nothing is drawn then.
    private let context: OpaquePointer?
    private let family: String
    /// Texts with missing characters.
    private let incomplete = Mutex<Set<String>>([])

    /// Loads the font list: fontconfig reads its cache or, if that is old, every font installed.
    package init(font: String) {
        family = font
        unsafe g_log_set_default_handler(
            { domain, _, message, _ in
                let domain = unsafe domain.map { unsafe String(cString: $0) } ?? "glib"
                let message = unsafe message.map { unsafe String(cString: $0) } ?? ""
                log.warning("\(domain): \(message)")
            }, nil)
        let map = unsafe pango_cairo_font_map_new()!
        defer { unsafe g_object_unref(UnsafeMutableRawPointer(map)) }
        guard unsafe Self.hasFonts(map) else {
            // pango ends the process if it finds none.
            log.warning("no font is installed: the controls have no text; install fonts-inter or fonts-dejavu-core")
            unsafe context = nil
            return
        }
        unsafe context = pango_font_map_create_context(map)
        unsafe reportOtherFont(map)
    }

    deinit { if let context = unsafe context { unsafe g_object_unref(UnsafeMutableRawPointer(context)) } }

    private static func hasFonts(_ map: OpaquePointer) -> Bool {
        var families: UnsafeMutablePointer<OpaquePointer?>?
        var count: Int32 = 0
        unsafe pango_font_map_list_families(map, &families, &count)
        unsafe g_free(families)
        return count > 0
    }

    /// Families that stand for any font.
    private static let generic: Set<String> = ["sans-serif", "sans", "serif", "monospace", "system-ui"]

    /// Logs a warning if none of the requested families is installed.
    private func reportOtherFont(_ map: OpaquePointer) {
        let asked = family.split(separator: ",").map { $0.trimming(" ").lowercased() }
        let description = unsafe description(size: 12, isBold: false)
        defer { unsafe pango_font_description_free(description) }
        guard let font = unsafe pango_font_map_load_font(map, context, description) else { return }
        defer { unsafe g_object_unref(UnsafeMutableRawPointer(font)) }
        guard let found = unsafe pango_font_describe(font) else { return }
        defer { unsafe pango_font_description_free(found) }
        let name = unsafe pango_font_description_get_family(found).map { unsafe String(cString: $0) } ?? "?"
        if asked.contains(name.lowercased()) || asked.contains(where: Self.generic.contains) { return }
        log.warning("no font “\(family)” is installed: the controls use \(name)")
    }

    private func description(size: Double, isBold: Bool) -> OpaquePointer {
        let description = unsafe pango_font_description_new()!
        unsafe pango_font_description_set_family(description, family)
        unsafe pango_font_description_set_absolute_size(description, max(size, 1) * Double(kPangoScale))
        unsafe pango_font_description_set_weight(description, isBold ? kPangoWeightSemibold : kPangoWeightMedium)
        return unsafe description
    }

    // MARK: Drawing

    /// Draws a text in its box at `x`, `y`; white if no colour is given.
    func draw(_ text: Part.Text, on canvas: borrowing Canvas, _ x: Double = 0, _ y: Double = 0, color: Color? = nil) {
        unsafe withLayout(text) { layout, height in
            unsafe pango_layout_set_width(layout, Int32(text.width) * kPangoScale)
            unsafe pango_layout_set_ellipsize(layout, kPangoEllipsizeEnd)
            unsafe pango_layout_set_alignment(layout, text.alignment == .trailing ? kPangoAlignRight : kPangoAlignLeft)
            canvas.set(color.map { .color($0, 1) } ?? .white(Double(text.shade) / 100))
            unsafe cairo_move_to(canvas.raw, x, y + ((Double(text.height) - height) / 2).rounded())
            unsafe pango_cairo_show_layout(canvas.raw, layout)
        }
    }

    /// Draws a text around a point; `isShaded` if it is on a picture.
    func drawCentered(_ text: Part.Text, x: Double, y: Double, isShaded: Bool, on canvas: borrowing Canvas) {
        unsafe withLayout(text) { layout, height in
            var width: Int32 = 0
            unsafe pango_layout_get_pixel_size(layout, &width, nil)
            let (left, top) = (x - Double(width) / 2, y - height / 2)
            let edge = max(1, Double(text.size) / 14)
            for (dx, dy) in isShaded ? [(-edge, 0), (edge, 0), (0, -edge), (0, edge), (0, 2 * edge)] : [] {
                canvas.set(.black(0.35))
                unsafe cairo_move_to(canvas.raw, left + dx, top + dy)
                unsafe pango_cairo_show_layout(canvas.raw, layout)
            }
            canvas.set(.white(Double(text.shade) / 100))
            unsafe cairo_move_to(canvas.raw, left, top)
            unsafe pango_cairo_show_layout(canvas.raw, layout)
        }
    }

    /// Lays out a text in lines no wider than `width`; nil for lines as in the text. `body` gets their distance from the left side, their
    /// width and their height, in pixels. Returns nil without any font.
    func withLines<Result>(
        _ text: String, size: Double, isBold: Bool = false, width: Double?, alignment: UInt32,
        _ body: (OpaquePointer, (left: Double, width: Double, height: Double)) -> Result
    ) -> Result? {
        guard let layout = unsafe layout(text) else { return nil }
        defer { unsafe g_object_unref(UnsafeMutableRawPointer(layout)) }
        unsafe set(size: size, isBold: isBold, of: layout)
        unsafe pango_layout_set_alignment(layout, alignment)
        unsafe pango_layout_set_wrap(layout, kPangoWrapWordChar)
        if let width { unsafe pango_layout_set_width(layout, Int32(saturating: width) * kPangoScale) }
        reportMissing(unsafe Int(pango_layout_get_unknown_glyphs_count(layout)), in: text)
        var drawn = PangoRectangle()
        unsafe pango_layout_get_pixel_extents(layout, nil, &drawn)
        return unsafe body(layout, (Double(drawn.x), Double(drawn.width), Double(drawn.height)))
    }

    /// Lays out a text in one line, however long. `body` gets its length, and the distance from its top to the baseline, in pixels. Returns
    /// nil without any font.
    func withLine<Result>(_ text: String, size: Double, _ body: (OpaquePointer, Int, Double) -> Result) -> Result? {
        guard let layout = unsafe layout(text) else { return nil }
        defer { unsafe g_object_unref(UnsafeMutableRawPointer(layout)) }
        unsafe pango_layout_set_single_paragraph_mode(layout, 1)
        unsafe set(size: size, isBold: false, of: layout)
        reportMissing(unsafe Int(pango_layout_get_unknown_glyphs_count(layout)), in: text)
        var width: Int32 = 0
        unsafe pango_layout_get_pixel_size(layout, &width, nil)
        return unsafe body(layout, Int(max(width, 1)), Double(pango_layout_get_baseline(layout)) / Double(kPangoScale))
    }

    /// Returns whether the first letter with a direction belongs to a script that is read from right to left.
    func isReadFromTheRight(_ text: String) -> Bool {
        unsafe pango_find_base_dir(text, -1) == kPangoDirectionRTL
    }

    /// Creates a layout of a text, in figures of equal width: a running clock does not move. Returns nil without any font.
    private func layout(_ text: String) -> OpaquePointer? {
        guard let context = unsafe context, let layout = unsafe pango_layout_new(context) else { return nil }
        let attributes = unsafe pango_attr_list_new()
        unsafe pango_attr_list_insert(attributes, pango_attr_font_features_new("tnum=1"))
        unsafe pango_layout_set_attributes(layout, attributes)
        unsafe pango_attr_list_unref(attributes)
        unsafe pango_layout_set_text(layout, text, -1)
        return unsafe layout
    }

    private func set(size: Double, isBold: Bool, of layout: OpaquePointer) {
        let description = unsafe description(size: size, isBold: isBold)
        unsafe pango_layout_set_font_description(layout, description)
        unsafe pango_font_description_free(description)
    }

    /// Lays out a text in one line; without an ellipsis, makes a text smaller that does not fit. `body` gets its height in pixels.
    private func withLayout(_ text: Part.Text, _ body: (OpaquePointer, Double) -> Void) {
        guard let layout = unsafe layout(text.text) else { return }
        defer { unsafe g_object_unref(UnsafeMutableRawPointer(layout)) }
        unsafe pango_layout_set_single_paragraph_mode(layout, 1)
        var (width, height): (Int32, Int32) = (0, 0)
        func measure(_ size: Double) {
            unsafe set(size: size, isBold: text.isBold, of: layout)
            unsafe pango_layout_get_pixel_size(layout, &width, &height)
        }
        measure(Double(text.size))
        if !text.hasEllipsis, Int(width) > text.width { measure(Double(text.size * text.width) / Double(width)) }
        reportMissing(unsafe Int(pango_layout_get_unknown_glyphs_count(layout)), in: text.text)
        unsafe body(layout, Double(height))
    }

    private func reportMissing(_ count: Int, in text: String) {
        guard count > 0, incomplete.withLock({ $0.count < 1000 && $0.insert(text).inserted }) else { return }
        let characters = count == 1 ? "a character" : "\(count) characters"
        log.warning("no installed font has \(characters) of “\(text)”: install packages such as fonts-noto-core and fonts-noto-cjk")
    }
}

extension Substring {
    fileprivate func trimming(_ character: Character) -> Substring {
        var rest = drop { $0 == character }
        while rest.last == character { rest.removeLast() }
        return rest
    }
}
