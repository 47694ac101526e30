"""Ingesting a quarter of the Financial Statement Data Sets: facts, statements and refusals."""

from __future__ import annotations

import gc
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from finapi.app import App
from finapi.edgar import document_kinds
from finapi.edgar.form_families import XBRL
from finapi.market.documents import sources
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.financials import company_books
from finapi.market.intake import ingest
from finapi.market.statements import filed_facts, filed_statements, statement_set_intake
from tests.measure import agreement
from tests.support.case_tables import run_each_case
from tests.support.statement_set_tables import (
    ADSH,
    LINES,
    NUM,
    NUMBERS,
    PRE,
    SUB,
    table,
    tables,
    write_folder,
    write_zip,
)

GOLDMAN = 886982


def ingest_paths(app: App, *paths: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    ingest.run(app, paths, IngestOptions(), outcomes.append)
    return outcomes


def list_facts(app: App, **options: Any) -> list[filed_facts.FiledFact]:
    with app.db.read() as tx:
        return filed_facts.list_company_facts(tx, GOLDMAN, **options)


def read_statements(app: App, accession: str = ADSH, *, consolidated_only: bool = True) -> dict[str, Any]:
    with app.db.read() as tx:
        report = filed_statements.find_report_by_accession(tx, accession)
        assert report is not None
        return filed_statements.read_statements(tx, report, consolidated_only=consolidated_only)[0]


def get_data_version(app: App) -> int:
    with app.db.read() as tx:
        return int(tx.find_value("data_version"))


@pytest.fixture
def quarter(tmp_path: Path) -> Path:
    return write_zip(tmp_path / "2009q3.zip", tables())


# ---- figures


def test_facts_have_the_values_of_the_rows(app: App, quarter: Path) -> None:
    outcomes = ingest_paths(app, quarter)
    assert {(outcome.kind, outcome.outcome, outcome.reason) for outcome in outcomes} == {
        (kind, "ingested", "1 filing: 1 ingested, 0 stored already") for kind in XBRL.data_set_kinds
    }
    assert list_facts(app, concepts=["us-gaap:Revenues"]) == [
        filed_facts.FiledFact(
            "us-gaap:Revenues", "USD", start, "2009-06-30", value, None, ADSH, "10-Q", "2009-08-05", "fsds"
        )
        for start, value in (("2009-01-01", "23186000000"), ("2009-04-01", "13761000000"))
    ]


def test_an_instant_has_no_start_and_ends_on_a_month_end(app: App, quarter: Path) -> None:
    ingest_paths(app, quarter)
    (last, first) = sorted(list_facts(app, concepts=["us-gaap:Assets"]), key=lambda fact: fact.end, reverse=True)
    assert (last.start, last.end, last.value) == (None, "2009-06-30", "889544000000")
    assert (first.end, first.value) == ("2008-12-31", "884547000000")


def test_an_amount_per_share_has_the_unit_of_the_filing(app: App, quarter: Path) -> None:
    ingest_paths(app, quarter)
    facts = list_facts(app, concepts=["us-gaap:EarningsPerShareDiluted"])
    assert [(fact.unit, fact.value) for fact in facts] == [("USD/shares", "8.42"), ("USD/shares", "4.93")]


def test_an_empty_value_is_nil(app: App, quarter: Path) -> None:
    ingest_paths(app, quarter)
    assert [(fact.value, fact.unit) for fact in list_facts(app, concepts=["ext:OwnThing"])] == [(None, "USD")]


def test_segments_become_dimensions_with_short_names(app: App, quarter: Path) -> None:
    ingest_paths(app, quarter)
    assert [(fact.dims, fact.value) for fact in list_facts(app, dimensioned=True)] == [
        ((("BusinessSegments", "Trading"),), "1")
    ]


def test_figures_of_a_co_registrant_have_a_dimension(app: App, tmp_path: Path) -> None:
    """A co-registrant's row belongs to another entity, whether or not ``segments`` names it too."""
    rows = [
        NUM,
        NUM | {"coreg": "Subsidiary", "value": "5.0000"},
        NUM | {"ddate": "20081231", "coreg": "Subsidiary", "segments": "LegalEntity=Subsidiary;", "value": "6"},
    ]
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=rows, pre=[PRE])))
    assert [fact.value for fact in list_facts(app)] == ["889544000000"]
    assert [(fact.value, fact.dims) for fact in list_facts(app, dimensioned=True)] == [
        ("6", (("LegalEntity", "Subsidiary"),)),
        ("5", (("LegalEntity", "Subsidiary"),)),
    ]


def test_columns_of_older_tables_are_found_by_name(app: App, tmp_path: Path) -> None:
    """Older tables have coreg before ddate and no segments."""
    columns = ("adsh", "tag", "version", "coreg", "ddate", "qtrs", "uom", "value", "footnote")
    files = tables(num=[NUM], pre=[PRE]) | {"num.txt": table([NUM], columns)}
    ingest_paths(app, write_folder(tmp_path / "set", files))
    assert [(fact.concept, fact.value) for fact in list_facts(app)] == [("us-gaap:Assets", "889544000000")]


def test_company_and_filing_are_stored_from_the_sub_row(app: App, quarter: Path) -> None:
    ingest_paths(app, quarter)
    with app.db.read() as tx:
        row = tx.find_row("company_by_cik", cik=GOLDMAN)
        assert row is not None
        assert row["company_name"] == "GOLDMAN SACHS GROUP INC"
        filing = tx.find_row("filing_row", accession=ADSH)
        assert filing is not None
    assert (filing["form"], filing["filed_at"], filing["accepted_at"], filing["period_of_report"]) == (
        "10-Q",
        "2009-08-05",
        "2009-08-05T20:21:00.000Z",
        "2009-06-30",
    )


# ---- statements


def test_statements_are_served_with_labels_and_negation(app: App, quarter: Path) -> None:
    ingest_paths(app, quarter)
    statements = read_statements(app)
    assert list(statements) == ["balance", "income", "cash-flow"]
    assert [
        (row["concept"], row["label"], row["negated"], row["balance"], row["values"])
        for statement in statements.values()
        for row in statement["rows"]
    ] == [
        ("us-gaap:Assets", "Total assets", False, "debit", ["889544000000", "884547000000"]),
        (
            "us-gaap:LiabilitiesAndStockholdersEquity",
            "Total liabilities and equity",
            False,
            None,
            ["889544000000", "884547000000"],
        ),
        ("us-gaap:Revenues", "Total net revenues", False, None, ["13761000000", "23186000000"]),
        ("us-gaap:EarningsPerShareDiluted", "Diluted", False, None, ["4.93", "8.42"]),
        ("us-gaap:PaymentsToAcquirePropertyPlantAndEquipment", "Purchase of property", True, "credit", ["853000000"]),
        ("ext:OwnThing", "Own", False, None, [None]),
        ("us-gaap:Cash", "Cash, beginning of year", False, None, ["15740000000"]),
        ("us-gaap:Cash", "Cash, end of period", False, None, ["22177000000"]),
    ]
    assert statements["cash-flow"]["rows"][1]["marks"] == [{"status": "nil", "reason": "reported_nil"}]


def test_the_first_of_two_equal_cash_lines_is_the_opening(app: App, tmp_path: Path) -> None:
    lines = [*LINES[:6], LINES[6] | {"plabel": "Cash"}, LINES[7] | {"plabel": "Cash"}]
    ingest_paths(app, write_folder(tmp_path / "set", tables(pre=lines)))
    assert [row["values"] for row in read_statements(app)["cash-flow"]["rows"]][-2:] == [
        ["15740000000"],
        ["22177000000"],
    ]


@pytest.mark.parametrize(
    ("opened", "start", "opening"),
    [
        ("20081231", "2009-01-01", "15740000000"),
        # Quarters of 12 and 16 weeks: the half year is not two quarters long, and its opening balance is reported.
        ("20081130", "2008-12-01", "15740000000"),
        ("20090131", "2009-02-01", "15740000000"),
        # Balances of another half year and of the year before.
        ("20080930", "2009-01-01", None),
        ("20080630", "2009-01-01", None),
    ],
)
def test_a_period_starts_after_its_opening_balance(
    app: App, tmp_path: Path, opened: str, start: str, opening: str | None
) -> None:
    numbers = [
        row | {"ddate": opened} if row["tag"] == "Cash" and row["ddate"] == "20081231" else row for row in NUMBERS
    ]
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=numbers)))
    statement = read_statements(app)["cash-flow"]
    assert statement["columns"][0]["start_date"] == start
    assert [row["values"][0] for row in statement["rows"]][-2:] == [opening, "22177000000"]


def test_a_start_near_two_balances_is_not_moved(app: App, tmp_path: Path) -> None:
    cash = NUM | {"tag": "Cash", "ddate": "20090131", "value": "1.0000"}
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=[*NUMBERS, cash])))
    assert read_statements(app)["cash-flow"]["columns"][0]["start_date"] == "2009-01-01"


def test_a_parent_company_page_has_its_dimension(app: App, tmp_path: Path) -> None:
    """Some filers report everything for the parent company: totals exist only with a dimension."""
    rows = [row | {"coreg": "ParentCompany"} for row in NUMBERS[:4]]
    rows += [NUM | {"segments": "LegalEntity=GoldmanSachsBank;", "value": "1.0000"}]
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=rows, pre=LINES[:2])))
    # Nothing is reported without dimensions: the parent's column stands for the complete company.
    consolidated, complete = read_statements(app)["balance"], read_statements(app, consolidated_only=False)["balance"]
    assert [column["dims"] for column in consolidated["columns"]] == [{"LegalEntity": "ParentCompany"}] * 2
    assert [row["values"] for row in consolidated["rows"]] == [["889544000000", "884547000000"]] * 2
    assert {tuple(column["dims"].values()) for column in complete["columns"]} == {
        ("ParentCompany",),
        ("GoldmanSachsBank",),
    }


def test_parent_only_figures_count_as_the_companys(app: App, tmp_path: Path) -> None:
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=[row | {"coreg": "ParentCompany"} for row in NUMBERS])))
    with app.db.read() as tx:
        book = company_books.load(tx, GOLDMAN).book
        stored_report = filed_statements.find_report_by_accession(tx, ADSH)
        assert stored_report is not None
        assert filed_statements.find_consolidated_dimension(tx, stored_report) == {"LegalEntity": "ParentCompany"}
    ((_, vintages),) = [
        (key, key_vintages) for key, key_vintages in book.vintages["us-gaap:Assets"].items() if key[0] == 14425
    ]
    assert vintages[0].value == "889544000000"


@pytest.mark.parametrize("entity", ["GoldmanSachsBank", "PredecessorCompany"])
def test_subsidiaries_and_predecessors_are_not_the_company(app: App, tmp_path: Path, entity: str) -> None:
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=[row | {"coreg": entity} for row in NUMBERS])))
    assert read_statements(app) == {}
    with app.db.read() as tx:
        assert company_books.load(tx, GOLDMAN).is_empty


def test_the_parent_is_not_the_company_if_plain_facts_exist(app: App, tmp_path: Path) -> None:
    rows = [NUMBERS[4], *(row | {"coreg": "ParentCompany"} for row in NUMBERS[:4])]
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=rows)))
    assert list(read_statements(app)) == ["income"]


def test_a_line_reported_only_by_segment_has_their_columns(app: App, tmp_path: Path) -> None:
    sector = NUM | {"tag": "AccountsPayableCurrent", "segments": "BusinessSegments=Automotive;"}
    rows = [
        *NUMBERS,
        sector | {"value": "7.0000"},
        NUM | {"segments": "BusinessSegments=Automotive;", "value": "9.0000"},
    ]
    lines = [*LINES, PRE | {"line": "3", "tag": "AccountsPayableCurrent", "plabel": "Payables"}]
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=rows, pre=lines)))
    plain, full = read_statements(app)["balance"], read_statements(app, consolidated_only=False)["balance"]
    assert [row["label"] for row in plain["rows"]] == ["Total assets", "Total liabilities and equity"]
    assert [column["dims"] for column in full["columns"]] == [None, None, {"BusinessSegments": "Automotive"}]
    assert [(row["label"], row["values"]) for row in full["rows"]] == [
        ("Total assets", ["889544000000", "884547000000", "9"]),
        ("Total liabilities and equity", ["889544000000", "884547000000", None]),
        ("Payables", [None, None, "7"]),
    ]
    absent = {"status": "absent", "reason": "not_reported"}
    assert full["rows"][2]["marks"] == [absent, absent, None]
    assert full["columns"][:2] == plain["columns"]
    # A page whose lines all have plain facts gets no columns for segments.
    assert [column["dims"] for column in read_statements(app, consolidated_only=False)["income"]["columns"]] == [
        None,
        None,
    ]


def test_a_line_of_no_column_is_a_row_of_absent_cells(app: App, tmp_path: Path) -> None:
    sector = {"tag": "AccountsPayableCurrent", "ddate": "20061231", "segments": "BusinessSegments=Automotive;"}
    lines = [
        *LINES,
        PRE | {"line": "3", "tag": "AccountsPayableCurrent", "plabel": "Payables"},
        PRE | {"line": "4", "tag": "OtherAssets", "plabel": "Told nowhere"},
    ]
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=[*NUMBERS, NUM | sector], pre=lines)))
    full, plain = read_statements(app, consolidated_only=False)["balance"], read_statements(app)["balance"]
    assert (full["columns"], full["rows"][:2]) == (plain["columns"], plain["rows"])
    (payables,) = full["rows"][2:]
    absent = {"status": "absent", "reason": "not_reported"}
    assert [payables[name] for name in ("label", "unit", "decimals", "values", "marks")] == [
        *("Payables", "USD", None, [None, None], [absent, absent])
    ]


def test_an_unclassified_balance_sheet_is_recognised(app: App, tmp_path: Path) -> None:
    lines = [row | {"stmt": "UN"} if row["stmt"] == "BS" else row for row in LINES]
    ingest_paths(app, write_folder(tmp_path / "set", tables(pre=lines)))
    assert list(read_statements(app)) == ["balance", "income", "cash-flow"]


def test_without_pre_there_are_facts_but_no_statements(app: App, tmp_path: Path) -> None:
    files = tables()
    del files["pre.txt"], files["tag.txt"]
    ingest_paths(app, write_folder(tmp_path / "set", files))
    assert len(list_facts(app)) == 12
    assert read_statements(app) == {}


# ---- agreement of statements with the rows


def list_entries(path: Path) -> dict[str, sources.Entry]:
    (group,) = [item_group for item_group in sources.iter_groups([path]) if isinstance(item_group, sources.Group)]
    return {document_kinds.detect_kind(entry.read(), entry.name): entry for entry in group.entries}


def test_served_statements_agree_with_the_rows(app: App, tmp_path: Path) -> None:
    path = write_folder(tmp_path / "set", tables())
    ingest_paths(app, path)
    agreements = list(
        agreement.compare_data_set(
            list_entries(path), lambda accession: read_statements(app, accession, consolidated_only=False)
        )
    )
    assert [
        (result.statement, result.presented, result.lines_served, result.values, result.equal) for result in agreements
    ] == [
        ("balance", 2, 2, 4, 4),
        ("income", 2, 2, 4, 4),
        ("cash-flow", 4, 4, 4, 4),
    ]
    assert agreement.sum_counts(agreements)["all"] == {
        "statements": 3,
        "presented": 8,
        "lines": 8,
        "lines_served": 8,
        "values": 12,
        "equal": 12,
        "outside": 0,
        "misses": 0,
    }


def _wrong_value(statement: dict[str, Any]) -> None:
    statement["rows"][0]["values"][0] = "889544000001"


def _wrong_sign(statement: dict[str, Any]) -> None:
    statement["rows"][0]["negated"] = True


def _wrong_order(statement: dict[str, Any]) -> None:
    statement["rows"].reverse()


def _left_out(statement: dict[str, Any]) -> None:
    del statement["rows"][1]


def _emptied(statement: dict[str, Any]) -> None:
    statement["rows"][0]["values"][0] = None
    statement["rows"][0]["marks"][0] = {"status": "absent", "reason": "not_reported"}


@pytest.mark.parametrize("spoil", [_wrong_value, _wrong_sign, _wrong_order, _left_out, _emptied])
def test_agreement_finds_errors(app: App, tmp_path: Path, spoil: Callable[[dict[str, Any]], None]) -> None:
    path = write_folder(tmp_path / "set", tables())
    ingest_paths(app, path)

    def read_spoiled(accession: str) -> dict[str, Any]:
        statements = json.loads(json.dumps(read_statements(app, accession, consolidated_only=False)))
        spoil(statements["balance"])
        return statements  # type: ignore[no-any-return]

    balance, *other_results = agreement.compare_data_set(list_entries(path), read_spoiled)
    assert balance.misses != ()
    assert [result.misses for result in other_results] == [(), ()]
    assert (balance.lines_served, balance.equal) != (balance.lines, balance.values)


def test_a_missing_statement_is_a_miss(app: App, tmp_path: Path) -> None:
    path = write_folder(tmp_path / "set", tables())
    agreements = list(agreement.compare_data_set(list_entries(path), lambda accession: {}))
    assert [result.misses for result in agreements] == [("the statement is not served",)] * 3


# ---- the same filing again, and from elsewhere


def test_the_same_quarter_again_changes_nothing(app: App, quarter: Path, tmp_path: Path) -> None:
    ingest_paths(app, quarter)
    before = get_data_version(app)
    reversed_files = {name: b"\n".join([lines[0], *reversed(lines[1:])]) for name, lines in _split(tables())}
    again = ingest_paths(app, quarter, write_folder(tmp_path / "reversed", reversed_files))
    assert {outcome.outcome for outcome in again} == {"unchanged"}
    assert get_data_version(app) == before


def _split(files: Mapping[str, bytes]) -> Iterator[tuple[str, list[bytes]]]:
    return ((name, data.splitlines()) for name, data in files.items())


def write_companyfacts(tmp_path: Path) -> Path:
    """Write the same filing as companyfacts, with exact dates and a concept that the data set does not have."""
    row = {"accn": ADSH, "form": "10-Q", "filed": "2009-08-05", "fy": 2009, "fp": "Q2"}
    half = {"start": "2008-12-27", "end": "2009-06-26"}
    units = {
        "Assets": {"USD": [row | {"end": "2009-06-26", "val": 889544000000}]},
        "Revenues": {
            "USD": [row | half | {"val": 23186000000}, row | half | {"start": "2009-03-28", "val": 13761000000}]
        },
        "EarningsPerShareDiluted": {"USD/shares": [row | half | {"val": 8.42}]},
        "Goodwill": {"USD": [row | {"end": "2009-06-26", "val": 3562000000}]},
    }
    facts_of = {"us-gaap": {name: {"units": of_unit} for name, of_unit in units.items()}}
    file = tmp_path / "CIK.json"
    file.write_text(json.dumps({"cik": GOLDMAN, "entityName": "Goldman Sachs", "facts": facts_of}))
    return file


def test_companyfacts_hide_the_same_rounded_facts(make_app: Callable[..., App], quarter: Path, tmp_path: Path) -> None:
    results = []
    for order in itertools.permutations([quarter, write_companyfacts(tmp_path)]):
        app = make_app()
        ingest_paths(app, *order)
        results.append((list_facts(app), list_facts(app, dimensioned=True), read_statements(app)))
    assert results[0] == results[1]
    all_facts = results[0][0]
    assert {(fact.concept, fact.start, fact.end, fact.source) for fact in all_facts if fact.end < "2009-06-30"} >= {
        ("us-gaap:Revenues", "2008-12-27", "2009-06-26", "companyfacts"),
        ("us-gaap:EarningsPerShareDiluted", "2008-12-27", "2009-06-26", "companyfacts"),
    }
    assert [(fact.end, fact.source) for fact in all_facts if fact.concept == "us-gaap:Assets"] == [
        ("2009-06-26", "companyfacts"),
        ("2008-12-31", "fsds"),
    ]
    assert [fact.value for fact in all_facts if fact.concept == "us-gaap:EarningsPerShareDiluted"] == ["8.42", "4.93"]
    assert len(results[0][1]) == 1


# ---- bad input


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"num.txt": table([NUM])}, "belong together"),
        ({"sub.txt": table([SUB])}, "belong together"),
        (tables(sub=[SUB | {"cik": "x"}]), "not a CIK"),
        (tables(sub=[SUB | {"adsh": "1"}]), "not an accession number"),
        (tables(sub=[SUB | {"filed": "2009-08-05"}]), "not a date YYYYMMDD"),
        (tables(sub=[SUB | {"period": ""}]), "not a date YYYYMMDD"),
        (tables() | {"num.txt": table([NUM], ("adsh", "tag", "version", "ddate", "value"))}, "lacks the column"),
    ],
)
def test_an_unreadable_quarter_is_refused(app: App, tmp_path: Path, files: dict[str, bytes], reason: str) -> None:
    outcomes = ingest_paths(app, write_folder(tmp_path / "set", files))
    assert {outcome.outcome for outcome in outcomes} == {"refused"}
    assert reason in str(outcomes[0].reason)
    assert list_facts(app) == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"value": "1e400"}, "not a decimal number"),
        ({"value": "NaN"}, "not a decimal number"),
        ({"value": "1" * 60}, "not a decimal number"),
        ({"ddate": "20090631"}, "is not a date YYYYMMDD"),
        ({"ddate": ""}, "not a date"),
        ({"qtrs": "-1"}, "not a whole number"),
        ({"qtrs": "99999"}, "quarters"),
        ({"uom": ""}, "unit is missing"),
        ({"tag": "a b"}, "not an element name"),
        ({"version": "x"}, "neither a taxonomy"),
    ],
)
def test_only_the_filing_with_an_invalid_row_is_refused(
    app: App, tmp_path: Path, row: dict[str, str], reason: str
) -> None:
    other = "0000950123-09-000001"
    files = tables(sub=[SUB, SUB | {"adsh": other}], num=[NUM | row, NUM | {"adsh": other}], pre=[PRE])
    outcomes = ingest_paths(app, write_folder(tmp_path / "set", files))
    refused = [outcome for outcome in outcomes if outcome.outcome == "refused"]
    assert [(outcome.accession, outcome.kind) for outcome in refused] == [(ADSH, "fsds-num")]
    assert reason in str(refused[0].reason)
    assert [fact.accession for fact in list_facts(app)] == [other]


def test_rows_of_filings_missing_in_sub_are_ignored(app: App, tmp_path: Path) -> None:
    rows = [NUM, NUM | {"adsh": "0000950123-09-000001"}]
    ingest_paths(app, write_folder(tmp_path / "set", tables(num=rows, pre=[PRE])))
    assert [fact.accession for fact in list_facts(app)] == [ADSH]


@pytest.mark.parametrize(
    "line", [b"a\tb", b"", b"\t" * 9, b"\xff" * 10 + b"\t" * 9, b"\0" + b"\t" * 9, b"a" * 1000 + b"\t" * 20]
)
def test_garbage_between_rows_is_ignored(app: App, tmp_path: Path, line: bytes) -> None:
    files = tables()
    files["num.txt"] += line + b"\n"
    ingest_paths(app, write_folder(tmp_path / "set", files))
    assert len(list_facts(app)) == 12


@pytest.mark.parametrize(
    "line", [ADSH.encode(), f"{ADSH}\tAssets".encode(), f"{ADSH}\t\xff".encode("latin-1") + b"\t" * 8]
)
def test_an_invalid_line_refuses_its_filing(app: App, tmp_path: Path, line: bytes) -> None:
    files = tables()
    files["num.txt"] += line + b"\n"
    outcomes = ingest_paths(app, write_folder(tmp_path / "set", files))
    assert [outcome.accession for outcome in outcomes if outcome.outcome == "refused"] == [ADSH]


def test_an_endless_line_is_refused(app: App, tmp_path: Path) -> None:
    files = tables()
    files["num.txt"] += b"x" * (2 * sources.MAX_LINE_BYTES)
    outcomes = ingest_paths(app, write_folder(tmp_path / "set", files))
    assert "has a line of more than" in str(outcomes[0].reason)


def test_a_refusal_names_the_invalid_table(app: App, tmp_path: Path) -> None:
    path = write_folder(tmp_path / "set", tables() | {"num.txt": table([NUM]).replace(b"qtrs", b"count", 1)})
    reasons = {outcome.kind: outcome.reason for outcome in ingest_paths(app, path)}
    assert reasons["fsds-num"] == "line 1: lacks the column qtrs"
    assert reasons["fsds-sub"] == f"{path}/num.txt: line 1: lacks the column qtrs"


def test_two_tables_of_one_kind_are_refused(app: App, tmp_path: Path) -> None:
    outcomes = ingest_paths(app, write_folder(tmp_path / "set", tables() | {"num2.txt": table([NUM])}))
    assert {outcome.reason for outcome in outcomes} == {"two tables of the same kind are in one folder"}


@pytest.mark.slow
def test_no_temporary_files_remain(app: App, quarter: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "temporary"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    ingest_paths(app, quarter)
    gc.collect()
    assert list(path.iterdir()) == []


def test_a_filing_with_too_many_rows_is_refused(app: App, quarter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_set_intake, "MAX_PART_BYTES", 100)
    assert "more rows for one filing" in str(ingest_paths(app, quarter)[0].reason)


def test_filings_distributed_over_files_are_all_stored(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement_set_intake, "PART_BYTES", 500)
    accessions = [f"0000950123-09-{number:06}" for number in range(40)]
    path = write_folder(
        tmp_path / "set",
        tables(
            sub=[SUB | {"adsh": accession} for accession in accessions],
            num=[
                NUM | {"adsh": accession, "ddate": day} for day in ("20090630", "20081231") for accession in accessions
            ],
            pre=[PRE | {"adsh": accession} for accession in accessions],
        ),
    )
    ingest_paths(app, path)
    assert sorted(fact.accession for fact in list_facts(app)) == sorted(accessions * 2)


@run_each_case(
    "day, end",
    [
        ("2024-09-28", "2024-09-30"),
        ("2009-06-26", "2009-06-30"),
        ("2023-07-02", "2023-06-30"),
        ("2024-02-29", "2024-02-29"),
        ("2025-01-01", "2024-12-31"),
        ("2025-01-26", "2025-01-31"),
    ],
)
def test_dates_are_rounded_to_the_nearest_month_end(day: str, end: str) -> None:
    assert agreement.find_month_end(day) == end


def test_a_quarter_with_crlf_line_ends_is_the_same_quarter(app: App, quarter: Path, tmp_path: Path) -> None:
    ingest_paths(app, quarter)
    returned = {name: data.replace(b"\n", b"\r\n") for name, data in tables().items()}
    outcomes = ingest_paths(app, write_folder(tmp_path / "again", returned))
    assert {outcome.reason for outcome in outcomes} == {"1 filing: 0 ingested, 1 stored already"}


def test_a_row_with_a_nul_refuses_its_filing(app: App, tmp_path: Path) -> None:
    files = tables(num=[NUM | {"tag": "As\0sets"}], pre=[PRE])
    outcomes = ingest_paths(app, write_folder(tmp_path / "set", files))
    assert [(outcome.accession, "NUL" in str(outcome.reason)) for outcome in outcomes if outcome.accession] == [
        (ADSH, True)
    ]
    assert list_facts(app) == []
