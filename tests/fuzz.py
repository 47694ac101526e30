"""A fuzzer of the parsers: ``python -m tests.fuzz PARSER SECONDS`` (CPU seconds; ``all`` takes each parser in turn).

It damages real documents of ``../shared/edgar``, or documents of the tests if those are missing, and checks each run:
only ParseError is raised, time grows no faster than length, and memory stays below twenty times the input. An input
that violates this is written to a directory (``--keep``), and the exit status is 1. A run with the same ``--seed``
damages the same documents in the same way.

The targets ``stored_trades``, ``stored_13f`` and ``stored_funds`` also store several documents that belong together:
the forms of a chain of owners, the 13F reports of a quarter, and the N-PORT reports of a fund. They check the rows.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import sys
import time
import traceback
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FrameType

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ParseError
from finapi.edgar import (
    companyfacts,
    cusip_lists,
    document_kinds,
    form_indexes,
    fund_reports,
    getcurrent,
    index_documents,
    insider_sets,
    ownership_forms,
    sale_notices,
    schedules,
    sgml,
    statement_sets,
    submissions,
    thirteenf,
    tickers,
    xml_encodings,
    xml_repair,
)
from finapi.edgar.xbrl import InlinePage, filer_schema, linkbases, parse_inline, parse_instance
from finapi.market.documents import submission_documents
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.funds import fund_report_rows, fund_report_store
from finapi.market.holdings import holdings_report, holdings_store
from finapi.market.insiders import form_bodies, insider_store
from finapi.market.prices import price_csv
from finapi.market.reference import cusip_map
from finapi.store.db import Transaction
from tests.support import fund_report_xml, inline_pages, ownership_xml, statement_set_tables
from tests.support import schedule_xml as made
from tests.support import thirteenf_xml as holdings
from tests.support.raw_sql import run_sql

EDGAR = Path(__file__).parents[2] / "shared" / "edgar"

SET_APART = b"\x1f"  # between the tables of a data set, which are damaged as one text
LONGEST = 2_000_000  # bytes of a damaged document
STORED_AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
STORED_DOCUMENTS = 8  # documents of one run that are stored
WHOLE = 30_000  # bytes of a document beyond which most runs take a piece of it, so that more runs are made
KEPT = 400  # damaged documents that led somewhere new and are damaged further
HANG = 20.0  # seconds of CPU
SLOW = (0.5, 20e-6)  # seconds of CPU that a run may take: at first, and for each byte
MEMORY = 20  # times the input
LEAST = 32_768  # bytes that count as the input of a shorter one: decoders and tables have a size of their own
TRACED = 20  # every how many runs memory is looked at, which makes a run several times slower


class Hang(BaseException):
    """A run that took longer than any document may take."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parser, and the documents to begin with."""

    read: Callable[[bytes], object]
    seeds: Callable[[], list[bytes]]


@dataclass(slots=True)
class Tally:
    """The results of the runs of one parser."""

    runs: int = 0
    read: int = 0
    seconds: float = 0.0
    most_memory: float = 0.0
    slowest: float = 0.0
    outcomes: set[str] = field(default_factory=set)
    findings: dict[str, bytes] = field(default_factory=dict)


def _files(*patterns: str) -> list[bytes]:
    return [file.read_bytes() for pattern in patterns for file in sorted(EDGAR.glob(pattern))]


def _parts(pattern: str, mark: bytes) -> list[bytes]:
    """Return the documents of full submissions whose text contains a mark."""
    bodies = []
    for data in _files(pattern):
        bodies += [linkbase.body.strip() for linkbase in sgml.iter_documents(data, "seed") if mark in linkbase.body]
    return bodies


def _shorter(data: bytes) -> bytes:
    """Return a JSON document with lists cut to twelve entries and objects to sixty members."""

    def cut(value: object) -> object:
        if isinstance(value, list):
            return [cut(linkbase) for linkbase in value[:12]]
        if isinstance(value, dict):
            return {name: cut(linkbase) for name, linkbase in list(value.items())[:60]}
        return value

    return json.dumps(cut(json.loads(data))).encode()


def _fewer(data: bytes, element: bytes, count: int) -> bytes:
    """Return an XML document with only the first ``count`` elements of a name."""
    parts = data.split(b"</" + element + b">")
    return (b"</" + element + b">").join([*parts[:count], parts[-1]])


def _shorter_page(data: bytes) -> bytes:
    """Return an inline page with its header and the first of its tables."""
    end = data.find(b"</table>", data.find(b"</ix:header>") + 120_000) + len(b"</table>")
    open_divs = data.count(b"<div", 0, end) - data.count(b"</div>", 0, end)
    return data[:end] + b"</div>" * open_divs + b"</body></html>"


def _with_shorter(files: list[bytes], shorter: Callable[[bytes], bytes]) -> list[bytes]:
    """Return the documents and six shorter ones for each, so that more runs are possible."""
    return [*files, *[shorter(data) for data in files] * 6]


def _sgml(data: bytes) -> object:
    return sgml.parse_header(data, "f"), list(sgml.iter_documents(data, "f"))


def _submissions(data: bytes) -> object:
    if b'"filings"' in data:
        return submissions.parse_company(data, "f")
    return submissions.parse_older_page(data, "f")


def _thirteenf(data: bytes) -> object:
    if b"nformationTable" in data or b"infoTable" in data:
        return thirteenf.parse_table(data, "f")
    return thirteenf.parse_cover(data, "f")


def _insider_sets(data: bytes) -> object:
    tables = {}
    for part in data.split(SET_APART):
        name, _, rows = part.partition(b"\n")
        tables[name.decode("latin-1")] = rows
    if insider_sets.SUBMISSION not in tables:
        raise ParseError("f", "", "has no table of submissions")
    return list(insider_sets.iter_forms(tables, {name: name for name in tables}))


class _Rollback(Exception):
    """Ends a transaction whose rows are not to be stored."""


@cache
def _database() -> App:
    return apps.create_in_memory(Config(), FixedClock(STORED_AT))


def _store(data: bytes, store: Callable[[Transaction, Sequence[bytes]], object]) -> None:
    """Call ``store`` with the documents in ``data``, in a transaction that is rolled back."""
    try:
        with _database().db.write() as tx:
            store(tx, data.split(SET_APART)[:STORED_DOCUMENTS])
            raise _Rollback
    except _Rollback:
        pass


def _metadata(number: int) -> FilingMetadata:
    """Return the metadata of a document that was filed a day after the one before it."""
    accession = f"0001234567-25-{number:06}"
    return FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=f"2025-11-{number + 10:02}")


def _store_trades(tx: Transaction, documents: Sequence[bytes]) -> None:
    """Store ownership forms. Check that repeats name a row of another form that is not a repeat itself."""
    forms = [ownership_forms.parse(document, "f") for document in documents]
    for number, form in enumerate(forms, 1):
        assert form_bodies.decode_form(zlib.compress(form_bodies.encode_form(form))) == form
        insider_store.upsert_form(tx, form, _metadata(number), STORED_AT)
    rows = {row["id"]: row for row in run_sql(tx, "SELECT id, form_id, same_trade_as FROM insider_transactions")}
    repeats = [(row["form_id"], row["same_trade_as"]) for row in rows.values() if row["same_trade_as"] is not None]
    for form_id, row_id in repeats:
        assert rows[row_id]["same_trade_as"] is None
        assert rows[row_id]["form_id"] != form_id
    assert len(set(repeats)) == len(repeats), "two rows of a form repeat the same row"


def _store_13f(tx: Transaction, documents: Sequence[bytes]) -> None:
    """Store 13F reports, of which each is a cover and a table. Check that sums of securities are those of positions."""
    for number in range(0, len(documents) - 1, 2):
        cover = thirteenf.parse_cover(documents[number], "f")
        rows = thirteenf.parse_table(documents[number + 1], "f")
        digest = sha256(documents[number] + documents[number + 1]).digest()
        report = holdings_report.build_report(cover, rows, digest, 2, "f")
        holdings_store.store_report(tx, report, _metadata(number + 1), STORED_AT)
    positions = run_sql(
        tx,
        "SELECT period, security_id, count(*), sum(shares), sum(value) FROM positions WHERE kind = 0 AND status <> 5 "
        "GROUP BY period, security_id ORDER BY period, security_id",
    )
    sums = run_sql(
        tx,
        "SELECT period, security_id, funds, shares, value FROM security_quarters WHERE funds > 0 "
        "ORDER BY period, security_id",
    )
    assert [tuple(row) for row in positions] == [tuple(row) for row in sums]


def _store_funds(tx: Transaction, documents: Sequence[bytes]) -> None:
    """Store N-PORT reports. Check that they are read back as stored, and that each fund has one latest report."""
    for number, document in enumerate(documents, 1):
        report = fund_reports.parse(document, "f")
        assert fund_report_rows.unpack_body(fund_report_rows.pack_body(report)) == replace(report, positions=())
        fund_report_store.upsert(tx, report, _metadata(number), STORED_AT)
    for row in run_sql(tx, "SELECT fund_id, sum(is_latest) AS number FROM fund_reports GROUP BY fund_id"):
        assert row["number"] == 1


def _chains_of_owners() -> list[bytes]:
    """Return the forms of a fund, its manager, a director and an amendment, which report the same purchases."""
    people = (("0000000201", "Heron Bay Fund LP"), ("0000000202", "Heron Bay Advisers LLC"), ("0000000203", "Marsh Ed"))
    fund, manager, director = (
        ownership_xml.owner(person, flags=flags, title=None, street="1 Main Street")
        for person, flags in zip(people, ("ten", "ten", "director ten"), strict=True)
    )
    purchases = [ownership_xml.transaction("P", shares, "25.12", after="5000") for shares in ("1000", "1000", "70")]
    terms = {"hands": "I", "nature": "By Heron Bay Fund LP", "after": "5000"}
    indirect = ownership_xml.transaction("P", "1000", "25.1234", **terms, notes="F1", price_notes="F2")
    option = ownership_xml.transaction("M", "70", None, derivative="1.5", title="Option (ADS)")
    footnotes = {"F1": "Held by Heron Bay Fund LP, of which Marsh Ed is the manager.", "F2": "In euros, 10 per ADS."}
    chain = [
        ownership_xml.form(*purchases, owners=(fund,)),
        ownership_xml.form(indirect, indirect, owners=(manager, fund), footnotes=footnotes),
        ownership_xml.form(indirect, option, owners=(director,), footnotes=footnotes, remarks="Under a 10b5-1 plan"),
        ownership_xml.form(*purchases[1:], owners=(fund,), kind="4/A", original="2025-11-11"),
    ]
    return [SET_APART.join(chain), SET_APART.join(chain[:2]), SET_APART.join(chain[::-1])]


def _quarters_of_funds() -> list[bytes]:
    """Return 13F reports of two funds: two quarters, a RESTATEMENT, NEW HOLDINGS, a 13F-CTR, and placeholder CUSIPs."""
    rows = [
        holdings.row(number, 1_000 * shares, shares) for shares, number in enumerate((holdings.APPLE, holdings.ALLY), 5)
    ]
    note = holdings.row(holdings.NOTE, 900, 1_000, sshPrnamtType="PRN")
    option = holdings.row(holdings.APPLE, 700, 700, putCall="Put", otherManager="1")
    placeholder = holdings.row("000000000", 5, 5)
    table = holdings.table(*rows, note, option)
    june = [holdings.cover(period="06-30-2025", entries=4, managers=("Wick LP",)), table]
    september = [holdings.cover(entries=4), table]
    restated = [holdings.cover(form="13F-HR/A", amendment=(1, "RESTATEMENT")), holdings.table(rows[0], placeholder)]
    added = [holdings.cover(form="13F-HR/A", amendment=(2, "NEW HOLDINGS")), holdings.table(note, prefix="n1")]
    confidential = [holdings.cover(form="13F-CTR"), holdings.table(holdings.row(holdings.MICROSOFT, 50, 5))]
    other = [holdings.cover(cik=holdings.OTHER_FUND, name="Shade LP"), holdings.table(*rows)]
    return [
        SET_APART.join([*june, *september, *restated]),
        SET_APART.join([*september, *added, *confidential]),
        SET_APART.join([*june, *other, *confidential, *restated]),
    ]


def _reports_of_funds() -> list[bytes]:
    """Return N-PORT reports of a fund for two months, with an amendment and derivatives."""
    future = fund_report_xml.position(name="N/A", cusip="000000000", balance="-4", more=fund_report_xml.FUTURE)
    option = fund_report_xml.position(cusip="N/A", isin=None, more=fund_report_xml.OPTION)
    bond = fund_report_xml.position(units="PA", more=fund_report_xml.DEBT + fund_report_xml.LENDING)
    november = fund_report_xml.report(bond, option, period="2025-10-31")
    december = fund_report_xml.report(bond, future, total_assets="9000", final="Y")
    amendment = fund_report_xml.report(fund_report_xml.position(percent="0.5"), form="NPORT-P/A")
    return [SET_APART.join([november, december, amendment]), SET_APART.join([amendment, fund_report_xml.report()])]


def _linkbase(data: bytes) -> object:
    sections = (linkbases.parse_presentation, linkbases.parse_calculation, linkbases.parse_definition)
    arcs_by_section = [list(map(linkbases.select_effective_arcs, section(data, "f").values())) for section in sections]
    return arcs_by_section, linkbases.parse_labels(data, "f")


def _datasets(data: bytes) -> object:
    """Parse any of the four tables of a quarter, recognised by its columns."""
    for columns in (
        statement_sets.SUB_COLUMNS,
        statement_sets.NUM_COLUMNS,
        statement_sets.PRE_COLUMNS,
        statement_sets.TAG_COLUMNS,
    ):
        try:
            table = statement_sets.DataSetTable(iter(data.splitlines(keepends=True)), "f", columns)
        except ParseError:
            continue
        if columns == statement_sets.SUB_COLUMNS:
            return list(statement_sets.iter_submissions(table))
        if columns == statement_sets.TAG_COLUMNS:
            return dict(statement_sets.iter_elements(table))
        texts = [text for line in table.iter_lines() for text in table.decode_lines(line)]
        if columns == statement_sets.NUM_COLUMNS:
            return statement_sets.NumReader(table, {}).read_figures(texts)
        return statement_sets.PreReader(table, {}).read_lines(texts)
    raise ParseError("f", "line 1", "has the columns of no table")


def _a_set() -> list[bytes]:
    tables = ownership_xml.data_set()
    return [SET_APART.join(name.encode() + b"\n" + rows for name, rows in tables.items())]


PRICES = (
    b"Date,Open,High,Low,Close,Adj Close,Volume,Dividends,Stock Splits\n"
    b"2024-06-07,1197.70,1216.92,1180.22,1208.88,120.88,41238600,0,0\n"
    b"2024-06-10,120.37,123.10,117.01,121.79,121.79,314162700,0,10\n"
    b'06/11/2024,"1,210.77",122.87,118.74,120.91,120.91,222551200,0.01,0\n',
    b"Price,Close,Close,Volume,Volume\nTicker,AAPL,BRK-B,AAPL,BRK-B\nDate,,,,\n"
    b"2024-01-02 00:00:00-05:00,185.63999938964844,361.1,82488700,1.2e6\n2024-01-03,184.25,,58414460,\n",
    b"<TICKER>,<PER>,<DATE>,<TIME>,<OPEN>,<HIGH>,<LOW>,<CLOSE>,<VOL>,<OPENINT>\n"
    b"X.US,D,20240102,000000,187.15,188.44,183.885,185.64,82496943,0\n",
    b'"","X.Open","X.Close","X.Volume","X.Adjusted"\n"Jan 2, 2024",1e0,1.5,82.49M,1.4\n01/31/24,1,1.5,1.5 K,1\n',
    b"Date\tOpen\tClose\tVolume\nJan 2, 2024\t1\t1.5\t10\nJan 2, 2024\t0.24 Dividend\nAug 31, 2020\t4:1 Stock Splits\n",
    b"t,o,h,l,c,v\n1704171600000,187.15,188.44,183.885,185.64,82488674.5\n1704258000000,184,186,183,184.2,5\n",
    b"ticker;date;close;volume;split factor\nBRK.B;2024-01-02;358,50;1.000;4:1\nBRK.B;20240103;359;;\n",
)
TICKER_LISTS = (
    b'{"fields":["cik","seriesId","classId","symbol"],"data":[[2110,"S000009184","C000024954","LACAX"]]}',
    b"aapl\t320193\nbrk-b\t1067983\n",
)
ENCODED = (
    b'<?xml version="1.0" encoding="windows-1252"?><a>\x93fine\x94</a>',
    b"<?xml version='1.0' encoding='latin1' standalone='yes'?>\n<a>\xe9</a>",
    '\ufeff<?xml version="1.0" encoding="utf16"?><a>\u20ac</a>'.encode("utf-16-le"),
    '\ufeff<?xml version="1.0" encoding="ASCII"?><a>\u20ac</a>'.encode(),
)
PAGES = (
    b"<html><!-- Page 1 ><p>Revenue rose.</p><!-- Page 2 --><p>Costs</p><!--[if !IE]><!--><b>fell</b><!--<![endif]-->",
    b"<html><head><title>x</title></head><!-- <p>hidden</p> --><style>a</style><p>\x93caf\xe9\x94 &amp; &#8364;5<!--",
)
MAPPINGS = (
    b"cusip,ticker,cik,name,group,successor,effective_date,reason,as_of\n"
    b"037833100,AAPL,320193,Apple Inc.,g1,,,,2025-01-01\n"
    b'30303M102,META,1326801,"Meta Platforms, Inc.",,,,,\n'
    b"00206R102,T,0000732717,AT&T Inc.,,02079K305,2024-01-01,merger,\n",
)

SECURITIES = (
    b"SETTLEMENT DATE|CUSIP|SYMBOL|QUANTITY (FAILS)|DESCRIPTION|PRICE\n"
    b"20250102|037833100|AAPL|1234|APPLE INC|243.85\n20250103|00206R102|T|8|AT&T INC.|22.77\n",
    b"037833100  APPLE INC                      COM\n"
    b"00206R102* AT&T INC                       COM                     ADDED\n",
)

TARGETS = {
    "sgml": Target(_sgml, lambda: _files("sgml/*", "ownership/*.txt", "thirteenf/*.txt")),
    "submissions": Target(
        _submissions,
        lambda: _with_shorter(_files("submissions/*.json", "submissions_older_vintage/*"), _shorter),
    ),
    "indexes": Target(lambda data: form_indexes.parse(data, "f"), lambda: _files("index/*")),
    "tickers": Target(
        lambda data: tickers.parse_company_tickers(data, "f"),
        lambda: [*_with_shorter(_files("company_tickers.json"), _shorter), *TICKER_LISTS],
    ),
    "encodings": Target(lambda data: xml_encodings.convert(data, "f"), lambda: list(ENCODED)),
    "end_tags": Target(
        xml_repair.repair_end_tags, lambda: [made.g(), made.d(), ownership_xml.form(ownership_xml.transaction())]
    ),
    "page_text": Target(lambda data: submission_documents.prepare_text(data, "a.htm", 10**7), lambda: list(PAGES)),
    "ownership": Target(
        lambda data: ownership_forms.parse(data, "f"),
        lambda: [
            *_files("ownership/*.xml"),
            *_parts("ownership/*.txt", b"<ownershipDocument"),
            ownership_xml.form(ownership_xml.transaction()),
        ],
    ),
    "insider_sets": Target(_insider_sets, _a_set),
    "thirteenf": Target(
        _thirteenf,
        lambda: [
            *_with_shorter(
                [*_files("thirteenf/infotable*.xml"), *_parts("thirteenf/*.txt", b"infoTable")],
                lambda data: _fewer(data, b"infoTable", 5),
            ),
            *_files("thirteenf/*.xml"),
            *_parts("thirteenf/*.txt", b"edgarSubmission"),
            holdings.table(holdings.row(holdings.APPLE, 1000, 10), prefix="ns1"),
        ],
    ),
    "stored_trades": Target(lambda data: _store(data, _store_trades), _chains_of_owners),
    "stored_13f": Target(lambda data: _store(data, _store_13f), _quarters_of_funds),
    "stored_funds": Target(lambda data: _store(data, _store_funds), _reports_of_funds),
    "schedules": Target(
        lambda data: schedules.parse(data, "f"),
        lambda: [made.d(made.person(), made.person((None, "An Heir"), member="a")), made.g(form="SCHEDULE 13G/A")],
    ),
    "sale_notices": Target(
        lambda data: sale_notices.parse(data, "f"), lambda: [made.notice(made.sale(), made.sale("1"), prefix="ns2")]
    ),
    "fund_reports": Target(
        lambda data: fund_reports.parse(data, "f"),
        lambda: [
            fund_report_xml.report(
                fund_report_xml.position(more=fund_report_xml.DEBT + fund_report_xml.LENDING),
                fund_report_xml.position(cusip="N/A", isin=None, more=fund_report_xml.OPTION),
                fund_report_xml.position(name="N/A", cusip="000000000", balance="-4", more=fund_report_xml.FUTURE),
                prefix=prefix,
            )
            for prefix in ("", "ns3")
        ],
    ),
    "companyfacts": Target(
        lambda data: companyfacts.parse(data, "f"),
        lambda: _with_shorter(_files("companyfacts_trimmed/*.json"), _shorter),
    ),
    "xbrl": Target(lambda data: parse_instance(data, "f"), lambda: _files("xbrl/*/*_htm.xml")),
    "inline": Target(
        lambda data: parse_inline([InlinePage(data, "f")]),
        lambda: [
            *_with_shorter(_files("xbrl/*/aapl-????????.htm"), _shorter_page),
            *_parts("sgml/*.txt", b"/2013/inlineXBRL"),
            *inline_pages.build_seeds(),
        ],
    ),
    "schema": Target(lambda data: filer_schema.parse_schema(data, "f"), lambda: _files("xbrl/*/*.xsd")),
    "linkbases": Target(
        _linkbase, lambda: _files(*(f"xbrl/*/*_{linkbase}.xml" for linkbase in ("pre", "cal", "def", "lab")))
    ),
    "datasets": Target(_datasets, lambda: [*_files("fsds_slices/*/*.txt"), *statement_set_tables.tables().values()]),
    "securities": Target(
        lambda data: (cusip_lists.parse_fails_to_deliver(data, "f"), cusip_lists.parse_13f_list(data, "f")),
        lambda: list(SECURITIES),
    ),
    "kinds": Target(
        lambda data: document_kinds.detect_kind(data, "f.txt"),
        lambda: _files("sgml/*", "index/*", "feeds/*", "ownership/*", "thirteenf/*", "fsds_slices/*/*.txt"),
    ),
    "price_csv": Target(lambda data: price_csv.parse(data, "f", "brk-b.csv"), lambda: list(PRICES)),
    "cusip_map": Target(lambda data: cusip_map.parse_mappings(data, "f"), lambda: list(MAPPINGS)),
    "getcurrent": Target(
        lambda data: getcurrent.parse_page(data, "f"),
        lambda: _with_shorter(_files("feeds/*.atom"), lambda data: _fewer(data, b"entry", 6)),
    ),
    "identity": Target(
        lambda data: index_documents.parse(data, "f"), lambda: _files("thirteenf/*index.json", "sgml/*.txt")
    ),
}

TOKEN = re.compile(rb"[A-Za-z0-9_.:+-]+")
TAG = re.compile(rb"<[^<>]{0,200}>")
# A value and nothing of what keeps the document well-formed: of XML, of JSON, of a table.
XML_VALUE = re.compile(rb">([^<>]{1,80})<")
JSON_VALUE = re.compile(rb"[:,\[]\s*(\"[^\"\\]{0,80}\"|-?[0-9.]+|null|true|false)(?=\s*[,\]}])")
CELL = re.compile(rb"[\t,;|\n ]([^\t,;|\n<>]{1,60})(?=[\t,;|\n ])")
ODD_JSON = (
    b"null",
    b"true",
    b"0",
    b"-1",
    b"1.5",
    b"1e400",
    b"-1E-400",
    b"9" * 40,
    b"9" * 5000,
    b"[]",
    b"{}",
    b"[[[]]]",
    b'{"a": 1}',
    b'""',
    b'"x"',
    b'"\\u0000"',
    b'"\\ud800"',
    b'"2023-02-29"',
    b'"9999-12-31"',
    b'"2024-01-01T00:00:00.000Z"',
    b'"-1"',
    b'"\xd9\xa1"',
    b"NaN",
    b"Infinity",
)
ODD = (
    b"",
    b"0",
    b"-0",
    b"-1",
    b"1e999999",
    b"1E+400",
    b"NaN",
    b"Infinity",
    b"-inf",
    b"9" * 30,
    b"9" * 5000,
    b"0.1" + b"0" * 400,
    b"\xd9\xa1\xd9\xa2",
    b"\xef\xbc\x91",
    b"\xc2\xb2",
    b"\xff\xfe",
    b"\x00",
    b"\x1a",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"\\u0000",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"0000-00-00",
    b"9999-12-31",
    b"2023-02-29",
    b"20240230",
    b"99999999",
    b"10000-01-01",
    b"0001-01-01",
    b"31-FEB-2024",
    b"24:00:00",
    b"2024-01-01T00:00:00Z",
    b"2024-01-01T00:00:00+99:99",
    b"2024-03-10T02:30:00-05:00",
    b"0000000000-00-000000",
    b"&amp;",
    b"&#0;",
    b"&#x110000;",
    b"&a;",
    b"<!DOCTYPE a [<!ENTITY a 'b'>]>",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"<?xml?>",
    b'"',
    b"'",
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"\x85",
    b"|",
    b"<",
    b">",
    b"</",
    b"<a>" * 300,
    b"[" * 3000,
    b'{"a":' * 300,
    b"<DOCUMENT>",
    b"</DOCUMENT>",
    b"<TEXT>",
    b"begin 644 a\n",
    b"-----BEGIN PRIVACY-ENHANCED MESSAGE-----\n",
    b"<SEC-HEADER>",
)


def _piece(rng: random.Random, data: bytes) -> bytes:
    """Return a document, or for a long one mostly its beginning, its end and some parts in between."""
    if len(data) <= WHOLE or rng.random() < 0.02 or data[:1] in b"{[<":
        return data
    head, tail = rng.randrange(500, WHOLE // 2), rng.randrange(200, 4000)
    start = rng.randrange(head, len(data))
    middle = data[start : start + rng.randrange(WHOLE // 2)]
    # At the ends of lines or elements, as far as there are any, so that the rest is still of its kind.
    cut = max(data.rfind(b"\n", 0, head), data.rfind(b">", 0, head)) + 1 or head
    return data[:cut] + middle[max(middle.find(b"\n"), middle.find(b"<"), 0) :] + data[-tail:]


def _token(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    match = TOKEN.search(data, rng.randrange(len(data)))
    if match is None:
        return data
    other = TOKEN.search(data, rng.randrange(len(data)))
    value = rng.choice((rng.choice(ODD), other[0] if other else b"", match[0] * rng.randrange(2, 9)))
    return data[: match.start()] + value + data[match.end() :]


def _value(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    """Return the document with one changed value; it stays well-formed if the value is."""
    in_json = data[:1] in b"{["
    pattern = JSON_VALUE if in_json else XML_VALUE if b"</" in data else CELL
    match = pattern.search(data, rng.randrange(len(data)))
    if match is None:
        return _token(rng, data, pool)
    other = pattern.search(data, rng.randrange(len(data)))
    odd = rng.choice(ODD_JSON if in_json else ODD)
    half = odd if in_json else match[1][: len(match[1]) // 2] * 3
    value = rng.choice((odd, other[1] if other else odd, half))
    return data[: match.start(1)] + value + data[match.end(1) :]


def _tag(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    match = TAG.search(data, rng.randrange(len(data)))
    if match is None:
        return _token(rng, data, pool)
    other = TAG.search(data, rng.randrange(len(data)))
    value = rng.choice((b"", other[0] if other else b"", match[0] * 2, match[0].replace(b"<", b"</", 1)))
    return data[: match.start()] + value + data[match.end() :]


def _bytes(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 8)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _span(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    start = rng.randrange(len(data))
    end = min(len(data), start + rng.choice((1, 10, 100, 1000, 10_000)))
    other = rng.choice(pool)
    from_ = rng.randrange(len(other) or 1)
    value = rng.choice((b"", data[start:end] * 2, other[from_ : from_ + end - start], rng.choice(ODD)))
    return data[:start] + value + data[end:]


def _many(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    """Repeat a line, an element or a few bytes thousands of times, to detect quadratic time."""
    start = rng.randrange(len(data))
    end = data.find(rng.choice((b"\n", b">", b"}", b",")), start) + 1 or start + 1
    unit = data[start:end] or b"x"
    times = min(rng.choice((50, 1000, 20_000)), (LONGEST - len(data)) // len(unit))
    return data[:end] + unit * max(times, 0) + data[end:]


def _cut(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    return data[: rng.randrange(len(data))]


DAMAGE = ((_value, 60), (_token, 15), (_tag, 10), (_bytes, 6), (_span, 12), (_many, 2), (_cut, 3))


def damaged(rng: random.Random, pool: list[bytes], first: int) -> bytes:
    """Return one of the documents, damaged in one to five places; the ``first`` of the pool are undamaged."""
    data = _piece(rng, rng.choice(pool[:first] if rng.random() < 0.6 else pool))
    kinds = [kind for kind, _ in DAMAGE]
    weights = [weight for _, weight in DAMAGE]
    for kind in rng.choices(kinds, weights, k=rng.choice((1, 1, 2, 3, 5))):
        data = kind(rng, data, pool)[:LONGEST] or b"\n"
    return data


def run(target: Target, data: bytes, tally: Tally) -> bool:
    """Parse a document and check the limits. Return True if its outcome is new."""
    tally.runs += 1
    outcome = "is read"
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
    began = time.process_time()
    try:
        document_kinds.detect_kind(data[: document_kinds.MAX_PREFIX_BYTES], "f")
        target.read(data)
        tally.read += 1
    except ParseError as error:
        outcome = _plain(error.reason)
    except Hang:
        _find(tally, "hang", data)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        _find(tally, f"{type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}", data)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    took = (time.process_time() - began) / (SLOW[0] + SLOW[1] * len(data))
    tally.slowest = max(tally.slowest, took)
    if took > 1:
        _find(tally, f"slow, {outcome}", data)
    if tally.runs % TRACED == 0:
        ratio = min(_memory(target, data), _memory(target, data))  # the first may fill caches of the interpreter
        tally.most_memory = max(tally.most_memory, ratio)
        if ratio > MEMORY:
            _find(tally, f"memory, {outcome}", data)
    new = outcome not in tally.outcomes
    tally.outcomes.add(outcome)
    return new


def _memory(target: Target, data: bytes) -> float:
    """Return the peak memory of a run, in multiples of the input."""
    tracemalloc.start()
    try:
        target.read(data)
    except Exception:  # what escapes was judged before
        pass
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most / max(len(data), LEAST)


def _plain(reason: str) -> str:
    """Return a reason without quoted text, so that equal reasons count once."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|<[^>]*>|[^ ]*[0-9:/]+[^ ]*", "#", reason)[:40]


def _find(tally: Tally, finding: str, data: bytes) -> None:
    known_input = tally.findings.get(finding)
    if known_input is None or len(data) < len(known_input):
        tally.findings[finding] = data


def fuzz(target: Target, seconds: float, seed: int) -> Tally:
    """Damage and parse documents for a number of CPU seconds."""
    rng, tally = random.Random(seed), Tally()
    pool = target.seeds()
    if not pool:
        raise SystemExit("there are no documents to begin from: ../shared/edgar is not here")
    first = len(pool)
    for data in pool:
        run(target, data, tally)
    began = time.process_time()
    while tally.seconds < seconds:
        data = damaged(rng, pool, first)
        # Of what led somewhere new, the first are damaged further; the real documents are never lost.
        if run(target, data, tally) and len(pool) < first + KEPT:
            pool.append(data)
        tally.seconds = time.process_time() - began
    return tally


def _hang(signum: int, frame: FrameType | None) -> None:
    raise Hang


def _told(name: str, tally: Tally) -> Iterator[str]:
    yield (
        f"{name}: {tally.seconds:.0f} s of CPU, {tally.runs} documents, {tally.read} read, "
        f"{len(tally.outcomes)} outcomes, memory at most {tally.most_memory:.1f} times the input, "
        f"slowest run {tally.slowest:.2f} of what is allowed, {len(tally.findings)} findings"
    )
    for finding, data in tally.findings.items():
        yield f"  {finding} ({len(data)} bytes)"


def main(arguments: list[str]) -> int:
    """Return the exit status: 1 when anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("parser", choices=[*TARGETS, "all"])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"))
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGVTALRM, _hang)
    has_findings = False
    for name in TARGETS if options.parser == "all" else [options.parser]:
        tally = fuzz(TARGETS[name], options.seconds, options.seed)
        print("\n".join(_told(name, tally)), flush=True)
        for finding, data in tally.findings.items():
            has_findings = True
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{name}-{sha256(finding.encode()).hexdigest()[:8]}").write_bytes(data)
    return int(has_findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
