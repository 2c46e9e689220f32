# The part Playlist: order by pointer and by keys, additions, removals and their undoing.
from chromium import Browser


def run(stage, checks, options):
    from selenium.webdriver.common.action_chains import ActionChains

    def titles():
        return [item["title"] for item in stage.api("playlist")["items"]]

    browser = Browser()
    try:
        browser.driver.get(f"{stage.address}#playlist")
        harbour, garden, hours = "Harbour tour", "The garden in spring", "Opening hours"
        checks.soon("all items are listed", lambda: len(browser.all("#items > li")) == 3)
        checks.soon("the item on the screen is marked", lambda: browser.text("#items > li[aria-current] .name") == harbour)

        grips = browser.all("#items .grip")
        rows = browser.all("#items > li")
        ActionChains(browser.driver).move_to_element(grips[0]).click_and_hold().move_by_offset(0, 30).move_by_offset(
            0, rows[2].location["y"] - rows[0].location["y"] - 25
        ).pause(0.3).release().perform()
        checks.soon("a drag moves the first item to the end", lambda: titles() == [garden, hours, harbour], detail=lambda: str(titles()))
        checks.soon(
            "the page says so", lambda: f"{harbour} is now item 3 of 3" in browser.text("#toasts"), detail=lambda: browser.text("#toasts")
        )

        grips = browser.all("#items .grip")
        ActionChains(browser.driver).move_to_element(grips[2]).click_and_hold().move_by_offset(0, -120).send_keys(
            "\ue00c"
        ).release().perform()
        checks.soon("Escape puts a dragged item back", lambda: titles() == [garden, hours, harbour], detail=lambda: str(titles()))

        grip = browser.all("#items .grip")[2]
        grip.send_keys("\ue013")
        checks.soon("↑ on the handle moves an item up", lambda: titles() == [garden, harbour, hours], detail=lambda: str(titles()))
        checks.that(
            "the handle keeps the focus",
            browser.run("return document.activeElement.getAttribute('aria-label')") == f"Move {harbour}, item 2 of 3",
        )
        browser.driver.switch_to.active_element.send_keys("\ue011")
        checks.soon("Home moves it to the beginning", lambda: titles() == [harbour, garden, hours], detail=lambda: str(titles()))

        browser.press(f"Play {hours}")
        checks.soon("an item plays by its button", lambda: stage.api("status")["item"]["title"] == hours)
        checks.soon("the mark follows", lambda: browser.text("#items > li[aria-current] .name") == hours)

        browser.press(f"Remove {garden}")
        checks.soon("an item is removed", lambda: titles() == [harbour, hours], detail=lambda: str(titles()))
        checks.soon(
            "the focus is on the next item",
            lambda: browser.run("return document.activeElement.getAttribute('aria-label')") == f"Remove {hours}",
        )
        browser.press("Undo", "#toasts")
        checks.soon(
            "Undo brings it back to its place", lambda: len(titles()) == 3 and titles()[1] == "garden", detail=lambda: str(titles())
        )

        browser.fill("#add-source", "nothing")
        browser.press("Add")
        checks.soon("a name that is no file is refused with a hint", lambda: "Choose a file" in browser.text("#toasts"))
        browser.fill("#add-source", f"{stage.folder}/outside/second.mp4")
        browser.press("Add")
        checks.soon("a path is added at the end", lambda: titles()[-1] == "second", detail=lambda: str(titles()))
        browser.choose("#add-place", "next")
        browser.fill("#add-source", f"{stage.files_address}/from-afar.mp4")
        browser.press("Add")
        now = lambda: stage.api("status")["item"]["place"]  # noqa: E731
        checks.soon(
            "an address is added after the item on the screen",
            lambda: len(titles()) == 5 and "from-afar" in titles()[now()],
            detail=lambda: str(titles()),
        )
        browser.press("Go back to the playlist of kiosk.conf")
        browser.press("Cancel", "#ask")
        checks.soon("Cancel changes nothing", lambda: not browser.is_shown("#ask") and len(titles()) == 5)
        browser.press("Go back to the playlist of kiosk.conf")
        browser.press("Go back", "#ask")
        checks.soon("the playlist of kiosk.conf is back", lambda: titles() == [harbour, garden, hours], detail=lambda: str(titles()))
        checks.soon("the page shows it", lambda: len(browser.all("#items > li")) == 3)
        checks.that("no fault in the browser's console", not (faults := browser.faults()), "; ".join(faults))
    finally:
        browser.close()
