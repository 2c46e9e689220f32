import KioskMedia
import KioskReaders
import Testing

/// The permitted names of a film.
@Suite struct FilmNameTests {
    @Test(arguments: [
        "film.mp4", "film.MP4", "film", "film.m4v", "film.mov", "a.b.QT", "/srv/a.b/film", ".mkv", "film.2026", "/tmp/x.mkv/film.mp4",
    ])
    func names(_ path: String) { #expect(FilmWriter.nameProblem(path) == nil) }

    @Test(arguments: [
        ("", "name the file to write"), ("/srv/films/", "/srv/films/: is the name of a folder: name a file in it"),
        ("b.mkv", "b.mkv: films are MP4 or MOV: name it b.mp4 or b.mov"),
        ("/srv/a.b/x.WebM", "/srv/a.b/x.WebM: films are MP4 or MOV: name it /srv/a.b/x.mp4 or /srv/a.b/x.mov"),
        ("film.toml", "film.toml: films are MP4 or MOV: name it film.mp4 or film.mov"),
    ])
    func othersAreRefused(_ path: String, _ problem: String) { #expect(FilmWriter.nameProblem(path) == problem) }

    @Test func `a recording is MP4`() {
        #expect(FilmWriter.nameProblem("a.b.mov", types: [.mp4]) == "a.b.mov: films are MP4: name it a.b.mp4")
        #expect(FilmWriter.nameProblem("a.mp4", types: [.mp4]) == nil && FilmWriter.nameProblem("a", types: [.mp4]) == nil)
    }

    @Test(arguments: [
        ("a.mov", FilmType.mov), ("/x.mp4/a.QT", .mov), ("a.mp4", .mp4), ("a.m4v", .mp4), ("a", nil), (".mov", nil), ("a.2026", nil),
    ]) func `a name has a type`(_ path: String, _ type: FilmType?) { #expect(FilmType.named(by: path) == type) }
}
