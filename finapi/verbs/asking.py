"""Calls of the API from the command line: of a server by its URL, or of a data directory in this process."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from finapi.client.exchange import ApiFailure, rows_of
from finapi.client.operations import operations
from finapi.client.synchronous import Client, Send, by_urllib
from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.store import datadir
from finapi.store.datadir import Say
from finapi.verbs.verb import Argument, Perform, Verb, arg, one_line

WIDTH = 60  # characters of a cell that are shown
BAR = 40  # characters of the longest bar

# Exit statuses by what an answer was, beside 0, 1 (nobody answered, or a server failed) and 2 (a mistake in the words).
STATUS = {400: 2, 401: 3, 403: 3, 404: 4, 402: 5, 429: 5}
_STATUSES = "exit status: 1 no answer or a server's failure, 2 a wrong parameter, 3 credentials, 4 not there, 5 limits"

_API = "/api/v1"
_TICKER = arg("ticker", help="ticker or CIK")
_PERIOD = arg("-p", "--period", choices=["A", "Q"], help="years or quarters")
_LIMIT = arg("-n", "--limit", type=int, help="rows at most")
# By verb: what it answers, its path, the columns of its table, its arguments, which are the names of parameters.
_VERBS: dict[str, tuple[str, str, str, tuple[Argument, ...]]] = {
    "statements": (
        "a company's statements as filed",
        "/xbrl/companies/{ticker}/statements",
        "",
        (_TICKER, _PERIOD, arg("--statement", help="income, balance, cash-flow, ..."), arg("--as-of", help="a day")),
    ),
    "timeseries": (
        "standardised figures of a company over time",
        "/xbrl/timeseries",
        "fiscal_year fiscal_period period_end",
        (
            _TICKER,
            arg("metrics", nargs="?", help="keys, comma-separated"),
            _PERIOD,
            _LIMIT,
            arg("--chart", action="store_true", help="bars beside the figures"),
        ),
    ),
    "filings": (
        "filings, newest first",
        "/sec/filings",
        "filed_date form_type ticker accession_number entity_name period_of_report",
        (arg("ticker", nargs="?", help="ticker"), arg("--form-type", help="8-K, 10-Q, ..."), _LIMIT),
    ),
    "insiders": (
        "transactions of a company's insiders",
        "/insiders/transactions/by-ticker/{ticker}",
        "transaction_date insider_name transaction_code shares price_per_share transaction_value accession_number",
        (_TICKER, _LIMIT),
    ),
    "screen": (
        "companies by their figures",
        "/xbrl/screen",
        "ticker period_end",
        (arg("where", nargs="+", help="conditions: 'gross_margin>0.4' 'debt_to_equity<1'"), _LIMIT),
    ),
    "fund": (
        "what a fund held at the end of a quarter",
        "/form-13f/fund/{cik}",
        "cusip ticker name_of_issuer title_of_class shares value_usd pct_of_portfolio change_shares",
        (arg("cik", help="CIK of the manager"), arg("--period", help="last day of the quarter"), _LIMIT),
    ),
}


def _asked(path: str, columns: str, names: Iterable[str]) -> Callable[..., int]:
    def run(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
        given = {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}
        chart = given.pop("chart", False)
        if "where" in given:
            given |= _conditions(given.pop("where"))
        target = _API + path if path else args.path
        for name in list(given):
            if f"{{{name}}}" in target:
                target = target.replace(f"{{{name}}}", quote(str(given.pop(name)), safe=""))
        target = quote(target, safe="/?&=%,:.~-")
        if not target.startswith("/"):
            raise UsageError("PATH begins with a slash: /api/v1/policy")
        try:
            with connected(config) as (url, send):
                client = Client(url, args.key or config.api_key, send=send)
                if args.csv:
                    client.headers["Accept"] = "text/csv"
                answer = client.call("GET", target, given)
        except ApiFailure as failure:
            say("err", one_line(f"finapi: {failure}"))
            return STATUS.get(failure.status, 1)
        if args.csv or args.json or not path:
            assert client.last is not None
            # As it came: every digit of a figure.
            say("out", client.last.body.decode().rstrip("\n"))
        else:
            for line in _bars(answer) if chart else _shown(path, columns.split(), answer):
                say("out", line)
        return 0

    return run


@contextmanager
def connected(config: Config) -> Iterator[tuple[str, Send]]:
    """The address and the sender to the server that is named, or to the data directory in this process."""
    if config.url:
        yield config.url.rstrip("/"), by_urllib()
        return
    from finapi.ops.opened import opened
    from finapi.testing.control_client import by_wsgi
    from finapi.web.wsgi import WsgiApp

    if not (config.data_dir / datadir.DATABASE).exists():
        raise UsageError(f"there is no database in {config.data_dir}: name a --data-dir, or a server by --url")
    try:
        with opened(config) as app:
            yield "", by_wsgi(WsgiApp(app))
    except datadir.Busy:
        raise UsageError(f"{config.data_dir} is served: name its address by --url") from None


def _shown(path: str, columns: Sequence[str], answer: Mapping[str, Any]) -> Iterator[str]:
    """An answer as tables."""
    if "statements" in answer.get("data", {}):
        for kind, statement in answer["data"]["statements"].items():
            yield from ("", f"{kind}: {statement['definition']}")
            yield from _table(_lines(statement))
        return
    rows_in = next(one.rows_in for one in operations().values() if one.path == _API + path)
    rows = rows_of(answer, rows_in or "data")
    # A year is a name, not a figure.
    told = [{name: str(row[name]) if name == "fiscal_year" else row.get(name) for name in columns} for row in rows]
    yield from _table([{**one, **_figures(row)} for one, row in zip(told, rows, strict=True)])


def _conditions(words: list[str]) -> dict[str, str]:
    from finapi.mcp.tools import ToolMistake, conditions

    try:
        return dict(conditions(words))
    except ToolMistake as mistake:
        raise UsageError(str(mistake)) from None


def _bars(answer: Mapping[str, Any]) -> Iterator[str]:
    """A series as bars, oldest first: below nothing is drawn to the other side."""
    rows = [(f"{row['fiscal_year']} {row['fiscal_period']}", _figures(row)) for row in answer["data"]["rows"][::-1]]
    for metric in rows[0][1] if rows else ():
        values = [figures[metric] for _, figures in rows if _is_figure(figures[metric])]
        most = max(map(abs, values), default=0) or 1
        yield from ("", metric)
        for name, figures in rows:
            value = figures[metric]
            bar = ("-" if value < 0 else "#") * round(abs(value) / most * BAR) if _is_figure(value) else ""
            yield f"{name}  {bar.ljust(BAR)}  {_cell(value)}"


def _figures(row: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a row of a series, or why there is none."""
    holes = row.get("holes", {})
    return {
        name: holes.get(name, {}).get("reason_code") if value is None else value
        for name, value in row.get("metrics", {}).items()
    }


def _lines(statement: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines of a statement, as the filer showed their signs."""
    heads = [f"{one['start_date'] or ''}/{one['end_date']}".lstrip("/") for one in statement["columns"]]
    for row in statement["rows"]:
        values = [None if one is None else -Decimal(one) if row["negated"] else Decimal(one) for one in row["values"]]
        cells = dict(zip(heads, values or [None] * len(heads), strict=True))
        yield {"": "  " * row["depth"] + row["label"], **cells, "unit": row["unit"]}


def _table(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Rows with aligned columns: figures to the right, a dash where nothing is known."""
    rows = list(rows)
    if not rows:
        yield "no rows"
        return
    cells = [list(rows[0]), *([_cell(value) for value in row.values()] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(cells[0]))]
    right = [
        any(isinstance(row[name], int | Decimal) and not isinstance(row[name], bool) for row in rows)
        for name in rows[0]
    ]
    for line in cells:
        padded = (
            one.rjust(width) if side else one.ljust(width) for one, width, side in zip(line, widths, right, strict=True)
        )
        yield "  ".join(padded).rstrip()


def _is_figure(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if _is_figure(value):
        return f"{value:,}"
    return one_line(str(value))[:WIDTH]


KEY = arg("--key", help="API key; FINAPI_API_KEY keeps it off the list of processes")
_COMMON = (KEY, arg("--csv", action="store_true", help="print the rows as CSV"))
_SETTINGS = ("url",)
GET = Verb(
    "one call of the API, as JSON", (arg("path", help="/api/v1/..."), *_COMMON), _asked("", "", ()), settings=_SETTINGS
)


def _names(arguments: Iterable[Argument]) -> list[str]:
    return [names[-1].lstrip("-").replace("-", "_") for names, _ in arguments]


VERBS = {
    name: Verb(f"{help}; {_STATUSES}", (*own, *_COMMON), _asked(path, columns, _names(own)), settings=_SETTINGS)
    for name, (help, path, columns, own) in _VERBS.items()
}
