"""The report on the accuracy of statements and figures built from a folder of documents."""

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

# Minimum share of rows that are exactly right, in per cent.
MIN_ACCURACY = 98.0


def build_report(path: Path, truth: Path | None, show_progress: Callable[[str], None]) -> dict[str, Any]:
    """Return the report on a folder that is ingested into a store in memory.

    Statements are compared with the SEC's rows, metrics with a table, and totals with their parts.
    """
    truth = truth or path.parent / "truth" / "figures.tsv"
    if not path.exists() or not truth.is_file():
        raise UsageError(f"{truth if path.exists() else path}: is not there")
    rows = accuracy.parse_expected_rows(truth.read_text(encoding="utf-8"), str(truth))
    app = apps.create_in_memory(Config(xbrl_per_minute=NO_LIMIT, xbrl_burst=NO_LIMIT), SystemClock())
    try:
        companies_with_books = _ingest_companies(app, path, show_progress)
        books = {cik: book for cik, (_, book) in companies_with_books.items()}
        figures = accuracy.compare_figures(rows, books.get)
        return {
            "statements": _compare_statements(app, path),
            "figures": figures.build_record(),
            "identities": accuracy.check_identities(companies_with_books.values()),
            "reproduced": accuracy.check_operands(companies_with_books.values()),
            "doubted": accuracy.list_doubts(companies_with_books.values()),
            "printed": compare_printed_lines(path, books),
        }
    finally:
        app.db.close()


def build_printed_report(path: Path, show_progress: Callable[[str], None]) -> dict[str, Any]:
    """Return only the comparison of a folder's data sets with the printed lines."""
    app = apps.create_in_memory(Config(), SystemClock())
    try:
        return compare_printed_lines(
            path, {cik: book for cik, (_, book) in _ingest_companies(app, path, show_progress).items()}
        )
    finally:
        app.db.close()


def _ingest_companies(app: App, path: Path, show_progress: Callable[[str], None]) -> dict[int, tuple[str, CompanyBook]]:
    ingest.run(app, [path], IngestOptions(), lambda outcome: show_progress(outcome.path))
    with app.db.read() as tx:
        ciks = company_books.list_ciks(tx)
        return {cik: (companies.get_by_cik(tx, cik).name, company_books.load(tx, cik)) for cik in ciks}


def compare_printed_lines(path: Path, books: Mapping[int, CompanyBook]) -> dict[str, Any]:
    """Compare every data set under ``path`` with the figures.

    Return the counts of outcomes, the misses and lines of text. A miss in ``explained.tsv`` has its reason in "why".
    """
    score = printed.PrintedScore()
    for group in sources.iter_groups([path]):
        if isinstance(group, sources.Group):
            tables = {
                document_kinds.detect_kind(entry.read(document_kinds.MAX_PREFIX_BYTES), entry.name): entry
                for entry in group.entries
            }
            if tables.keys() >= printed.TABLES:
                printed.compare_data_set(tables, books, score)
    reasons = printed.read_explanations()
    for miss in score.misses:
        miss["why"] = reasons.get((miss["accession"], miss["metric"]), "")
    counts = {outcome: score.count_outcome(outcome) for outcome in printed.OUTCOMES}
    return {"counts": counts, "misses": score.misses, "lines": printed.render_lines(score)}


# The report requests thousands of filings in a minute.
NO_LIMIT = 1_000_000

# Scope of a test by the source of the served statement.
SCOPES = {"fsds": "store", "xbrl": "reading"}


def _compare_statements(app: App, path: Path) -> dict[str, Any]:
    """Compare every filing of the data sets under ``path`` with the API's answers.

    Return counts and misses for "store" (served from the data sets) and "reading" (served from XBRL documents).
    """
    served = _ServedStatements(app)
    agreements: list[agreement.Agreement] = []
    for group in sources.iter_groups([path]):
        if isinstance(group, sources.Group):
            tables = {
                document_kinds.detect_kind(entry.read(document_kinds.MAX_PREFIX_BYTES), entry.name): entry
                for entry in group.entries
            }
            if tables.keys() >= agreement.TABLES:
                agreements += agreement.compare_data_set(tables, served.statements)
    report = {}
    for source, name in SCOPES.items():
        source_agreements = [compared for compared in agreements if served.sources[compared.accession] == source]
        misses = [
            f"{compared.accession} {compared.statement}: {miss}"
            for compared in source_agreements
            for miss in compared.misses
        ]
        report[name] = {"totals": agreement.sum_counts(source_agreements), "misses": misses}
    return report


class _ServedStatements:
    """The statements of the API, requested as a caller with a key does."""

    def __init__(self, app: App) -> None:
        self._wsgi = WsgiApp(app)
        self._key = users.create(app, "accuracy@localhost.invalid", "yearly", app.clock.now()).api_key
        self.sources: dict[str, str] = {}

    def statements(self, accession: str) -> Mapping[str, Any] | None:
        """Return ``data.statements`` of a filing with its dimensions, or None if it is not stored."""
        environ: dict[str, Any] = {
            "PATH_INFO": f"/api/v1/xbrl/filing/{accession}/statements",
            "QUERY_STRING": "consolidated_only=false",
            "HTTP_X_API_KEY": self._key,
        }
        setup_testing_defaults(environ)
        status: list[str] = []

        def start_response(
            line: str, fields: list[tuple[str, str]], exc_info: object = None
        ) -> Callable[[bytes], None]:
            status.append(line)
            return lambda data: None

        answer = self._wsgi(environ, start_response)
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


def render_lines(report: dict[str, Any]) -> list[str]:
    """Return the report as lines of text."""
    figures = report["figures"]
    text = ["statements against the SEC's rows   statements  lines  in place  values  equal"]
    for name, scores in report["statements"].items():
        text += [
            f"{name + ' ' + kind:36} {counts['statements']:>9} {counts['lines']:>6} {counts['lines_served']:>9} "
            f"{counts['values']:>7} {counts['equal']:>6}"
            for kind, counts in scores["totals"].items()
        ]
        text += [f"miss: {miss}" for miss in scores["misses"]]
    text += ["", "figures against the table       rows  right  accuracy  expected  given  coverage"]
    for group in ("by_metric", "by_company"):
        text += [_render_score(name, scores) for name, scores in figures[group].items()]
    text += [_render_score("total", figures["total"]), ""]
    for miss in figures["misses"]:
        text.append(
            f"miss: {miss['company']} {miss['metric']} {miss['period']} {miss['basis']}: expected "
            f"{miss['expected']}, given {miss['given']}: {miss['why']}. {miss['note']}"
        )
    text += ["", "totals that add up              checked  consistent"]
    for industry, totals in report["identities"].items():
        for target, scores in totals.items():
            text.append(f"{industry + ' ' + target:38} {scores['checked']:>6} {scores['consistent']:>8}")
            text += [
                f"  {residual['company']} {residual['period']}: {residual['residual']} of {residual['reported']}"
                for residual in scores["residuals"][:5]
            ]
    checks = report["reproduced"]
    text += [
        "",
        f"cells that are the sum of their operands: {checks['cells'] - len(checks['wrong'])} of {checks['cells']}",
    ]
    text += [f"  {scores}" for scores in checks["wrong"]]
    checks = report["doubted"]
    text += ["", f"cells that are doubted: {len(checks['doubted'])} of {checks['cells']}"]
    text += [f"  {scores}" for scores in checks["doubted"]]
    return [*text, "", *render_printed_lines(report["printed"])]


def render_printed_lines(printed_report: Mapping[str, Any]) -> list[str]:
    """Return the comparison with printed lines as text, with every miss in words."""
    return [
        *printed_report["lines"],
        *(
            f"{miss['outcome']}: {miss['company']} {miss['accession']} {miss['period']} {miss['metric']}: "
            f"{miss['label']!r} says {miss['printed']} ({miss['line_tag']}), "
            f"given {miss['given']} {miss['taken'] or ''}. {miss['why']}"
            for miss in printed_report["misses"]
        ),
    ]


def _render_score(name: str, score: dict[str, Any]) -> str:
    return (
        f"{name:30} {score['rows']:>6} {score['right']:>6} {score['accuracy_pct']:>8}% "
        f"{score['expected']:>8} {score['given']:>6} {score['coverage_pct']:>8}%"
    )
