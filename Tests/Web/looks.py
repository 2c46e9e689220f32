# All parts in all looks: axe-core's rules, nothing wider than the window, and pictures for people.
import os

from chromium import Browser
from stage import eventually

PARTS = ["now", "playlist", "files", "health", "overlays", "schedule", "recording", "settings"]
LOOKS = {
    "phone-light": (390, 844, "light"),
    "phone-dark": (390, 844, "dark"),
    "desktop-light": (1280, 800, "light"),
    "desktop-dark": (1280, 800, "dark"),
}


def run(stage, checks, options):
    browser = Browser()
    if options.pictures:
        os.makedirs(options.pictures, exist_ok=True)
    try:
        for look, size in LOOKS.items():
            browser.look(*size)
            browser.driver.get(stage.address)
            eventually(lambda: browser.text("#title"))
            for part in PARTS:
                if not browser.run(f"return !document.querySelector('#parts a[href=\"#{part}\"]').parentElement.hidden"):
                    checks.that(f"{look}: {part} is offered", False)
                    continue
                browser.go(part)
                eventually(lambda: browser.is_shown(f"#{part}"))
                settle(browser, part)
                found = browser.violations()
                checks.that(f"{look}: {part} breaks no rule of axe-core", not found, "\n".join(found))
                wider = browser.overflow()
                checks.that(f"{look}: {part} is not wider than the window", wider <= 0, f"{wider} px")
                if options.pictures:
                    browser.run("scrollTo(0, 0)")
                    browser.shoot(f"{options.pictures}/{look}-{part}.png")
        small(browser, checks, stage)
    finally:
        browser.close()


def settle(browser, part):
    """Waits until a part has what it shows."""
    ready = {
        "now": "#now-frame img",
        "playlist": "#items > li",
        "files": "#list > li",
        "health": "#findings > li",
        "overlays": "#texts > li",
        "schedule": "#week .day",
        "recording": "#recording .transport button",
        "settings": "#gutter",
    }[part]
    eventually(lambda: browser.all(ready), 40)
    if part == "health":
        eventually(lambda: browser.named("Check again").is_enabled(), 40)
    if part == "files":
        eventually(lambda: browser.run("return [...document.querySelectorAll('#list img')].every((one) => one.complete)"), 20)


def small(browser, checks, stage):
    """The smallest phone, and large text: WCAG's reflow at 320 pixels; dialogs, messages and refusals."""
    browser.look(320, 568, "light")
    browser.driver.get(stage.address)
    eventually(lambda: browser.text("#title"))
    for part in PARTS:
        browser.go(part)
        eventually(lambda: browser.is_shown(f"#{part}"))
        settle(browser, part)
        wider = browser.overflow()
        checks.that(f"320 pixels: {part} is not wider than the window", wider <= 0, f"{wider} px")
    browser.look(1280, 800, "dark")
    browser.go("files")
    browser.one("#chosen").send_keys(f"{stage.folder}/outside/broken.mp4")
    checks.soon("a refusal is shown", lambda: browser.text("#uploads .refusal"), 40)
    found = browser.violations()
    checks.that("a refusal breaks no rule of axe-core", not found, "\n".join(found))
    browser.press("Delete garden.mp4")
    found = browser.violations()
    checks.that("a question breaks no rule of axe-core", not found, "\n".join(found))
    browser.press("Cancel", "#ask")
    browser.go("settings")
    eventually(lambda: browser.run("return document.querySelector('#conf').value"))
    browser.run(
        "const one = document.querySelector('#conf'); one.value = 'wrong = 1\\n' + one.value; one.dispatchEvent(new Event('input'))"
    )
    eventually(lambda: browser.text("#complaints"))
    found = browser.violations()
    checks.that("a mistake in kiosk.conf breaks no rule of axe-core", not found, "\n".join(found))
