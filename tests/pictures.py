"""Pictures of every page, light and dark, narrow and wide: ``python -m tests.pictures [directory] [path ...]``.

``python -m tests.pictures --documents`` takes the pictures of README.md and docs/.
"""

from __future__ import annotations

import re
import sys
import tempfile
from itertools import product
from pathlib import Path

from tests.browser import AXE, Browser, browser, findings, keep
from tests.process import Running, finapi, running

PAGES = (
    "/",
    "/search?q=apple",
    "/company/AAPL",
    "/company/AAPL/statements?statement=balance&period=Q",
    "/company/AAPL/financials",
    "/company/AAPL/charts",
    "/company/AAPL/filings",
    "/company/AAPL/insiders",
    "/company/AAPL/holders",
    "/company/AAPL/segments",
    "/company/AAPL/proof/gross_margin/A2024FY",
    "/company/AAPL/fact/us-gaap:Assets",
    "/filings",
    "/filings/text",
    "/filings/text?q=shares",
    "/filing/0000320193-25-000057",
    "/fund/1067983",
    "/insider/1462356",
    "/screen?ratio0=revenue&above0=1bn&ratio1=revenue_growth&ratio2=roe",
    "/claims?ticker=AAPL&figure=revenue&period=FY2022&value=394.3+billion",
    "/login",
    "/docs",
    "/docs/webhooks",
    "/docs/api/get_xbrl_timeseries",
    "/status",
    "/plans",
    "/changelog",
    "/search",
    "/search?q=nothing+like+it",
    "/register",
    "/forgot",
    "/account/deleted",
    "/no/such/page",
    "/company/NONE",
    "/company/MSFT",
    "/company/NFLX",
    "/company/AAPL/statements?statement=cash-flow&reports=10",
    "/company/AAPL/financials?statement=ratios&period=Q",
    "/integrations/mcp",
)
# Pages of an admin who has sent calls, set a webhook and created an invite.
SIGNED_IN = (
    "/account",
    "/account/security",
    "/account/webhooks",
    "/admin",
    "/admin/accounts",
    "/admin/accounts/{account}",
    "/admin/invites",
    "/admin/intake",
    "/admin/deliveries",
    "/admin/audit",
)
# The pictures of the documents by name.
DOCUMENT_PICTURES = {
    "front": "/",
    "company": "/company/AAPL",
    "statements": "/company/AAPL/statements",
    "proof": "/company/AAPL/proof/gross_margin/A2024FY",
    "charts": "/company/AAPL/charts",
}
DOCUMENT_FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
DOCUMENT_WIDTH, MAX_DOCUMENT_HEIGHT = 1080, 760
EMAIL, PASSWORD = "root@example.com", "correct horse battery"


def sign_in(page: Browser, demo: Running, data: Path) -> str:
    """Create an account with something to show and sign in with it. Return its uuid."""
    words = ("user", "add", EMAIL, "--admin", "--password-stdin", "--data-dir", data, "--json")
    user_add = finapi(*words, stdin=PASSWORD.encode())
    key = {"X-API-Key": user_add.json["api_key"]}
    for _ in range(3):
        demo.call("GET", "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue", headers=key)
    finapi("invite", "create", "--note", "for Ann", "--data-dir", data)
    finapi("user", "add", "ann@example.com", "--plan", "pro", "--data-dir", data)
    finapi("user", "lock", "ann@example.com", "--data-dir", data)
    finapi("user", "credit", EMAIL, "25.00", "--data-dir", data)
    finapi("user", "credit", EMAIL, "-5.00", "--reason", "paid twice", "--data-dir", data)
    page.open(f"{demo.url}/account/webhooks")
    for name, text in (("email", EMAIL), ("password", PASSWORD)):
        page.types(f"[name={name}]", text)
    page.presses("main form button")
    page.types("#f-webhook_url", "https://hooks.example.com/finapi")
    for mark in page.driver.find_elements("css selector", "[type=checkbox]"):
        mark.click()
    page.presses("form[action$=settings] button")
    page.presses("form[action$=test] button")
    page.types("#f-ticker", "AAPL")
    page.presses("form[action$=add-target] button")
    page.open(f"{demo.url}/admin/accounts?q={EMAIL}")
    link = page.driver.find_element("css selector", "tbody a").get_attribute("href")
    return str(link).rpartition("/")[2]


def main(directory: str = "pictures", *pages: str) -> None:
    """Save pictures of pages of a demo, and print the findings of axe."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as directory_name,
        running("demo", "--port", 0, "--data-dir", Path(directory_name, "data")) as demo,
        browser(Path(directory_name, "profile")) as page,
    ):
        account = ""
        for path, width, scheme in product(pages or (*PAGES, *SIGNED_IN), (390, 1280), ("light", "dark")):
            if path in SIGNED_IN and not account:
                account = sign_in(page, demo, Path(directory_name, "data"))
                page.complaints()  # of the form to sign in, which is a 401
            page.show(width, scheme)
            page.open(demo.url + path.format(account=account))
            name = re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-") or "front"
            keep(page, f"{name}-{width}-{scheme}.png", folder)
            wrong = [*(findings(page) if AXE.is_file() else ()), *page.complaints()]
            wide = page.driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
            print(path, width, scheme, f"{len(page.driver.page_source):,} characters", wide > 0 and "TOO WIDE", *wrong)


def save_document_pictures() -> None:
    """Save the pictures of the documents, of a demo at the address that the documents name."""
    DOCUMENT_FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as directory_name,
        running("demo", "--port", 8000, "--data-dir", Path(directory_name, "data")) as demo,
        browser(Path(directory_name, "profile")) as page,
    ):
        page.show(DOCUMENT_WIDTH, "light")
        for name, path in DOCUMENT_PICTURES.items():
            page.open(demo.url + path)
            keep(page, f"{name}.png", DOCUMENT_FOLDER, MAX_DOCUMENT_HEIGHT)


if __name__ == "__main__":
    if sys.argv[1:] == ["--documents"]:
        save_document_pictures()
    else:
        main(*sys.argv[1:])
