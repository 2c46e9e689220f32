# The part Now: picture, transport, position, loudness, tracks, and what else changes the picture.
import time

from chromium import Browser
from stage import eventually


def run(stage, checks, options):
    browser = Browser()
    try:
        browser.driver.get(stage.address)
        status = lambda: stage.api("status")  # noqa: E731
        checks.soon(
            "the title of the item is there", lambda: browser.text("#title") == "Harbour tour", detail=lambda: browser.text("#title")
        )
        checks.soon(
            "a picture of the screen is there",
            lambda: browser.run(
                "const one = document.querySelector('#now-frame img'); return one?.naturalWidth === 960 && one.alt.includes('Harbour')"
            ),
        )
        first = browser.text("#time")
        checks.soon("the time moves", lambda: browser.text("#time") not in ("", first))
        checks.that(
            "the next items are there",
            browser.text("#next").split("\n")[:2] == ["The garden in spring", "Opening hours"],
            browser.text("#next"),
        )
        checks.that("the loaded ranges are drawn", len(browser.all("#ranges rect")) >= 1)

        transport(browser, checks, status)
        position(browser, checks, status)
        loudness(browser, checks, status)
        picture(browser, checks, stage, status)
        cost(browser, checks, stage)
        checks.that("no fault in the browser's console", not (faults := browser.faults()), "; ".join(faults))
    finally:
        browser.close()


def transport(browser, checks, status):
    browser.press("Pause")
    checks.soon("Pause pauses", lambda: status()["state"] == "paused" and browser.named("Play"))
    checks.soon("the page says so", lambda: "Paused" in browser.text("#standing"))
    browser.press("Play")
    checks.soon("Play plays", lambda: status()["state"] == "playing" and browser.named("Pause"))
    browser.press("Next item")
    checks.soon("Next shows the next item", lambda: status()["item"]["place"] == 2 and browser.text("#title") == "The garden in spring")
    browser.press("Previous item")
    checks.soon("Previous goes back", lambda: status()["item"]["place"] == 1 and browser.text("#title") == "Harbour tour")
    before = status()["time"]
    browser.press("Seek forward")
    checks.soon("Seek forward seeks", lambda: status()["time"] > before + 6)
    browser.press("Seek back")
    checks.soon("Seek back seeks", lambda: status()["time"] < before + 5)
    browser.press("Play The garden in spring")
    checks.soon("a button of the next items plays one", lambda: status()["item"]["place"] == 2)
    browser.press("First item")
    checks.soon("First item plays it", lambda: status()["item"]["place"] == 1)
    time.sleep(3)
    browser.press("Begin again")
    checks.soon("Begin again begins again", lambda: status()["time"] < 2.5, 2)
    browser.press("Go on")
    checks.soon(
        "a refusal of the player is shown", lambda: "waits for no tap" in browser.text("#toasts"), detail=lambda: browser.text("#toasts")
    )


def position(browser, checks, status):
    from selenium.webdriver.common.action_chains import ActionChains

    browser.press("Pause")
    slider = browser.one("#position")
    browser.run("arguments[0].scrollIntoView({block: 'center'})", slider)
    ActionChains(browser.driver).move_to_element(slider).click().perform()
    checks.soon("a click in the middle of the slider seeks there", lambda: 27 < status()["time"] < 33, detail=lambda: str(status()["time"]))
    slider.send_keys("\ue014\ue014")
    checks.soon("two presses of → seek by ten seconds", lambda: 37 < status()["time"] < 43, detail=lambda: str(status()["time"]))
    checks.that(
        "the slider says its value in words",
        "of 1 minute" in slider.get_attribute("aria-valuetext"),
        slider.get_attribute("aria-valuetext"),
    )
    slider.send_keys("\ue011")
    checks.soon("Home seeks to the beginning", lambda: status()["time"] < 1)
    browser.press("Play")


def loudness(browser, checks, status):
    volume = browser.one("#volume")
    volume.send_keys("\ue011")
    checks.soon("Home on the volume is silence", lambda: status()["volume"] == 0)
    volume.send_keys("\ue014" * 7)
    checks.soon("seven presses of → are 7 %", lambda: status()["volume"] == 7 and browser.text("#volume-out") == "7 %")
    browser.press("Mute")
    checks.soon("Mute mutes", lambda: status()["muted"] and browser.one("#mute").get_attribute("aria-pressed") == "true")
    browser.press("Mute")
    checks.soon("Mute unmutes", lambda: not status()["muted"] and browser.one("#mute").get_attribute("aria-pressed") == "false")


def picture(browser, checks, stage, status):
    def tracks(kind):
        return [track["number"] for track in stage.api("tracks")["tracks"] if track["kind"] == kind and track["selected"]]

    checks.soon("sound tracks and subtitles are offered", lambda: browser.is_shown("#track-audio") and browser.is_shown("#track-subtitle"))
    names = browser.text("#track-audio")
    checks.that("languages have names", "German" in names and "English" in names, names)
    browser.choose("#track-audio", 2)
    checks.soon("another sound track plays", lambda: tracks("audio") == [2])
    browser.choose("#track-subtitle", 1)
    checks.soon("subtitles show", lambda: tracks("subtitle") == [1])
    browser.choose("#track-subtitle", "off")
    checks.soon("subtitles are off", lambda: tracks("subtitle") == [])
    browser.choose("#rate", "1.5")
    checks.soon("the speed changes", lambda: status()["rate"] == 1.5 and "speed 1.5" in browser.text("#standing"))
    browser.choose("#rate", "1")
    for degrees in (90, 180, 270, 0):
        browser.click(f"#rotation input[value='{degrees}']")
        checks.soon(f"rotation {degrees}", lambda: status()["rotation"] == degrees)
    for gravity in ("fill", "stretch", "fit"):
        browser.click(f"#gravity input[value='{gravity}']")
        checks.soon(f"gravity {gravity}", lambda: browser.one(f"#gravity input[value='{gravity}']").is_selected())
    checks.that("no refusal so far", "expected" not in browser.text("#toasts"), browser.text("#toasts"))
    browser.click("#power input[value='off']")
    checks.soon("the display is off", lambda: stage.api("display")["dark"] is True)
    browser.click("#power input[value='on']")
    checks.soon("the display is on", lambda: stage.api("display") == {**stage.api("display"), "dark": False, "order": "on"})
    browser.click("#power input[value='auto']")
    checks.soon("the schedule decides about the display", lambda: stage.api("display")["order"] == "auto")
    browser.click("#region summary")
    for label in (
        "The left half",
        "The right half",
        "The top half",
        "The bottom half",
        "The corner at the bottom right",
        "The whole screen",
    ):
        browser.press(label)
    checks.that("a place fills in the numbers", browser.one("#region-width").get_attribute("value") == "100")
    browser.fill("#region-width", "50")
    browser.press("Move the picture")
    checks.that("the picture moves", black_at_the_right(browser))
    browser.press("The whole screen")


def black_at_the_right(browser):
    """Whether the right half of the live picture is background."""
    browser.run("scrollTo(0, 0)")
    return eventually(
        lambda: browser.run(
            "const one = document.querySelector('#now-frame img'); const canvas = document.createElement('canvas');"
            "canvas.width = 96; canvas.height = 54; const pen = canvas.getContext('2d'); pen.drawImage(one, 0, 0, 96, 54);"
            "return pen.getImageData(60, 10, 30, 30).data.filter((value, index) => index % 4 !== 3).every((value) => value < 24)"
        )
    )


def cost(browser, checks, stage):
    """The picture is asked for once a second, and not by a page out of sight."""
    count = "return performance.getEntriesByType('resource').filter((one) => one.name.includes('/screen')).length"
    browser.run("scrollTo(0, 0)")
    time.sleep(1.5)
    browser.run("performance.clearResourceTimings()")
    time.sleep(5)
    seen = browser.run(count)
    checks.that("the picture is asked for about once a second", 3 <= seen <= 6, str(seen))
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("window")
    other = browser.driver.current_window_handle
    browser.driver.switch_to.window(first)
    if browser.run("return document.visibilityState") != "hidden":
        browser.cdp("Page.enable")
        browser.run(
            "Object.defineProperty(document, 'visibilityState', {configurable: true, get: () => 'hidden'});"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )
    # A picture that was on its way still arrives.
    time.sleep(4)
    browser.run("performance.clearResourceTimings()")
    time.sleep(4)
    seen = browser.run(count)
    checks.that("a page out of sight asks for no picture", seen == 0, str(seen))
    browser.run("delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))")
    checks.soon("it asks again when it is in sight", lambda: browser.run(count) > 0)
    browser.driver.switch_to.window(other)
    browser.driver.close()
    browser.driver.switch_to.window(first)
    browser.go("playlist")
    time.sleep(1.5)
    browser.run("performance.clearResourceTimings()")
    time.sleep(3)
    checks.that("another part asks for no picture", browser.run(count) == 0)
