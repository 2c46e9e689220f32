import KioskInputCore
import KioskPlatform
import KioskVocabulary
import Synchronization

/// The buttons over the camera's picture, by fingers and by keys. On the input thread.
extension RecordingScreen {
    /// Whether an event is for a button here, or for nobody as this lies over everything. On the input thread.
    package func takes(_ event: InputEvent) -> Bool {
        switch event {
        case .contact(let touch): touch.contact.surface == .display && takes(touch)
        case .key(let key): takes(key)
        }
    }

    private func takes(_ key: KeyEvent) -> Bool {
        let meaning = shown.withLock { shown -> RecordingPanel.KeyMeaning? in
            guard shown.isInUse, var panel = shown.panel else { return nil }
            // It may not be drawn yet where keys went last.
            panel.focus = shown.focus
            guard let meaning = panel.meaning(of: key) else { return nil }
            if case .focus(let place) = meaning { shown.focus = place }
            return meaning
        }
        switch meaning {
        case .press(let button): order(button.order)
        case .focus: inbox.signal { $0.isToBeShown = true }
        case .nothing: break
        case nil: return false
        }
        return true
    }

    private func takes(_ touch: ContactEvent) -> Bool {
        let (isTaken, pressed) = shown.withLock { shown -> (Bool, RecordingPanel.Button?) in
            let id = touch.contact.id
            switch touch.phase {
            case .down:
                guard shown.isInUse else { return (false, nil) }
                shown.contacts.insert(id)
                guard let panel = shown.panel, let geometry = shown.geometry else { return (true, nil) }
                return (true, panel.button(atX: touch.contact.x, y: touch.contact.y, on: geometry))
            case .move: return (shown.contacts.contains(id), nil)
            case .up, .cancelled: return (shown.contacts.remove(id) != nil, nil)
            }
        }
        if let pressed { order(pressed.order) }
        return isTaken
    }
}
