# The part Health.
import subprocess
import time

from chromium import Browser


def journal_has_lines():
    """Whether a service kiosk has ever written here."""
    words = ["journalctl", "--lines=1", "--output=cat", "--quiet", "--unit=kiosk.service", "--unit=kiosk-web.service"]
    return bool(subprocess.run(words, capture_output=True, check=False).stdout)


def run(stage, checks, options):
    browser = Browser()
    try:
        browser.driver.get(f"{stage.address}#health")
        checks.soon("the display is there", lambda: "960 × 540, 60 Hz" in browser.text("#facts"), detail=lambda: browser.text("#facts"))
        checks.that("the sound is there", "turned off" in browser.text("#facts"), browser.text("#facts"))
        checks.that("the version is there", "kiosk 0." in browser.text("#facts"), browser.text("#facts"))
        checks.that("there are three plots", len(browser.all("#plots figure")) == 3)
        # Each item that follows another is a seam.
        stage.api("status")
        before = stage.api("status")["seams"]
        for _ in range(2):
            browser.run(
                "fetch('/api/v1/session').then((one) => one.json()).then((one) => fetch('/api/v1/next', {method: 'POST', body: '{}',"
                " headers: {'X-CSRF-Token': one.csrf, 'Content-Type': 'application/json'}}))"
            )
            time.sleep(3)
        after = stage.api("status")["seams"]
        if after > before:
            checks.soon(
                "seams are counted and drawn",
                lambda: (
                    browser.text("#plots figure:last-child b") == str(stage.api("status")["seams"])
                    and browser.all("#plots figure:last-child rect")
                ),
                15,
                lambda: browser.text("#plots"),
            )
        label = browser.one("#plots figure:last-child svg").get_attribute("aria-label")
        checks.that("a plot is told in words", label.startswith("Seams: ") and "since the start" in label, label)
        if stage.offers("doctor"):
            checks.soon("the machine's faults are told", lambda: browser.all("#findings .finding"), 40)
            checks.soon("with what to do", lambda: browser.all("#findings .advice li"), 5)
            browser.press("Check again")
            checks.soon("they are looked for again", lambda: browser.named("Check again").is_enabled(), 40)
            browser.click("#fine summary")
            checks.soon("the other checks open", lambda: browser.is_shown("#fine .finding"))
        else:
            checks.that("the server offers the doctor", False)
        if not stage.offers("log"):
            # A machine without systemd has no journal.
            checks.soon("the log is hidden where there is no journal", lambda: not browser.is_shown("#log"))
        elif not journal_has_lines():
            checks.that("an empty log is there", browser.is_shown("#lines"))
        else:
            checks.soon("the log is there", lambda: browser.text("#lines").count("\n") > 0, detail=lambda: browser.text("#lines")[:300])
            browser.choose("#log-level", "error")
            checks.soon(
                "its level can be chosen",
                lambda: not browser.run("return [...document.querySelectorAll('#lines .info')].some((one) => one.checkVisibility())"),
            )
        checks.that("no fault in the browser's console", not (faults := browser.faults()), "; ".join(faults))
    finally:
        browser.close()
