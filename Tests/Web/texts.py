# The parts Overlays, Recording and Schedule.
from chromium import Browser


def run(stage, checks, options):
    browser = Browser()
    try:
        browser.driver.get(f"{stage.address}#overlays")
        overlays(browser, checks, stage)
        recording(browser, checks, stage)
        schedule(browser, checks, stage)
        checks.that("no fault in the browser's console", not (faults := browser.faults()), "; ".join(faults))
    finally:
        browser.close()


def overlays(browser, checks, stage):
    def said(name):
        return next((one for one in stage.api("overlay")["overlays"] if one["name"] == name), {})

    checks.soon("all overlays are listed", lambda: [one.text for one in browser.all("#texts h2")] == ["news", "clock"])
    browser.fill("#overlay-news", "We close at five")
    browser.press("Show the text in news")
    checks.soon("a text replaces that of an overlay", lambda: said("news")["text"] == "We close at five" and said("news")["left"] is None)
    checks.soon("the page says so", lambda: "Your text, until changed" in browser.text("#texts"), detail=lambda: browser.text("#texts"))
    browser.choose("#overlay-news-for", "5m")
    browser.press("Show the text in news")
    checks.soon("with a duration", lambda: 200 < said("news")["left"] <= 300)
    browser.press("Restore news")
    checks.soon("Restore restores it", lambda: said("news")["text"] is None)
    browser.fill("#new-name", "fire")
    browser.fill("#new-words", "Leave by the stairs")
    browser.choose("#new-for", "30s")
    browser.click("#new-text button")
    checks.soon("a new line shows", lambda: said("fire")["text"] == "Leave by the stairs")
    checks.soon("and joins the list", lambda: "fire" in browser.text("#texts"))
    browser.press("Restore fire")
    checks.soon("and goes", lambda: not said("fire").get("text"))


def recording(browser, checks, stage):
    browser.go("recording")
    checks.soon(
        "the recorder is ready", lambda: browser.text("#recording-state") == "Ready", detail=lambda: browser.text("#recording-state")
    )
    browser.press("Show the camera")
    # This machine may have none.
    checks.soon(
        "the camera shows, or the page says why not",
        lambda: browser.text("#recording-state") == "Camera preview" or browser.text("#recording-film") or browser.all("#toasts .bad"),
        20,
    )
    browser.press("Start recording")
    checks.soon(
        "a film begins, or the page says why not",
        lambda: browser.text("#recording-state") == "Recording" or browser.text("#recording-film") or browser.all("#toasts .bad"),
        20,
    )


def schedule(browser, checks, stage):
    if not stage.offers("schedule"):
        checks.that("the server offers the schedule", False)
        return
    browser.go("schedule")
    checks.soon("the week has seven days", lambda: len(browser.all("#week .day")) == 7, detail=lambda: browser.text("#week"))
    checks.soon("programs are in it", lambda: "lunch menu" in browser.text("#week"), detail=lambda: browser.text("#week"))
    checks.that("the times without the display, too", "isplay is off" in browser.text("#week"), browser.text("#week"))
    checks.soon("a mark shows the present time", lambda: len(browser.all("#week .instant")) == 1)
