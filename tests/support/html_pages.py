"""Helpers for tests of HTML pages: requests as a browser sends them, tables as people read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape
from urllib.parse import urlencode

from finapi.app import App
from tests.client import PASSWORD, Answer, Client

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
FORM = {"CONTENT_TYPE": "application/x-www-form-urlencoded"}

EMAIL = "ann@example.com"


class Visitor:
    """A browser without a window. It stores the session cookie that it gets."""

    def __init__(self, app: App) -> None:
        self.client = Client(app)
        self.cookie = ""

    def get(self, path: str) -> Answer:
        return self.client.get(path, headers={**HTML, **self._cookie_header})

    def send(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> Answer:
        """Send a form without further fields and store the cookie of the answer."""
        all_headers = {**HTML, **self._cookie_header, **(headers or {})}
        answer = self.client.call("POST", path, data=urlencode(fields).encode(), headers=all_headers, environ=FORM)
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    def sign_in(self, **fields: str) -> Answer:
        return self.send("/login", email=EMAIL, password=PASSWORD, **fields)

    def submit(self, path: str, **fields: str) -> Answer:
        """Send a form with the token of the session."""
        return self.send(path, form_token=self.form_token, **fields)

    @property
    def form_token(self) -> str:
        match = re.search(r'name="form_token" value="([^"]+)"', self.get("/account").body.decode())
        assert match is not None
        return match[1]

    @property
    def _cookie_header(self) -> dict[str, str]:
        return {"Cookie": f"other=1; {self.cookie}"} if self.cookie else {}


def get_page(client: Client, path: str, status: int = 200) -> str:
    """Return the HTML of a page; fail unless it has this status."""
    answer = client.get(path, headers=HTML)
    assert answer.status == status, answer
    return answer.body.decode()


def get_message(answer: Answer) -> str:
    """Return the text of the first alert or status on a page, "" if there is none."""
    match = re.search(r'role="(?:alert|status)"[^>]*>([^<]*)', answer.body.decode())
    return match[1] if match else ""


def parse_rows(body: str) -> list[list[str]]:
    """Return the cells of every row of every table, as people read them."""
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
    return [_parse_cells(row) for row in rows]


def find_row(body: str, name: str) -> list[str]:
    """Return the other cells of the first row that begins with a name."""
    return next(cells[1:] for cells in parse_rows(body) if cells and cells[0] == name)


def _parse_cells(row: str) -> list[str]:
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
    return [unescape(re.sub(r"<title>.*?</title>|<[^>]+>", "", cell)).strip() for cell in cells]
