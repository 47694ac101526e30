"""How right the statements and figures made of a folder of documents are, as one report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast
from wsgiref.util import setup_testing_defaults

from finapi import app as apps
from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.edgar import document_kinds
from finapi.market.documents import sources
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books
from finapi.market.financials.company_books import CompanyBook
from finapi.market.intake import ingest
from finapi.market.reference import companies
from finapi.web.application import WsgiApp
from tests.measure import accuracy, agreement, printed

# The share of rows that must be exactly right, in per cent.
ENOUGH = 98.0


def measured(path: Path, truth: Path | None, tell: Callable[[str], None]) -> dict[str, Any]:
    """The report on a folder, read into a store in memory: statements against the SEC's rows, metrics against a
    table, totals against their parts."""
    truth = truth or path.parent / "truth" / "figures.tsv"
    if not path.exists() or not truth.is_file():
        raise UsageError(f"{truth if path.exists() else path}: is not there")
    rows = accuracy.expected(truth.read_text(encoding="utf-8"), str(truth))
    app = apps.create_in_memory(Config(xbrl_per_minute=NO_LIMIT, xbrl_burst=NO_LIMIT), SystemClock())
    try:
        held = _held(app, path, tell)
        books = {cik: book for cik, (_, book) in held.items()}
        figures = accuracy.compared(rows, books.get)
        return {
            "statements": _statements(app, path),
            "figures": figures.shown(),
            "identities": accuracy.identities(held.values()),
            "reproduced": accuracy.reproduced(held.values()),
            "doubted": accuracy.doubted(held.values()),
            "printed": printed_lines(path, books),
        }
    finally:
        app.db.close()


def printed_alone(path: Path, tell: Callable[[str], None]) -> dict[str, Any]:
    """The comparison of a folder's data sets with the printed lines, without the rest of the report."""
    app = apps.create_in_memory(Config(), SystemClock())
    try:
        return printed_lines(path, {cik: book for cik, (_, book) in _held(app, path, tell).items()})
    finally:
        app.db.close()


def _held(app: App, path: Path, tell: Callable[[str], None]) -> dict[int, tuple[str, CompanyBook]]:
    ingest.run(app, [path], IngestOptions(), lambda outcome: tell(outcome.path))
    with app.db.read() as tx:
        ciks = company_books.list_ciks(tx)
        return {cik: (companies.get_by_cik(tx, cik).name, company_books.load(tx, cik)) for cik in ciks}


def printed_lines(path: Path, books: Mapping[int, CompanyBook]) -> dict[str, Any]:
    """Every data set under ``path`` as its filers printed it against the figures: text for people, misses, and how many
    comparisons came to what. A miss that ``explained.tsv`` explains says why."""
    score = printed.PrintedScore()
    for group in sources.iter_groups([path]):
        if isinstance(group, sources.Group):
            tables = {
                document_kinds.detect_kind(one.read(document_kinds.MAX_PREFIX_BYTES), one.name): one
                for one in group.entries
            }
            if tables.keys() >= printed.TABLES:
                printed.compared(tables, books, score)
    reasons = printed.explained()
    for miss in score.misses:
        miss["why"] = reasons.get((miss["accession"], miss["metric"]), "")
    counts = {outcome: score.of(outcome) for outcome in printed.OUTCOMES}
    return {"counts": counts, "misses": score.misses, "lines": printed.lines(score)}


# The report asks for thousands of filings in a minute.
NO_LIMIT = 1_000_000

# What agreement proves, by the source of the statement that is served.
PROVES = {"fsds": "store", "xbrl": "reading"}


def _statements(app: App, path: Path) -> dict[str, Any]:
    """Every filing of the data sets under ``path`` as the API serves it against its rows: "store" where it is served
    from them, "reading" where from its own XBRL documents; counts by statement, and every miss."""
    served = _Served(app)
    found: list[agreement.Agreement] = []
    for group in sources.iter_groups([path]):
        if isinstance(group, sources.Group):
            tables = {
                document_kinds.detect_kind(one.read(document_kinds.MAX_PREFIX_BYTES), one.name): one
                for one in group.entries
            }
            if tables.keys() >= agreement.TABLES:
                found += agreement.of_data_set(tables, served.statements)
    report = {}
    for source, name in PROVES.items():
        mine = [one for one in found if served.sources[one.accession] == source]
        misses = [f"{one.accession} {one.statement}: {miss}" for one in mine for miss in one.misses]
        report[name] = {"totals": agreement.totals(mine), "misses": misses}
    return report


class _Served:
    """Statements by the API's own path: a call of the application, as a caller with a key makes it."""

    def __init__(self, app: App) -> None:
        self._wsgi = WsgiApp(app)
        self._key = users.create(app, "accuracy@localhost.invalid", "yearly", app.clock.now()).api_key
        self.sources: dict[str, str] = {}

    def statements(self, accession: str) -> Mapping[str, Any] | None:
        """``data.statements`` of a filing with its dimensions; None for one that is not held."""
        environ: dict[str, Any] = {
            "PATH_INFO": f"/api/v1/xbrl/filing/{accession}/statements",
            "QUERY_STRING": "consolidated_only=false",
            "HTTP_X_API_KEY": self._key,
        }
        setup_testing_defaults(environ)
        status: list[str] = []

        def started(line: str, fields: list[tuple[str, str]], exc_info: object = None) -> Callable[[bytes], None]:
            status.append(line)
            return lambda data: None

        answer = self._wsgi(environ, started)
        try:
            body = json.loads(b"".join(answer))
        finally:
            if hasattr(answer, "close"):
                answer.close()
        if status[0].startswith("404"):
            return None
        if not status[0].startswith("200"):
            raise UsageError(f"{accession}: {body['message']}")
        self.sources[accession] = body["meta"]["source"]
        return cast("Mapping[str, Any]", body["data"]["statements"])


def lines(report: dict[str, Any]) -> list[str]:
    """The report for people, a line of text each."""
    figures = report["figures"]
    text = ["statements against the SEC's rows   statements  lines  in place  values  equal"]
    for name, one in report["statements"].items():
        text += [
            f"{name + ' ' + kind:36} {of['statements']:>9} {of['lines']:>6} {of['lines_served']:>9} "
            f"{of['values']:>7} {of['equal']:>6}"
            for kind, of in one["totals"].items()
        ]
        text += [f"miss: {miss}" for miss in one["misses"]]
    text += ["", "figures against the table       rows  right  accuracy  expected  given  coverage"]
    for group in ("by_metric", "by_company"):
        text += [_score(name, one) for name, one in figures[group].items()]
    text += [_score("total", figures["total"]), ""]
    for miss in figures["misses"]:
        text.append(
            f"miss: {miss['company']} {miss['metric']} {miss['period']} {miss['basis']}: expected "
            f"{miss['expected']}, given {miss['given']}: {miss['why']}. {miss['note']}"
        )
    text += ["", "totals that add up              checked  consistent"]
    for industry, totals in report["identities"].items():
        for target, one in totals.items():
            text.append(f"{industry + ' ' + target:38} {one['checked']:>6} {one['consistent']:>8}")
            text += [
                f"  {left['company']} {left['period']}: {left['residual']} of {left['reported']}"
                for left in one["residuals"][:5]
            ]
    told = report["reproduced"]
    text += ["", f"cells that are the sum of their operands: {told['cells'] - len(told['wrong'])} of {told['cells']}"]
    text += [f"  {one}" for one in told["wrong"]]
    told = report["doubted"]
    text += ["", f"cells that are doubted: {len(told['doubted'])} of {told['cells']}"]
    text += [f"  {one}" for one in told["doubted"]]
    return [*text, "", *printed_text(report["printed"])]


def printed_text(found: Mapping[str, Any]) -> list[str]:
    """The comparison with printed lines for people, every miss in words."""
    return [
        *found["lines"],
        *(
            f"{one['outcome']}: {one['company']} {one['accession']} {one['period']} {one['metric']}: "
            f"{one['label']!r} says {one['printed']} ({one['line_tag']}), "
            f"given {one['given']} {one['taken'] or ''}. {one['why']}"
            for one in found["misses"]
        ),
    ]


def _score(name: str, one: dict[str, Any]) -> str:
    return (
        f"{name:30} {one['rows']:>6} {one['right']:>6} {one['accuracy_pct']:>8}% "
        f"{one['expected']:>8} {one['given']:>6} {one['coverage_pct']:>8}%"
    )
