import Cache
import Configuration
import KioskPlayback
import KioskVocabulary
import Logging

extension AssetCache: AssetFiles {}

extension AssetCache {
    /// The cache that the configuration asks for; nil where it asks for none.
    convenience init?(_ configuration: Configuration, _ log: Logger) {
        guard case .limit(let limit) = configuration.playback.cache else { return nil }
        guard let folder = configuration.playback.cacheFolder ?? Self.defaultFolder else {
            log.warning("nothing is kept of what comes over the network: name a folder, [playback] cache-folder")
            return nil
        }
        self.init(folder: folder, limit: limit) { news in
            switch news {
            case .note(let note): log.info("\(note)")
            case .problem(let problem): log.warning("\(problem)")
            }
        }
    }
}
