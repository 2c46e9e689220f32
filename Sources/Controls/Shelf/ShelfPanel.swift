import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A button of a panel.
enum ShelfButton: Hashable, Sendable {
    case play, playFrom, add, remove, useAsMusic, dropMusic
    case export, cancelExport, clear, dismiss

    var label: String {
        switch self {
        case .play: "Play"
        case .playFrom: "Play from here"
        case .add: "Add to the film"
        case .remove: "Take out"
        case .useAsMusic: "Use as music"
        case .dropMusic: "No music"
        case .export: "Make the film"
        case .cancelExport: "Cancel"
        case .clear: "Clear"
        case .dismiss: "Close"
        }
    }

    /// Whether it is what most people want.
    var isMain: Bool { self == .play || self == .export }
}

/// What a panel says.
struct ShelfPanelText: Hashable, Sendable {
    var title: String
    var lines: [String]
    /// 0…100.
    var percent: Int?
    var buttons: [ShelfButton]
}

// What lies over the cards, and what its buttons do.
extension ShelfState {
    private static let mostLines = 6

    /// What the panel says; nil where there is none.
    var panelText: ShelfPanelText? {
        guard let layout, let panel else { return nil }
        var text =
            switch panel {
            case .entry(let entry): text(about: entry)
            case .film: filmText
            }
        // On a low screen the last line is what counts.
        let most = layout.mostLines(hasProgress: text.percent != nil, buttons: text.buttons.count)
        if text.lines.count > most { text.lines = text.lines.prefix(most - 1) + text.lines.suffix(1) }
        return text
    }

    private func text(about entry: ShelfEntry) -> ShelfPanelText {
        let facts = facts[entry]
        let title = facts?.title ?? entry.title
        if let problem = facts?.problem {
            return ShelfPanelText(title: title, lines: wrapped("It cannot be played: " + problem), buttons: [.dismiss])
        }
        var details = [entry.name, entry.folder]
        if let duration = facts?.duration { details.insert(NowPlaying.text(Int(duration.seconds.rounded())), at: 0) }
        var buttons = [ShelfButton.play, .playFrom]
        if settings.makesFilms {
            let isChosen = film.clips.contains(entry) || film.music == entry
            buttons.append(isChosen ? .remove : entry.kind == .sound ? .useAsMusic : .add)
        }
        return ShelfPanelText(title: title, lines: [details.joined(separator: " · ")], buttons: buttons + [.dismiss])
    }

    /// A text in lines that fit into a panel, four at most.
    private func wrapped(_ text: String) -> [String] {
        // A letter is half as wide as the font is high.
        let room = max(20, Int((min(layout?.geometry.millimetres.width ?? 150, 158) - 20) / 2))
        var lines = [""]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count >= room, lines.count < 4, lines.last != "" { lines.append("") }
            lines[lines.count - 1] += (lines.last == "" ? "" : " ") + word
        }
        return lines
    }

    private var filmText: ShelfPanelText {
        var lines: [String] = []
        for (number, clip) in film.clips.prefix(Self.mostLines).enumerated() {
            lines.append("\(number + 1)  \(facts[clip]?.title ?? clip.title)")
        }
        if film.clips.count > Self.mostLines { lines.append("and \(film.clips.count - Self.mostLines) more") }
        if film.clips.isEmpty { lines.append("Nothing has been chosen yet: touch a clip, and add it.") }
        if let music = film.music { lines.append("Music: \(facts[music]?.title ?? music.title)") }
        var text = ShelfPanelText(title: "Your film", lines: lines, buttons: [])
        switch export {
        case .running(let share, let left):
            text.percent = Int(share * 100)
            text.lines.append("\(Int(share * 100)) % is made" + (left.map { ", \(NowPlaying.text(Int($0.seconds.rounded()))) left" } ?? ""))
            text.buttons = [.cancelExport, .dismiss]
            return text
        case .done(let path): text.lines.append("It is there: \(path.split(separator: "/").last.map(String.init) ?? path)")
        case .failed(let reason): text.lines += wrapped("It could not be made: \(reason)")
        case nil: break
        }
        if !film.clips.isEmpty { text.buttons.append(.export) }
        if film.music != nil { text.buttons.append(.dropMusic) }
        if !film.clips.isEmpty || film.music != nil { text.buttons.append(.clear) }
        text.buttons.append(.dismiss)
        return text
    }

    /// Where the panel and what is in it are.
    var panelPlaces: (box: PixelRectangle, lines: [PixelRectangle], bar: PixelRectangle, buttons: [PixelRectangle])? {
        guard let layout, let text = panelText else { return nil }
        return layout.panel(lines: text.lines.count, hasProgress: text.percent != nil, buttons: text.buttons.count)
    }

    /// Shows what can be done with the entry of a card.
    mutating func openPanel(of card: Int) {
        guard let entry = entry(card) else { return }
        (panel, chosenButton, showsKeyboard) = (.entry(entry), 0, false)
    }

    /// A button has been pressed.
    mutating func press(_ button: ShelfButton) -> [ShelfAction] {
        let entry: ShelfEntry? = if case .entry(let entry)? = panel { entry } else { nil }
        switch button {
        case .play:
            if let entry { return play(entry) }
        case .playFrom:
            if let entry { return playFrom(entry) }
        case .add, .useAsMusic:
            if let entry { add(entry) }
            panel = nil
        case .remove:
            if let entry { remove(entry) }
            panel = nil
        case .dropMusic: film.music = nil
        case .export: return makeFilm()
        case .cancelExport: return [.cancelExport]
        case .clear: clearFilm()
        case .dismiss: panel = nil
        }
        chosenButton = 0
        return []
    }
}
