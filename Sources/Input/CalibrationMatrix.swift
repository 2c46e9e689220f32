/// A matrix that corrects the positions of a touch screen with swapped, mirrored, stretched or shifted axes. It is the udev property
/// LIBINPUT_CALIBRATION_MATRIX, with libinput's meaning. A pure value.
///
/// Positions are fractions of the axes, 0…1: x′ = a·x + b·y + c, y′ = d·x + e·y + f.
package struct CalibrationMatrix: Hashable, Sendable, CustomStringConvertible {
    /// a, b, c, d, e, f.
    package let values: [Double]

    /// The matrix that leaves positions unchanged.
    package static let identity = CalibrationMatrix(values: [1, 0, 0, 0, 1, 0])

    private init(values: [Double]) { self.values = values }

    /// Reads a property of six numbers. Returns nil if it is malformed, or if some places would be out of reach with this matrix.
    package init?(_ text: String) {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == "\t" })
        let values = parts.compactMap { Double($0) }
        guard parts.count == 6 else { return nil }
        self.init(usable: values)
    }

    private init?(usable values: [Double]) {
        guard values.count == 6, values.allSatisfy({ $0.isFinite && abs($0) < 1000 }) else { return nil }
        guard abs(values[0] * values[4] - values[1] * values[3]) > 1e-6 else { return nil }
        self.init(values: values)
    }

    /// The six numbers, with at most six decimals.
    package var description: String {
        values.map { value in
            let rounded = (value * 1e6).rounded() / 1e6
            return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
        }.joined(separator: " ")
    }

    /// Returns the position of a contact from its raw position; not clamped.
    package func apply(_ x: Double, _ y: Double) -> (x: Double, y: Double) {
        (values[0] * x + values[1] * y + values[2], values[3] * x + values[4] * y + values[5])
    }

    /// One touch of a calibration: the reported position in fractions of the axes, the target in fractions of the panel.
    package struct Sample: Sendable {
        package var reported: (x: Double, y: Double)
        package var target: (x: Double, y: Double)
    }

    /// Finds the matrix that maps the reported positions to their targets with the least squares of error. Returns nil if the samples do
    /// not determine it: fewer than three, or all on a line.
    package init?(fitting samples: [Sample]) {
        // The normal equations of both rows: the same matrix of sums, two right-hand sides.
        var sums = [[Double]](repeating: [0, 0, 0], count: 3)
        var (right, down) = ([0.0, 0, 0], [0.0, 0, 0])
        for sample in samples {
            let row = [sample.reported.x, sample.reported.y, 1]
            for i in 0..<3 {
                for j in 0..<3 { sums[i][j] += row[i] * row[j] }
                right[i] += row[i] * sample.target.x
                down[i] += row[i] * sample.target.y
            }
        }
        guard let first = Self.solve(sums, right), let second = Self.solve(sums, down) else { return nil }
        self.init(usable: first + second)
    }

    /// Returns the greatest distance of a sample from its target, as a fraction of the panel.
    package func largestError(of samples: [Sample]) -> Double {
        samples.map { sample in
            let place = apply(sample.reported.x, sample.reported.y)
            return max(abs(place.x - sample.target.x), abs(place.y - sample.target.y))
        }.max() ?? 0
    }

    /// Solves three linear equations by elimination; nil if there is no solution, or nearly none.
    private static func solve(_ matrix: [[Double]], _ right: [Double]) -> [Double]? {
        var rows = zip(matrix, right).map { $0 + [$1] }
        for column in 0..<3 {
            let pivot = (column..<3).max { abs(rows[$0][column]) < abs(rows[$1][column]) }!
            rows.swapAt(column, pivot)
            guard abs(rows[column][column]) > 1e-6 else { return nil }
            for row in 0..<3 where row != column {
                let factor = rows[row][column] / rows[column][column]
                for index in column..<4 { rows[row][index] -= factor * rows[column][index] }
            }
        }
        return (0..<3).map { rows[$0][3] / rows[$0][$0] }
    }

    /// Returns the line of a udev rules file that gives this matrix to the device of this name. If several have that name, `place` selects
    /// one (`usb-0000:00:14.0-1/input0`).
    package func udevRule(deviceName: String, place: String? = nil) -> String {
        // udev names are patterns, and cannot contain a quotation mark. A line break would begin another rule: the device chooses its name.
        func pattern(_ text: String) -> String {
            var result = String.UnicodeScalarView()
            for scalar in text.unicodeScalars {
                let isSpecial = "\"\\*?[]|".unicodeScalars.contains(scalar) || scalar.properties.generalCategory == .control
                result.append(isSpecial ? "?" : scalar)
            }
            return String(result)
        }
        let isThere = place.map { "ATTRS{phys}==\"\(pattern($0))\", " } ?? ""
        return "ACTION!=\"remove\", SUBSYSTEM==\"input\", KERNEL==\"event[0-9]*\", ATTRS{name}==\"\(pattern(deviceName))\", \(isThere)"
            + "ENV{LIBINPUT_CALIBRATION_MATRIX}=\"\(self)\""
    }
}
