import KioskPlatform
import KioskVocabulary

/// The films of a folder in the order in which they were kept, with dates. A pure value, and the text of the file that stores it.
///
/// A machine without a clock battery starts in 1970, or at its last time, until the network sets the clock. So a film gets a date only once
/// the clock is right: that of its keeping, or the first right date after it. A film without a date has no age: only its place in the list
/// counts.
struct FilmList: Hashable, Sendable {
    struct Film: Hashable, Sendable {
        var name: String
        /// In seconds since 1970; nil if the clock has not been right since.
        var date: Int64?

        /// Returns the age; nil if unknown.
        func age(at now: WallClock) -> MediaTime? {
            guard let date, now.isRight else { return nil }
            return .seconds(Double(now.seconds) - Double(date))
        }
    }

    /// The newest last.
    private(set) var films: [Film] = []

    /// The name of the file.
    static let name = ".films"
    /// The most bytes of the file to read: some 10 000 films.
    static let longest = 1 << 20

    init() {}

    /// Parses the text of a file: a line for each film, with its name and its date or `-`. Skips invalid lines.
    init(_ text: String) {
        var seen: Set<String> = []
        films = text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 2, FilmFolder.isFilm(String(words[0])), seen.insert(String(words[0])).inserted else { return nil }
            return Film(name: String(words[0]), date: Int64(words[1]).flatMap { $0 >= WallClock.floor ? $0 : nil })
        }
    }

    var text: String { films.map { "\($0.name) \($0.date.map { "\($0)" } ?? "-")\n" }.joined() }

    /// Updates the list with the existing files, by name, and their times. Those in `kept` are new; other unknown ones are old.
    mutating func update(_ files: [String: Int64], kept: [String], at now: WallClock) {
        let known = Set(films.map(\.name)).subtracting(kept)
        films.removeAll { files[$0.name] == nil || kept.contains($0.name) }
        // A file's date is from the clock of its time, which may have been wrong. An impossible date is dropped.
        let others = files.filter { !known.contains($0.key) && !kept.contains($0.key) }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        let before = others.map { Film(name: $0.key, date: $0.value >= WallClock.floor ? $0.value : nil) }
        films = before + films + kept.filter { files[$0] != nil }.map { Film(name: $0, date: nil) }
        guard now.isRight else { return }
        for index in films.indices where films[index].date == nil { films[index].date = now.seconds }
    }
}
