"""A real browser (Chromium) for tests and pictures, with its requests, console messages and axe findings."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.process import eventually

CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
# Where axe-core's script may lie; without it nobody looks at accessibility here.
AXE = Path(os.environ.get("AXE_SCRIPT", "/usr/share/javascript/axe-core/axe.min.js"))

FLAGS = (
    "--headless",
    "--hide-scrollbars",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SECONDS = 20.0


class Browser:
    """A Chromium that records requests and console messages."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self._events: list[dict[str, Any]] = []

    def open(self, url: str) -> None:
        """Open a page and wait until it is complete.

        Chromium aborts requests when an interface of the machine changes. The page is then loaded once more.
        """
        self.driver.get(url)
        self._wait_for_document()
        if self._missing_stylesheets() and "net::ERR_NETWORK_CHANGED" in self._failed_requests():
            self.driver.refresh()
        self._require_stylesheets()

    def _wait_for_document(self) -> None:
        """Wait for the stylesheets and images of the page: on a busy machine the driver may return before."""
        ready = "return document.readyState === 'complete'"
        eventually(lambda: self.driver.execute_script(ready), SECONDS)

    def _require_stylesheets(self) -> None:
        assert self._missing_stylesheets() == [], (self.driver.current_url, self._failed_requests())

    def _missing_stylesheets(self) -> list[str]:
        """Return the URLs of the stylesheets that have no rules. Those of one that failed cannot be read."""
        links = self.driver.find_elements("css selector", "link[rel=stylesheet]")
        has_rules = "try { return arguments[0].sheet.cssRules.length > 0; } catch { return false; }"
        return [str(link.get_attribute("href")) for link in links if not self.driver.execute_script(has_rules, link)]

    def _failed_requests(self) -> list[str]:
        """Return the errors of the requests that failed, so far."""
        return [event["errorText"] for event in self.events("Network.loadingFailed")]

    @property
    def path(self) -> str:
        """Return the path of the current page."""
        return urlsplit(self.driver.current_url).path

    @property
    def title(self) -> str:
        title: str = self.driver.title
        return title

    def text(self, selector: str) -> str:
        """Return the visible text of the first element of a selector."""
        text: str = self.driver.find_element("css selector", selector).text
        return text

    def has(self, selector: str) -> bool:
        return bool(self.driver.find_elements("css selector", selector))

    def show(self, width: int, scheme: str, height: int = 800) -> None:
        """Set the width of the window and the colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def click(self, selector: str) -> None:
        """Click the first element of a selector."""
        self.driver.find_element("css selector", selector).click()

    def types(self, selector: str, text: str) -> None:
        """Type into the first element of a selector."""
        self.driver.find_element("css selector", selector).send_keys(text)

    def presses(self, selector: str) -> None:
        """Press a button of a form and wait for the next page."""
        self._leave_page(self.driver.find_element("css selector", selector))

    def follow(self, text: str) -> None:
        """Follow the first link with a text and wait for its page."""
        self._leave_page(self.driver.find_element("link text", text))

    def _leave_page(self, element: Any) -> None:
        """Click an element and wait until the next page is complete."""
        before = self.driver.find_elements("css selector", "main")
        element.click()
        # Between two pages there is none.
        eventually(lambda: self.driver.find_elements("css selector", "main") not in ([], before), SECONDS)
        self._wait_for_document()
        self._require_stylesheets()

    def send_form(self, password: str) -> None:
        """Type a password, press the button and wait for the next page."""
        self.types("#newpassword", password)
        self.presses("button")

    def events(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of every DevTools event with a name, so far."""
        self._events += [json.loads(line["message"])["message"] for line in self.driver.get_log("performance")]
        return [event["params"] for event in self._events if event["method"] == method]

    def complaints(self) -> list[str]:
        """Return the console messages, without advice and without the status of a refused form."""
        lines = self.driver.get_log("browser")
        messages = [line["message"] for line in lines if line["level"] in ("WARNING", "SEVERE")]
        return [line for line in messages if not re.search(r"/reset-password\S* - .* status of 400", line)]


@contextmanager
def browser(profile: Path, *, scripts: bool = True) -> Iterator[Browser]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        driver.set_page_load_timeout(SECONDS)
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        driver.get("data:text/html,<title>off</title><script>document.title='on'</script>")
        assert driver.title == ("on" if scripts else "off")
        driver.get_log("browser")
        driver.get_log("performance")
        yield Browser(driver)
    finally:
        driver.quit()


def findings(page: Browser) -> list[tuple[str, str, str]]:
    """Return impact, rule and element of everything that axe-core finds."""
    evaluate = {"expression": AXE.read_text() + ";0"}
    page.driver.execute_cdp_cmd("Runtime.evaluate", evaluate)
    run = {"expression": "axe.run()", "awaitPromise": True, "returnByValue": True}
    results = page.driver.execute_cdp_cmd("Runtime.evaluate", run)["result"]["value"]
    assert results["passes"]
    return [
        (violation["impact"], violation["id"], node["html"])
        for violation in results["violations"]
        for node in violation["nodes"]
    ]


def keep(page: Browser, name: str, folder: Path | None = None, max_height: int = 3000) -> None:
    """Save a picture in a folder, or in ``FINAPI_TEST_PICTURES``, for people to look at."""
    if directory := folder or os.environ.get("FINAPI_TEST_PICTURES"):
        size = page.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {**size, "height": min(size["height"], max_height), "scale": 1}
        options = {"captureBeyondViewport": True, "clip": clip}
        picture = page.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"]
        Path(directory, name).write_bytes(base64.b64decode(picture))
