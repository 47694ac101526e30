"""The SEC's quarterly insider transactions data sets: eight tab-separated tables, read back as forms.

A row names its filing in ACCESSION_NUMBER; columns are read by name, because they differ between quarters
(AFF10B5ONE came in 2023, EXCERCISE_DATE is misspelt in one table and not in the other). What the tables leave
out of a form (a date zone, the order between transactions and holdings) cannot be told from them.
Source: the readme of the data sets, and their metadata.
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

SUBMISSION, OWNER, FOOTNOTES, SIGNATURE = "submission", "owner", "footnotes", "signature"
# The rows of a form, in the order in which they are given.
ROW_TABLES = ("nonderiv-trans", "nonderiv-holding", "deriv-trans", "deriv-holding")
TABLES = (SUBMISSION, OWNER, *ROW_TABLES, FOOTNOTES, SIGNATURE)
REQUIRED_TABLES = (SUBMISSION, OWNER)

MAX_ROWS = 5_000_000  # of one table; a quarter has about 300,000

_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
# Bytes of an accession number with and without its dashes, and what stands for everything else in its column.
ACCESSION_LENGTHS, OTHER_KEY = (18, 20), b"?"

_KEYS = ("NONDERIV_TRANS_SK", "NONDERIV_HOLDING_SK", "DERIV_TRANS_SK", "DERIV_HOLDING_SK")


@dataclass(frozen=True, slots=True)
class FiledForm:
    """A form of a data set with its accession number and filing date (ISO)."""

    accession: str
    filed: str
    form: OwnershipForm


def iter_forms(tables: Mapping[str, bytes], files: Mapping[str, str]) -> Iterator[FiledForm | ParseError]:
    """Yield every filing of a data set, in the order of its SUBMISSION table, or why one cannot be read.

    ``tables`` holds the documents by the names of :data:`TABLES`, ``files`` their paths for messages. Raises
    ParseError when a table that is needed is not there, or a table lacks its columns.
    """
    for needed in REQUIRED_TABLES:
        if needed not in tables:
            raise ParseError(next(iter(files.values()), ""), "", f"a data set without its {needed} table")
    opened = {name: _TsvTable(data, files[name]) for name, data in tables.items()}
    opened[SUBMISSION].require("ACCESSION_NUMBER", "FILING_DATE", "DOCUMENT_TYPE", "ISSUERCIK", "ISSUERNAME")
    opened[OWNER].require("ACCESSION_NUMBER", "RPTOWNERCIK", "RPTOWNER_RELATIONSHIP")
    for accession in opened[SUBMISSION].accessions():
        try:
            yield _filed(opened, accession)
        except ValueError as error:
            place = accession.decode("latin-1")[:40]
            reason = error.reason if isinstance(error, ParseError) else str(error)
            yield ParseError(files[SUBMISSION], place, reason)


class _TsvTable:
    """One table: its columns by name, and where the rows of each filing begin."""

    def __init__(self, data: bytes, file: str) -> None:
        self.file = file
        self._data = data
        end = data.find(b"\n")
        head = data[: end if end >= 0 else len(data)].removeprefix(b"\xef\xbb\xbf").strip(b"\r")
        self._columns = {name: place for place, name in enumerate(head.decode("latin-1").strip().upper().split("\t"))}
        self.require("ACCESSION_NUMBER")
        if self._columns["ACCESSION_NUMBER"] != 0:
            raise ParseError(file, "line 1", "the first column is not ACCESSION_NUMBER")
        self._starts: dict[bytes, array[int]] = {}
        position, rows = end + 1 if end >= 0 else len(data), 0
        while position < len(data):
            end = data.find(b"\n", position)
            end = end if end >= 0 else len(data)
            key = data[position:end].split(b"\t", 1)[0].strip()
            rows += 1
            if rows > MAX_ROWS:
                raise ParseError(file, "", f"more than {MAX_ROWS} rows")
            if len(key) in ACCESSION_LENGTHS:
                self._starts.setdefault(key, array("Q")).append(position)
            elif key:
                # Nobody asks for its rows: it is known once, however many there are.
                self._starts.setdefault(OTHER_KEY, array("Q"))
            position = end + 1

    def require(self, *columns: str) -> None:
        """ParseError when one of these columns is not there."""
        for column in columns:
            if column not in self._columns:
                raise ParseError(self.file, "line 1", f"the column {column} is missing")

    def accessions(self) -> list[bytes]:
        """The accession numbers, each once."""
        return list(self._starts)

    def rows(self, accession: bytes) -> Iterator[dict[str, str]]:
        """The rows of a filing: column to text, without the empty ones."""
        for start in self._starts.get(accession, ()):
            end = self._data.find(b"\n", start)
            line = self._data[start : end if end >= 0 else len(self._data)].rstrip(b"\r")
            try:
                cells = line.decode("utf-8").split("\t")
            except UnicodeDecodeError:
                cells = line.decode("latin-1").split("\t")
            if len(cells) > len(self._columns):
                raise ParseError(self.file, cells[0][:40], "a row has more cells than there are columns")
            yield {
                name: " ".join(cells[place].split())
                for name, place in self._columns.items()
                if place < len(cells) and cells[place].strip()
            }


def _filed(tables: Mapping[str, _TsvTable], key: bytes) -> FiledForm:
    accession = identifiers.parse_accession(key.decode("latin-1"))
    if accession is None:
        raise ValueError("is not an accession number")
    submissions = list(tables[SUBMISSION].rows(key))
    if len(submissions) > 1:
        raise ValueError("occurs twice in the table of submissions")
    row = submissions[0]
    return FiledForm(accession, _needed(row, "FILING_DATE", parse_date), _form(tables, key, row))


def _form(tables: Mapping[str, _TsvTable], key: bytes, row: dict[str, str]) -> OwnershipForm:
    signature = next(iter(_rows(tables, SIGNATURE, key)), {})
    document = _needed(row, "DOCUMENT_TYPE", str)
    if document not in ownership_forms.FORM_TYPES:
        raise ValueError(f"DOCUMENT_TYPE: {document[:20]!r} is not an ownership form")
    owners = tuple(_owner(one) for one in _rows(tables, OWNER, key))
    if not owners:
        raise ValueError("has no reporting owner")
    return OwnershipForm(
        form=document,
        schema=None,
        period=_needed(row, "PERIOD_OF_REPORT", parse_date),
        original_date=_optional(row, "DATE_OF_ORIG_SUB", parse_date),
        not_subject_to_section_16=_optional(row, "NOT_SUBJECT_SEC16", ownership_forms.parse_boolean),
        no_securities_owned=_optional(row, "NO_SECURITIES_OWNED", ownership_forms.parse_boolean),
        rule_10b5_1=_optional(row, "AFF10B5ONE", ownership_forms.parse_boolean),
        issuer_cik=_needed(row, "ISSUERCIK", identifiers.parse_cik),
        issuer_name=_needed(row, "ISSUERNAME", str),
        symbol=row.get("ISSUERTRADINGSYMBOL"),
        owners=owners,
        rows=tuple(one for table in ROW_TABLES for one in _table_rows(tables, table, key)),
        footnotes=tuple(
            {
                _needed(one, "FOOTNOTE_ID", str): one.get("FOOTNOTE_TXT", "") for one in _rows(tables, FOOTNOTES, key)
            }.items()
        ),
        remarks=row.get("REMARKS"),
        signature_name=signature.get("OWNERSIGNATURENAME"),
        signature_date=_optional(signature, "OWNERSIGNATUREDATE", parse_date),
    )


def _rows(tables: Mapping[str, _TsvTable], name: str, key: bytes) -> Iterator[dict[str, str]]:
    return tables[name].rows(key) if name in tables else iter(())


def _owner(row: dict[str, str]) -> Owner:
    # "Director,Officer": the words of the boxes that are ticked.
    said = row.get("RPTOWNER_RELATIONSHIP", "").lower().replace(" ", "")
    return Owner(
        cik=_needed(row, "RPTOWNERCIK", identifiers.parse_cik),
        name=row.get("RPTOWNERNAME"),
        is_director="director" in said,
        is_officer="officer" in said,
        is_ten_percent_owner="tenpercent" in said or "10%" in said,
        is_other="other" in said,
        officer_title=row.get("RPTOWNER_TITLE"),
        other_text=row.get("RPTOWNER_TXT"),
        street1=row.get("RPTOWNER_STREET1"),
        street2=row.get("RPTOWNER_STREET2"),
        city=row.get("RPTOWNER_CITY"),
        state=row.get("RPTOWNER_STATE"),
        zip_code=row.get("RPTOWNER_ZIPCODE"),
    )


def _table_rows(tables: Mapping[str, _TsvTable], name: str, key: bytes) -> list[OwnershipRow]:
    place = ROW_TABLES.index(name)
    found = [(int(row.get(_KEYS[place], "0")), row) for row in _rows(tables, name, key)]
    if len(found) > ownership_forms.MAX_ROWS:
        raise ValueError(f"more than {ownership_forms.MAX_ROWS} rows")
    # The keys count up in the order of the form.
    found.sort(key=lambda one: one[0])
    return [_row(row, derivative=name.startswith("deriv"), transaction=name.endswith("trans")) for _, row in found]


def _row(row: dict[str, str], *, derivative: bool, transaction: bool) -> OwnershipRow:
    if any(len(text) > ownership_forms.MAX_CELL for text in row.values()):
        raise ValueError(f"a cell of more than {ownership_forms.MAX_CELL} characters")
    values: dict[str, Any] = {"is_derivative": derivative, "is_transaction": transaction}
    notes: dict[str, tuple[str, ...]] = {}
    for column, (field, read) in _COLUMNS.items():
        if column in row and field != "coding":
            values[field] = _needed(row, column, read)
        noted = row.get(f"{column}_FN")
        if noted:
            # Footnotes of the coding stand under two names, by quarter.
            field = "coding" if field == "equity_swap" else field
            notes[field] = tuple(dict.fromkeys(re.findall(r"[^\s,;]+", noted)))
    if "title" not in values and "title" not in notes:
        raise ValueError("a row without SECURITY_TITLE")
    return OwnershipRow(**values, footnote_ids=tuple(sorted(notes.items())))


def parse_date(text: str) -> str:
    """A date as the data sets write it, ``30-JUN-2026``, in ISO form; ValueError when it is none."""
    found = re.fullmatch(r"([0-9]{1,2})-([A-Z]{3})-([0-9]{4})", text.upper())
    if found is None:
        return ownership_forms.parse_date(text)
    if found[2] not in _MONTHS:
        raise ValueError(f"{text!r} is not a date")
    return date(int(found[3]), _MONTHS.index(found[2]) + 1, int(found[1])).isoformat()


def _needed(row: dict[str, str], column: str, read: TextParser) -> Any:
    if column not in row:
        raise ValueError(f"has no {column}")
    try:
        return read(row[column])
    except ValueError as error:
        raise ValueError(f"{column}: {error}") from None


def _optional(row: dict[str, str], column: str, read: TextParser) -> Any:
    return _needed(row, column, read) if column in row else None


_COLUMNS: dict[str, tuple[str, TextParser]] = {
    "SECURITY_TITLE": ("title", str),
    "TRANS_DATE": ("date", parse_date),
    "DEEMED_EXECUTION_DATE": ("deemed_date", parse_date),
    "TRANS_FORM_TYPE": ("form", ownership_forms.choice_parser("3", "4", "5")),
    "TRANS_CODE": ("code", ownership_forms.parse_code),
    "EQUITY_SWAP_INVOLVED": ("equity_swap", ownership_forms.parse_boolean),
    "EQUITY_SWAP_TRANS_CD": ("coding", str),
    "TRANS_TIMELINESS": ("timeliness", ownership_forms.choice_parser("E", "L")),
    "TRANS_SHARES": ("shares", ownership_forms.parse_number),
    "TRANS_TOTAL_VALUE": ("total_value", ownership_forms.parse_number),
    "TRANS_PRICEPERSHARE": ("price", ownership_forms.parse_number),
    "TRANS_ACQUIRED_DISP_CD": ("acquired_disposed", ownership_forms.choice_parser("A", "D")),
    "SHRS_OWND_FOLWNG_TRANS": ("following_shares", ownership_forms.parse_number),
    "VALU_OWND_FOLWNG_TRANS": ("following_value", ownership_forms.parse_number),
    "DIRECT_INDIRECT_OWNERSHIP": ("direct_or_indirect", ownership_forms.choice_parser("D", "I")),
    "NATURE_OF_OWNERSHIP": ("nature", str),
    "CONV_EXERCISE_PRICE": ("exercise_price", ownership_forms.parse_number),
    "EXCERCISE_DATE": ("exercise_date", parse_date),
    "EXERCISE_DATE": ("exercise_date", parse_date),
    "EXPIRATION_DATE": ("expiration_date", parse_date),
    "UNDLYNG_SEC_TITLE": ("underlying_title", str),
    "UNDLYNG_SEC_SHARES": ("underlying_shares", ownership_forms.parse_number),
    "UNDLYNG_SEC_VALUE": ("underlying_value", ownership_forms.parse_number),
}
