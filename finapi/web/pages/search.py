"""The search for companies: a page of what was found, and the few that a script shows while one types."""

from __future__ import annotations

from urllib.parse import quote

from finapi.core.json import dumps
from finapi.market.statements import lookups
from finapi.market.statements.lookups import CompanyFound
from finapi.web.html import figures, frame
from finapi.web.html.tags import Html, h
from finapi.web.http.call import API, Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import access

PARAMS = (Param("q", default="", empty=True),)
SUGGESTED, FOUND = 8, 50

_STANDS_FOR = (f"GET {API}/xbrl/search",)


def show(call: Call) -> Response:
    """The companies that a text finds, as a page."""
    return access.shown(call, _STANDS_FOR, lambda: _page(call))


def suggest(call: Call) -> Response:
    """The first of them, as a document."""
    return access.shown(call, _STANDS_FOR, lambda: _document(call))


def _document(call: Call) -> Response:
    companies = [{**one, "url": url_of(one)} for one in _found(call, SUGGESTED)]
    return Response(200, dumps({"companies": companies}))


def _page(call: Call) -> Response:
    text = call.params["q"].strip()
    rows = _found(call, FOUND)
    columns = (("Company", lambda one: figures.name(one["company"], url_of(one))), "Ticker=ticker", "CIK=cik")
    return frame.page(
        call, f"Companies like {text}" if text else "Search", frame.search_form(text, autofocus=not rows),
        figures.grid(f"{len(rows)} found", columns, rows) if rows else _nothing(text), search=False,
    )  # fmt: skip


def _nothing(text: str) -> Html | None:
    if not text:
        return None
    return h.p("No company that is held has this ticker, CIK or name, or had it before.", role="status")


def _found(call: Call, most: int) -> list[CompanyFound]:
    text = call.params["q"].strip()
    if not text:
        return []
    with call.app.db.read() as tx:
        return lookups.search(tx, text, most, 0)


def url_of(company: CompanyFound) -> str:
    """The address of a company's page."""
    return f"/company/{quote(company['ticker'] or company['cik'], safe='')}"
