"""The demo's data behind pages that anybody may see, and what stands on a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.demo import data
from tests.client import Client

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="package")
def demo() -> Iterator[App]:
    config = Config(pages="public", public_url="http://x", pages_per_minute=100_000)
    app = apps.create_in_memory(config, FixedClock(NOW))
    data.load(app)
    yield app
    app.db.close()


@pytest.fixture
def page(demo: App) -> Client:
    return Client(demo)


def text_of(client: Client, path: str, status: int = 200) -> str:
    """The HTML of a page."""
    answer = client.get(path, headers=HTML)
    assert answer.status == status, answer
    return answer.body.decode()


def rows_of(body: str) -> list[list[str]]:
    """The cells of every row of every table, as people read them."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[unescape(re.sub(r"<title>.*?</title>|<[^>]+>", "", cell)).strip() for cell in row] for row in cells]


def row_of(body: str, name: str) -> list[str]:
    """The cells of the first row that begins with a name, behind it."""
    return next(cells[1:] for cells in rows_of(body) if cells and cells[0] == name)
