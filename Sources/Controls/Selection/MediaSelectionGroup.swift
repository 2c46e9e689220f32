import KioskMedia
import KioskVocabulary

/// Tracks of one kind among which a viewer chooses: AVMediaSelectionGroup. Each option stands for what `subtitle-track` and `audio-track` take.
struct MediaSelectionGroup: Hashable, Sendable {
    struct Option: Hashable, Sendable {
        var displayName: String
        var choice: TrackChoice
    }

    var kind: TrackKind
    var options: [Option]
    /// The option in use, by its place.
    var selected: Int?

    /// What stands above the options.
    var title: String { kind == .audio ? "Sound" : "Subtitles" }
}

extension NowPlaying {
    /// The subtitles, if there are some, and the sound tracks, if a viewer can hear several.
    var selectionGroups: [MediaSelectionGroup] { [subtitleGroup, soundGroup].compactMap { $0 } }

    private func tracks(of kind: TrackKind) -> [AssetTrack] { tracks.filter { $0.kind == kind && TrackChoice.numbers ~= $0.number } }

    private var sound: AssetTrack? { tracks.first { $0.kind == .audio && $0.id == selectedTracks[.audio] } }

    /// Automatic is one of the options if it shows something. Otherwise it is the same as none.
    var subtitleGroup: MediaSelectionGroup? {
        let tracks = tracks(of: .subtitle)
        if tracks.isEmpty { return nil }
        let names = tracks.displayNames, asked = asked.subtitle ?? .automatic
        func place(_ choice: TrackChoice) -> Int? {
            tracks.subtitles(choice, sound: sound?.language).flatMap { track in tracks.firstIndex { $0.id == track.id } }
        }
        var options = [MediaSelectionGroup.Option(displayName: "Off", choice: .off)]
        let automatic = place(.automatic)
        if let automatic { options.append(.init(displayName: "Auto: " + names[automatic], choice: .automatic)) }
        let first = options.count
        options += zip(tracks, names).map { .init(displayName: $1, choice: .number($0.number)) }
        let selected = asked == .automatic ? first - 1 : place(asked).map { first + $0 } ?? 0
        return MediaSelectionGroup(kind: .subtitle, options: options, selected: selected)
    }

    /// An item whose sound is switched off has none to choose.
    private var soundGroup: MediaSelectionGroup? {
        let tracks = tracks(of: .audio)
        guard tracks.count > 1, let sound else { return nil }
        let options = zip(tracks, tracks.displayNames).map {
            MediaSelectionGroup.Option(displayName: $1, choice: .number($0.number))
        }
        // Another one is heard a second or two after it was asked for.
        let asked = options.firstIndex { $0.choice == self.asked.audio }
        return MediaSelectionGroup(kind: .audio, options: options, selected: asked ?? tracks.firstIndex { $0.id == sound.id })
    }

    /// What is seen after the next one has been asked for, in a line: `Subtitles: Deutsch`; nil without subtitles.
    var nextSubtitleNotice: String? {
        let tracks = tracks(of: .subtitle)
        guard let group = subtitleGroup else { return nil }
        let next = tracks.firstIndex { $0.id == selectedTracks[.subtitle] }.map { $0 + 1 } ?? 0
        let choice = tracks.indices.contains(next) ? TrackChoice.number(tracks[next].number) : .off
        return group.options.first { $0.choice == choice }.map { "\(group.title): \($0.displayName)" }
    }
}

extension [AssetTrack] {
    /// What tracks of one kind are called, each by another name: by their languages, `English (SDH)`. Those of one language have their titles beside it, and
    /// those of one title their numbers.
    fileprivate var displayNames: [String] {
        func distinct(_ names: [String], _ more: (AssetTrack) -> String?) -> [String] {
            let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
            return zip(self, names).map { track, name in
                guard counts[name] != 1, let more = more(track) else { return name }
                return "\(name) · \(more)"
            }
        }
        let titled = distinct(map(\.displayName)) { track in
            // An isolate: letters from right to left in it move nothing else.
            track.language?.autonym == nil ? nil : track.plainTitle.map { "\u{2068}\($0)\u{2069}" }
        }
        return distinct(titled) { "\($0.number)" }
    }
}

extension AssetTrack {
    /// Its language, else its title, else its number, and what it is for.
    fileprivate var displayName: String {
        let marks = [isForced ? "forced" : nil, isForHardOfHearing ? "SDH" : nil].compactMap { $0 }
        let name = language?.autonym ?? plainTitle ?? language?.description ?? "Track \(number)"
        return marks.isEmpty ? name : "\(name) (\(marks.joined(separator: ", ")))"
    }

    /// Its title without what would turn or hide letters around it. That of a file beside the clip is the file's name, which tells a viewer nothing.
    fileprivate var plainTitle: String? {
        guard !isBeside, let title else { return nil }
        // Two of them join letters and emoji.
        let scalars = title.unicodeScalars.filter { scalar in
            scalar.properties.generalCategory != .format || scalar == "\u{200C}" || scalar == "\u{200D}"
        }
        return scalars.contains { !$0.properties.isWhitespace } ? String(String.UnicodeScalarView(scalars)) : nil
    }
}
