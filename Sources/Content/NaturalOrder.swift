/// Returns whether `a` precedes `b` in natural order of file names: `2.mp4` before `10.mp4`, ignoring case.
///
/// Runs of the digits 0…9 compare as numbers of any length, all else by code points in lower case. The code points decide between names
/// that are then equal (`01` and `1`, `A` and `a`), so the order is total.
func naturallyPrecedes(_ a: String, _ b: String) -> Bool {
    let x = Array(a.lowercased().unicodeScalars)
    let y = Array(b.lowercased().unicodeScalars)
    var (i, j) = (0, 0)
    while i < x.count, j < y.count {
        if isDigit(x[i]), isDigit(y[j]) {
            let (first, second) = (takeNumber(x, &i), takeNumber(y, &j))
            if first.count != second.count { return first.count < second.count }
            if let (p, q) = zip(first, second).first(where: { $0 != $1 }) { return p < q }
        } else {
            if x[i] != y[j] { return x[i] < y[j] }
            i += 1
            j += 1
        }
    }
    if i < x.count || j < y.count { return i == x.count }
    return a.unicodeScalars.lexicographicallyPrecedes(b.unicodeScalars)
}

private func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

/// Takes the digits at `index` without leading zeros; moves `index` past them.
private func takeNumber(_ text: [Unicode.Scalar], _ index: inout Int) -> ArraySlice<Unicode.Scalar> {
    let digits = text[index...].prefix(while: isDigit)
    index = digits.endIndex
    return digits.drop { $0 == "0" }
}
