import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A button of a panel.
enum ShelfButton: Hashable, Sendable {
    case play, playFrom, add, remove, useAsMusic, dropMusic
    case export, cancelExport, clear, dismiss
    case earlier, later, removeClip, back
    case choose, addToChoice, finishChoice

    var label: String {
        switch self {
        case .play: "Play"
        case .playFrom: "Play from here"
        case .add: "Add to the film"
        case .remove, .removeClip: "Take out"
        case .useAsMusic: "Use as music"
        case .dropMusic: "No music"
        case .export: "Make the film"
        case .cancelExport: "Cancel"
        case .clear: "Clear"
        case .dismiss: "Close"
        case .earlier: "Earlier"
        case .later: "Later"
        case .back: "Back"
        case .choose: "Choose"
        case .addToChoice: "Add"
        case .finishChoice: "Done"
        }
    }

    /// Whether it is the usual choice.
    var isMain: Bool { [.play, .export, .choose, .addToChoice, .finishChoice].contains(self) }
}

/// The content of a panel.
struct ShelfPanelText: Hashable, Sendable {
    var title: String
    var lines: [String]
    /// The film's clips that the first lines show, as indices, and the chosen one among them.
    var clips = 0..<0
    var chosenClip: Int?
    /// The progress of the export, 0…100.
    var percent: Int?
    var buttons: [ShelfButton]

    /// Returns the line of the film's clip at an index, counted from the title; nil if it has no line.
    func line(ofClip place: Int) -> Int? { clips.contains(place) ? place - clips.lowerBound + 1 : nil }
}

/// The places of a panel on the screen, and within it of the title, the lines, the progress bar and the buttons.
struct PanelPlaces {
    var box: PixelRectangle
    var lines: [PixelRectangle]
    var bar: PixelRectangle
    var buttons: [PixelRectangle]
}

// The panel over the cards, and the effects of its buttons.
extension ShelfState {
    private static let mostLines = 6

    /// The content of the panel; nil if there is none.
    var panelText: ShelfPanelText? {
        guard let layout, let panel else { return nil }
        var text =
            switch panel {
            case .entry(let entry): text(about: entry)
            case .film, .clip: filmText(layout)
            }
        // On a low screen the last line is the most important.
        let most = layout.mostLines(hasProgress: text.percent != nil, buttons: text.buttons.count)
        if text.lines.count > most {
            text.lines = text.lines.prefix(most - 1) + text.lines.suffix(1)
            text.clips = text.clips.prefix(most - 1)
        }
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
        if let picking = settings.picking {
            let isChosen = film.clips.contains(entry), isFull = film.clips.count >= picking.most
            buttons = picking.most < 2 ? [.choose] : isChosen ? [.remove] : isFull ? [] : [.addToChoice]
        } else if settings.makesFilms {
            let isChosen = film.clips.contains(entry) || film.music == entry
            buttons.append(isChosen ? .remove : entry.kind == .sound ? .useAsMusic : .add)
        }
        return ShelfPanelText(title: title, lines: [details.joined(separator: " · ")], buttons: buttons + [.dismiss])
    }

    /// Returns a text in lines that fit a panel, four at most.
    private func wrapped(_ text: String) -> [String] {
        // A letter is about half as wide as the font is high.
        let room = max(20, Int((min(layout?.geometry.millimetres.width ?? 150, 158) - 20) / 2))
        var lines = [""]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count >= room, lines.count < 4, lines.last != "" { lines.append("") }
            lines[lines.count - 1] += (lines.last == "" ? "" : " ") + word
        }
        return lines
    }

    /// The index of the film's chosen clip; nil during the export, which allows no changes.
    var chosenClip: Int? {
        guard case .clip(let place)? = panel, film.clips.indices.contains(place), export?.isRunning != true else { return nil }
        return place
    }

    private func filmText(_ layout: ShelfLayout) -> ShelfPanelText {
        var text = ShelfPanelText(
            title: settings.picking == nil ? "Your film" : "Your choice", lines: [], chosenClip: chosenClip, buttons: filmButtons)
        var below: [String] = []
        if film.clips.isEmpty { below.append("No clip is chosen yet: touch a clip, and add it.") }
        if let music = film.music { below.append("Music: \(facts[music]?.title ?? music.title)") }
        switch export {
        case .running(let share, let left):
            text.percent = Int(share * 100)
            below.append("\(Int(share * 100)) % is made" + (left.map { ", \(NowPlaying.text(Int($0.seconds.rounded()))) left" } ?? ""))
        case .done(let path): below.append("The film is ready: \(path.split(separator: "/").last.map(String.init) ?? path)")
        case .failed(let reason): below += wrapped("The film failed: \(reason)")
        case nil: if !film.clips.isEmpty { below.append("Touch a clip to move it, or to take it out.") }
        }
        let most = layout.mostLines(hasProgress: text.percent != nil, buttons: text.buttons.count)
        // A low screen still shows several clips, so that a viewer can move from each to the next.
        while export == nil, !below.isEmpty, most - below.count < min(3, film.clips.count) { below.removeLast() }
        let room = most - below.count
        let isLong = film.clips.count > min(Self.mostLines, room) && room > 2
        let listed = listedClips(min(Self.mostLines, isLong ? room - 1 : room))
        text.lines = listed.map { "\($0 + 1)  \(facts[film.clips[$0]]?.title ?? film.clips[$0].title)" }
        if isLong { text.lines.append("and \(film.clips.count - listed.count) more") }
        text.lines += below
        if export?.isRunning != true { text.clips = listed }
        return text
    }

    private var filmButtons: [ShelfButton] {
        if export?.isRunning == true { return [.cancelExport, .dismiss] }
        if chosenClip != nil { return [.earlier, .later, .removeClip, .back] }
        var buttons: [ShelfButton] = []
        if !film.clips.isEmpty { buttons.append(settings.picking == nil ? .export : .finishChoice) }
        if film.music != nil { buttons.append(.dropMusic) }
        if !film.clips.isEmpty || film.music != nil { buttons.append(.clear) }
        return buttons + [.dismiss]
    }

    /// Returns the indices of this number of the film's clips at most, and one at least. They are the first ones, or those around the
    /// chosen clip.
    private func listedClips(_ most: Int) -> Range<Int> {
        let size = min(max(1, most), film.clips.count)
        let first = min(max((chosenClip ?? 0) - (size - 1) / 2, 0), film.clips.count - size)
        return first..<first + size
    }

    /// The places of the panel and its parts.
    var panelPlaces: PanelPlaces? {
        guard let layout, let text = panelText else { return nil }
        return layout.panel(lines: text.lines.count, hasProgress: text.percent != nil, buttons: text.buttons.count)
    }

    /// Opens the panel for the entry of a card.
    mutating func openPanel(of card: Int) {
        guard let entry = entry(card) else { return }
        (panel, chosenButton, showsKeyboard) = (.entry(entry), 0, false)
    }

    /// Handles a press of a button.
    mutating func press(_ button: ShelfButton) -> [ShelfAction] {
        let entry: ShelfEntry? = if case .entry(let entry)? = panel { entry } else { nil }
        switch button {
        case .play:
            if let entry { return play(entry) }
        case .playFrom:
            if let entry { return playFrom(entry) }
        case .choose:
            if let entry { return pick([entry]) }
        case .finishChoice:
            if !film.clips.isEmpty { return pick(film.clips) }
        case .add, .addToChoice, .useAsMusic:
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
        case .earlier, .later:
            guard let place = chosenClip else { break }
            let other = min(max(place + (button == .later ? 1 : -1), 0), film.clips.count - 1)
            moveClip(at: place, to: other)
            panel = .clip(other)
            // Keeps the focus on the button: viewers press it repeatedly.
            return []
        case .removeClip:
            if let place = chosenClip { removeClip(at: place) }
            panel = .film
        case .back: panel = .film
        }
        chosenButton = 0
        return []
    }
}
