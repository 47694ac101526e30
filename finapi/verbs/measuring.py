"""accuracy: how right the figures made of a folder of documents are."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from wsgiref.util import setup_testing_defaults

from finapi import config as settings
from finapi.config import Config
from finapi.datadir import Say
from finapi.errors import UsageError
from finapi.verbs.verb import Perform, Verb, one_line

if TYPE_CHECKING:
    from finapi.app import App

# The share of rows that must be exactly right, in per cent.
ENOUGH = 98.0


def _arguments(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="folder of documents to read into a store of its own")
    parser.add_argument(
        "--truth", help="table of expected figures (default: ../truth/figures.tsv beside PATH)"
    )
    parser.add_argument("--json", action="store_true", help="print the report as one JSON document")


def _accuracy(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    report = measured(Path(args.path), Path(args.truth) if args.truth else None, say)
    if args.json:
        say("out", json.dumps(report))
    else:
        for line in _lines(report):
            say("out", one_line(line))
    wrong = any(one["misses"] for one in report["statements"].values())
    return 0 if report["figures"]["total"]["accuracy_pct"] >= ENOUGH and not wrong else 1


def measured(path: Path, truth: Path | None, say: Say) -> dict[str, Any]:
    """The report on a folder, read into a store in memory: statements against the SEC's rows, metrics against a
    table, totals against their parts."""
    from finapi import app as apps
    from finapi.clock import SystemClock
    from finapi.market import accuracy, company_books, ingest

    truth = truth or path.parent / "truth" / "figures.tsv"
    if not path.exists() or not truth.is_file():
        raise UsageError(f"{truth if path.exists() else path}: is not there")
    rows = accuracy.expected(truth.read_text(encoding="utf-8"), str(truth))
    app = apps.in_memory(Config(xbrl_per_minute=NO_LIMIT, xbrl_burst=NO_LIMIT), SystemClock())
    try:
        ingest.run(app, [path], ingest.Given(), lambda outcome: say("progress", one_line(outcome.path)))
        say("progress", "")
        with app.db.read() as tx:
            held = company_books.all_of(tx)
        figures = accuracy.compared(rows, lambda cik: held.get(cik, (None, None))[1])
        named = [(name, one) for name, one in held.values() if name is not None and one is not None]
        return {
            "statements": _statements(app, path),
            "figures": figures.shown(),
            "identities": accuracy.identities(named),
        }
    finally:
        app.db.close()


# The report asks for thousands of filings in a minute.
NO_LIMIT = 1_000_000

# What agreement proves, by the source of the statement that is served.
PROVES = {"fsds": "store", "xbrl": "reading"}


def _statements(app: App, path: Path) -> dict[str, Any]:
    """Every filing of the data sets under ``path`` as the API serves it against its rows: "store" where it is served
    from them, "reading" where from its own XBRL documents; counts by statement, and every miss."""
    from finapi.edgar import recognise
    from finapi.market import agreement, sources

    served = _Served(app)
    found: list[agreement.Agreement] = []
    for group in sources.groups([path]):
        if isinstance(group, sources.Group):
            tables = {recognise.kind(one.read(recognise.ENOUGH), one.name): one for one in group.entries}
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
        from finapi import accounts
        from finapi.web.wsgi import WsgiApp

        self._wsgi = WsgiApp(app)
        self._key = accounts.create(app, "accuracy@localhost.invalid", "yearly", app.clock.now()).api_key
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

        def started(
            line: str, fields: list[tuple[str, str]], exc_info: object = None
        ) -> Callable[[bytes], None]:
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


def _lines(report: dict[str, Any]) -> list[str]:
    figures = report["figures"]
    lines = ["statements against the SEC's rows   statements  lines  in place  values  equal"]
    for name, one in report["statements"].items():
        lines += [
            f"{name + ' ' + kind:36} {of['statements']:>9} {of['lines']:>6} {of['lines_served']:>9} "
            f"{of['values']:>7} {of['equal']:>6}"
            for kind, of in one["totals"].items()
        ]
        lines += [f"miss: {miss}" for miss in one["misses"]]
    lines += ["", "figures against the table       rows  right  accuracy  expected  given  coverage"]
    for group in ("by_metric", "by_company"):
        lines += [_score(name, one) for name, one in figures[group].items()]
    lines += [_score("total", figures["total"]), ""]
    for miss in figures["misses"]:
        lines.append(
            f"miss: {miss['company']} {miss['metric']} {miss['period']} {miss['basis']}: expected "
            f"{miss['expected']}, given {miss['given']}: {miss['why']}. {miss['note']}"
        )
    lines += ["", "totals that add up              checked  consistent"]
    for industry, totals in report["identities"].items():
        for target, one in totals.items():
            lines.append(f"{industry + ' ' + target:38} {one['checked']:>6} {one['consistent']:>8}")
            lines += [
                f"  {left['company']} {left['period']}: {left['residual']} of {left['reported']}"
                for left in one["residuals"][:5]
            ]
    return lines


def _score(name: str, one: dict[str, Any]) -> str:
    return (
        f"{name:30} {one['rows']:>6} {one['right']:>6} {one['accuracy_pct']:>8}% "
        f"{one['expected']:>8} {one['given']:>6} {one['coverage_pct']:>8}%"
    )


ACCURACY = Verb("measure the figures made of a folder of documents", _arguments, _accuracy)
