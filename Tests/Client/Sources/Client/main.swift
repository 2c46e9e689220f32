// Client CLIP OTHER   uses the libraries like an application, with offscreen displays and no sound card. Prints each check and its result.
import Audio
import Capture
import Configuration
import Content
import Controls
import Display
import Export
import Glibc
import Input
import KioskAudio
import KioskDisplay
import KioskInput
import KioskPlayer
import Media
import Platform
import Playback
import Vocabulary

let own = [
    nameOfMedia, nameOfDisplay, nameOfAudio, nameOfInput, nameOfPlatform, nameOfPlayback, nameOfVocabulary, nameOfExport,
    nameOfConfiguration, nameOfControls, nameOfCapture, nameOfContent,
]
Check.expect(own.count == 12, "modules of the application's own beside those of the libraries")

let clips = CommandLine.arguments.dropFirst().map { String($0) }
guard clips.count == 2 else { fatalError("usage: Client CLIP OTHER") }

await checkIsolation(clips)
try await checkAssets(clips)
try await checkItem(clips)
await checkErrors()
await checkSession(clips)
await checkPlayer(clips)
await checkQueue(clips)
await checkTwoPlayers(clips)
await checkManyPlayers(clips)
try await checkAVFoundation(clips)
await checkObservation(clips)
await checkMetrics(clips)
await checkSamples(clips)
await checkLayers(clips)
await checkInterstitials(clips)
try await checkExport(clips)
await checkControls(clips)
try await checkPlaces(clips)
try await checkAVExport(clips)
try await checkCapture()
try await checkShelf(clips)
checkInput()
exit(Check.failed == 0 ? 0 : 1)
