import Glibc

/// A place on Earth, in degrees: north and east are positive.
package struct GeographicPlace: Hashable, Sendable {
    package var latitude: Double
    package var longitude: Double

    package init(latitude: Double, longitude: Double) { (self.latitude, self.longitude) = (latitude, longitude) }
}

/// The times of sunrise and sunset.
package enum Daylight: Hashable, Sendable {
    /// Sunrise and sunset, in seconds since 1970.
    case rises(Int64, sets: Int64)
    /// The sun does not set, or does not rise, on that day.
    case always, never

    /// Calculates the times of a day in a zone, to about two minutes. It uses the sunrise equation: the upper edge of the sun is at the
    /// horizon, and the air refracts by 34′.
    package init(on date: CalendarDate, at place: GeographicPlace, _ zone: TimeZoneRules) {
        // The local day's noon may fall on another day in Greenwich.
        var day = date.day
        for _ in 0..<2 {
            let noon = Self.noon(ofDay: day, place).instant
            let found = zone.local(at: noon).date.day
            if found == date.day { break }
            day += date.day - found
        }
        let (noon, declination) = Self.noon(ofDay: day, place)
        let latitude = place.latitude * .pi / 180
        let cosine = (sin(-0.833 * .pi / 180) - sin(latitude) * sin(declination)) / (cos(latitude) * cos(declination))
        if cosine >= 1 {
            self = .never
        } else if cosine <= -1 {
            self = .always
        } else {
            let half = Int64((acos(cosine) / (2 * .pi) * 86_400).rounded())
            self = .rises(noon - half, sets: noon + half)
        }
    }

    /// Returns the time of the sun's highest position, and its declination in radians. `day` counts from 1970 in Greenwich.
    private static func noon(ofDay day: Int, _ place: GeographicPlace) -> (instant: Int64, declination: Double) {
        // Days since noon of 2000-01-01.
        let mean = Double(day - 10_957) - place.longitude / 360
        func radians(_ degrees: Double) -> Double { degrees.truncatingRemainder(dividingBy: 360) * .pi / 180 }
        let anomaly = radians(357.5291 + 0.98560028 * mean)
        let centre = 1.9148 * sin(anomaly) + 0.02 * sin(2 * anomaly) + 0.0003 * sin(3 * anomaly)
        let longitude = anomaly + radians(centre + 180 + 102.9372)
        let transit = mean + 0.0053 * sin(anomaly) - 0.0069 * sin(2 * longitude)
        let seconds = (transit + 10_957.5) * 86_400
        return (Int64(seconds.rounded()), asin(sin(longitude) * sin(23.4397 * .pi / 180)))
    }
}
