"""Tests of refused documents: a document of any kind that is refused adds no row to any table."""

from __future__ import annotations

from pathlib import Path

import pytest

from finapi.app import App
from tests.support import fund_filings, ownership_xml, schedule_xml
from tests.support.fund_filings import take

ACCESSION = "0000000101-25-000042"
# What an ingest writes down of itself: which files were refused and how long it took.
OWN = {"refused_files", "heartbeats", "poll_states"}


def counts(app: App) -> dict[str, int]:
    with app.db.read() as tx:
        run = tx._connection.execute
        names = [
            row[0] for row in run("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        ]
        return {name: run(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names if name not in OWN}


def build_submission(form: str, *documents: tuple[str, str, str]) -> bytes:
    """Return a full submission of documents, each a type, a file name and a text."""
    bodies = "".join(
        f"<DOCUMENT>\n<TYPE>{kind}\n<SEQUENCE>{number}\n<FILENAME>{name}\n<TEXT>\n{text}\n</TEXT>\n</DOCUMENT>\n"
        for number, (kind, name, text) in enumerate(documents, 1)
    )
    return f"""<SEC-DOCUMENT>{ACCESSION}.txt : 20250122
<SEC-HEADER>{ACCESSION}.hdr.sgml : 20250122
ACCESSION NUMBER:		{ACCESSION}
CONFORMED SUBMISSION TYPE:	{form}
PUBLIC DOCUMENT COUNT:		{len(documents)}
CONFORMED PERIOD OF REPORT:	20250120
FILED AS OF DATE:		20250122

FILER:

	COMPANY DATA:
		COMPANY CONFORMED NAME:			BROOK LAMPS INC.
		CENTRAL INDEX KEY:			0001234567
</SEC-HEADER>
{bodies}</SEC-DOCUMENT>
""".encode()


def xml(document: bytes) -> str:
    return f"<XML>\n{document.decode()}\n</XML>"


FORM_4 = xml(ownership_xml.form(ownership_xml.transaction()))
HTML = "<html><body><p>The lamps of the year are sold.</p></body></html>"
INSTANCE = (
    '<xbrl xmlns="http://www.xbrl.org/2003/instance"><context id="c"><entity><identifier scheme="http://www.sec.gov/CIK">'
    "0001234567</identifier></entity></context></wrong>"
)


OTHER_FILING = build_submission("8-K", ("8-K", "other.htm", HTML)).replace(ACCESSION.encode(), b"0000000101-25-000041")


@pytest.mark.parametrize(
    "document",
    [
        build_submission("4", ("4", "form4.xml", FORM_4.replace("<transactionCode>", "<transactionCod>", 1))),
        build_submission("4", ("4", "form4.xml", FORM_4.replace("</ownershipDocument>", ""))),
        build_submission("SCHEDULE 13D", ("SCHEDULE 13D", "primary_doc.xml", xml(schedule_xml.d()[:-40]))),
        build_submission("144", ("144", "primary_doc.xml", xml(schedule_xml.notice()[:-40]))),
        build_submission(
            "10-K", ("10-K", "lamp-10k.htm", HTML), ("EX-101.INS", "lamp.xml", f"<XBRL>\n{INSTANCE}\n</XBRL>")
        ),
        fund_filings.june().replace(b"<value>2500", b"<value>x", 1),
        fund_filings.june().replace(b"</informationTable>", b""),
    ],
    ids=["4-element", "4-cut", "13D", "144", "XBRL", "13F-value", "13F-cut"],
)
def test_an_unreadable_part_adds_no_row_to_its_family(app: App, tmp_path: Path, document: bytes) -> None:
    empty = counts(app)
    take(app, tmp_path, OTHER_FILING)
    before = counts(app)
    filing_tables = {name for name in before if before[name] != empty[name]}
    stored, refused = take(app, tmp_path, document)
    assert (stored.outcome, stored.kind) == ("ingested", "full-submission"), stored
    assert (refused.outcome, refused.accession) == ("refused", None), refused
    after = counts(app)
    assert {name for name in after if before[name] != after[name]} <= filing_tables


@pytest.mark.parametrize(
    "document",
    [
        build_submission("8-K", ("8-K", "lamp-8k.htm", HTML))[:-200],
        build_submission("8-K", ("8-K", "lamp-8k.htm", HTML)).replace(b"20250122\n\nFILER", b"20251322\n\nFILER"),
    ],
    ids=["cut", "day"],
)
def test_what_is_refused_leaves_no_row_anywhere(app: App, tmp_path: Path, document: bytes) -> None:
    take(app, tmp_path, OTHER_FILING)
    before = counts(app)
    (outcome,) = take(app, tmp_path, document)
    assert (outcome.outcome, outcome.accession) == ("refused", None), outcome
    after = counts(app)
    assert {name: (before[name], after[name]) for name in after if before[name] != after[name]} == {}


def test_what_is_refused_here_is_taken_when_it_is_whole(app: App, tmp_path: Path) -> None:
    accepted = [
        build_submission("4", ("4", "form4.xml", FORM_4)),
        build_submission("8-K", ("8-K", "lamp-8k.htm", HTML)),
    ]
    for document in accepted:
        (outcome,) = take(app, tmp_path, document)
        assert outcome.outcome == "ingested", outcome
