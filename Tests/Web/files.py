# The part Files: uploads, refusals, names, and files fetched from an address.
import os

from chromium import Browser


def run(stage, checks, options):
    if not stage.offers("files"):
        checks.that("the server offers files", False)
        return
    browser = Browser()
    outside = f"{stage.folder}/outside"
    try:
        browser.driver.get(f"{stage.address}#files")
        checks.soon("all files are listed", lambda: len(browser.all("#list > li")) == 3)
        checks.soon("a film has a thumbnail", lambda: browser.run("return document.querySelector('#list img')?.naturalWidth > 0"), 30)
        checks.that("the free space is there", "free" in browser.text("#room"), browser.text("#room"))

        browser.one("#chosen").send_keys(f"{outside}/café & bar.mp4\n{outside}/second.mp4")
        checks.soon(
            "two uploads at once arrive", lambda: {"café & bar.mp4", "second.mp4"} <= set(stage.names()), 30, lambda: str(stage.names())
        )
        checks.soon("they join the list", lambda: "café & bar.mp4" in browser.text("#list") and "second.mp4" in browser.text("#list"), 30)
        for name in ("café & bar.mp4", "second.mp4"):
            with open(f"{outside}/{name}", "rb") as one, open(f"{stage.folder}/media/{name}", "rb") as other:
                checks.that(f"{name} is the same, byte for byte", one.read() == other.read())
        browser.press("Dismiss second.mp4")
        checks.soon("a finished upload is dismissed", lambda: "second.mp4" not in browser.text("#uploads"))

        browser.one("#chosen").send_keys(f"{outside}/broken.mp4")
        checks.soon("a file that does not play is refused", lambda: browser.text("#uploads .refusal"), 30)
        checks.that("with the recipe to convert it", "ffmpeg" in browser.text("#uploads .recipe"), browser.text("#uploads"))
        checks.that("and is not there", "broken.mp4" not in stage.names())
        browser.press("Copy the command")
        checks.soon("the recipe can be copied", lambda: "Copied" in browser.text("#toasts"), detail=lambda: browser.text("#toasts"))
        browser.press("Dismiss broken.mp4")

        browser.one("#chosen").send_keys(f"{outside}/second.mp4")
        checks.soon(
            "a name that is there is refused", lambda: "Replace the file" in browser.text("#uploads"), 30, lambda: browser.text("#uploads")
        )
        browser.press("Replace the file")
        checks.soon("and can be replaced", lambda: "done" in browser.text("#uploads > li:last-child"), 30, lambda: browser.text("#uploads"))
        browser.press("Dismiss second.mp4")

        pauses(browser, checks, stage, outside)
        drop(browser, checks, stage)
        changes(browser, checks, stage)
        checks.that("no fault in the browser's console", not (faults := browser.faults()), "; ".join(faults))
    finally:
        browser.close()


def pauses(browser, checks, stage, outside):
    size = os.path.getsize(f"{outside}/large.mp4")
    browser.cdp("Network.enable")
    browser.cdp("Network.emulateNetworkConditions", offline=False, latency=20, downloadThroughput=-1, uploadThroughput=size // 12)
    browser.one("#chosen").send_keys(f"{outside}/large.mp4")
    share = lambda: browser.run("return document.querySelector('[aria-label=\"Progress of large.mp4\"]')?.value ?? 0")  # noqa: E731
    checks.soon("the progress is shown", lambda: 0.02 < share() < 0.9)
    browser.press("Pause large.mp4")
    checks.soon("an upload is paused", lambda: "paused" in browser.text("#uploads"))
    held = share()
    browser.press("Resume large.mp4")
    checks.soon("and resumed where it was", lambda: share() > held)
    # The connection breaks, and comes back.
    stage.end("web")
    checks.soon(
        "a break of the connection is told", lambda: "connection lost" in browser.text("#uploads"), 30, lambda: browser.text("#uploads")
    )
    stage.start("web")
    browser.cdp("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    checks.soon("after it the upload goes on by itself", lambda: "large.mp4" in stage.names(), 60, lambda: browser.text("#uploads"))
    with open(f"{outside}/large.mp4", "rb") as one, open(f"{stage.folder}/media/large.mp4", "rb") as other:
        checks.that("the file is the same, byte for byte", one.read() == other.read())
    checks.soon("the list has it", lambda: "large.mp4" in browser.text("#list"))
    browser.press("Dismiss large.mp4")


def drop(browser, checks, stage):
    script = (
        "const done = arguments[1]; fetch(arguments[0]).then((answer) => answer.blob()).then((blob) => {"
        "const data = new DataTransfer(); data.items.add(new File([blob], 'dropped.png', {type: 'image/png'}));"
        "const box = document.querySelector('#files'); for (const kind of ['dragover', 'drop'])"
        " box.dispatchEvent(new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true})); done(true); })"
    )
    browser.driver.execute_async_script(script, "/api/v1/screen")
    checks.soon("a dropped file arrives", lambda: "dropped.png" in stage.names(), 30, lambda: browser.text("#uploads"))
    checks.soon("and is listed", lambda: "dropped.png" in browser.text("#list"))


def changes(browser, checks, stage):
    browser.press("Rename second.mp4")
    checks.that("the name without its ending is selected", browser.run("return getSelection().toString()") in ("second", ""))
    browser.fill("#ask-input", "Zweiter Film.mp4")
    browser.press("Rename", "#ask")
    checks.soon(
        "a file is renamed",
        lambda: "Zweiter Film.mp4" in stage.names() and "second.mp4" not in stage.names(),
        detail=lambda: str(stage.names()),
    )
    checks.soon("the list has the new name", lambda: "Zweiter Film.mp4" in browser.text("#list"))
    browser.press("Rename Zweiter Film.mp4")
    browser.fill("#ask-input", "../escaped.mp4")
    browser.press("Rename", "#ask")
    checks.soon("a name that leaves the folder is refused", lambda: browser.all("#toasts .bad"), detail=lambda: browser.text("#toasts"))
    checks.that("and the file stays", "Zweiter Film.mp4" in stage.names() and not os.path.exists(f"{stage.folder}/escaped.mp4"))
    browser.press("Add Zweiter Film.mp4 to the playlist")
    checks.soon(
        "a file joins the playlist",
        lambda: stage.api("playlist")["items"][-1]["title"] == "Zweiter Film",
        detail=lambda: str(stage.api("playlist")),
    )
    browser.press("Delete dropped.png")
    browser.press("Cancel", "#ask")
    checks.that("Cancel deletes nothing", "dropped.png" in stage.names())
    browser.press("Delete dropped.png")
    browser.press("Delete", "#ask")
    checks.soon("a file is deleted", lambda: "dropped.png" not in stage.names() and "dropped.png" not in browser.text("#list"))
    browser.fill("#fetch-url", f"{stage.files_address}/from-afar.mp4")
    browser.press("Fetch")
    checks.soon("a file is fetched from an address", lambda: "from-afar.mp4" in stage.names(), 30, lambda: browser.text("#files"))
    checks.soon("and is listed", lambda: "from-afar.mp4" in browser.text("#list"))
    browser.fill("#fetch-url", f"{stage.files_address}/missing.mp4")
    browser.press("Fetch")
    checks.soon("a missing one is told", lambda: browser.all("#toasts .bad"), 30, lambda: browser.text("#files"))
