# A player and a server that go and come back.
import os
import signal

from chromium import Browser


def run(stage, checks, options):
    browser = Browser()
    try:
        browser.driver.get(stage.address)
        checks.soon("the page is there", lambda: browser.text("#title") == "Harbour tour" and browser.text("#link") == "Connected")
        stage.end("player")
        checks.soon(
            "an absent player is told",
            lambda: "player does not run" in browser.text("#notice") and browser.text("#link") == "No player",
            30,
            lambda: browser.text("#notice"),
        )
        checks.that("its controls rest", not browser.one("#toggle").is_enabled())
        stage.start("player")
        checks.soon("its return is told", lambda: not browser.is_shown("#notice") and browser.text("#link") == "Connected", 30)
        checks.soon("the controls work again", lambda: browser.one("#toggle").is_enabled())
        browser.press("Next item")
        checks.soon("really", lambda: stage.api("status")["item"]["place"] == 2 and browser.text("#title") == "The garden in spring", 20)
        address = lambda: browser.run("return document.querySelector('#now-frame img')?.src")  # noqa: E731
        former = address()
        checks.soon("the picture goes on", lambda: address() not in (None, former))

        stage.end("web")
        checks.soon(
            "a lost connection is told",
            lambda: "connection to the screen is lost" in browser.text("#notice"),
            30,
            lambda: browser.text("#notice"),
        )
        browser.press("Try now")
        stage.start("web")
        checks.soon(
            "the page finds the server again by itself",
            lambda: browser.text("#link") == "Connected" and not browser.is_shown("#notice"),
            45,
            lambda: browser.text("#link"),
        )
        browser.press("Pause")
        checks.soon(
            "commands work again, with the new server's token",
            lambda: stage.api("status")["state"] == "paused",
            detail=lambda: browser.text("#toasts"),
        )
        browser.press("Play")

        # A server that neither answers nor ends.
        checks.soon("it plays", lambda: browser.named("Pause"))
        stage.processes["web"].send_signal(signal.SIGSTOP)
        try:
            browser.press("Pause")
        finally:
            stage.processes["web"].send_signal(signal.SIGCONT)
        checks.soon("a server that stood still goes on", lambda: stage.api("status")["state"] == "paused")

        # A page opened while nothing is there.
        stage.end("player")
        browser.driver.get(stage.address)
        checks.soon(
            "a page that opens without a player says so",
            lambda: "player does not run" in browser.text("#notice"),
            30,
            lambda: browser.text("#notice"),
        )
        browser.go("settings")
        checks.soon("and still has kiosk.conf", lambda: browser.run("return document.querySelector('#conf').value.length") > 100)
        browser.go("now")
        os.path.exists(stage.socket) and os.unlink(stage.socket)
        stage.start("player")
        checks.soon("and goes on once it is there", lambda: browser.text("#title") == "Harbour tour", 30)
        checks.that("no fault in the browser's console", not (faults := browser.faults()), "; ".join(faults))
    finally:
        browser.close()
