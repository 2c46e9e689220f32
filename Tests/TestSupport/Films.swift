import Foundation

// Clips with several sound tracks, and with a cover.
extension Clips {
    /// Makes two seconds of numbered pictures with three sound tracks: German 300 Hz, English 900 Hz, and 150 Hz without a language. The
    /// clip has three chapters, a title and an artist.
    package static func film(_ suffix: String) throws -> String {
        let metadata = """
            ;FFMETADATA1
            title=Two seconds
            artist=Somebody
            [CHAPTER]
            TIMEBASE=1/1000
            START=0
            END=500
            title=First
            [CHAPTER]
            TIMEBASE=1/1000
            START=500
            END=1200
            title=Second
            [CHAPTER]
            TIMEBASE=1/1000
            START=1200
            END=2000
            """
        // Another test may be reading the file.
        let chapters = folder + "/chapters-\(suffix).txt"
        try Data(metadata.utf8).write(to: URL(fileURLWithPath: chapters), options: .atomic)
        let picture = try numbered("picture.mp4", frames: 60, sound: false)
        func tone(_ frequency: Int) -> [String] { ["-f", "lavfi", "-i", "sine=f=\(frequency):r=48000:d=2"] }
        let maps = ["-map", "0:v", "-map", "1:a", "-map", "2:a", "-map", "3:a", "-map_metadata", "4", "-map_chapters", "4"]
        let languages = ["-metadata:s:a:0", "language=deu", "-metadata:s:a:1", "language=eng", "-metadata:s:a:1", "title=Commentary"]
        return try make(
            "film.\(suffix)",
            ["-i", picture] + tone(300) + tone(900) + tone(150) + ["-i", chapters] + maps
                + ["-c:v", "copy", "-c:a", suffix == "ts" ? "mp2" : "aac"] + languages)
    }

    /// Makes a second of sound with a cover, the clip `still.jpg`.
    package static func song() throws -> String {
        let cover = ["-map", "0", "-map", "1", "-c:v", "copy", "-disposition:v", "attached_pic"]
        return try make("song.m4a", ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=1", "-i", named("still.jpg")] + cover)
    }
}
