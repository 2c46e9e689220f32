// The API of the engine is made of these words: whoever imports Playback has them.
@_exported import Vocabulary
