"""Pictures of every page, light and dark, narrow and wide: ``python -m tests.pictures [directory] [path ...]``."""

from __future__ import annotations

import re
import sys
import tempfile
from itertools import product
from pathlib import Path

from tests.browser import AXE, browser, findings, keep
from tests.process import running

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
    "/filing/0000320193-25-000057",
    "/fund/1067983",
    "/insider/1462356",
    "/screen?ratio0=roe&above0=0",
    "/login",
    "/docs",
    "/docs/webhooks",
    "/docs/api/get_xbrl_timeseries",
    "/status",
    "/plans",
    "/changelog",
)


def main(directory: str = "pictures", *pages: str) -> None:
    """Write the pictures of these pages of a demo, and say what axe finds on them."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as place,
        running("demo", "--port", 0, "--data-dir", Path(place, "data")) as demo,
        browser(Path(place, "profile")) as page,
    ):
        for path, width, scheme in product(pages or PAGES, (390, 1280), ("light", "dark")):
            page.show(width, scheme)
            page.open(demo.url + path)
            name = re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-") or "front"
            keep(page, f"{name}-{width}-{scheme}.png", folder)
            wrong = [*(findings(page) if AXE.is_file() else ()), *page.complaints()]
            wide = page.driver.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
            print(path, width, scheme, f"{len(page.driver.page_source):,} characters", wide > 0 and "TOO WIDE", *wrong)


if __name__ == "__main__":
    main(*sys.argv[1:])
