import KioskPlatform
import KioskVocabulary

/// The films of a folder in the order in which they were kept, and when that was. A pure value, and the text of the file that keeps it beside them.
///
/// A box without a battery for its clock begins in 1970, or where it was switched off, until a network tells it the time. So a film has a date only once the clock
/// is right: that of its keeping, or the first one at which it was there. Without a date it has no age: only its place in the list decides about it.
struct FilmList: Hashable, Sendable {
    struct Film: Hashable, Sendable {
        var name: String
        /// In seconds since 1970; nil where no clock was right since.
        var date: Int64?

        /// nil where it is not known.
        func age(at now: WallClock) -> MediaTime? {
            guard let date, now.isRight else { return nil }
            return .seconds(Double(now.seconds) - Double(date))
        }
    }

    /// The newest last.
    private(set) var films: [Film] = []

    /// What the file is called.
    static let name = ".films"
    /// No more of the file is read: some 10 000 films.
    static let longest = 1 << 20

    init() {}

    /// Reads the text of a file: a line for each film, its name and its date or `-`. Lines that are none are left out.
    init(_ text: String) {
        var seen: Set<String> = []
        films = text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 2, FilmFolder.isFilm(String(words[0])), seen.insert(String(words[0])).inserted else { return nil }
            return Film(name: String(words[0]), date: Int64(words[1]).flatMap { $0 >= WallClock.floor ? $0 : nil })
        }
    }

    var text: String { films.map { "\($0.name) \($0.date.map { "\($0)" } ?? "-")\n" }.joined() }

    /// Takes over which films are there, by name, with the times of their files. Those in `kept` are new; others that are not in the list have been there for long.
    mutating func update(_ files: [String: Int64], kept: [String], at now: WallClock) {
        let known = Set(films.map(\.name)).subtracting(kept)
        films.removeAll { files[$0.name] == nil || kept.contains($0.name) }
        // A date that a file has is the clock's of its time, which nobody knows; one that is not possible is none.
        let others = files.filter { !known.contains($0.key) && !kept.contains($0.key) }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        let before = others.map { Film(name: $0.key, date: $0.value >= WallClock.floor ? $0.value : nil) }
        films = before + films + kept.filter { files[$0] != nil }.map { Film(name: $0, date: nil) }
        guard now.isRight else { return }
        for index in films.indices where films[index].date == nil { films[index].date = now.seconds }
    }
}
