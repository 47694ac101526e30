"""Pages in a real browser (Chromium) on a running demo, with and without scripts."""

from __future__ import annotations

import http.server
import importlib.util
import itertools
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from email import message_from_bytes
from email.policy import default as default_policy
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import pictures
from tests.browser import AXE, CHROMIUM, DRIVER, Browser, browser, findings, keep
from tests.process import Answer, Running, eventually, finapi, running

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"),
    pytest.mark.skipif(not importlib.util.find_spec("selenium"), reason="selenium is not installed"),
]

Looks = tuple[tuple[int, str], ...]

# The keys, as WebDriver names them.
ENTER, ESCAPE = "\ue007", "\ue00c"
API = "/api/v1"
EMAIL = "ann@example.com"
PASSWORD, COMMON, NEW = "correct horse battery", "Password1", "a much better one"


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Running]:
    # The demo's own directory would be left behind, because the process is killed at the end.
    words = ("--port", 0, "--data-dir", tmp_path / "data", "--common-passwords", "refused")
    with running("demo", *words) as server:
        yield server


# Responses to the request of a panel, as scripts, and the sentences that they are shown as.
FAILURES = (
    ("{ throw new TypeError('Failed to fetch'); }", "The host cannot be reached. Try again, or open the page."),
    ("new Response('', {status: 429})", "Too many requests. Wait a moment and try again."),
    ("new Response('', {status: 402})", "The account has no tokens left for this page."),
    ("new Response('', {status: 404})", "There is no such figure."),
    ("new Response('<main><p role=alert>Log in.</p></main>', {status: 401})", "Sign in to see this figure."),
    ("new Response('<main><p role=alert>Busy &lt;b&gt;.</p></main>', {status: 503})", "Busy <b>."),
    ("new Response('', {status: 500})", "The page was not loaded (status 500)."),
)


def post(demo: Running, action: str, **body: str) -> Answer:
    return demo.call("POST", f"{API}/auth/{action}", body)


def login(demo: Running, password: str) -> int:
    return post(demo, "login", email=EMAIL, password=password).status


def wait_for_link(demo: Running, subject: str, recipient: str = EMAIL) -> str:
    """Return the link of the only mail with a subject, which may not have arrived yet."""
    links: list[str] = []

    def arrived() -> bool:
        for path in sorted(Path(demo.ready["mail_dir"]).glob("*.eml")):
            mail = message_from_bytes(path.read_bytes(), policy=default_policy)
            if (mail["To"], mail["Subject"]) == (recipient, subject):
                links.extend(re.findall(r"^http://\S+", next(iter(mail.iter_parts())).get_content(), re.MULTILINE))
        return bool(links)

    eventually(arrived)
    (address,) = links
    return address


def register(demo: Running) -> None:
    token = post(demo, "redeem-invite", invite_code=demo.ready["invite_codes"][0]).json["invite_token"]
    answer = post(demo, "register", email=EMAIL, password=PASSWORD, invite_token=token)
    assert answer.status == 200, answer


def request_reset_link(demo: Running) -> str:
    assert post(demo, "forgetpassword", email=EMAIL).status == 200
    return wait_for_link(demo, "Set a new password")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_person_verifies_the_email_and_sets_a_new_password(demo: Running, tmp_path: Path, scripts: bool) -> None:
    register(demo)
    assert login(demo, PASSWORD) == 400
    with browser(tmp_path / "profile", scripts=scripts) as page:
        page.open(wait_for_link(demo, "Verify your email address"))
        assert (page.path, page.text("h1")) == ("/email-verified", "Email verified")
        assert login(demo, PASSWORD) == 200

        address = request_reset_link(demo)
        token = address.partition("token=")[2]
        page.open(address)
        assert (page.path, page.text("h1")) == ("/reset-password", "Set a new password")
        assert page.text("label") == "New password for finapi, 8 characters or more"
        assert page.driver.switch_to.active_element.get_attribute("id") == "newpassword"

        page.send_form(COMMON)
        assert (
            page.text('[role="alert"]')
            == "The password is one of the most common ones. Choose one that nobody would guess."
        )
        assert page.has("form #newpassword")
        assert login(demo, PASSWORD) == 200

        page.send_form(NEW)
        assert (page.path, page.text("h1")) == ("/reset-password", "Password changed")
        assert page.text("main p") == "Your password has been changed and every session has ended. Log in again."
        assert token not in page.driver.page_source

        # A used link says so before anything is typed.
        page.open(address)
        assert page.text('[role="alert"]') == "The link is invalid or has expired. Request a new one."
        assert not page.has("form")

        # No script, style or request goes to another host, and the token is in no header.
        assert page.complaints() == []
        requested_urls = [event["request"]["url"] for event in page.events("Network.requestWillBeSent")]
        assert {urlsplit(url).netloc for url in requested_urls} == {urlsplit(demo.url).netloc}
        assert {urlsplit(url).path for url in requested_urls} == {
            f"{API}/auth/verifyEmail",
            "/email-verified",
            f"{API}/auth/verifyPasswordLink",
            "/reset-password",
            "/static/style.css",
            "/static/favicon.svg",
        }
        sent_headers = [event["headers"] for event in page.events("Network.requestWillBeSentExtraInfo")]
        assert len(sent_headers) >= len(set(requested_urls))
        header_names = {name.lower() for headers in sent_headers for name in headers}
        assert not header_names & {"referer", "cookie"}
    assert [login(demo, password) for password in (PASSWORD, NEW)] == [401, 200]


def test_the_owner_of_an_email_recovers_the_account(demo: Running, tmp_path: Path) -> None:
    register(demo)
    assert demo.get(wait_for_link(demo, "Verify your email address").removeprefix(demo.url)).status == 200
    session = post(demo, "login", email=EMAIL, password=PASSWORD).json
    key, headers = session["user"]["api_key"], {"Authorization": f"Bearer {session['token']}"}
    assert demo.call("PUT", f"{API}/user/", {"webhook_url": "https://evil.example/hook"}, headers).status == 200
    with browser(tmp_path / "profile") as page:
        page.open(request_reset_link(demo))
        boxes = page.driver.find_elements("css selector", "input[type=checkbox]")
        assert [(box.get_attribute("name"), box.is_selected()) for box in boxes] == [
            ("replace_credentials", True),
            ("remove_receivers", True),
        ]
        assert "This account has webhooks to evil.example." in page.text("#remove_receivers-explained")
        for width in (390, 1280):
            page.show(width, "light")
            assert page.driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth") <= 0
        page.send_form(NEW)
        assert "The API key and the webhook secret have been replaced." in page.text("main")
        assert "The webhook receivers have been removed" in page.text("main")
    user = post(demo, "login", email=EMAIL, password=NEW).json["user"]
    assert user["webhook_url"] is None
    balance = f"{API}/account/balance"
    assert [demo.get(balance, each).status for each in (key, user["api_key"])] == [401, 200]


def test_the_browser_itself_refuses_a_password_that_is_too_short(demo: Running, tmp_path: Path) -> None:
    register(demo)
    with browser(tmp_path / "profile") as page:
        page.open(request_reset_link(demo))
        page.driver.find_element("css selector", "#newpassword").send_keys("1234567")
        page.driver.find_element("css selector", "button").click()
        assert page.driver.execute_script("return document.querySelector('form').checkValidity()") is False

        def list_methods() -> list[str]:
            return [event["request"]["method"] for event in page.events("Network.requestWillBeSent")]

        # The redirect, the page, its stylesheet and its icon, which Chromium requests last.
        eventually(lambda: len(list_methods()) >= 4, 20)
        assert list_methods() == ["GET"] * 4


def test_a_password_with_markup_and_unicode_is_set_as_typed(demo: Running, tmp_path: Path) -> None:
    register(demo)
    typed = 'ä日<b>&"+%41 x'
    with browser(tmp_path / "profile") as page:
        page.open(request_reset_link(demo))
        page.send_form(typed)
        assert page.text("h1") == "Password changed"
    assert login(demo, typed) == 200


def test_a_token_with_markup_is_shown_as_text(demo: Running, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:
        page.open(f"{demo.url}/reset-password?token=%22%3E%3Cscript%3Edocument.title='x'%3C/script%3E")
        assert page.title == "Set a new password - finapi"
        assert page.text('[role="alert"]') == "The link is invalid or has expired. Request a new one."
        assert page.complaints() == []


def test_pages_forbid_caching_framing_and_referrers(demo: Running) -> None:
    for path in ("/reset-password?token=1.x", "/email-verified"):
        headers = demo.get(path).headers
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == (
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
            "frame-ancestors 'none'"
        )
    redirect = demo.get(f"{API}/auth/verifyPasswordLink?token=1.x")
    assert (redirect.status, redirect.headers["referrer-policy"]) == (302, "no-referrer")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_their_window_and_follow_light_and_dark(
    demo: Running, tmp_path: Path, width: int, scheme: str
) -> None:
    with browser(tmp_path / "profile") as page:
        page.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False},
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        register(demo)
        address = request_reset_link(demo)
        for name, url in (("form", address), ("verified", f"{demo.url}/email-verified")):
            page.open(url)
            overflow = "return document.documentElement.scrollWidth - window.innerWidth"
            assert page.driver.execute_script(overflow) <= 0
            colour = page.driver.execute_script("return getComputedStyle(document.querySelector('h1')).color")
            assert colour == {"light": "rgb(21, 24, 30)", "dark": "rgb(230, 232, 236)"}[scheme]
            keep(page, f"{name}-{width}-{scheme}.png")
        page.open(address)
        page.send_form(COMMON)
        assert page.has("form")
        assert page.driver.execute_script(overflow) <= 0
        keep(page, f"refused-{width}-{scheme}.png")


@contextmanager
def watched_target(port: int = 0) -> Iterator[int]:
    """Yield the port of an HTTP server that can be watched, until the block ends."""

    class OkHandler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), OkHandler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_the_status_page_shows_an_outage_and_its_end(tmp_path: Path) -> None:
    with watched_target() as port:
        words = ("--watchdog-targets", f"shop=http://127.0.0.1:{port}/", "--watchdog-interval", 1)
        server = running("demo", "--port", 0, "--data-dir", tmp_path / "data", *words)
        stack = ExitStack()
        demo = stack.enter_context(server)
    with stack, browser(tmp_path / "profile", scripts=True) as page:

        def has_overall_status(overall: str) -> bool:
            return bool(demo.get(f"{API}/status").json["overall"] == overall)

        eventually(lambda: has_overall_status("partial_outage"))
        _check_looks(page, demo, "down")
        assert page.text("[role=status]").startswith("One component is down.")
        assert page.text("li.down h2") == "shop"
        assert page.text("li.down .now").endswith("down")
        assert "Connection refused" in page.text("li.down .reason")
        with watched_target(port):
            eventually(lambda: has_overall_status("operational"))
            _check_looks(page, demo, "back")
            assert page.text("[role=status]").startswith("All components are operational.")
            assert not page.has(".parts li.down")
            changes = [element.text for element in page.driver.find_elements("css selector", ".changes li")]
            assert [re.sub(r"^.* UTC ", "", change) for change in changes] == [
                "shop operational",
                "shop down: cannot be reached: Connection refused",
            ]
            for path in ("/", "/plans", "/changelog"):
                _check_looks(page, demo, path.strip("/") or "front", path)


ALL_LOOKS = tuple(itertools.product((390, 1280), ("light", "dark")))


def _check_looks(page: Browser, demo: Running, name: str, path: str = "/status", looks: Looks = ALL_LOOKS) -> None:
    """Assert that a page fits, is accessible and requests nothing else, by width and scheme; save pictures."""
    for width, scheme in looks:
        page.show(width, scheme)
        page.open(demo.url + path)
        overflow = "return document.documentElement.scrollWidth - window.innerWidth"
        assert page.driver.execute_script(overflow) <= 0, (path, width)
        assert [line for line in page.complaints() if "status of 404" not in line] == [], path
        if AXE.is_file():
            assert findings(page) == [], (path, width, scheme)
        keep(page, f"{name}-{width}-{scheme}.png")


@pytest.mark.skipif(not AXE.is_file(), reason="AXE_SCRIPT names no axe.min.js of axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(demo: Running, tmp_path: Path, scheme: str) -> None:
    register(demo)
    with browser(tmp_path / "profile") as page:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        page.open(f"{demo.url}/email-verified")
        assert findings(page) == []
        page.open(request_reset_link(demo))
        assert findings(page) == []
        page.send_form(COMMON)
        assert findings(page) == []
        page.send_form(NEW)
        assert findings(page) == []


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_visitor_finds_a_figure_its_proof_and_its_filing(demo: Running, tmp_path: Path, scripts: bool) -> None:
    with browser(tmp_path / "profile", scripts=scripts) as page:
        page.open(demo.url)
        page.types("#q", "apple")
        page.presses(".search button")
        assert page.path == "/search"
        page.follow("Apple Inc.")
        assert (page.path, page.text("h1")) == ("/company/AAPL", "Apple Inc.")
        page.follow("Statements")
        page.open(f"{demo.url}/company/AAPL/statements?statement=balance&period=Q")
        follow_figure(page, "331,233", scripts=scripts)
        assert page.path == "/company/AAPL/fact/us-gaap:Assets"
        page.open(f"{demo.url}/company/AAPL/financials")
        follow_figure(page, "416,161", scripts=scripts)
        assert page.path == "/company/AAPL/proof/revenue/A2025FY"
        page.follow("0000320193-25-000079")
        assert (page.path, page.has("h1")) == ("/filing/0000320193-25-000079", True)
        assert page.complaints() == []


def follow_figure(page: Browser, text: str, *, scripts: bool) -> None:
    """Open the page of a figure's proof: with scripts from the panel that its link opens."""
    if scripts:
        page.driver.find_element("link text", text).click()
        eventually(lambda: page.has(".panel h2"), 20)
        page.follow("Open as a page")
    else:
        page.follow(text)


def test_a_figure_opens_its_proof_in_a_panel(demo: Running, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:

        def has_heading(text: str) -> bool:
            return page.has(".panel h2") and page.text(".panel h2") == text

        def has_alert(text: str) -> bool:
            return page.has(".panel [role=alert]") and page.text(".panel [role=alert]") == text

        def press(key: str) -> None:
            page.driver.switch_to.active_element.send_keys(key)

        for width, scheme in ALL_LOOKS:
            page.show(width, scheme)
            page.open(f"{demo.url}/company/AAPL/financials?statement=balance")
            figure = page.driver.find_element("css selector", "td a[href*='total_assets/A2024FY']")
            figure.send_keys(ENTER)
            eventually(lambda: has_heading("Total assets, FY 2024"), 20)
            assert page.path == "/company/AAPL/financials"
            assert page.text(".panel .answer") == "364,980,000,000 USD"
            printed_link = page.driver.find_element("css selector", ".panel .printed a")
            cell_url = "/filing/0000320193-24-000123?section=5#line-16-column-1"
            assert printed_link.get_attribute("href") == demo.url + cell_url
            overflow = "const panel = document.querySelector('.panel'); return panel.scrollWidth - panel.clientWidth"
            assert page.driver.execute_script(overflow) <= 0
            if AXE.is_file():
                assert findings(page) == []
            keep(page, f"panel-{width}-{scheme}.png")
            press(ESCAPE)
            assert not page.has("dialog[open]")
            assert page.driver.switch_to.active_element == figure

        # A missing figure opens its reason; its text is in the page.
        page.driver.find_element("css selector", "td.none a").send_keys(ENTER)
        eventually(lambda: page.has(".panel .note"), 20)
        assert page.text(".panel .note").startswith("Not reported.")
        press(ESCAPE)

        # Each failure is a sentence under the link to the page.
        for failure, sentence in FAILURES:
            page.driver.execute_script(f"window.fetch = async () => {failure}")
            figure.send_keys(ENTER)
            eventually(partial(has_alert, sentence), 20)
            assert page.text(".panel .bar a") == "Open as a page"
            press(ESCAPE)
        assert page.complaints() == []

        page.open(demo.url + cell_url)
        assert page.text(":target") == "364,980"
        visible = (
            "const box = document.querySelector(':target').getBoundingClientRect(); return box.bottom < innerHeight"
        )
        assert page.driver.execute_script(visible)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_visitor_becomes_a_member_and_replaces_the_key(demo: Running, tmp_path: Path, scripts: bool) -> None:
    def status(key: str) -> int:
        return demo.get(f"{API}/xbrl/timeseries?ticker=AAPL&metrics=revenue", key).status

    with browser(tmp_path / "profile", scripts=scripts) as page:

        def key() -> str:
            return str(page.driver.find_element("css selector", "details code").get_attribute("textContent"))

        page.open(f"{demo.url}/register")
        for name, text in (("invite_code", demo.ready["invite_codes"][0]), ("email", EMAIL), ("password", PASSWORD)):
            page.types(f"main [name={name}]", text)
        page.presses("main form button")
        assert page.text("h1") == "Almost done"
        page.open(wait_for_link(demo, "Verify your email address"))
        assert page.text("h1") == "Email verified"
        page.open(f"{demo.url}/account")
        page.types("[name=email]", EMAIL)
        page.types("[name=password]", PASSWORD)
        page.presses("main form button")
        assert (page.path, page.text("h1")) == ("/account", "Account")
        assert "No tokens spent yet." in page.text("main")
        old = key()
        assert status(old) == 200
        if scripts:
            page.click("details summary")
            grant = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"], "origin": demo.url}
            page.driver.execute_cdp_cmd("Browser.grantPermissions", grant)
            page.click("details .copy")
            eventually(lambda: page.text("details .copy") == "Copied", 20)
            copied = {"expression": "navigator.clipboard.readText()", "awaitPromise": True}
            assert page.driver.execute_cdp_cmd("Runtime.evaluate", copied)["result"]["value"] == old
        page.presses("form[action$=rotate-key] button")
        assert page.text("[role=status]") == "The key has been replaced. The old one no longer works."
        assert [status(old), status(key())] == [401, 200]
        page.open(f"{demo.url}/account")
        assert "GET /api/v1/xbrl/timeseries 2 20" in page.text("main")
        page.complaints()  # the form to sign in, which is a 401
        if scripts:
            for path in ("/account", "/account/webhooks"):
                _check_looks(page, demo, path.strip("/").replace("/", "-"), path)


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_member_buys_tokens_changes_credentials_and_leaves(demo: Running, tmp_path: Path, scripts: bool) -> None:
    data_dir_option = ("--data-dir", tmp_path / "data")
    user_add = finapi("user", "add", EMAIL, "--password-stdin", *data_dir_option, stdin=PASSWORD.encode())
    assert user_add.status == 0, user_add
    assert finapi("user", "credit", EMAIL, "20.00", *data_dir_option).status == 0

    def sign_in(page: Browser, email: str, password: str) -> None:
        page.open(f"{demo.url}/login")
        page.types("[name=email]", email)
        page.types("[name=password]", password)
        page.presses("main form button")
        assert page.path == "/account", page.text("main")

    with browser(tmp_path / "profile", scripts=scripts) as page:
        sign_in(page, EMAIL, PASSWORD)
        assert "Dollars in the wallet\n20.00" in page.text("main")
        # The browser itself refuses more than the wallet has.
        page.types("[name=amount_dollars]", "20.01")
        page.click("form[action$=buy-tokens] button")
        assert page.driver.find_element("css selector", "[name=amount_dollars]").get_property("validity")[
            "rangeOverflow"
        ]
        page.driver.find_element("css selector", "[name=amount_dollars]").clear()
        page.types("[name=amount_dollars]", "12.50")
        page.presses("form[action$=buy-tokens] button")
        assert page.text("[role=status]") == "The tokens have been bought with money from the wallet."
        assert "Tokens left\n3,250" in page.text("main")
        assert "Dollars in the wallet\n7.50" in page.text("main")
        # Reloading the page after the redirect buys nothing again.
        page.driver.refresh()
        assert "Dollars in the wallet\n7.50" in page.text("main")

        page.follow("Security and data")
        for old, message in (("wrong", "This is not your account's password."), (PASSWORD, "")):
            page.types("form[action$=password] [name=password]", old)
            page.types("[name=newpassword]", NEW)
            page.presses("form[action$=password] button")
            if message:
                assert page.text("[role=alert]") == message
        assert page.text("[role=status]") == "The password has been changed. All other sessions have ended."
        assert [login(demo, password) for password in (PASSWORD, NEW)] == [401, 200]
        page.complaints()  # the wrong password, which is a 401

        page.types("form[action$=email] [name=email]", "ann@example.org")
        page.types("form[action$=email] [name=password]", NEW)
        page.presses("form[action$=email] button")
        assert page.text("[role=status]").startswith("A link was sent to the new address")
        page.open(wait_for_link(demo, "Confirm your new email address", "ann@example.org"))
        assert page.text("main b") == "ann@example.org"
        page.presses("main form button")
        assert page.text("h1") == "Email address changed"
        page.open(f"{demo.url}/account")
        assert page.text("h1") == "Sign in"
        page.complaints()  # the page to sign in, which is a 401
        sign_in(page, "ann@example.org", NEW)

        page.follow("Security and data")
        if scripts:
            _check_looks(page, demo, "account-security", "/account/security")
        page.click("details summary")
        page.types("form[action$=delete] [name=password]", NEW)
        page.presses("form[action$=delete] button")
        assert (page.path, page.text("h1")) == ("/account/deleted", "Account deleted")
        assert page.complaints() == []
        page.open(f"{demo.url}/account")
        assert page.text("h1") == "Sign in"
    body = {"email": "ann@example.org", "password": NEW}
    assert demo.call("POST", f"{API}/auth/login", body).status == 401


def test_the_documentation_sends_a_call_with_the_readers_key(demo: Running, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:
        page.open(f"{demo.url}/docs")
        page.follow("Standardised figures of a company over time")
        assert page.path == "/docs/api/get_xbrl_timeseries"
        page.driver.find_element("css selector", "#try-key").clear()
        page.types("#try-key", demo.ready["api_key"])
        page.click("#try button")
        eventually(lambda: page.text("#try-status").startswith("200 in "), 20)
        assert page.text("#try-status").endswith(" ms, 10 tokens")
        assert page.text("#try-answer").startswith('{\n  "status": "success"')
        assert '"revenue"' in page.text("#try-answer")
        assert "x-tokens-charged: 10" in page.driver.find_element("css selector", "#try-headers").get_attribute(
            "textContent"
        )
        assert page.text("#try details") == "Headers of the answer"
        page.types("#try-key", "0")
        page.click("#try button")
        eventually(lambda: page.text("#try-status").startswith("401 in "), 20)
        page.complaints()
        page.types("#try-target", "\ue003" * 200 + "https://example.com/")
        page.click("#try button")
        eventually(lambda: page.text("#try-status") == "Only calls of this host can be sent.", 20)


def test_every_page_fits_and_is_accessible(demo: Running, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:
        for path in pictures.PAGES:
            _check_looks(page, demo, re.sub(r"[^A-Za-z0-9]+", "-", path), path, ((390, "dark"), (1280, "light")))


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_the_search_opens_what_its_text_names(demo: Running, tmp_path: Path, scripts: bool) -> None:
    with browser(tmp_path / "profile", scripts=scripts) as page:

        def search(text: str) -> str:
            page.open(demo.url)
            page.types("#q", text)
            page.presses(".search button")
            return urlsplit(page.driver.current_url)._replace(scheme="", netloc="").geturl()

        assert search("aapl") == "/company/AAPL"
        assert search("0000320193") == "/company/AAPL"
        assert search("1067983") == "/fund/0001067983"
        assert search("apple inc 10-k") == "/company/AAPL/filings?form_type=10-K"
        assert {row.text.split()[1] for row in page.driver.find_elements("css selector", "tbody tr")} == {"10-K"}
        assert search("marvell") == "/search?q=marvell"
        assert page.text("h1") == "Results for marvell"
        assert search("zzzzqq") == "/search?q=zzzzqq"
        assert page.text("h1") == "No results for zzzzqq"
        assert "This is a demo with figures of AAPL" in page.text("[role=status]")
        assert page.complaints() == []


def test_companies_are_suggested_while_typing(demo: Running, tmp_path: Path) -> None:
    with browser(tmp_path / "profile") as page:

        def insert(text: str) -> None:
            """Insert a text in one event: keys may arrive so slowly that a request follows each of them."""
            page.click("#q")
            page.driver.execute_cdp_cmd("Input.insertText", {"text": text})

        page.open(demo.url)
        insert("snow")
        eventually(lambda: page.has("#found li"), 20)
        assert page.text("#found li").startswith("SNOW")
        page.click("#found li")
        eventually(lambda: page.path == "/company/SNOW", 20)

        page.open(demo.url)
        # Responses whose bodies arrive in the opposite order of the requests.
        page.driver.execute_script(
            "window.bodies = []; window.fetch = async () => "
            "({ok: true, json: () => new Promise((resolve) => window.bodies.push(resolve))});"
        )
        insert("a")
        eventually(lambda: page.driver.execute_script("return bodies.length") == 1, 20)
        insert("a")
        eventually(lambda: page.driver.execute_script("return bodies.length") == 2, 20)
        for index, ticker in ((1, "NEW"), (0, "OLD")):
            body = {"companies": [{"ticker": ticker, "company": "", "url": "/"}]}
            page.driver.execute_script("bodies[arguments[0]](arguments[1])", index, body)
        assert page.text("#found li") == "NEW"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_admin_locks_an_account_by_the_password(demo: Running, tmp_path: Path, scripts: bool) -> None:
    data_dir_option = ("--data-dir", tmp_path / "data")
    for words, email in (("--admin",), "root@example.com"), ((), EMAIL):
        user_add = finapi("user", "add", email, *words, "--password-stdin", *data_dir_option, stdin=PASSWORD.encode())
        assert user_add.status == 0, user_add
    with browser(tmp_path / "profile", scripts=scripts) as page:
        page.open(f"{demo.url}/admin/accounts")
        page.types("[name=email]", "root@example.com")
        page.types("[name=password]", PASSWORD)
        page.presses("main form button")
        assert page.path == "/admin/accounts", page.text("main")
        page.follow(EMAIL)
        account = page.driver.current_url
        page.presses("form[action='/admin/do/lock'] button")
        assert page.text("h1") == "Confirm with your password"
        assert page.driver.switch_to.active_element.get_attribute("id") == "password"
        page.types("#password", "wrong")
        page.presses("main form button")
        assert page.text("[role=alert]") == "This is not your account's password."
        page.types("#password", PASSWORD)
        page.presses("main form button")
        assert page.text("[role=status]") == "The account is locked and its sessions have ended."
        assert login(demo, PASSWORD) == 401
        # The next action does not ask for the password again.
        page.types("form[action='/admin/do/credit'] [name=amount]", "5.00")
        page.presses("form[action='/admin/do/credit'] button")
        assert page.text("[role=status]") == "The wallet has been changed."
        page.open(f"{demo.url}/admin/audit")
        assert [row.text.split()[3] for row in page.driver.find_elements("css selector", "tbody tr")[:2]] == [
            "credit",
            "lock",
        ]
        page.complaints()  # the form to sign in, and the wrong password
        if scripts:
            for page_path in ("", "/accounts", "/invites", "/intake", "/deliveries", "/audit"):
                _check_looks(page, demo, f"admin{page_path.replace('/', '-')}", f"/admin{page_path}")
            _check_looks(page, demo, "admin-account", urlsplit(account).path)
