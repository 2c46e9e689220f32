# Chromium without a window, as a phone or a desktop, light or dark, with axe-core's rules.
import importlib.util
import os
import shutil
import time

MISSING = 69


def find_axe():
    """The path of axe.min.js: $AXE, or that of the package axe-playwright-python, which needs nothing else here."""
    if os.environ.get("AXE"):
        return os.environ["AXE"]
    found = importlib.util.find_spec("axe_playwright_python")
    path = found and f"{found.submodule_search_locations[0]}/axe.min.js"
    return path if path and os.path.exists(path) else None


def missing():
    """Why the test cannot run here, or None."""
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver"), ("ffmpeg", "ffmpeg")):
        if not shutil.which(program):
            return f"there is no {program}: apt-get install {package}"
    if not importlib.util.find_spec("selenium"):
        return "there is no selenium: pip install selenium"
    if not find_axe():
        return "there is no axe-core: pip install --no-deps axe-playwright-python, or name axe.min.js in $AXE"
    return None


class Browser:
    """A browser of one look."""

    def __init__(self, width=1280, height=800, scheme="light", motion="no-preference", scale=1):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--lang=en-GB"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(60)
        self.width, self.height, self.scale, self.motion = width, height, scale, motion
        self.look(width, height, scheme)

    def look(self, width, height, scheme):
        self.width, self.height = width, height
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=self.scale, mobile=width < 600)
        self.cdp("Emulation.setTouchEmulationEnabled", enabled=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": self.motion}]
        self.cdp("Emulation.setEmulatedMedia", features=features)

    def cdp(self, method, **parameters):
        return self.driver.execute_cdp_cmd(method, parameters)

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def is_shown(self, selector):
        return self.run("return Boolean(document.querySelector(arguments[0])?.checkVisibility())", selector)

    def click(self, selector):
        element = self.one(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def named(self, label, within="main"):
        """The visible button of this name."""
        found = self.run(
            "return [...document.querySelectorAll(arguments[1] + ' button')].find((one) => one.checkVisibility()"
            " && (one.getAttribute('aria-label') ?? one.innerText).trim() === arguments[0])",
            label,
            within,
        )
        if not found:
            raise LookupError(f"there is no button “{label}” in {within}")
        return found

    def press(self, label, within="main"):
        """Presses a button; waits while a message lies over it or the page draws it anew."""
        from selenium.common.exceptions import ElementClickInterceptedException, StaleElementReferenceException

        end = time.monotonic() + 12
        while True:
            try:
                button = self.named(label, within)
                self.run("arguments[0].scrollIntoView({block: 'center'})", button)
                return button.click()
            except (ElementClickInterceptedException, StaleElementReferenceException, LookupError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    def choose(self, selector, value):
        self.run(
            "const one = document.querySelector(arguments[0]); one.value = arguments[1];"
            "one.dispatchEvent(new Event('change', {bubbles: true}))",
            selector,
            str(value),
        )

    def fill(self, selector, text):
        element = self.one(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.clear()
        element.send_keys(text)

    def go(self, part):
        self.run("location.hash = arguments[0]", part)

    def faults(self):
        """Errors of the page's code, and what its Content-Security-Policy forbids. Refusals of the API are none."""
        return [
            line["message"]
            for line in self.driver.get_log("browser")
            if line["level"] == "SEVERE" and "Failed to load resource" not in line["message"] and "ERR_" not in line["message"]
        ]

    def violations(self, within=None):
        """What axe-core finds, a line each."""
        with open(find_axe(), encoding="utf-8") as file:
            self.cdp("Runtime.evaluate", expression=file.read())
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })"
            ".then((result) => done(result.violations), (error) => done([{ id: String(error), nodes: [] }]))"
        )
        return [
            f"{one['id']}: {node['target']} {node.get('failureSummary', '')}" for one in found for node in one["nodes"] or [{"target": ""}]
        ]

    def overflow(self):
        """How many pixels the page is wider than the window."""
        return self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def shoot(self, path):
        self.driver.save_screenshot(path)

    def close(self):
        self.driver.quit()
