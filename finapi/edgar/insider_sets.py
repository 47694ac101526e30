"""The parser of the SEC's insider transactions data sets: ownership forms of a quarter in eight tables.

The tables are tab-separated. SUBMISSION has one row per form, REPORTINGOWNER one per owner, four tables have the rows
of transactions and holdings, and there are FOOTNOTES and OWNER_SIGNATURE. The first column of each is the accession
number. The parser finds the rows of a form in all tables and builds the record that :mod:`ownership_forms` builds from
XML. The tables leave out the time zones of dates and the order between transactions and holdings.

Columns are found by name, because they differ between quarters: AFF10B5ONE was added in 2023, and EXERCISE_DATE is
spelt EXCERCISE_DATE in one table. Source: the readme of the data sets, and their metadata.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from finapi.core.errors import ParseError
from finapi.edgar import identifiers, ownership_forms
from finapi.edgar.ownership_forms import Owner, OwnershipForm, OwnershipRow, TextParser

SUBMISSION = "submission"
OWNER = "owner"
FOOTNOTES = "footnotes"
SIGNATURE = "signature"
# Tables with the rows of a form, in the order in which the rows are returned.
ROW_TABLES = ("nonderiv-trans", "nonderiv-holding", "deriv-trans", "deriv-holding")
TABLES = (SUBMISSION, OWNER, *ROW_TABLES, FOOTNOTES, SIGNATURE)
REQUIRED_TABLES = (SUBMISSION, OWNER)

MAX_ROWS = 5_000_000  # Rows of one table. A quarter has about 300,000.

# Bytes of an accession number without and with its dashes.
ACCESSION_LENGTHS = (18, 20)
# The key of all rows whose first column is not an accession number.
OTHER_KEY = b"?"

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]

# The column of each table in ROW_TABLES that numbers its rows in the order of the form.
_KEY_COLUMNS = ("NONDERIV_TRANS_SK", "NONDERIV_HOLDING_SK", "DERIV_TRANS_SK", "DERIV_HOLDING_SK")


@dataclass(frozen=True, slots=True)
class FiledForm:
    """A form of a data set with its accession number and its filing date (ISO)."""

    accession: str
    filed: str
    form: OwnershipForm


def iter_forms(tables: Mapping[str, bytes], files: Mapping[str, str]) -> Iterator[FiledForm | ParseError]:
    """Yield each form of a data set, or the error of a form that cannot be parsed, in the order of SUBMISSION.

    ``tables`` are the contents of the tables by the names in :data:`TABLES`, ``files`` their paths for messages. Raise
    ParseError if a required table or column is missing.
    """
    for name in REQUIRED_TABLES:
        if name not in tables:
            raise ParseError(next(iter(files.values()), ""), "", f"a data set without its {name} table")
    tsv_tables = {name: _TsvTable(content, files[name]) for name, content in tables.items()}
    submissions = tsv_tables[SUBMISSION]
    submissions.require_columns("ACCESSION_NUMBER", "FILING_DATE", "DOCUMENT_TYPE", "ISSUERCIK", "ISSUERNAME")
    tsv_tables[OWNER].require_columns("ACCESSION_NUMBER", "RPTOWNERCIK", "RPTOWNER_RELATIONSHIP")
    for key in submissions.list_keys():
        try:
            yield _build_filed_form(tsv_tables, key)
        except ValueError as error:
            reason = error.reason if isinstance(error, ParseError) else str(error)
            yield ParseError(files[SUBMISSION], key.decode("latin-1")[:40], reason)


class _TsvTable:
    """A table with its column names and the offsets of the rows of each form."""

    def __init__(self, content: bytes, file: str) -> None:
        self.file = file
        self._content = content
        header_end = content.find(b"\n")
        if header_end < 0:
            header_end = len(content)
        header = content[:header_end].removeprefix(b"\xef\xbb\xbf").strip(b"\r").decode("latin-1")
        self._columns = {name: index for index, name in enumerate(header.strip().upper().split("\t"))}
        self.require_columns("ACCESSION_NUMBER")
        if self._columns["ACCESSION_NUMBER"] != 0:
            raise ParseError(file, "line 1", "the first column is not ACCESSION_NUMBER")
        self._row_offsets = self._find_rows(header_end + 1)

    def _find_rows(self, position: int) -> dict[bytes, array[int]]:
        """Return the offsets of rows by the text of their first column."""
        content = self._content
        row_offsets: dict[bytes, array[int]] = {}
        row_count = 0
        while position < len(content):
            end = content.find(b"\n", position)
            end = end if end >= 0 else len(content)
            key = content[position:end].split(b"\t", 1)[0].strip()
            row_count += 1
            if row_count > MAX_ROWS:
                raise ParseError(self.file, "", f"more than {MAX_ROWS} rows")
            if len(key) in ACCESSION_LENGTHS:
                row_offsets.setdefault(key, array("Q")).append(position)
            elif key:
                # All rows without an accession number are reported as one error, so they share a key without offsets.
                row_offsets.setdefault(OTHER_KEY, array("Q"))
            position = end + 1
        return row_offsets

    def require_columns(self, *columns: str) -> None:
        """Raise ParseError if one of these columns is missing."""
        for column in columns:
            if column not in self._columns:
                raise ParseError(self.file, "line 1", f"the column {column} is missing")

    def list_keys(self) -> list[bytes]:
        """Return the accession numbers in the order of the table, without repetitions."""
        return list(self._row_offsets)

    def iter_rows(self, key: bytes) -> Iterator[dict[str, str]]:
        """Yield the rows of a form as dictionaries from column to text, without empty cells."""
        for start in self._row_offsets.get(key, ()):
            end = self._content.find(b"\n", start)
            line = self._content[start : end if end >= 0 else len(self._content)].rstrip(b"\r")
            try:
                cells = line.decode("utf-8").split("\t")
            except UnicodeDecodeError:
                cells = line.decode("latin-1").split("\t")
            if len(cells) > len(self._columns):
                raise ParseError(self.file, cells[0][:40], "a row has more cells than there are columns")
            row = {}
            for column, index in self._columns.items():
                text = " ".join(cells[index].split()) if index < len(cells) else ""
                if text:
                    row[column] = text
            yield row


def _iter_rows(tables: Mapping[str, _TsvTable], name: str, key: bytes) -> Iterator[dict[str, str]]:
    return tables[name].iter_rows(key) if name in tables else iter(())


def _build_filed_form(tables: Mapping[str, _TsvTable], key: bytes) -> FiledForm:
    accession = identifiers.parse_accession(key.decode("latin-1"))
    if accession is None:
        raise ValueError("is not an accession number")
    submission_rows = list(tables[SUBMISSION].iter_rows(key))
    if len(submission_rows) > 1:
        raise ValueError("occurs twice in the table of submissions")
    submission = submission_rows[0]
    return FiledForm(
        accession=accession,
        filed=_parse_required(submission, "FILING_DATE", parse_date),
        form=_build_form(tables, key, submission),
    )


def _build_form(tables: Mapping[str, _TsvTable], key: bytes, submission: dict[str, str]) -> OwnershipForm:
    signature = next(_iter_rows(tables, SIGNATURE, key), {})
    form_type = _parse_required(submission, "DOCUMENT_TYPE", str)
    if form_type not in ownership_forms.FORM_TYPES:
        raise ValueError(f"DOCUMENT_TYPE: {form_type[:20]!r} is not an ownership form")
    owners = tuple(map(_build_owner, _iter_rows(tables, OWNER, key)))
    if not owners:
        raise ValueError("has no reporting owner")
    return OwnershipForm(
        form=form_type,
        schema=None,
        period=_parse_required(submission, "PERIOD_OF_REPORT", parse_date),
        original_date=_parse_optional(submission, "DATE_OF_ORIG_SUB", parse_date),
        not_subject_to_section_16=_parse_optional(submission, "NOT_SUBJECT_SEC16", ownership_forms.parse_boolean),
        no_securities_owned=_parse_optional(submission, "NO_SECURITIES_OWNED", ownership_forms.parse_boolean),
        rule_10b5_1=_parse_optional(submission, "AFF10B5ONE", ownership_forms.parse_boolean),
        issuer_cik=_parse_required(submission, "ISSUERCIK", identifiers.parse_cik),
        issuer_name=_parse_required(submission, "ISSUERNAME", str),
        symbol=submission.get("ISSUERTRADINGSYMBOL"),
        owners=owners,
        rows=_build_rows(tables, key),
        footnotes=_build_footnotes(tables, key),
        remarks=submission.get("REMARKS"),
        signature_name=signature.get("OWNERSIGNATURENAME"),
        signature_date=_parse_optional(signature, "OWNERSIGNATUREDATE", parse_date),
    )


def _build_footnotes(tables: Mapping[str, _TsvTable], key: bytes) -> tuple[tuple[str, str], ...]:
    footnotes: dict[str, str] = {}
    for row in _iter_rows(tables, FOOTNOTES, key):
        footnotes[_parse_required(row, "FOOTNOTE_ID", str)] = row.get("FOOTNOTE_TXT", "")
    return tuple(footnotes.items())


def _build_owner(row: dict[str, str]) -> Owner:
    # The boxes that are ticked, such as "Director,Officer".
    relationship = row.get("RPTOWNER_RELATIONSHIP", "").lower().replace(" ", "")
    return Owner(
        cik=_parse_required(row, "RPTOWNERCIK", identifiers.parse_cik),
        name=row.get("RPTOWNERNAME"),
        is_director="director" in relationship,
        is_officer="officer" in relationship,
        is_ten_percent_owner="tenpercent" in relationship or "10%" in relationship,
        is_other="other" in relationship,
        officer_title=row.get("RPTOWNER_TITLE"),
        other_text=row.get("RPTOWNER_TXT"),
        street1=row.get("RPTOWNER_STREET1"),
        street2=row.get("RPTOWNER_STREET2"),
        city=row.get("RPTOWNER_CITY"),
        state=row.get("RPTOWNER_STATE"),
        zip_code=row.get("RPTOWNER_ZIPCODE"),
    )


def _build_rows(tables: Mapping[str, _TsvTable], key: bytes) -> tuple[OwnershipRow, ...]:
    """Return the transactions and holdings of a form, table by table, in the order of the form in each."""
    rows: list[OwnershipRow] = []
    for name, key_column in zip(ROW_TABLES, _KEY_COLUMNS, strict=True):
        numbered_rows = [(int(row.get(key_column, "0")), row) for row in _iter_rows(tables, name, key)]
        if len(numbered_rows) > ownership_forms.MAX_ROWS:
            raise ValueError(f"more than {ownership_forms.MAX_ROWS} rows")
        numbered_rows.sort(key=lambda numbered_row: numbered_row[0])
        is_derivative = name.startswith("deriv")
        is_transaction = name.endswith("trans")
        rows += [_build_row(row, is_derivative, is_transaction) for _, row in numbered_rows]
    return tuple(rows)


def _build_row(row: dict[str, str], is_derivative: bool, is_transaction: bool) -> OwnershipRow:
    if any(len(text) > ownership_forms.MAX_CELL for text in row.values()):
        raise ValueError(f"a cell of more than {ownership_forms.MAX_CELL} characters")
    values: dict[str, Any] = {}
    footnote_ids: dict[str, tuple[str, ...]] = {}
    for column, (field, parse_text) in _COLUMNS.items():
        if column in row and field != "coding":
            values[field] = _parse_required(row, column, parse_text)
        references = row.get(f"{column}_FN")
        if references:
            # The footnotes of the coding are in one of two columns, depending on the quarter.
            if field == "equity_swap":
                field = "coding"
            footnote_ids[field] = tuple(dict.fromkeys(re.findall(r"[^\s,;]+", references)))
    if "title" not in values and "title" not in footnote_ids:
        raise ValueError("a row without SECURITY_TITLE")
    return OwnershipRow(
        is_derivative=is_derivative,
        is_transaction=is_transaction,
        footnote_ids=tuple(sorted(footnote_ids.items())),
        **values,
    )


def parse_date(text: str) -> str:
    """Return a date of the data sets, ``30-JUN-2026``, as an ISO date. Raise ValueError for any other text."""
    match = re.fullmatch(r"([0-9]{1,2})-([A-Z]{3})-([0-9]{4})", text.upper())
    if match is None:
        return ownership_forms.parse_date(text)
    day, month, year = match.groups()
    if month not in _MONTHS:
        raise ValueError(f"{text!r} is not a date")
    return date(int(year), _MONTHS.index(month) + 1, int(day)).isoformat()


def _parse_required(row: dict[str, str], column: str, parse_text: TextParser) -> Any:
    if column not in row:
        raise ValueError(f"has no {column}")
    try:
        return parse_text(row[column])
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _parse_optional(row: dict[str, str], column: str, parse_text: TextParser) -> Any:
    return _parse_required(row, column, parse_text) if column in row else None


# Columns of the four tables with rows: the field that each one fills, and the parser of its text.
_COLUMNS: dict[str, tuple[str, TextParser]] = {
    "SECURITY_TITLE": ("title", str),
    "TRANS_DATE": ("date", parse_date),
    "DEEMED_EXECUTION_DATE": ("deemed_date", parse_date),
    "TRANS_FORM_TYPE": ("form", ownership_forms.build_choice_parser("3", "4", "5")),
    "TRANS_CODE": ("code", ownership_forms.parse_code),
    "EQUITY_SWAP_INVOLVED": ("equity_swap", ownership_forms.parse_boolean),
    "EQUITY_SWAP_TRANS_CD": ("coding", str),
    "TRANS_TIMELINESS": ("timeliness", ownership_forms.build_choice_parser("E", "L")),
    "TRANS_SHARES": ("shares", ownership_forms.parse_number),
    "TRANS_TOTAL_VALUE": ("total_value", ownership_forms.parse_number),
    "TRANS_PRICEPERSHARE": ("price", ownership_forms.parse_number),
    "TRANS_ACQUIRED_DISP_CD": ("acquired_disposed", ownership_forms.build_choice_parser("A", "D")),
    "SHRS_OWND_FOLWNG_TRANS": ("following_shares", ownership_forms.parse_number),
    "VALU_OWND_FOLWNG_TRANS": ("following_value", ownership_forms.parse_number),
    "DIRECT_INDIRECT_OWNERSHIP": ("direct_or_indirect", ownership_forms.build_choice_parser("D", "I")),
    "NATURE_OF_OWNERSHIP": ("nature", str),
    "CONV_EXERCISE_PRICE": ("exercise_price", ownership_forms.parse_number),
    "EXCERCISE_DATE": ("exercise_date", parse_date),
    "EXERCISE_DATE": ("exercise_date", parse_date),
    "EXPIRATION_DATE": ("expiration_date", parse_date),
    "UNDLYNG_SEC_TITLE": ("underlying_title", str),
    "UNDLYNG_SEC_SHARES": ("underlying_shares", ownership_forms.parse_number),
    "UNDLYNG_SEC_VALUE": ("underlying_value", ownership_forms.parse_number),
}
