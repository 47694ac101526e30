"""Calls of the API from the command line: of a server by its URL, or of a data directory in this process."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, cast
from urllib.parse import quote

from finapi.client.exchange import ApiAnswer, ApiFailure, ApiRequest, another, rows_of
from finapi.client.operations import NamedCall, operations
from finapi.client.synchronous import Client, Send, by_urllib
from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.store import datadir
from finapi.store.datadir import Say
from finapi.verbs import terminal_tables
from finapi.verbs.verb import Argument, Perform, ProgressBar, Verb, arg, escape_unprintable, whole_number

# Exit statuses by what an answer was, beside 0, 1 (nobody answered, or a server failed) and 2 (a mistake in the words).
EXIT_STATUSES = {400: 2, 401: 3, 403: 3, 404: 4, 402: 5, 429: 5}
EXIT_STATUS_NOTE = (
    "Exit status: 0 done, 1 no answer or a server's failure, 2 a wrong argument, 3 credentials, 4 not there, "
    "5 limits or tokens used up."
)

_API = "/api/v1"
_STATEMENTS, _SERIES, _SCREEN = "/xbrl/companies/{ticker}/statements", "/xbrl/timeseries", "/xbrl/screen"
_TICKER = arg("ticker", help="ticker or CIK")
_PERIOD = arg("-p", "--period", choices=["A", "Q"], help="years or quarters")
_AS_OF = arg("--as-of", metavar="DAY", help="what was known on this day: 2024-12-31")
_LIMIT = arg("-n", "--limit", type=whole_number(1), help="rows at most")
# By verb: what it answers, its path, the columns of its table, its arguments, which are the names of parameters.
_VERBS: dict[str, tuple[str, str, str, tuple[Argument, ...]]] = {
    "statements": (
        "a company's statements as filed",
        _STATEMENTS,
        "",
        (_TICKER, _PERIOD, arg("--statement", help="income, balance, cash-flow, ..."), _AS_OF),
    ),
    "timeseries": (
        "standardised figures of a company over time",
        _SERIES,
        "fiscal_year fiscal_period period_end",
        (
            _TICKER,
            arg("metrics", nargs="?", help="revenue,net_income,roe ...; finapi get /api/v1/xbrl/dictionary has all"),
            arg(
                "-p",
                "--period",
                choices=["A", "Q", "TTM", "YTD"],
                help="years, quarters, last twelve months, year to date",
            ),
            _AS_OF,
            _LIMIT,
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
        _SCREEN,
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
        shown = bool(path) and not (args.csv or args.json)
        if shown and path == _SERIES:
            given["provenance"] = "summary"  # with units
        if "where" in given:
            given |= _conditions(given.pop("where"))
        known = next((one for one in operations().values() if one.path == _API + path), None)
        target = quote(getattr(args, "path", "/"), safe="/?&=%,:.~-")
        if not target.startswith("/"):
            raise UsageError("PATH must begin with a slash: /api/v1/policy")
        if empty := [name for name, value in given.items() if value == "" and f"{{{name}}}" in path]:
            raise UsageError(f"argument {empty[0]}: must not be empty")
        try:
            with connect(config) as (url, send):
                client = Client(url, get_api_key(args, config), send=send, wait=_told_wait(say))
                if args.csv:
                    client.headers["Accept"] = "text/csv"
                if shown and known is not None:
                    found = _found(client, known, given, say)
                else:
                    found = getattr(client, known.name)(**given) if known else client.call("GET", target)
        except ApiFailure as failure:
            return report_failure(say, failure, config.url, "" if known else _meant(target, failure))
        if not shown:
            assert client.last is not None
            if isinstance(found, bytes):
                return _file(found)
            # As it came: every digit of a figure.
            say("out", client.last.body.decode("utf-8", "replace").rstrip("\n"))
            return 0
        shown_as = _charts if args.chart else _tables
        for line in shown_as(path, columns.split(), found):
            say("out", line)
        return 0

    return run


def report_failure(say: Say, failure: ApiFailure, url: str, meant: str = "") -> int:
    """Say in a line why a call failed and what can be done about it; the exit status."""
    told, document = str(failure), failure.document
    if failure.code == "UNREACHABLE":
        told = failure.message.replace("There was no answer", f"no answer from {url}", 1).rstrip(".")
        told += "; is a server running there?"
    if failure.status == 402 and "required_cost" in document:
        left, when = document.get("current_balance"), document.get("next_refill_at")
        told += f" It costs {document['required_cost']} and {left} are left until {when}; {document.get('upgrade_url')}"
    allowed = failure.details.get("allowed")
    if isinstance(allowed, list) and not any(str(one) in failure.message for one in allowed):
        told += f" Allowed: {', '.join(map(str, allowed))}."
    say("err", escape_unprintable(f"finapi: {told}{meant}"))
    return EXIT_STATUSES.get(failure.status, 1)


def get_api_key(args: argparse.Namespace, config: Config) -> str:
    """The API key that is given; UsageError for one that no header can hold."""
    key: str = args.key or config.api_key
    if not (key.isascii() and key.isprintable()):
        raise UsageError("the API key holds what is not a printable ASCII character")
    return key


def _told_wait(say: Say) -> Callable[[float], None]:
    """What waits until a call is made again, and says so where somebody watches."""

    pause = time.sleep

    def wait(seconds: float) -> None:
        say("progress", f"refused for now, or no answer; the next try is in {seconds:.0f} s")
        pause(seconds)
        say("progress", "")

    return wait


def _file(data: bytes) -> int:
    """Write a file to standard output; the exit status. UsageError for a terminal, which bytes would upset."""
    if sys.stdout.isatty():
        raise UsageError("the answer is a file: write it to one, with > FILE behind the command")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    return 0


def _found(client: Client, known: NamedCall, given: dict[str, Any], say: Say) -> Any:
    """The statements, or the rows of a list: as many as are asked for, page after page."""
    most = given.get("limit")
    if known.path.endswith("/statements") or known.rows_in is None or most is None:
        document = getattr(client, known.name)(**given)
        try:
            if known.path.endswith("/statements"):
                return document["data"]["statements"]
            return rows_of(document, known.rows_in or "data")
        except (KeyError, TypeError, ValueError):
            assert client.last is not None
            raise another(client.last, "The answer is not one of this API; is another server there?") from None
    bar, rows = ProgressBar(say), []
    for row in islice(cast(Any, client).rows(known.name, **given), max(most, 1)):
        rows.append(row)
        bar.update("rows", "rows", len(rows), most)
    bar.clear()
    return rows


def _meant(target: str, failure: ApiFailure) -> str:
    """The path that may have been meant by one that there is not."""
    asked = target.partition("?")[0]
    paths = [re.sub(r"\{.*?\}", "[^/]+", one.path) for one in operations().values()]
    if failure.code != "NOT_FOUND" or any(re.fullmatch(one, asked) for one in paths):
        return ""
    from difflib import get_close_matches

    close = get_close_matches(asked, (one.path for one in operations().values()), 1, 0.7)
    return f" Did you mean {close[0]}?" if close else ""


@contextmanager
def connect(config: Config) -> Iterator[tuple[str, Send]]:
    """The address and the sender to the server that is named, or to the data directory in this process.

    A screen in this process first makes the latest years that are due: no worker of a server does it meanwhile.
    """
    if config.url:
        yield config.url.rstrip("/"), by_urllib(says_why=True)
        return
    from finapi.ops.app_opening import open_app
    from finapi.testing.control_client import build_wsgi_sender
    from finapi.web.application import WsgiApp
    from finapi.web.financials import screen

    if not (config.data_dir / datadir.DATABASE).exists():
        raise UsageError(f"there is no database in {config.data_dir}: name a --data-dir, or a server with --url")
    try:
        with open_app(config) as app:
            answered = build_wsgi_sender(WsgiApp(app))

            def send(asked: ApiRequest) -> ApiAnswer | None:
                if _SCREEN in asked.url:
                    screen.keep_latest(app)
                return answered(asked)

            yield "", send
    except datadir.DirectoryBusyError:
        raise UsageError(f"{config.data_dir} is in use by a server; name its address with --url") from None


def _tables(path: str, columns: Sequence[str], rows: Any) -> Iterator[str]:
    """What was found as tables."""
    coloured = settings.can_use_colours() and sys.stdout.isatty()
    width = terminal_tables.get_terminal_width()
    if path == _STATEMENTS:
        for kind, statement in rows.items():
            yield from ("", escape_unprintable(": ".join(filter(None, (kind, statement["definition"])))))
            yield from terminal_tables.render_table(
                terminal_tables.iter_statement_rows(statement), coloured=coloured, width=width
            )
    elif path == _SERIES:
        yield from terminal_tables.render_table(terminal_tables.iter_series_rows(rows), coloured=coloured, width=width)
    else:
        told = ({name: row.get(name) for name in columns} | terminal_tables.get_metric_values(row) for row in rows)
        yield from terminal_tables.render_table(told, coloured=coloured, width=width)


def _charts(path: str, columns: Sequence[str], rows: Any) -> Iterator[str]:
    """What was found as charts: what its verb is asked for, by period, month, line, name or day."""
    chart = partial(terminal_tables.render_chart, width=terminal_tables.get_terminal_width())
    if not rows:
        yield "no rows"
        return
    if path == _STATEMENTS:
        for kind, statement in rows.items():
            lines = [[*one.values()] for one in terminal_tables.iter_statement_rows(statement)]
            yield from chart(kind, [(line[0], line[2]) for line in lines if terminal_tables.is_figure(line[2])])
        return
    if path == _SERIES:
        rows = rows[::-1]  # oldest first
    if path == "/sec/filings":
        yield from chart("filings", terminal_tables.count_by_month(row["filed_date"] for row in rows))
    elif path.startswith("/insiders/"):
        told = [(f"{row['transaction_date']} {row['insider_name']}", _signed(row)) for row in rows[::-1]]
        yield from chart("transaction_value", told)
    elif path.startswith("/form-13f/"):
        yield from chart("value_usd", [(row["name_of_issuer"], row["value_usd"]) for row in rows])
    for metric in terminal_tables.get_metric_values(rows[0]) if rows else ():
        labels = columns[:2] if path == _SERIES else columns[:1]
        named = [
            (" ".join(str(row[name]) for name in labels), terminal_tables.get_metric_values(row)[metric])
            for row in rows
        ]
        yield from chart(metric, named)


def _signed(row: Mapping[str, Any]) -> Any:
    """What a transaction was worth, negative where shares were given away."""
    value = row["transaction_value"]
    return -value if value is not None and row["acquired_disposed_code"] == "D" else value


def _conditions(words: list[str]) -> dict[str, str]:
    from finapi.mcp.tools import ToolMistake, conditions

    try:
        return dict(conditions(words))
    except ToolMistake as mistake:
        raise UsageError(str(mistake).replace("list_metrics names", f"{_API}/xbrl/dictionary names")) from None


KEY = arg("--key", help="API key; FINAPI_API_KEY keeps it off the list of processes")
_COMMON = (KEY, arg("--csv", action="store_true", help="print the rows as CSV"))
_CHART = arg("--chart", action="store_true", help="bars beside the figures")
_SETTINGS = ("url",)
_PATH = arg("path", metavar="PATH", help="'/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue'; /docs lists all")
GET = Verb(
    "one call of the API, as JSON", (_PATH, *_COMMON), _asked("", "", ()), settings=_SETTINGS, note=EXIT_STATUS_NOTE
)


def _names(arguments: Iterable[Argument]) -> list[str]:
    return [names[-1].lstrip("-").replace("-", "_") for names, _ in arguments]


VERBS = {
    name: Verb(
        help, (*own, _CHART, *_COMMON), _asked(path, columns, _names(own)), settings=_SETTINGS, note=EXIT_STATUS_NOTE
    )
    for name, (help, path, columns, own) in _VERBS.items()
}
