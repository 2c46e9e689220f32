# Signing in and out.
import urllib.error

from chromium import Browser


def run(stage, checks, options):
    stage.end("web")
    stage.set_password("a wonderful day")
    stage.start("web")
    browser = Browser(390, 844)
    try:
        browser.driver.get(stage.address)
        checks.soon("the page asks for the password", lambda: browser.is_shown("#sign-in-form"))
        checks.that("the field has the focus", browser.run("return document.activeElement.id") == "password")
        checks.that(
            "nothing else is shown", not browser.is_shown("#now") and not browser.is_shown("#parts") and browser.text("#title") == ""
        )
        found = browser.violations()
        checks.that("the form breaks no rule of axe-core", not found, "\n".join(found))
        try:
            stage.api("status")
            checks.that("the API is closed", False)
        except urllib.error.HTTPError as error:
            checks.that("the API is closed", error.code == 401, str(error.code))
        browser.fill("#password", "a dreadful night")
        browser.press("Sign in")
        checks.soon(
            "a wrong password is told", lambda: "wrong" in browser.text("#sign-in-error"), detail=lambda: browser.text("#sign-in-error")
        )
        checks.soon("and another try is open", lambda: browser.one("#sign-in-form button").is_enabled(), 30)
        browser.fill("#password", "a wonderful day")
        browser.press("Sign in")
        checks.soon(
            "the right one opens the page",
            lambda: browser.text("#title") == "Harbour tour" and not browser.is_shown("#sign-in-form"),
            30,
            lambda: browser.text("#sign-in-error"),
        )
        checks.that("no script reads the cookie", browser.run("return document.cookie") == "")
        browser.press("Pause")
        checks.soon("commands work", lambda: "Paused" in browser.text("#standing"))
        browser.driver.refresh()
        checks.soon("the session outlasts a reload", lambda: browser.text("#title") == "Harbour tour")
        browser.press("More", "nav")
        browser.press("Sign out", "nav")
        checks.soon("Sign out signs out", lambda: browser.is_shown("#sign-in-form") and "signed out" in browser.text("#sign-in"))
        browser.driver.refresh()
        checks.soon("also after a reload", lambda: browser.is_shown("#sign-in-form") and not browser.is_shown("#now"))
        # A new password ends all sessions.
        browser.fill("#password", "a wonderful day")
        browser.press("Sign in")
        checks.soon("signed in again", lambda: browser.text("#title") == "Harbour tour", 30)
        stage.set_password("another fine day")
        browser.driver.execute_script("dispatchEvent(new Event('focus'))")
        browser.press("Mute")
        checks.soon(
            "a session that ended asks again", lambda: browser.is_shown("#sign-in-form") and "ended" in browser.text("#sign-in"), 30
        )
        checks.that("no fault in the browser's console", not (faults := browser.faults()), "; ".join(faults))
    finally:
        browser.close()
