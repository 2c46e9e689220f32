/// Returns a number with at most two decimals, without trailing zeros.
package func decimal(_ value: Double) -> String {
    let hundredths = Int(saturating: value * 100)
    let (whole, rest) = hundredths.magnitude.quotientAndRemainder(dividingBy: 100)
    let sign = hundredths < 0 ? "-" : ""
    if rest == 0 { return "\(sign)\(whole)" }
    return rest % 10 == 0 ? "\(sign)\(whole).\(rest / 10)" : "\(sign)\(whole).\(rest.padded(to: 2))"
}
