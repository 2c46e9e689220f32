# The page by keyboard alone.
from chromium import Browser

TAB, ENTER, SPACE, ESCAPE, RIGHT, DOWN, UP = "\ue004", "\ue007", " ", "\ue00c", "\ue014", "\ue015", "\ue013"


class Keys:
    """Presses keys where the focus is."""

    def __init__(self, browser):
        self.browser = browser

    def press(self, *keys):
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.browser.driver).send_keys(key).perform()

    def back(self):
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys as Names

        ActionChains(self.browser.driver).key_down(Names.SHIFT).send_keys(TAB).key_up(Names.SHIFT).perform()

    def focus(self):
        """The name of what has the focus, as a screen reader has it."""
        return self.browser.run(
            "const one = document.activeElement; return one === document.body ? '' : (one.getAttribute('aria-label')"
            " ?? document.getElementById(one.getAttribute('aria-labelledby'))?.innerText"
            " ?? one.labels?.[0]?.innerText ?? one.innerText ?? '').trim() || one.id"
        )

    def reach(self, name, most=80):
        """Presses Tab until something of this name has the focus; returns whether it has."""
        for _ in range(most):
            if self.focus().startswith(name):
                return True
            self.press(TAB)
        return False

    def is_seen(self):
        """Whether the focus shows: an outline of the element, of what it labels, or of what holds it; and within the window."""
        return self.browser.run(
            "const one = document.activeElement;"
            "const look = (element) => element && getComputedStyle(element).outlineStyle !== 'none'"
            " && parseFloat(getComputedStyle(element).outlineWidth) >= 2;"
            "const box = one.getBoundingClientRect();"
            "return (look(one) || look(one.nextElementSibling) || look(one.closest('.editor'))) && box.bottom > 0 && box.top < innerHeight"
        )


def run(stage, checks, options):
    browser = Browser(motion="reduce")
    try:
        browser.driver.get(stage.address)
        checks.soon("the page is there", lambda: browser.text("#title") == "Harbour tour")
        keys = Keys(browser)
        keys.press(TAB)
        checks.that("the first Tab reaches the link to the content", keys.focus() == "Skip to the content" and keys.is_seen(), keys.focus())
        keys.press(ENTER)
        checks.soon(
            "Enter on it jumps there",
            lambda: browser.run("return document.activeElement.id") == "main" or browser.run("return location.hash") == "#main",
        )
        checks.that("the part stays", browser.is_shown("#now"))
        browser.driver.get(stage.address)
        checks.soon("the page is there again", lambda: browser.text("#title") == "Harbour tour")
        around(browser, checks, keys)
        play(browser, checks, keys, stage)
        order(browser, checks, keys, stage)
        rest(browser, checks, keys, stage)
        browser.go("now")
        checks.that(
            "nothing moves for those who want less motion",
            browser.run("return document.getAnimations().length") == 0
            and browser.run("return getComputedStyle(document.querySelector('#toggle')).transitionDuration") == "0s",
        )
    finally:
        browser.close()


def around(browser, checks, keys):
    """Every stop of the round has a name, and shows that it has the focus."""
    names, unseen = [], []
    for _ in range(70):
        keys.press(TAB)
        name = keys.focus()
        if not name or (names and name == names[0]):
            break
        names.append(name)
        if not keys.is_seen():
            unseen.append(name)
    checks.that("the round has stops", len(names) > 25, str(names))
    checks.that("each stop shows the focus", not unseen, str(unseen))
    wanted = [
        "Now",
        "Playlist",
        "Files",
        "Health",
        "Settings",
        "Position",
        "Previous item",
        "Pause",
        "Next item",
        "Mute",
        "Volume",
        "Speed",
        "Rotation",
    ]
    missing = [name for name in wanted if name != "Rotation" and name not in names]
    checks.that("it goes by navigation, transport, loudness and choices", not missing, f"missing {missing} in {names}")


def play(browser, checks, keys, stage):
    keys.reach("Pause")
    keys.press(SPACE)
    checks.soon("the space bar pauses", lambda: stage.api("status")["state"] == "paused")
    checks.soon("the button says Play, and keeps the focus", lambda: keys.focus() == "Play")
    keys.press(ENTER)
    checks.soon("Enter plays", lambda: stage.api("status")["state"] == "playing")
    keys.reach("0°")
    keys.press(RIGHT)
    checks.soon("an arrow rotates the picture", lambda: stage.api("status")["rotation"] == 90, detail=keys.focus)
    keys.press("\ue012")
    checks.soon("and back", lambda: stage.api("status")["rotation"] == 0)


def order(browser, checks, keys, stage):
    def titles():
        return [item["title"] for item in stage.api("playlist")["items"]]

    keys.reach("Playlist")
    keys.press(ENTER)
    checks.soon(
        "Enter opens a part, and its heading has the focus", lambda: browser.run("return document.activeElement.id") == "playlist-title"
    )
    before = titles()
    checks.that("a handle is reached", keys.reach(f"Move {before[0]}"), keys.focus())
    keys.press(DOWN)
    checks.soon("↓ moves the item", lambda: titles() == [before[1], before[0], before[2]], detail=lambda: str(titles()))
    checks.soon("the focus stays", lambda: keys.focus() == f"Move {before[0]}, item 2 of 3", detail=keys.focus)
    checks.that("the move is said", before[0] in browser.text("#toasts"))
    keys.press(UP)
    checks.soon("↑ moves it back", lambda: titles() == before)


def rest(browser, checks, keys, stage):
    keys.reach("Files") or checks.that("Files is reached", False, keys.focus())
    keys.press(ENTER)
    if checks.that("a button that deletes is reached", keys.reach("Delete garden.mp4"), keys.focus()):
        keys.press(ENTER)
        checks.soon("it asks first", lambda: browser.is_shown("#ask"))
        checks.that("the focus is in the question", browser.run("return document.querySelector('#ask').contains(document.activeElement)"))
        keys.press(ESCAPE)
        checks.soon("Escape answers no", lambda: not browser.is_shown("#ask") and "garden.mp4" in stage.names())
        checks.soon("and the focus is back", lambda: keys.focus() == "Delete garden.mp4", detail=keys.focus)
    keys.reach("Overlays")
    keys.press(ENTER)
    checks.soon("the overlays are listed", lambda: browser.is_shown("#texts > li"))
    checks.that("a text is reached", keys.reach("Text"), keys.focus())
    keys.press(*"Hello", ENTER)
    checks.soon("Enter in the text shows it", lambda: stage.api("overlay")["overlays"][0]["text"] == "Hello")
    keys.reach("Settings")
    keys.press(ENTER)
    if checks.that("the editor is reached", keys.reach("kiosk.conf"), keys.focus()):
        keys.press(TAB)
        checks.that("Tab leaves the editor", browser.run("return document.activeElement.id") != "conf")
    # A phone with a keyboard: the further parts are behind a button.
    browser.look(390, 844, "light")
    browser.go("now")
    if checks.that("More is reached on a narrow window", keys.reach("More"), keys.focus()):
        checks.that("the further parts are folded", not browser.is_shown("a[href='#settings']"))
        keys.press(ENTER)
        checks.soon("Enter unfolds them", lambda: browser.is_shown("#parts a[href='#settings']"))
        keys.press(ESCAPE)
        checks.soon(
            "Escape folds them, and the focus is on More",
            lambda: not browser.is_shown("#parts a[href='#settings']") and keys.focus() == "More",
        )
