"""The verbs get, statements, timeseries, filings, insiders, screen, fund and nport: calls of the API.

With ``--url`` a call goes to a server. Without it the application runs in this process over the data directory. Both
use the Python client.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote

from finapi.client.errors import ApiFailure
from finapi.client.exchange import ApiAnswer, ApiRequest, build_unexpected_failure, get_rows
from finapi.client.operations import ApiOperation, get_operations
from finapi.client.synchronous import Client, Send, by_urllib
from finapi.core import config as settings
from finapi.core import json
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.installation import HAS_SERVER
from finapi.store import datadir
from finapi.store.datadir import Say
from finapi.verbs import terminal_tables
from finapi.verbs.verb import Argument, Perform, ProgressBar, Verb, arg, escape_unprintable, whole_number

# The exit status for each HTTP status of an error. Other exit statuses are 0 (success), 1 (no answer, or the server
# failed) and 2 (a wrong argument).
EXIT_STATUSES = {400: 2, 401: 3, 403: 3, 404: 4, 402: 5, 429: 5}
EXIT_STATUS_NOTE = (
    "Exit status: 0 done, 1 no answer or a server's failure, 2 a wrong argument, 3 credentials, 4 not there, "
    "5 limits or tokens used up."
)

_API = "/api/v1"
_STATEMENTS, _SERIES, _SCREEN = "/xbrl/companies/{ticker}/statements", "/xbrl/timeseries", "/xbrl/screen"
_FUND = "/form-13f/fund/{cik}"
_TICKER = arg("ticker", help="ticker or CIK")
_PERIOD = arg("-p", "--period", choices=["A", "Q"], help="years or quarters")
_AS_OF = arg("--as-of", metavar="DAY", help="the answer of this day: 2024-12-31")
_LIMIT = arg("-n", "--limit", type=whole_number(1), help="maximum of rows")


class _Query(NamedTuple):
    """A verb that queries one route. The names of its arguments are the route's parameters."""

    help: str
    path: str
    columns: Sequence[str]  # Columns of the table on a terminal; statements and series choose their own.
    arguments: tuple[Argument, ...]


_QUERIES = {
    "statements": _Query(
        "a company's statements as filed",
        _STATEMENTS,
        (),
        (_TICKER, _PERIOD, arg("--statement", help="income, balance, cash-flow, ..."), _AS_OF),
    ),
    "timeseries": _Query(
        "standardised figures of a company over time",
        _SERIES,
        ("fiscal_year", "fiscal_period", "period_end"),
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
    "filings": _Query(
        "filings, newest first",
        "/sec/filings",
        ("filed_date", "form_type", "ticker", "accession_number", "entity_name", "period_of_report"),
        (arg("ticker", nargs="?", help="ticker"), arg("--form-type", help="8-K, 10-Q, ..."), _AS_OF, _LIMIT),
    ),
    "insiders": _Query(
        "transactions of a company's insiders",
        "/insiders/transactions/by-ticker/{ticker}",
        (
            "transaction_date",
            "insider_name",
            "transaction_code",
            "shares",
            "price_per_share",
            "transaction_value",
            "accession_number",
        ),
        (
            _TICKER,
            arg(
                "--sort-by",
                choices=["transaction_date", "filing_date"],
                default="transaction_date",
                help="the date whose newest come first (transaction_date)",
            ),
            _AS_OF,
            _LIMIT,
        ),
    ),
    "screen": _Query(
        "companies by their figures",
        _SCREEN,
        ("ticker", "period_end"),
        (
            arg("where", nargs="+", help="conditions: 'revenue>1bn' 'revenue_growth>0.1' 'debt_to_equity<1'"),
            arg("-p", "--period", choices=["A", "Q", "TTM"], help="latest year, quarter or twelve months"),
            _AS_OF,
            _LIMIT,
        ),
    ),
    "fund": _Query(
        "holdings of a fund at the end of a quarter",
        _FUND,
        (
            "cusip",
            "ticker",
            "name_of_issuer",
            "title_of_class",
            "shares",
            "value_usd",
            "pct_of_portfolio",
            "change_shares",
        ),
        (arg("cik", help="CIK of the manager"), arg("--period", help="last day of the quarter"), _AS_OF, _LIMIT),
    ),
    "nport": _Query(
        "positions of a mutual fund or ETF at the end of a month",
        "/nport/funds/{ticker}/holdings",
        ("name", "title", "cusip", "isin", "asset_cat", "balance", "units", "val_usd", "pct_val", "pct_val_doubt"),
        (
            arg("ticker", help="ticker of a share class, or CIK of a registrant without series"),
            arg("--period", metavar="MONTH", help="month of the report: 2024-12"),
            _AS_OF,
            _LIMIT,
        ),
    ),
}


def _build_run(query: _Query | None) -> Callable[..., int]:
    """Return the ``run`` function of the verb for a query. None stands for the verb ``get``."""
    path = query.path if query else ""
    columns = query.columns if query else ()
    names = _parameter_names(query.arguments) if query else []

    def run(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
        parameters = {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}
        _check_unicode(parameters)
        on_terminal = query is not None and not (args.csv or args.json)
        unit = getattr(args, "unit", None)
        if unit and not on_terminal:
            raise UsageError("argument --unit: only for tables and charts; --csv and --json print the exact figures")
        if on_terminal and path == _SERIES:
            parameters["provenance"] = "summary"  # The provenance contains the units, which the table shows.
        if "where" in parameters:
            parameters["where"] = ",".join(parameters["where"])
        operation = _find_operation(_API + path)
        target = _build_target(getattr(args, "path", "/"))
        for name, value in parameters.items():
            if value == "" and f"{{{name}}}" in path:
                raise UsageError(f"argument {name}: must not be empty")
        try:
            with connect(config) as (url, send):
                client = Client(url, get_api_key(args, config), send=send, wait=_build_wait(say))
                if args.csv:
                    client.headers["Accept"] = "text/csv"
                if operation is None:
                    response = client.call("GET", target)
                elif on_terminal and path == _STATEMENTS:
                    response = _fetch_statements(client, operation, parameters, say)
                elif on_terminal:
                    response = _fetch_rows(client, operation, parameters, say)
                else:
                    response = getattr(client, operation.name)(**parameters)
                if operation is not None and path == _SERIES and on_terminal and not response:
                    response = _fetch_other_period(client, operation, parameters, say)
                elif operation is not None and (args.csv or (on_terminal and not response)):
                    _print_empty_reason(client, say)
        except ApiFailure as failure:
            return report_failure(say, failure, config.url, "" if operation else _suggest_path(target, failure))
        if on_terminal and path == _FUND:
            _print_fund(client, say)
        if unit:
            response = terminal_tables.scale_series(response, unit)
        if on_terminal:
            render = _render_charts if args.chart else _render_tables
            for line in render(path, columns, response):
                say("out", line)
            return 0
        if isinstance(response, bytes):
            return _write_file(response)
        assert client.last is not None
        # Print the body as it was received, so that no digit of a figure is lost.
        say("out", client.last.body.decode("utf-8", "replace").rstrip("\n"))
        return 0

    return run


def _build_target(path: str) -> str:
    """Return the target of a call. ``account/balance`` means ``/api/v1/account/balance``."""
    _check_unicode({"PATH": path})
    target = quote(path, safe="/?&=%,:.~-")
    if target.startswith("/"):
        return target
    return f"/{target}" if f"/{target}".startswith(f"{_API}/") else f"{_API}/{target}"


def _check_unicode(arguments: Mapping[str, Any]) -> None:
    """Raise UsageError for an argument with bytes that are not valid in the terminal's encoding."""
    for name, value in arguments.items():
        try:
            str(value).encode()
        except UnicodeEncodeError:
            raise UsageError(f"argument {name}: {value!r} is not valid Unicode") from None


def _find_operation(path: str) -> ApiOperation | None:
    return next((operation for operation in get_operations().values() if operation.path == path), None)


def report_failure(say: Say, failure: ApiFailure, url: str, suggestion: str = "") -> int:
    """Print a line that says why a call failed and what to do. Return the exit status."""
    message = failure.summary
    document = failure.document
    if failure.code == "UNREACHABLE":
        message = failure.message.replace("There was no answer", f"no answer from {url}", 1).rstrip(".")
        message += "; is a server running there?"
    if failure.status == 402 and "required_cost" in document:
        balance = document.get("current_balance")
        refill = document.get("next_refill_at")
        message += f" It costs {document['required_cost']} and {balance} are left until {refill};"
        message += f" {document.get('upgrade_url')}"
    allowed = failure.details.get("allowed")
    if isinstance(allowed, list) and not any(str(value) in failure.message for value in allowed):
        message += f" Allowed: {', '.join(map(str, allowed))}."
    if failure.status == 401:
        suggestion = (
            suggestion or " Set FINAPI_API_KEY, or give --key. The operator's finapi user add EMAIL prints a key."
        )
    say("err", escape_unprintable(f"finapi: {message}{suggestion}"))
    return EXIT_STATUSES.get(failure.status, 1)


def get_api_key(args: argparse.Namespace, config: Config) -> str:
    """Return the API key of ``--key`` or the settings. Raise UsageError if a header cannot contain it."""
    key: str = args.key or config.api_key
    if not (key.isascii() and key.isprintable()):
        raise UsageError("the API key must consist of printable ASCII characters")
    return key


def _build_wait(say: Say) -> Callable[[float], None]:
    """Return a function that waits before a repeated call and shows the wait on a terminal."""
    sleep = time.sleep

    def wait(seconds: float) -> None:
        say("progress", f"the server is busy or does not answer; next try in {seconds:.0f} s")
        sleep(seconds)
        say("progress", "")

    return wait


def _write_file(data: bytes) -> int:
    """Write ``data`` to standard output and return exit status 0. Raise UsageError on a terminal."""
    if sys.stdout.isatty():
        raise UsageError("the answer is a file: redirect it with > FILE at the end of the command")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    return 0


def _fetch_rows(client: Client, operation: ApiOperation, parameters: dict[str, Any], say: Say) -> Any:
    """Return the statements by kind, or the rows of a list. If there is a limit, fetch as many pages as necessary."""
    limit = parameters.get("limit")
    is_statements = operation.path.endswith("/statements")
    if is_statements or operation.rows_path is None or limit is None:
        document = getattr(client, operation.name)(**parameters)
        try:
            return (
                document["data"]["statements"] if is_statements else get_rows(document, operation.rows_path or "data")
            )
        except (KeyError, TypeError, ValueError):
            assert client.last is not None
            raise build_unexpected_failure(
                client.last, "The answer is not from finapi; is another server running there?"
            ) from None
    bar = ProgressBar(say)
    rows = []
    for row in islice(cast(Any, client).rows(operation.name, **parameters), limit):
        rows.append(row)
        bar.update("rows", "rows", len(rows), limit)
    bar.clear()
    return rows


def _fetch_statements(client: Client, operation: ApiOperation, parameters: dict[str, Any], say: Say) -> Any:
    """Return the statements by kind: of a quarter if no annual report is stored and the period is not chosen."""
    try:
        return _fetch_rows(client, operation, parameters, say)
    except ApiFailure as failure:
        if failure.code != "NOT_COVERED" or "period" in parameters or not failure.details.get("covered_periods"):
            raise
        say("err", f"finapi: {failure.message}")
        say("err", "finapi: these are the statements of period=Q")
        return _fetch_rows(client, operation, {**parameters, "period": "Q"}, say)


def _fetch_other_period(client: Client, operation: ApiOperation, parameters: dict[str, Any], say: Say) -> Any:
    """Print why a series has no rows. Return the rows of another period unless the period was chosen by ``-p``."""
    assert client.last is not None
    empty = json.loads(client.last.body.decode())["meta"].get("empty")
    if empty is None:
        return []
    say("err", f"finapi: {empty['reason']}")
    if "period" in parameters or not empty["available"]:
        return []
    period = empty["available"][0]["period"]
    say("err", f"finapi: these are the rows of period={period}")
    return _fetch_rows(client, operation, {**parameters, "period": period}, say)


def _print_fund(client: Client, say: Say) -> None:
    """Print the name of a fund and the quarter of its holdings."""
    assert client.last is not None
    answer = json.loads(client.last.body.decode())
    say("err", escape_unprintable(f"finapi: holdings of {answer['fund']['name']} at {answer['period']}"))


def _print_empty_reason(client: Client, say: Say) -> None:
    """Print why the last answer has no rows, if it states that."""
    assert client.last is not None
    reason = client.last.headers.get("x-empty-reason")
    if reason is not None:
        say("err", f"finapi: {unquote(reason)}")
        return
    if client.last.headers.get("content-type", "").startswith("application/json"):
        document = json.loads(client.last.body.decode())
        for part in (document, document.get("meta"), document.get("data")):
            if isinstance(part, dict) and "empty" in part:
                say("err", f"finapi: {part['empty']['reason']}")
                return


def _suggest_path(target: str, failure: ApiFailure) -> str:
    """Return a sentence that suggests the API path most similar to an unknown one, or an empty text."""
    path = target.partition("?")[0]
    known_paths = [operation.path for operation in get_operations().values()]
    patterns = [re.sub(r"\{.*?\}", "[^/]+", known_path) for known_path in known_paths]
    if failure.code != "NOT_FOUND" or any(re.fullmatch(pattern, path) for pattern in patterns):
        return ""
    from difflib import get_close_matches

    matches = get_close_matches(path, known_paths, 1, 0.7)
    return f" Did you mean {matches[0]}?" if matches else ""


@contextmanager
def connect(config: Config) -> Iterator[tuple[str, Send]]:
    """Yield the base URL and the ``send`` function of a client: for the server of ``--url``, or for the data directory.

    In the latter case the application runs in this process. No background worker computes the companies' latest years
    there, so a screen first computes those that are outdated.
    """
    if config.url:
        yield config.url.rstrip("/"), by_urllib(with_reason=True)
        return
    if not HAS_SERVER:
        raise UsageError("give the address of a server with --url or FINAPI_URL: only the client is installed here")
    from finapi.market.intake import latest_years_work
    from finapi.ops.app_opening import open_app
    from finapi.testing.control_client import build_wsgi_sender
    from finapi.web.application import WsgiApp

    if not (config.data_dir / datadir.DATABASE).exists():
        raise UsageError(f"there is no database in {config.data_dir}: give another --data-dir, or a server with --url")
    try:
        with open_app(config) as app:
            send_to_app = build_wsgi_sender(WsgiApp(app))

            def send(request: ApiRequest) -> ApiAnswer | None:
                if _SCREEN in request.url:
                    latest_years_work.compute_all_latest_years(app)
                return send_to_app(request)

            yield "", send
    except datadir.DirectoryBusyError:
        raise UsageError(f"{config.data_dir} is in use by a server; give its address with --url") from None


def _render_tables(path: str, columns: Sequence[str], rows: Any) -> Iterator[str]:
    """Yield the lines of a response as tables."""
    coloured = settings.can_use_colours() and sys.stdout.isatty()
    width = terminal_tables.get_terminal_width()
    if path == _STATEMENTS:
        for kind, statement in rows.items():
            # The SEC numbers the sections of a report: "9952151 - Statement - BALANCE SHEETS".
            definition = re.sub(r"^[0-9]+ - \w+ - ", "", statement["definition"] or "")
            title = ": ".join(filter(None, (kind, definition)))
            yield from ("", escape_unprintable(title))
            yield from terminal_tables.render_table(
                terminal_tables.iter_statement_rows(statement), coloured=coloured, width=width
            )
    elif path == _SERIES:
        yield from terminal_tables.render_series(rows, coloured=coloured, width=width)
    else:
        table = ({name: row.get(name) for name in columns} | terminal_tables.get_metric_values(row) for row in rows)
        yield from terminal_tables.render_table(table, coloured=coloured, width=width)


def _render_charts(path: str, columns: Sequence[str], rows: Any) -> Iterator[str]:
    """Yield the lines of a response as bar charts, one for each statement, metric or value."""
    render_chart = partial(terminal_tables.render_chart, width=terminal_tables.get_terminal_width())
    if not rows:
        yield "no rows"
        return
    if path == _STATEMENTS:
        for kind, statement in rows.items():
            lines = [[*row.values()] for row in terminal_tables.iter_statement_rows(statement)]
            bars = [(line[0], line[2]) for line in lines if terminal_tables.is_figure(line[2])]
            yield from render_chart(kind, bars)
        return
    if path == _SERIES:
        rows = rows[::-1]  # Charts show the oldest period first.
    if path == "/sec/filings":
        yield from render_chart("filings", terminal_tables.count_by_month(row["filed_date"] for row in rows))
    elif path.startswith("/insiders/"):
        bars = [(f"{row['transaction_date']} {row['insider_name']}", _signed_value(row)) for row in rows[::-1]]
        yield from render_chart("transaction_value", bars)
    elif path.startswith("/nport/"):
        bars = [(row["name"] or row["title"], row["val_usd"]) for row in rows if row["val_usd"] is not None]
        yield from render_chart("val_usd", bars)
    elif path.startswith("/form-13f/"):
        yield from render_chart("value_usd", [(row["name_of_issuer"], row["value_usd"]) for row in rows])
    label_columns = columns[:2] if path == _SERIES else columns[:1]
    for metric in terminal_tables.get_metric_values(rows[0]):
        bars = []
        for row in rows:
            label = " ".join(str(row[name]) for name in label_columns)
            bars.append((label, terminal_tables.get_metric_values(row)[metric]))
        yield from render_chart(metric, bars)


def _signed_value(row: Mapping[str, Any]) -> Any:
    """Return the value of an insider transaction, negative for a disposal."""
    value = row["transaction_value"]
    return -value if value is not None and row["acquired_disposed_code"] == "D" else value


def _parameter_names(arguments: Iterable[Argument]) -> list[str]:
    return [names[-1].lstrip("-").replace("-", "_") for names, _ in arguments]


KEY = arg("--key", help="API key; FINAPI_API_KEY keeps it off the list of processes")
_COMMON = (KEY, arg("--csv", action="store_true", help="print the rows as CSV"))
_CHART = arg("--chart", action="store_true", help="bars beside the figures")
_UNIT = arg("--unit", choices=[*terminal_tables.UNITS], help="money and shares in thousands, millions or billions")
_SETTINGS = ("url",)
_PATH = arg("path", metavar="PATH", help="path below /api/v1: account/balance; the page /docs lists all")
GET = Verb(
    "one call of the API, as JSON", (_PATH, *_COMMON), _build_run(None), settings=_SETTINGS, note=EXIT_STATUS_NOTE
)
VERBS = {
    name: Verb(
        query.help,
        (*query.arguments, *([_UNIT] if query.path == _SERIES else []), _CHART, *_COMMON),
        _build_run(query),
        settings=_SETTINGS,
        note=EXIT_STATUS_NOTE,
    )
    for name, query in _QUERIES.items()
}
