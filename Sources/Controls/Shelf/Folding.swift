/// Returns a text in its form for the search: in lower case and without accents, as UTF-8. So "Café Über" is "cafe uber", "Straße" is
/// "strasse", in each of Unicode's normal forms. macOS writes file names with the accent after the letter.
///
/// Foundation has this, and normal forms too, but kiosk does not link it. So this function drops combining marks. It recognizes a letter
/// with a mark by its name: LATIN SMALL LETTER E WITH ACUTE. A table has the letters with other names.
func folded(_ text: String) -> [UInt8] {
    let lower = text.lowercased()
    if lower.utf8.allSatisfy({ $0 < 0x80 }) { return Array(lower.utf8) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(lower.utf8.count)
    for scalar in lower.unicodeScalars { fold(scalar, into: &bytes) }
    return bytes
}

private func fold(_ scalar: Unicode.Scalar, into bytes: inout [UInt8]) {
    if scalar.isASCII {
        bytes.append(UInt8(scalar.value))
    } else if let plain = plainLetters[scalar] {
        bytes += plain.utf8
    } else if 0xac00...0xd7a3 ~= scalar.value {
        // A Hangul syllable becomes its two or three letters.
        let place = scalar.value - 0xac00, last = place % 28
        let letters = [0x1100 + place / 588, 0x1161 + place % 588 / 28] + (last > 0 ? [0x11a7 + last] : [])
        for letter in letters { if let letter = Unicode.Scalar(letter) { bytes += Array(String(letter).utf8) } }
    } else if scalar.properties.generalCategory != .nonspacingMark {
        bytes += latinLetters(scalar).map { Array($0.utf8) } ?? Array(String(scalar).utf8)
    }
}

/// Returns a small letter without its additions: `o` of ø, `ae` of æ. Returns nil if its name does not show them.
private func latinLetters(_ scalar: Unicode.Scalar) -> String? {
    let prefix = "LATIN SMALL LETTER "
    guard let name = scalar.properties.name, name.hasPrefix(prefix) else { return nil }
    let words = name.dropFirst(prefix.count).split(separator: " ")
    guard let letters = words.first, letters.utf8.count <= 2, words.count == 1 || words[1] == "WITH" else { return nil }
    return letters.lowercased()
}

/// Letters whose name does not show their plain form, and that form.
private let plainLetters: [Unicode.Scalar: String] = {
    let latin = ["ß": "ss", "œ": "oe", "þ": "th", "ð": "d", "ı": "i", "ĸ": "k", "ŋ": "n", "ſ": "s"]
    let pairs =
        "άα έε ήη ίι όο ύυ ώω ϊι ϋυ ΐι ΰυ ςσ йи ёе їі ўу ѓг ќк "
        + "がか ぎき ぐく げけ ごこ ざさ じし ずす ぜせ ぞそ だた ぢち づつ でて どと ばは びひ ぶふ べへ ぼほ ぱは ぴひ ぷふ ぺへ ぽほ ゔう"
    var letters: [Unicode.Scalar: String] = [:]
    for (letter, plain) in latin { letters[letter.unicodeScalars.first!] = plain }
    for pair in pairs.split(separator: " ") {
        let (letter, plain) = (pair.unicodeScalars.first!, pair.unicodeScalars.last!)
        letters[letter] = String(plain)
        // Katakana follows hiragana in the same order.
        if 0x3040...0x309f ~= letter.value, let other = Unicode.Scalar(letter.value + 0x60), let base = Unicode.Scalar(plain.value + 0x60) {
            letters[other] = String(base)
        }
    }
    return letters
}()
