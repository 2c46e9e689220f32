import KioskMedia
import KioskReaders
import Testing

/// The permitted names of a film.
@Suite struct FilmNameTests {
    @Test(arguments: ["film.mp4", "film.MP4", "film", "film.m4v", "/srv/a.b/film", ".mkv", "film.2026", "/tmp/x.mkv/film.mp4"])
    func names(_ path: String) { #expect(FilmWriter.nameProblem(path) == nil) }

    @Test(arguments: [
        ("", "name the file to write"), ("/srv/films/", "/srv/films/: is the name of a folder: name a file in it"),
        ("b.mkv", "b.mkv: films are MP4: name it b.mp4"), ("/srv/a.b/x.WebM", "/srv/a.b/x.WebM: films are MP4: name it /srv/a.b/x.mp4"),
        ("film.toml", "film.toml: films are MP4: name it film.mp4"), ("a.b.mov", "a.b.mov: films are MP4: name it a.b.mp4"),
    ])
    func othersAreRefused(_ path: String, _ problem: String) { #expect(FilmWriter.nameProblem(path) == problem) }
}
