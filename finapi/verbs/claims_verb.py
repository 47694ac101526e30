"""The verb claims: compare the stated figures in a CSV file with the filings (``POST /api/v1/claims``).

A row of the file is a claim. Its columns are named like the members of a claim; other columns, such as the sentence
that a number is from, are copied. The output has the rows of the file with the verdicts.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from finapi.client.errors import ApiFailure
from finapi.client.synchronous import Client
from finapi.core import config as settings
from finapi.core import json, receipts
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.files import read_bounded
from finapi.store.datadir import Say
from finapi.verbs.api_verbs import EXIT_STATUS_NOTE, KEY, connect, get_api_key, report_failure
from finapi.verbs.verb import Perform, ProgressBar, Verb, arg, escape_unprintable

CLAIM_COLUMNS = ("ticker", "cik", "metric", "concept", "period", "value", "unit", "as_of", "tolerance")
REQUIRED_COLUMNS = ("period", "value")
RESULT_COLUMNS = (
    *("verdict", "reason_code", "filed_value", "filed_unit", "filed_period", "agreeing_value", "agreeing_period"),
    *("accession", "filed_at", "link"),
)
MAX_CALL_CLAIMS = 100
MAX_FILE_BYTES = 16 * 1024 * 1024
DIFFERENCE_STATUS = 6
AGREEING_VERDICTS = frozenset(["matches", "matches_first_filed", "restated_since"])
# Texts with these first characters are formulas to a spreadsheet.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[-+]?[0-9.,]+")


class _ClaimRow(NamedTuple):
    """A row of the file."""

    line_number: int
    members: Mapping[str, str]  # By column

    def build_claim(self) -> dict[str, Any]:
        """Return the claim of the row, without empty members. Raise UsageError if its tolerance is not a number."""
        claim: dict[str, Any] = {
            name: self.members[name].strip() for name in CLAIM_COLUMNS if self.members.get(name, "").strip()
        }
        if "tolerance" in claim:
            try:
                claim["tolerance"] = float(claim["tolerance"])
            except ValueError:
                raise UsageError(
                    f"line {self.line_number}: tolerance must be a number such as 0.01, not {claim['tolerance']!r}"
                ) from None
        return claim


def _run(args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform) -> int:
    columns, rows = _read_rows(args.file)
    claims = [row.build_claim() for row in rows]
    if args.receipt is not None:
        _append_receipt(args.receipt, b"")
    bar = ProgressBar(say)
    results: list[Mapping[str, Any]] = []
    try:
        with connect(config) as (url, send):
            client = Client(url, get_api_key(args, config), send=send)
            call_size = MAX_CALL_CLAIMS
            while len(results) < len(claims):
                call_claims = claims[len(results) : len(results) + call_size]
                try:
                    answer = client.post_claims(claims=call_claims, receipt=args.receipt is not None)
                except ApiFailure as failure:
                    if len(call_claims) == 1 or not _has_too_many_days(failure):
                        raise
                    call_size = len(call_claims) // 2
                    continue
                if args.receipt is not None:
                    _append_receipt(args.receipt, receipts.canonicalise(answer["data"]["receipt"]) + b"\n")
                results += answer["data"]["results"]
                bar.update("claims", "claims", len(results), len(claims))
    except ApiFailure as failure:
        return report_failure(say, failure, config.url, _name_line(failure, rows, len(results)))
    finally:
        bar.clear()
    if args.json:
        say("out", json.text({"results": results}))
    else:
        for line in _render_csv(columns, rows, results):
            say("out", line)
    is_agreeing = all(result["verdict"] in AGREEING_VERDICTS for result in results)
    return 0 if is_agreeing else DIFFERENCE_STATUS


def _read_rows(name: str) -> tuple[Sequence[str], list[_ClaimRow]]:
    """Return the columns and the rows of a file, or of standard input for ``-``.

    Raise UsageError if it cannot be read, or if a column or a required member is missing.
    """
    try:
        data = read_bounded(sys.stdin.buffer, MAX_FILE_BYTES + 1) if name == "-" else _read_file(Path(name))
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"{name}: has more than {MAX_FILE_BYTES:,} bytes")
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), restkey="", strict=True)
        columns = list(reader.fieldnames or ())
        for column in REQUIRED_COLUMNS:
            if column not in columns:
                raise UsageError(f"{name}: has no column {column}; the first line names the columns")
        rows = []
        for members in reader:
            row = _ClaimRow(reader.line_num, {column: members[column] or "" for column in columns})
            if "" in members:
                raise UsageError(f"{name}: line {row.line_number} has more fields than the first line")
            for column in REQUIRED_COLUMNS:
                if not row.members[column].strip():
                    raise UsageError(f"{name}: line {row.line_number} has no {column}")
            rows.append(row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{name}: is not CSV in UTF-8: {error}") from None
    if not rows:
        raise UsageError(f"{name}: has no claims after the first line")
    return columns, rows


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return read_bounded(file, MAX_FILE_BYTES + 1)


def _append_receipt(name: str, line: bytes) -> None:
    """Append a line to the file of receipts. Raise UsageError if it cannot be written.

    An empty line is written before the first call, so that a call is not paid for if its receipt cannot be stored.
    """
    try:
        with Path(name).open("ab") as file:
            file.write(line)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None


def _has_too_many_days(failure: ApiFailure) -> bool:
    """Return True if a call was refused because its claims are about too many past days. Such a call is free."""
    return failure.details.get("param") == "claims"


def _name_line(failure: ApiFailure, rows: Sequence[_ClaimRow], first_index: int) -> str:
    """Return a sentence that names the line of a refused claim, or an empty text for another failure."""
    match = re.match(r"claims\[([0-9]+)\]", str(failure.details.get("param", "")))
    if match is None:
        return ""
    return f" It is in line {rows[first_index + int(match[1])].line_number}."


def _render_csv(
    columns: Sequence[str], rows: Sequence[_ClaimRow], results: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the lines of the output: the columns of the file, followed by those of the verdicts."""
    copied_columns = [column for column in columns if column not in RESULT_COLUMNS]
    yield _render_line([*copied_columns, *RESULT_COLUMNS])
    for row, result in zip(rows, results, strict=True):
        found = _build_result_members(result)
        copied = [row.members[column] for column in copied_columns]
        yield _render_line([*copied, *(found[column] for column in RESULT_COLUMNS)])


def _render_line(fields: Sequence[Any]) -> str:
    """Return a line of CSV. A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    texts = []
    for field in fields:
        text = "" if field is None else str(field)
        is_formula = text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text)
        texts.append(f"'{text}" if is_formula else text)
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(texts)
    return escape_unprintable(buffer.getvalue())


def _build_result_members(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a result by their columns."""
    cell = result["cell"]
    agreeing_cell = result["agreeing_cell"]
    source = agreeing_cell or cell or {}
    return {
        "verdict": result["verdict"],
        "reason_code": result["reason_code"],
        "filed_value": cell and cell["value"],
        "filed_unit": cell and cell["unit"],
        "filed_period": cell and _format_period(cell),
        "agreeing_value": agreeing_cell and agreeing_cell["value"],
        "agreeing_period": agreeing_cell and _format_period(agreeing_cell),
        "accession": source.get("accession"),
        "filed_at": source.get("filed_at"),
        "link": source.get("link"),
    }


def _format_period(cell: Mapping[str, Any]) -> str:
    """Return the name of a period, such as "FY 2022", or its days if it has none."""
    if cell["fiscal_period"] is None:
        return "..".join(filter(None, (cell["period_start"], cell["period_end"])))
    name = f"{cell['fiscal_period']} {cell['fiscal_year']}"
    return f"{cell['period']} {name}" if cell["period"] in ("YTD", "TTM") else name


CLAIMS = Verb(
    "compare the figures in a CSV file with the filings",
    (
        arg("file", metavar="FILE", help=f"CSV with the columns {', '.join(CLAIM_COLUMNS)}; - is standard input"),
        arg("--receipt", metavar="FILE", help="append the receipt of each call to FILE (finapi receipts verify FILE)"),
        KEY,
    ),
    _run,
    settings=("url",),
    note=f"{EXIT_STATUS_NOTE.removesuffix('.')}, {DIFFERENCE_STATUS} no filing confirms a claim.",
)
