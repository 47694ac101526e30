"""Ingests: the filing that documents are stored under, their figures, and refusals with their reasons."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.edgar.form_families import XBRL
from finapi.market.documents import packs, sources, submission_documents
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.intake import ingest
from finapi.market.reference import companies
from finapi.market.statements import filed_statements
from tests import process
from tests.support.case_tables import run_each_case
from tests.support.edgar_server import entry, feed
from tests.support.raw_sql import run_sql

FILING = Path(__file__).parents[2] / "filings" / "nflx-10q-20100930"
ACCESSION = "0001193125-10-999999"

SUBMISSIONS = {
    "cik": "0001065280",
    "name": "NETFLIX INC",
    "entityType": "operating",
    "sic": "7841",
    "sicDescription": "Services-Video Tape Rental",
    "fiscalYearEnd": "1231",
    "stateOfIncorporation": "DE",
    "tickers": ["NFLX"],
    "exchanges": ["Nasdaq"],
    "formerNames": [{"name": "NETFLIX COM INC", "from": "2000-04-18T04:00:00.000Z", "to": "2002-05-16T04:00:00.000Z"}],
    "filings": {
        "recent": {
            "accessionNumber": [ACCESSION],
            "filingDate": ["2010-10-27"],
            "reportDate": ["2010-09-30"],
            "acceptanceDateTime": ["2010-10-27T16:02:11.000Z"],
            "act": ["34"],
            "form": ["10-Q"],
            "fileNumber": ["000-49802"],
            "filmNumber": ["101145678"],
            "items": [""],
            "size": [1000],
            "isXBRL": [1],
            "isInlineXBRL": [0],
            "primaryDocument": ["d10q.htm"],
            "primaryDocDescription": ["10-Q"],
        },
        "files": [],
    },
}


def run(app: App, *paths: Path, options: IngestOptions | None = None) -> dict[str, Outcome]:
    outcomes: list[Outcome] = []
    counts = ingest.run(app, paths, options or IngestOptions(), outcomes.append)
    assert sum(counts.values()) == len(outcomes)
    return {Path(outcome.path).name: outcome for outcome in outcomes}


def quarter(app: App, **question: Any) -> filed_statements.FiledReport | None:
    with app.db.read() as tx:
        reports = filed_statements.find_reports(tx, 1065280, period="Q", **question)
    return reports[0] if reports else None


def count(app: App, query: str) -> Any:
    with app.db.read() as tx:
        return tx.find_value(query)


@pytest.fixture
def copy(tmp_path: Path) -> Callable[..., Path]:
    """Copies the filing into a folder of the name given, with changes: file name -> (old, new) or None to leave out."""

    def make(name: str = "filing", **changes: tuple[str, str] | None) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        for file in FILING.iterdir():
            change: tuple[str, str] | None = changes.get(file.stem[13:].strip("_") or file.suffix[1:], ("", ""))
            if change is None:
                continue
            text = file.read_text()
            assert change[0] in text
            (folder / file.name).write_text(text.replace(*change) if change[0] else text)
        return folder

    return make


def test_filing_is_stored_with_its_own_metadata(app: App) -> None:
    outcomes = run(app, FILING)
    assert {name: outcome.outcome for name, outcome in outcomes.items()} == {
        "nflx-20100930.xml": "ingested",
        "nflx-20100930.xsd": "ingested",
        "nflx-20100930_cal.xml": "ingested",
        "nflx-20100930_lab.xml": "ingested",
        "nflx-20100930_pre.xml": "ingested",
    }
    report = quarter(app)
    assert report is not None
    assert (report.form_type, report.period_of_report, report.fiscal_year, report.fiscal_period) == (
        "10-Q",
        "2010-09-30",
        2010,
        "Q3",
    )
    with app.db.read() as tx:
        company = companies.resolve(tx, "nflx")
    assert (company.padded_cik, company.name, company.ticker) == ("0001065280", "NETFLIX INC", "NFLX")


def test_html_in_folder_of_one_filing_is_stored(app: App, copy: Callable[..., Path]) -> None:
    folder = copy(ACCESSION)
    html = b'<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"><body>As printed</body></html>'
    (folder / "d10q.htm").write_bytes(html)
    assert run(app, folder)["d10q.htm"].outcome == "ingested"
    with app.db.read() as tx:
        assert submission_documents.find_primary_text(tx, ACCESSION) == submission_documents.DocumentBody("html", html)
        row = tx.find_row("filing_row", accession=ACCESSION)
    assert row is not None
    assert row["primary_document"] == "d10q.htm"
    assert run(app, folder)["d10q.htm"].outcome == "unchanged"


@pytest.mark.parametrize(
    ("folder", "pages"), [(ACCESSION, ("d10q.htm", "d10qa.htm")), ("without-a-number", ("d10q.htm",))]
)
def test_html_of_unknown_filing_is_skipped(
    app: App, copy: Callable[..., Path], folder: str, pages: tuple[str, ...]
) -> None:
    folder_copy = copy(folder)
    for page in pages:
        (folder_copy / page).write_bytes(b'<html xmlns:ix="http://www.xbrl.org/2013/inlineXBRL"/>')
    outcomes = run(app, folder_copy)
    assert {outcomes[page].outcome for page in pages} == {"skipped"}
    assert count(app, "body_sizes") == 0


def test_negated_label_of_2010_keeps_tagged_value(app: App) -> None:
    run(app, FILING)
    report = quarter(app)
    assert report is not None
    with app.db.read() as tx:
        income = filed_statements.read_statements(tx, report, ["income"])[0]["income"]
    row = next(row for row in income["rows"] if row["concept"] == "us-gaap:InterestExpense")
    assert row == {
        "concept": "us-gaap:InterestExpense",
        "label": "Interest expense",
        "depth": 2,
        "balance": "debit",
        "preferred_label": "http://xbrl.us/us-gaap/role/label/negated",
        "negated": True,
        "abstract": False,
        "unit": "USD",
        "decimals": -3,
        "values": ["4945000", "674000", "14797000"],
        "marks": [None, None, None],
        "fact_ids": [None, None, None],
        "ink_urls": [None, None, None],
    }


def test_more_precise_of_two_values_is_served(app: App) -> None:
    run(app, FILING)
    report = quarter(app)
    assert report is not None
    with app.db.read() as tx:
        income = filed_statements.read_statements(tx, report, ["income"])[0]["income"]
    assert income["rows"][1]["values"] == ["553219000", "423120000", "1566703000"]


def test_empty_cells_have_a_reason(app: App) -> None:
    run(app, FILING)
    report = quarter(app)
    assert report is not None
    with app.db.read() as tx:
        balance = filed_statements.read_statements(tx, report, ["balance"])[0]["balance"]
    row = balance["rows"][-1]
    assert (row["label"], row["values"]) == ("Commitments and contingencies", [None, None])
    assert row["marks"] == [{"status": "nil", "reason": "reported_nil"}, {"status": "absent", "reason": "not_reported"}]


def test_opening_and_closing_cash_are_in_their_column(app: App) -> None:
    run(app, FILING)
    report = quarter(app)
    assert report is not None
    with app.db.read() as tx:
        cash = filed_statements.read_statements(tx, report, ["cash-flow"])[0]["cash-flow"]
    assert [(column["start_date"], column["end_date"]) for column in cash["columns"]] == [("2010-01-01", "2010-09-30")]
    assert [row["values"] for row in cash["rows"]] == [[], ["-21116000"], ["134224000"], ["113108000"]]


def test_headings_without_figures_are_omitted(app: App) -> None:
    run(app, FILING)
    report = quarter(app)
    assert report is not None
    with app.db.read() as tx:
        income = filed_statements.read_statements(tx, report, ["income"])[0]["income"]
    assert [row["concept"] for row in income["rows"] if row["abstract"]] == [
        "us-gaap:IncomeStatementAbstract",
        "us-gaap:NonoperatingIncomeExpenseAbstract",
    ]


def test_same_documents_again_change_nothing(app: App) -> None:
    run(app, FILING)
    version = count(app, "data_version")
    outcomes = run(app, FILING)
    assert {outcome.outcome for outcome in outcomes.values()} == {"unchanged"}
    assert count(app, "data_version") == version


def test_same_documents_in_other_folder_are_same_filing(app: App, copy: Callable[..., Path]) -> None:
    run(app, FILING)
    assert {outcome.outcome for outcome in run(app, copy("elsewhere")).values()} == {"unchanged"}


# ---- accession and filing date (DECISIONS 6)


def test_unidentified_filing_is_invisible_to_as_of(app: App) -> None:
    outcome = run(app, FILING)["nflx-20100930.xml"]
    assert outcome.accession is not None
    assert outcome.accession.startswith("unfiled-")
    assert (
        outcome.reason
        == "the filing date is not known: the filing sorts last, and as_of and sniper targets ignore it until it is"
    )
    report = quarter(app)
    assert report is not None
    assert report.filed_at is None
    assert quarter(app, as_of="2026-01-01") is None


def test_accession_is_read_from_folder_name(app: App, copy: Callable[..., Path]) -> None:
    assert run(app, copy("000119312510888888"))["nflx-20100930.xml"].accession == "0001193125-10-888888"


def test_options_set_accession_and_date(app: App) -> None:
    run(app, FILING, options=IngestOptions("0001193125-10-777777", "2010-10-28"))
    report = quarter(app, as_of="2010-10-28")
    assert report is not None
    assert (report.accession, report.filed_at) == ("0001193125-10-777777", "2010-10-28")
    assert quarter(app, as_of="2010-10-27") is None


def test_submissions_identify_filing_in_either_order(make_app: Callable[..., App], tmp_path: Path) -> None:
    list_file = tmp_path / "CIK0001065280.json"
    list_file.write_text(json.dumps(SUBMISSIONS))
    for order in ([list_file, FILING], [FILING, list_file]):
        app = make_app()
        for path in order:
            run(app, path)
        report = quarter(app)
        assert report is not None
        assert (report.accession, report.filed_at) == (ACCESSION, "2010-10-27")
        assert run(app, FILING)["nflx-20100930.xml"].outcome == "unchanged"


def test_index_in_folder_has_priority(app: App, copy: Callable[..., Path]) -> None:
    folder = copy("000119312510888888")
    (folder / "0001193125-10-238044-index.htm").write_text(
        "<html><title>EDGAR Filing Documents for 0001193125-10-238044</title><body>"
        '<div id="formName"><strong>Form 10-Q</strong> - Quarterly report</div>'
        '<div id="secNum"><strong>SEC Accession <acronym title="SEC Accession Number">No.</acronym></strong>'
        " 0001193125-10-238044</div>"
        '<div class="infoHead">Filing Date</div><div class="info">2010-10-27</div>'
        '<div class="infoHead">Period of Report</div><div class="info">2010-09-30</div>'
        "</body></html>"
    )
    outcomes = run(app, folder)
    assert outcomes["0001193125-10-238044-index.htm"].outcome == "skipped"
    report = quarter(app)
    assert report is not None
    assert (report.accession, report.filed_at) == ("0001193125-10-238044", "2010-10-27")


def test_option_that_contradicts_index_is_refused(app: App, copy: Callable[..., Path]) -> None:
    folder = copy()
    (folder / "index.json").write_text(
        json.dumps(
            {
                "directory": {
                    "name": "/Archives/edgar/data/1065280/000119312510238044",
                    "item": [],
                    "parent-dir": "/Archives/edgar/data/1065280",
                }
            }
        )
    )
    outcome = run(app, folder, options=IngestOptions("0001193125-10-777777"))["nflx-20100930.xml"]
    assert outcome.outcome == "refused"
    assert outcome.reason == "the index in its folder says 0001193125-10-238044, --accession says 0001193125-10-777777"


# ---- amendments and repeats


def test_basis_and_as_of_choose_between_amendments(app: App, copy: Callable[..., Path]) -> None:
    amended = copy("amended", xml=(">10-Q<", ">10-Q/A<"))
    run(app, FILING, options=IngestOptions("0001193125-10-000001", "2010-10-27"))
    run(app, amended, options=IngestOptions("0001193125-10-000002", "2010-12-01"))
    periods = {
        "latest": quarter(app),
        "original": quarter(app, basis="original"),
        "before": quarter(app, as_of="2010-11-30"),
        "too early": quarter(app, as_of="2010-10-26"),
        "by form": quarter(app, form="10-q/a", basis="original"),
    }
    assert {question: report and report.accession for question, report in periods.items()} == {
        "latest": "0001193125-10-000002",
        "original": "0001193125-10-000001",
        "before": "0001193125-10-000001",
        "too early": None,
        "by form": "0001193125-10-000002",
    }


def test_fuller_copy_of_filing_is_served_in_either_order(
    make_app: Callable[..., App], copy: Callable[..., Path]
) -> None:
    without_schema = copy("less", xsd=None)
    filed = IngestOptions("0001193125-10-000001", "2010-10-27")
    for order in ([FILING, without_schema], [without_schema, FILING]):
        app = make_app()
        for path in order:
            run(app, path, options=filed)
        report = quarter(app)
        assert report is not None
        with app.db.read() as tx:
            income = filed_statements.read_statements(tx, report, ["income"])[0]["income"]
        assert income["definition"] == "103 - Statement - Consolidated Statements of Operations"


# ---- refusals: each names the file and the reason, and the rest is ingested


def test_broken_document_refuses_only_its_filing(app: App, copy: Callable[..., Path]) -> None:
    broken = copy("broken", pre=("</link:linkbase>", ""))
    outcomes = run(app, broken)
    assert {outcome.outcome for outcome in outcomes.values()} == {"refused"}
    fault = outcomes["nflx-20100930_pre.xml"].reason
    assert fault is not None
    assert fault.startswith("line ")
    other = outcomes["nflx-20100930.xml"].reason
    assert other is not None
    assert other.startswith("its filing was refused: ")
    assert "nflx-20100930_pre.xml" in other
    assert quarter(app) is None
    assert {outcome.outcome for outcome in run(app, FILING).values()} == {"ingested"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("DocumentPeriodEndDate contextRef", "AmendmentDescription contextRef", "the period of the report is missing"),
        (
            ">2010-09-30</dei:DocumentPeriodEndDate>",
            ">autumn</dei:DocumentPeriodEndDate>",
            "the period of the report, 'autumn', is not a day of the years 1900 to 2200",
        ),
        (
            ">2010-09-30</dei:DocumentPeriodEndDate>",
            ">0010-09-30</dei:DocumentPeriodEndDate>",
            "the period of the report, '0010-09-30', is not a day of the years 1900 to 2200",
        ),
        (">0001065280</dei:", ">Netflix</dei:", "'Netflix' is not a CIK"),
        ("<dei:DocumentType ", "<dei:DocumentTypo ", "line"),
    ],
)
def test_cover_without_subject_is_refused(app: App, copy: Callable[..., Path], old: str, new: str, reason: str) -> None:
    text = (FILING / "nflx-20100930.xml").read_text()
    if "Amendment" in new:
        text = text.replace(">2010-09-30</dei:DocumentPeriodEndDate>", ">2010-09-30</dei:AmendmentDescription>")
    folder = copy()
    assert old in text
    (folder / "nflx-20100930.xml").write_text(text.replace(old, new))
    outcome = run(app, folder)["nflx-20100930.xml"]
    assert outcome.outcome == "refused"
    assert outcome.reason is not None
    assert reason in outcome.reason


def test_cyclic_presentation_tree_is_refused(app: App, copy: Callable[..., Path]) -> None:
    loop = (
        '<link:presentationArc xlink:type="arc" xlink:arcrole="http://www.xbrl.org/2003/arcrole/parent-child" '
        'xlink:from="us-gaap_AssetsCurrent" xlink:to="us-gaap_AssetsCurrentAbstract" order="9"/>'
    )
    arc = 'xlink:to="us-gaap_CommitmentsAndContingencies2009" order="2"/>'
    outcome = run(app, copy(pre=(arc, arc + loop)))["nflx-20100930.xml"]
    assert outcome.outcome == "refused"
    assert outcome.reason is not None
    assert "the presentation tree repeats itself at us-gaap_AssetsCurrentAbstract" in outcome.reason


def test_linkbases_without_instance_are_refused(app: App, copy: Callable[..., Path]) -> None:
    outcomes = run(app, copy(xml=None))
    assert outcomes["nflx-20100930.xsd"].reason == "an XBRL filing without its instance document"
    assert {outcome.outcome for outcome in outcomes.values()} == {"refused"}


def test_unknown_documents_are_refused_and_others_ingested(app: App, tmp_path: Path, copy: Callable[..., Path]) -> None:
    copy("good")
    (tmp_path / "garbage.bin").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "empty.xml").write_bytes(b"")
    (tmp_path / "table.xml").write_text(
        '<?xml version="1.0"?><informationTable xmlns="http://www.sec.gov/edgar/document/thirteenf/informationtable"/>'
    )
    (tmp_path / "nested.zip").write_bytes(build_zip({"inner.zip": build_zip({"a.txt": b"x"})}))
    outcomes = run(app, tmp_path, tmp_path / "nowhere")
    assert outcomes["nflx-20100930.xml"].outcome == "ingested"
    refused = {name: outcome.reason for name, outcome in outcomes.items() if outcome.outcome == "refused"}
    assert refused == {
        "garbage.bin": "is not a document that finapi reads",
        "empty.xml": "is empty",
        "table.xml": "is the table of a 13F without its cover page, which states the filer and the quarter",
        "nested.zip!inner.zip": "is a zip inside a zip",
        "nowhere": "No such file or directory",
    }


def test_stray_files_of_folders_and_zips_are_skipped(app: App, tmp_path: Path, copy: Callable[..., Path]) -> None:
    folder = copy("good")
    for name in (".DS_Store", "thumbs.db", "Show.js", "report.css", "Financial_Report.xlsx", "notes.docx", "a.xml~"):
        (folder / name).write_bytes(build_zip({"a.xml": b"<a/>"}))
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "objects" / "a").write_bytes(b"x")
    (folder / "picture.jpg").write_bytes(b"\xff\xd8\xff")
    (tmp_path / "a.zip").write_bytes(build_zip({"__MACOSX/._a.xml": b"x", "b/.hidden/a.xml": b"x", "empty.xml": b""}))
    outcomes = run(app, tmp_path)
    reasons = {
        name: (outcome.outcome, outcome.reason) for name, outcome in outcomes.items() if not name.startswith("nflx-")
    }
    hidden = ("skipped", "is hidden or left by a program, and not a document")
    rendering = ("skipped", "belongs to the SEC's rendering of a filing")
    assert reasons == {
        ".DS_Store": hidden,
        "thumbs.db": hidden,
        "a.xml~": hidden,
        ".git": hidden,
        "._a.xml": hidden,
        "a.xml": hidden,
        "Show.js": rendering,
        "report.css": rendering,
        "Financial_Report.xlsx": rendering,
        "notes.docx": ("skipped", "is an office document, which finapi does not read; tables are read as CSV"),
        "picture.jpg": ("skipped", "is stored only as a part of a full submission"),
        "a.zip!empty.xml": ("refused", "is empty"),
    }
    assert outcomes["nflx-20100930.xml"].outcome == "ingested"


def test_stray_files_alone_are_no_documents(app: App, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / ".DS_Store").write_bytes(b"x")
    (tmp_path / "a.zip").write_bytes(build_zip({"__MACOSX/._a.xml": b"x"}))
    (tmp_path / "prices.xlsx").write_bytes(build_zip({"a.xml": b"<a/>"}))
    (tmp_path / ".prices.csv").write_bytes(b"date,close,ticker\n2024-01-02,1.5,AAPL\n")
    outcomes = run(app, tmp_path / "folder", tmp_path / "a.zip", tmp_path / "prices.xlsx", tmp_path / ".prices.csv")
    assert {name: (outcome.outcome, outcome.reason) for name, outcome in outcomes.items()} == {
        ".DS_Store": ("skipped", "is hidden or left by a program, and not a document"),
        "folder": ("refused", "contains no documents"),
        "._a.xml": ("skipped", "is hidden or left by a program, and not a document"),
        "a.zip": ("refused", "contains no documents"),
        "prices.xlsx": ("refused", "is an office document, which finapi does not read; tables are read as CSV"),
        ".prices.csv": ("ingested", None),
    }


def test_descriptions_of_data_sets_are_skipped(app: App, tmp_path: Path) -> None:
    descriptions = {"FORM_345_readme.htm": b"<html>x</html>", "FORM_345_metadata.json": b"{}", "readme.txt": b"x"}
    (tmp_path / "2025q1_form345.zip").write_bytes(build_zip(descriptions))
    outcomes = run(app, tmp_path / "2025q1_form345.zip")
    assert {outcome.outcome for outcome in outcomes.values()} == {"skipped"}


def test_zip_is_ingested_like_its_folder(app: App, tmp_path: Path) -> None:
    archive = tmp_path / "filings.zip"
    files = {f"000119312510888888/{file.name}": file.read_bytes() for file in FILING.iterdir()}
    archive.write_bytes(build_zip(files))
    outcomes = run(app, archive)
    assert {outcome.outcome for outcome in outcomes.values()} == {"ingested"}
    assert {outcome.accession for outcome in outcomes.values()} == {"0001193125-10-888888"}


def test_two_filings_in_one_folder_are_two_filings(app: App, copy: Callable[..., Path]) -> None:
    folder = copy()
    for file in list(folder.iterdir()):
        text = (
            file.read_text().replace("nflx-20100930", "nflx-20100630").replace(">2010-09-30</dei:", ">2010-06-30</dei:")
        )
        (folder / file.name.replace("20100930", "20100630")).write_text(text)
    assert {outcome.outcome for outcome in run(app, folder).values()} == {"ingested"}
    with app.db.read() as tx:
        stored_periods = filed_statements.list_stored_periods(tx, 1065280)
    assert stored_periods == [
        {"form_type": "10-Q", "period_of_report": "2010-09-30"},
        {"form_type": "10-Q", "period_of_report": "2010-06-30"},
    ]


def test_better_source_of_company_name_wins(app: App, tmp_path: Path) -> None:
    list_file = tmp_path / "company_tickers.json"
    rows = [("NFLX", "NETFLIX INC CAPITALS"), ("NFLX-W", "NETFLIX INC CAPITALS")]
    list_file.write_text(
        json.dumps({str(n): {"cik_str": 1065280, "ticker": t, "title": name} for n, (t, name) in enumerate(rows)})
    )
    run(app, list_file)
    run(app, FILING)
    run(app, list_file)
    with app.db.read() as tx:
        company = companies.resolve(tx, "nflx.w")
    assert (company.cik, company.name) == (1065280, "NETFLIX INC")


def build_zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


# ---- documents that lie, or mean harm


def test_filing_with_accession_of_other_company_keeps_its_own(
    app: App, copy: Callable[..., Path], tmp_path: Path
) -> None:
    run(app, FILING, options=IngestOptions(ACCESSION, "2010-10-27"))
    forged = copy("forged", xml=("0001065280", "0000000666"), lab=("Revenues<", "Riches<"))
    (forged / "more_lab.xml").write_text(
        '<link:linkbase xmlns:link="http://www.xbrl.org/2003/linkbase" xmlns:xlink="http://www.w3.org/1999/xlink">'
        '<link:labelLink xlink:type="extended" xlink:role="http://www.xbrl.org/2003/role/link"/></link:linkbase>'
    )
    run(app, forged, options=IngestOptions(ACCESSION, "2010-10-27"))
    # Of two documents that claim a filing neither proves anything; the SEC's list does.
    (tmp_path / "list.json").write_text(json.dumps(SUBMISSIONS))
    run(app, tmp_path / "list.json")
    with app.db.read() as tx:
        by_accession = filed_statements.find_report_by_accession(tx, ACCESSION)
        other_reports = filed_statements.find_reports(tx, 666, period="Q")
    assert by_accession == quarter(app)
    assert by_accession is not None
    assert by_accession.cik == 1065280
    assert [report.cik for report in other_reports] == [666]


def test_undated_name_never_outranks_filed_name(app: App, copy: Callable[..., Path]) -> None:
    run(app, FILING, options=IngestOptions(ACCESSION, "2010-10-27"))
    run(app, copy("renamed", xml=("NETFLIX INC", "ZZZ RENAMED")))
    with app.db.read() as tx:
        assert companies.resolve(tx, "NFLX").name == "NETFLIX INC"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (">2010-09-30</dei:DocumentPeriodEndDate>", ">9999-99-99</dei:DocumentPeriodEndDate>", "period"),
        (">2010-09-30</dei:DocumentPeriodEndDate>", ">9999-12-31</dei:DocumentPeriodEndDate>", "period"),
        ("<xbrli:startDate>2010-07-01<", "<xbrli:startDate>0001-01-01<", "0001-01-01 is not in a year"),
        (">0001065280</dei:", ">0000000666</dei:", "is not the CIK of the contexts"),
    ],
)
def test_implausible_filing_is_refused(app: App, copy: Callable[..., Path], old: str, new: str, reason: str) -> None:
    outcome = run(app, copy(xml=(old, new)))["nflx-20100930.xml"]
    assert outcome.outcome == "refused"
    assert outcome.reason is not None
    assert reason in outcome.reason


def test_unexpected_error_refuses_one_document_only(
    app: App,
    tmp_path: Path,
    copy: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object) -> None:
        raise OverflowError("nobody thought of this")

    copy("good")
    (tmp_path / "company_tickers.json").write_text('{"0": {"cik_str": 1, "ticker": "A", "title": "A"}}')
    monkeypatch.setattr("finapi.market.intake.single_documents.tickers.parse_company_tickers", broken)
    outcomes = run(app, tmp_path)
    assert outcomes["company_tickers.json"].outcome == "refused"
    assert outcomes["nflx-20100930.xml"].outcome == "ingested"
    assert "nobody thought of this" in caplog.text


def test_full_disk_is_reported_in_one_line(unshared_app: App, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = unshared_app
    rows = [{"cik_str": n, "ticker": f"T{n}", "title": "x" * 500} for n in range(1, 400)]
    (tmp_path / "company_tickers.json").write_text(json.dumps(dict(enumerate(rows))))
    (pages,) = run_sql(app.db, "PRAGMA page_count").fetchone()
    run_sql(app.db, f"PRAGMA max_page_count={pages + 5}")
    outcomes = run(app, tmp_path)
    assert outcomes["company_tickers.json"].reason == "cannot be stored: database or disk is full"
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["the database cannot be written: database or disk is full"]


def test_a_file_is_reported_after_its_filing_is_committed(tmp_path: Path, clock: FixedClock) -> None:
    numbers = (1, 2, 3)
    for number in numbers:
        process.write(tmp_path / "in" / process.accession(number), process.filing(year=2020 + number))
    (tmp_path / "data").mkdir()
    app = apps.open_on_disk(Config(data_dir=tmp_path / "data"), clock)
    reported: list[str | None] = []

    def report(outcome: Outcome) -> None:
        # Another connection sees only what is committed.
        with closing(sqlite3.connect(tmp_path / "data" / "finapi.db")) as other_connection:
            accessions = {accession for (accession,) in other_connection.execute("SELECT accession FROM filings")}
        assert (outcome.outcome, outcome.accession in accessions) == ("ingested", True)
        reported.append(outcome.accession)

    ingest.run(app, [tmp_path / "in"], IngestOptions(), report)
    app.db.close()
    assert reported == [process.accession(number) for number in numbers for _ in range(5)]


def test_invalid_feed_entry_is_reported_and_others_stored(app: App, tmp_path: Path) -> None:
    wrong = entry("0000320193-26-000002").replace("(Filer)", "")
    (tmp_path / "getcurrent.atom").write_bytes(feed(wrong, entry(ACCESSION)))
    outcome = run(app, tmp_path)["getcurrent.atom"]
    assert (outcome.outcome, outcome.reason) == (
        "ingested",
        "1 entry is left out, the first: line 16, column 1: "
        "an entry whose title, id or filing date is not in this feed's format",
    )
    with app.db.read() as tx:
        assert tx.find_row("filing_row", accession=ACCESSION) is not None


# ---- sources


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_member_with_unbounded_method_is_refused(app: App, tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("a.xml", b"x")
    assert run(app, tmp_path / "a.zip")["a.zip!a.xml"].reason == (
        "is compressed with a method other than deflate, which is not supported"
    )


def test_zip_bomb_is_refused_unread(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.zip"
    bomb.write_bytes(build_zip({"zeros.xml": b"\0" * 8_000_000}))
    assert list(sources.iter_groups([bomb])) == [
        sources.Unreadable(str(bomb), "zeros.xml unpacks to more than 200 times its size")
    ]


def test_zip_that_understates_size_is_refused(tmp_path: Path) -> None:
    data = bytearray(build_zip({"a.txt": bytes(range(256)) * 16}))
    size_offset = data.index(b"PK\x01\x02") + 24
    data[size_offset : size_offset + 4] = (100).to_bytes(4, "little")
    lying = tmp_path / "lying.zip"
    lying.write_bytes(data)
    (group,) = sources.iter_groups([lying])
    assert isinstance(group, sources.Group)
    with pytest.raises(ValueError, match=r"cannot be unpacked|not as long"):
        group.entries[0].read()


# ---- packs

MAGIC = b"finapi-pack 2 reports\n"


def test_loaded_pack_gives_same_answers(make_app: Callable[..., App]) -> None:
    first, second = make_app(), make_app()
    run(first, FILING, options=IngestOptions("0001193125-10-000001", "2010-10-27"))
    with first.db.read() as tx:
        data = packs.dump(tx, XBRL)
    assert packs.load(second, data, "a.pack") == 1
    assert packs.load(second, data, "a.pack") == 0
    answers = []
    for app in (first, second):
        report = quarter(app)
        assert report is not None
        with app.db.read() as tx:
            answers.append(
                (
                    report.accession,
                    report.filed_at,
                    filed_statements.read_statements(tx, report, consolidated_only=False),
                )
            )
        with app.db.read() as tx:
            assert packs.dump(tx, XBRL) == data
    assert answers[0] == answers[1]


@run_each_case(
    "data, reason",
    [
        (b"", "is not a finapi pack of version 2"),
        (b"finapi-pack 1\n", "is not a finapi pack of version 2"),
        (MAGIC, "is truncated or unpacks to too much data"),
        (MAGIC + b"nonsense", "cannot be unpacked"),
    ],
)
def test_file_that_is_not_a_pack_is_refused(app: App, data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        packs.load(app, data, "a.pack")


def test_pack_with_invalid_line_is_refused(app: App) -> None:
    import zlib

    with pytest.raises(ValueError, match=r"a\.pack: line 1: is not a line of a finapi pack \(ValueError\)"):
        packs.load(app, MAGIC + zlib.compress(b"{}\n"), "a.pack")


def lists_of_filings(folder: Path) -> list[Path]:
    """Three companies' lists, each of one filing."""
    files = []
    for number in (1, 2, 3):
        recent = {**SUBMISSIONS["filings"]["recent"], "accessionNumber": [f"{number:010}-10-000001"]}  # type: ignore[index]
        company = {**SUBMISSIONS, "cik": f"{number:010}", "filings": {"recent": recent, "files": []}}
        files.append(folder / f"CIK{number:010}.json")
        files[-1].write_text(json.dumps(company))
    return files


def count_transactions(app: App, *files: Path) -> list[int]:
    """Return the number of transactions at the time of each file's outcome."""
    before, counts = app.db.write_count, list[int]()
    ingest.run(app, files, IngestOptions(), lambda outcome: counts.append(app.db.write_count - before))
    return counts


def test_lists_of_filings_share_a_transaction(app: App, tmp_path: Path) -> None:
    assert count_transactions(app, *lists_of_filings(tmp_path)) == [1, 1, 1]


def test_lists_yield_to_waiting_writers(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(app.db), "has_waiting_writers", True)
    assert count_transactions(app, *lists_of_filings(tmp_path)) == [1, 2, 3]


def test_only_broken_list_of_filings_is_refused(app: App, tmp_path: Path) -> None:
    first, second, third = lists_of_filings(tmp_path)
    second.write_text(second.read_text().replace("2010-10-27", "2010-13-27"))
    outcomes = run(app, first, second, third)
    assert [outcome.outcome for outcome in outcomes.values()] == ["ingested", "refused", "ingested"]
    assert "$.filings.recent.filingDate[0]" in (outcomes[second.name].reason or "")


def test_only_list_that_cannot_be_stored_is_refused(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update_attributes = companies.update_attributes

    def failing(tx: Any, cik: int, *arguments: Any) -> bool:
        if cik == 2:
            raise RuntimeError("a mistake of ours")
        return update_attributes(tx, cik, *arguments)

    monkeypatch.setattr(companies, "update_attributes", failing)
    outcomes = run(app, *lists_of_filings(tmp_path))
    assert [outcome.outcome for outcome in outcomes.values()] == ["ingested", "refused", "ingested"]
    with app.db.read() as tx:
        assert tx.find_value("filing_id", accession="0000000002-10-000001") is None
        assert tx.find_value("filing_id", accession="0000000003-10-000001") is not None
