# The part Settings: kiosk.conf with a mistake, without one, and its earlier versions.
import difflib

from chromium import Browser


def run(stage, checks, options):
    if not stage.offers("configuration"):
        checks.that("the server offers kiosk.conf", False)
        return
    browser = Browser()

    def read():
        with open(stage.configuration, encoding="utf-8") as file:
            return file.read()

    def write(old, new):
        """Replaces a text of the editor as a person does: select it, and type."""
        browser.run(
            "const one = document.querySelector('#conf'); const start = one.value.indexOf(arguments[0]);"
            "one.focus(); one.setSelectionRange(start, start + arguments[0].length)",
            old,
        )
        browser.one("#conf").send_keys(new)

    try:
        browser.driver.get(f"{stage.address}#settings")
        original = read()
        checks.soon("kiosk.conf is in the editor", lambda: browser.run("return document.querySelector('#conf').value") == original)
        checks.that("lines have numbers", browser.text("#gutter").split("\n")[:3] == ["1", "2", "3"], browser.text("#gutter")[:20])
        checks.that("nothing can be saved yet", not browser.named("Save").is_enabled())
        line = original[: original.index('anchor = "bottom"')].count("\n") + 1
        write('anchor = "bottom"', 'anchor = "bottm"')
        checks.soon(
            "a mistake is told below the editor",
            lambda: f"Line {line}:" in browser.text("#complaints"),
            detail=lambda: browser.text("#settings")[:400],
        )
        checks.that(
            "and beside its line",
            browser.text("#gutter .wrong") == str(line) and "anchor" in browser.text("#marks b"),
            browser.text("#marks"),
        )
        place = browser.run("return ['#marks p', '#gutter .wrong'].map((one) => document.querySelector(one).getBoundingClientRect().top)")
        checks.that("at the same height", abs(place[0] - place[1]) < 3, str(place))
        checks.that("a file with a mistake cannot be saved", not browser.named("Save").is_enabled())
        browser.click("#complaints button")
        checks.that(
            "a mistake leads to its line",
            browser.run(
                "const one = document.querySelector('#conf');"
                "return document.activeElement === one && one.value.slice(0, one.selectionStart).split('\\n').length"
            )
            == line,
        )
        write('"bottm"', '"top"')
        checks.soon(
            "the mistake is gone",
            lambda: browser.text("#complaints") == "" and "No mistakes" in browser.text("#verdict"),
            detail=lambda: browser.text("#verdict"),
        )
        write('title = "Opening hours"', 'title = "Our hours"')
        checks.soon("the file can be saved", lambda: browser.named("Save").is_enabled())
        browser.one("#conf").send_keys("\ue009s")
        checks.soon(
            "Ctrl+S saves",
            lambda: read() == original.replace('anchor = "bottom"', 'anchor = "top"').replace("Opening", "Our"),
            detail=lambda: "".join(difflib.unified_diff(original.splitlines(True), read().splitlines(True))),
        )
        checks.soon("the earlier version is listed", lambda: browser.is_shown("#history button"))
        # Somebody else saves meanwhile.
        write('title = "Our hours"', 'title = "Your hours"')
        with open(stage.configuration, "a", encoding="utf-8") as file:
            file.write("# by hand\n")
        checks.soon("the file can be saved again", lambda: browser.named("Save").is_enabled())
        browser.press("Save")
        checks.soon(
            "a change by somebody else is told", lambda: "meanwhile" in browser.text("#ask"), detail=lambda: browser.text("#settings")[:300]
        )
        browser.press("Save mine", "#ask")
        checks.soon("the own text can replace it", lambda: "Your hours" in read() and "by hand" not in read())
        write('title = "Your hours"', 'title = "No hours"')
        browser.press("Discard changes")
        browser.press("Discard", "#ask")
        checks.soon("changes are discarded", lambda: "Your hours" in browser.run("return document.querySelector('#conf').value"))
        browser.run("[...document.querySelectorAll('#history button')].at(-1).click()")
        browser.press("Restore", "#ask")
        checks.soon("the first version comes back", lambda: read() == original, detail=lambda: browser.text("#toasts"))
        checks.soon("also into the editor", lambda: browser.run("return document.querySelector('#conf').value") == original)
        browser.choose("#level-of-log", "debug")
        checks.soon("the log level changes", lambda: stage.api("log-level")["level"] == "debug")
        browser.press("Read kiosk.conf again")
        checks.soon(
            "the player reads kiosk.conf again", lambda: "has read" in browser.text("#toasts"), detail=lambda: browser.text("#toasts")
        )
        checks.that("no fault in the browser's console", not (faults := browser.faults()), "; ".join(faults))
    finally:
        browser.close()
