"""Financial Statement Data Sets: what is made of a quarter's tables, and what of them is refused."""

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
from finapi.core.errors import ParseError
from finapi.edgar import document_kinds
from finapi.edgar import statement_sets as sets
from finapi.edgar.form_families import XBRL
from finapi.market.documents import sources
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.financials import company_books
from finapi.market.intake import ingest
from finapi.market.statements import filed_facts, filed_statements, statement_set_intake
from tests.measure import agreement
from tests.support.statement_set_tables import ADSH, LINES, NUM, NUMBERS, PRE, SUB, TAGS, folder, table, tables, zipped

GOLDMAN = 886982


def take(app: App, *paths: Path) -> list[Outcome]:
    outcomes: list[Outcome] = []
    ingest.run(app, paths, IngestOptions(), outcomes.append)
    return outcomes


def of(app: App, **question: Any) -> list[filed_facts.FiledFact]:
    with app.db.read() as tx:
        return filed_facts.list_company_facts(tx, GOLDMAN, **question)


def served(app: App, accession: str = ADSH, *, whole: bool = True) -> dict[str, Any]:
    with app.db.read() as tx:
        report = filed_statements.find_report_by_accession(tx, accession)
        assert report is not None
        return filed_statements.read_statements(tx, report, consolidated_only=whole)[0]


def version(app: App) -> int:
    with app.db.read() as tx:
        return int(tx.find_value("data_version"))


@pytest.fixture
def quarter(tmp_path: Path) -> Path:
    return zipped(tmp_path / "2009q3.zip", tables())


# ---- figures


def test_figures_are_those_of_the_rows(app: App, quarter: Path) -> None:
    outcomes = take(app, quarter)
    assert {(one.kind, one.outcome, one.reason) for one in outcomes} == {
        (kind, "ingested", "1 filings: 1 ingested, 0 held already") for kind in XBRL.data_set_kinds
    }
    assert of(app, concepts=["us-gaap:Revenues"]) == [
        filed_facts.FiledFact(
            "us-gaap:Revenues", "USD", start, "2009-06-30", value, None, ADSH, "10-Q", "2009-08-05", "fsds"
        )
        for start, value in (("2009-01-01", "23186000000"), ("2009-04-01", "13761000000"))
    ]


def test_an_instant_has_no_start_and_its_date_is_the_month_end(app: App, quarter: Path) -> None:
    take(app, quarter)
    (last, first) = sorted(of(app, concepts=["us-gaap:Assets"]), key=lambda fact: fact.end, reverse=True)
    assert (last.start, last.end, last.value) == (None, "2009-06-30", "889544000000")
    assert (first.end, first.value) == ("2008-12-31", "884547000000")


def test_amount_per_share_has_the_unit_of_the_filing(app: App, quarter: Path) -> None:
    take(app, quarter)
    found = of(app, concepts=["us-gaap:EarningsPerShareDiluted"])
    assert [(fact.unit, fact.value) for fact in found] == [("USD/shares", "8.42"), ("USD/shares", "4.93")]


def test_empty_value_is_nil_and_an_own_element_an_extension(app: App, quarter: Path) -> None:
    take(app, quarter)
    assert [(fact.value, fact.unit) for fact in of(app, concepts=["ext:OwnThing"])] == [(None, "USD")]


def test_segments_are_dimensions_in_their_short_names(app: App, quarter: Path) -> None:
    take(app, quarter)
    assert [(fact.dims, fact.value) for fact in of(app, dimensioned=True)] == [
        ((("BusinessSegments", "Trading"),), "1")
    ]


def test_figures_of_a_co_registrant_are_not_the_company_s(app: App, tmp_path: Path) -> None:
    """A co-registrant's row is another entity's, with or without the column that says so a second time."""
    rows = [
        NUM,
        NUM | {"coreg": "Subsidiary", "value": "5.0000"},
        NUM | {"ddate": "20081231", "coreg": "Subsidiary", "segments": "LegalEntity=Subsidiary;", "value": "6"},
    ]
    take(app, folder(tmp_path / "set", tables(num=rows, pre=[PRE])))
    assert [fact.value for fact in of(app)] == ["889544000000"]
    assert [(fact.value, fact.dims) for fact in of(app, dimensioned=True)] == [
        ("6", (("LegalEntity", "Subsidiary"),)),
        ("5", (("LegalEntity", "Subsidiary"),)),
    ]


def test_tables_of_an_older_issue_have_other_columns(app: App, tmp_path: Path) -> None:
    """coreg before ddate and no segments: columns are found by name."""
    columns = ("adsh", "tag", "version", "coreg", "ddate", "qtrs", "uom", "value", "footnote")
    files = tables(num=[NUM], pre=[PRE]) | {"num.txt": table([NUM], columns)}
    take(app, folder(tmp_path / "set", files))
    assert [(fact.concept, fact.value) for fact in of(app)] == [("us-gaap:Assets", "889544000000")]


def test_company_is_known_by_its_row(app: App, quarter: Path) -> None:
    take(app, quarter)
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
    take(app, quarter)
    made = served(app)
    assert list(made) == ["balance", "income", "cash-flow"]
    assert [
        (row["concept"], row["label"], row["negated"], row["balance"], row["values"])
        for statement in made.values()
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
    assert made["cash-flow"]["rows"][1]["marks"] == [{"status": "nil", "reason": "reported_nil"}]


def test_two_lines_of_a_balance_without_words_open_and_close_the_period(app: App, tmp_path: Path) -> None:
    lines = [*LINES[:6], LINES[6] | {"plabel": "Cash"}, LINES[7] | {"plabel": "Cash"}]
    take(app, folder(tmp_path / "set", tables(pre=lines)))
    assert [row["values"] for row in served(app)["cash-flow"]["rows"]][-2:] == [["15740000000"], ["22177000000"]]


@pytest.mark.parametrize(
    ("opened", "start", "opening"),
    [
        ("20081231", "2009-01-01", "15740000000"),
        # 12 and 16 weeks: the half year is no two quarters, and the day that opens it is held.
        ("20081130", "2008-12-01", "15740000000"),
        ("20090131", "2009-02-01", "15740000000"),
        # Of another half year, and of a year before.
        ("20080930", "2009-01-01", None),
        ("20080630", "2009-01-01", None),
    ],
)
def test_a_period_begins_after_the_balance_that_opens_it(
    app: App, tmp_path: Path, opened: str, start: str, opening: str | None
) -> None:
    numbers = [
        row | {"ddate": opened} if row["tag"] == "Cash" and row["ddate"] == "20081231" else row for row in NUMBERS
    ]
    take(app, folder(tmp_path / "set", tables(num=numbers)))
    made = served(app)["cash-flow"]
    assert made["columns"][0]["start_date"] == start
    assert [row["values"][0] for row in made["rows"]][-2:] == [opening, "22177000000"]


def test_of_two_balances_near_a_reckoned_start_none_is_taken(app: App, tmp_path: Path) -> None:
    cash = NUM | {"tag": "Cash", "ddate": "20090131", "value": "1.0000"}
    take(app, folder(tmp_path / "set", tables(num=[*NUMBERS, cash])))
    assert served(app)["cash-flow"]["columns"][0]["start_date"] == "2009-01-01"


def test_page_of_a_parent_company_is_served_with_its_dimension(app: App, tmp_path: Path) -> None:
    """Some filers report everything of the parent company: totals exist only with a dimension."""
    rows = [row | {"coreg": "ParentCompany"} for row in NUMBERS[:4]]
    rows += [NUM | {"segments": "LegalEntity=GoldmanSachsBank;", "value": "1.0000"}]
    take(app, folder(tmp_path / "set", tables(num=rows, pre=LINES[:2])))
    # Nothing is told without dimensions: the parent's column is the whole.
    made, full = served(app)["balance"], served(app, whole=False)["balance"]
    assert [column["dims"] for column in made["columns"]] == [{"LegalEntity": "ParentCompany"}] * 2
    assert [row["values"] for row in made["rows"]] == [["889544000000", "884547000000"]] * 2
    assert {tuple(column["dims"].values()) for column in full["columns"]} == {("ParentCompany",), ("GoldmanSachsBank",)}


def test_figures_of_a_filing_that_tells_everything_of_the_parent_are_those_of_the_company(
    app: App, tmp_path: Path
) -> None:
    take(app, folder(tmp_path / "set", tables(num=[row | {"coreg": "ParentCompany"} for row in NUMBERS])))
    with app.db.read() as tx:
        book = company_books.load(tx, GOLDMAN).book
        held = filed_statements.find_report_by_accession(tx, ADSH)
        assert held is not None
        assert filed_statements.find_consolidated_dimension(tx, held) == {"LegalEntity": "ParentCompany"}
    ((_, told),) = [(key, found) for key, found in book.vintages["us-gaap:Assets"].items() if key[0] == 14425]
    assert told[0].value == "889544000000"


@pytest.mark.parametrize("entity", ["GoldmanSachsBank", "PredecessorCompany"])
def test_a_subsidiary_and_a_predecessor_are_never_the_whole(app: App, tmp_path: Path, entity: str) -> None:
    take(app, folder(tmp_path / "set", tables(num=[row | {"coreg": entity} for row in NUMBERS])))
    assert served(app) == {}
    with app.db.read() as tx:
        assert company_books.load(tx, GOLDMAN).is_empty


def test_the_parent_is_not_the_whole_where_anything_is_told_without_it(app: App, tmp_path: Path) -> None:
    rows = [NUMBERS[4], *(row | {"coreg": "ParentCompany"} for row in NUMBERS[:4])]
    take(app, folder(tmp_path / "set", tables(num=rows)))
    assert list(served(app)) == ["income"]


def test_a_line_that_is_only_told_of_segments_keeps_its_row_and_their_columns(app: App, tmp_path: Path) -> None:
    sector = NUM | {"tag": "AccountsPayableCurrent", "segments": "BusinessSegments=Automotive;"}
    rows = [
        *NUMBERS,
        sector | {"value": "7.0000"},
        NUM | {"segments": "BusinessSegments=Automotive;", "value": "9.0000"},
    ]
    lines = [*LINES, PRE | {"line": "3", "tag": "AccountsPayableCurrent", "plabel": "Payables"}]
    take(app, folder(tmp_path / "set", tables(num=rows, pre=lines)))
    plain, full = served(app)["balance"], served(app, whole=False)["balance"]
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
    # A page whose lines are all told of the whole has no columns of segments, as before.
    assert [column["dims"] for column in served(app, whole=False)["income"]["columns"]] == [None, None]


def test_a_line_that_is_only_told_in_other_columns_is_there_with_its_marks(app: App, tmp_path: Path) -> None:
    sector = {"tag": "AccountsPayableCurrent", "ddate": "20061231", "segments": "BusinessSegments=Automotive;"}
    lines = [
        *LINES,
        PRE | {"line": "3", "tag": "AccountsPayableCurrent", "plabel": "Payables"},
        PRE | {"line": "4", "tag": "OtherAssets", "plabel": "Told nowhere"},
    ]
    take(app, folder(tmp_path / "set", tables(num=[*NUMBERS, NUM | sector], pre=lines)))
    full, plain = served(app, whole=False)["balance"], served(app)["balance"]
    assert (full["columns"], full["rows"][:2]) == (plain["columns"], plain["rows"])
    (payables,) = full["rows"][2:]
    absent = {"status": "absent", "reason": "not_reported"}
    assert [payables[name] for name in ("label", "unit", "decimals", "values", "marks")] == [
        *("Payables", "USD", None, [None, None], [absent, absent])
    ]


def test_unclassified_page_that_is_the_balance_sheet_is_served_as_it(app: App, tmp_path: Path) -> None:
    lines = [row | {"stmt": "UN"} if row["stmt"] == "BS" else row for row in LINES]
    take(app, folder(tmp_path / "set", tables(pre=lines)))
    assert list(served(app)) == ["balance", "income", "cash-flow"]


def test_without_presentation_there_are_figures_and_no_statements(app: App, tmp_path: Path) -> None:
    files = tables()
    del files["pre.txt"], files["tag.txt"]
    take(app, folder(tmp_path / "set", files))
    assert len(of(app)) == 12
    assert served(app) == {}


# ---- agreement


def entries(place: Path) -> dict[str, sources.Entry]:
    (group,) = [one for one in sources.iter_groups([place]) if isinstance(one, sources.Group)]
    return {document_kinds.detect_kind(entry.read(), entry.name): entry for entry in group.entries}


def test_what_is_served_agrees_with_the_rows(app: App, tmp_path: Path) -> None:
    place = folder(tmp_path / "set", tables())
    take(app, place)
    found = list(agreement.of_data_set(entries(place), lambda accession: served(app, accession, whole=False)))
    assert [(one.statement, one.presented, one.lines_served, one.values, one.equal) for one in found] == [
        ("balance", 2, 2, 4, 4),
        ("income", 2, 2, 4, 4),
        ("cash-flow", 4, 4, 4, 4),
    ]
    assert agreement.totals(found)["all"] == {
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
def test_agreement_finds_what_is_wrong(app: App, tmp_path: Path, spoil: Callable[[dict[str, Any]], None]) -> None:
    place = folder(tmp_path / "set", tables())
    take(app, place)

    def spoiled(accession: str) -> dict[str, Any]:
        made = json.loads(json.dumps(served(app, accession, whole=False)))
        spoil(made["balance"])
        return made  # type: ignore[no-any-return]

    balance, *rest = agreement.of_data_set(entries(place), spoiled)
    assert balance.misses != ()
    assert [one.misses for one in rest] == [(), ()]
    assert (balance.lines_served, balance.equal) != (balance.lines, balance.values)


def test_statement_that_is_not_served_is_a_miss(app: App, tmp_path: Path) -> None:
    place = folder(tmp_path / "set", tables())
    found = list(agreement.of_data_set(entries(place), lambda accession: {}))
    assert [one.misses for one in found] == [("the statement is not served",)] * 3


# ---- the same filing again, and from elsewhere


def test_same_quarter_again_changes_nothing(app: App, quarter: Path, tmp_path: Path) -> None:
    take(app, quarter)
    before = version(app)
    turned = {name: b"\n".join([lines[0], *reversed(lines[1:])]) for name, lines in _split(tables())}
    again = take(app, quarter, folder(tmp_path / "turned", turned))
    assert {one.outcome for one in again} == {"unchanged"}
    assert version(app) == before


def _split(files: Mapping[str, bytes]) -> Iterator[tuple[str, list[bytes]]]:
    return ((name, data.splitlines()) for name, data in files.items())


def companyfacts(tmp_path: Path) -> Path:
    """The same filing in companyfacts: exact dates, one concept that the data set lacks."""
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


def test_a_figure_with_exact_dates_stands_instead_of_the_rounded_one(
    make_app: Callable[..., App], quarter: Path, tmp_path: Path
) -> None:
    found = []
    for order in itertools.permutations([quarter, companyfacts(tmp_path)]):
        app = make_app()
        take(app, *order)
        found.append((of(app), of(app, dimensioned=True), served(app)))
    assert found[0] == found[1]
    everything = found[0][0]
    assert {(fact.concept, fact.start, fact.end, fact.source) for fact in everything if fact.end < "2009-06-30"} >= {
        ("us-gaap:Revenues", "2008-12-27", "2009-06-26", "companyfacts"),
        ("us-gaap:EarningsPerShareDiluted", "2008-12-27", "2009-06-26", "companyfacts"),
    }
    assert [(one.end, one.source) for one in everything if one.concept == "us-gaap:Assets"] == [
        ("2009-06-26", "companyfacts"),
        ("2008-12-31", "fsds"),
    ]
    assert [one.value for one in everything if one.concept == "us-gaap:EarningsPerShareDiluted"] == ["8.42", "4.93"]
    assert len(found[0][1]) == 1


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
def test_quarter_that_cannot_be_read_is_refused_whole(
    app: App, tmp_path: Path, files: dict[str, bytes], reason: str
) -> None:
    outcomes = take(app, folder(tmp_path / "set", files))
    assert {one.outcome for one in outcomes} == {"refused"}
    assert reason in str(outcomes[0].reason)
    assert of(app) == []


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
def test_filing_with_a_broken_row_is_refused_and_the_others_are_stored(
    app: App, tmp_path: Path, row: dict[str, str], reason: str
) -> None:
    other = "0000950123-09-000001"
    files = tables(sub=[SUB, SUB | {"adsh": other}], num=[NUM | row, NUM | {"adsh": other}], pre=[PRE])
    outcomes = take(app, folder(tmp_path / "set", files))
    refused = [one for one in outcomes if one.outcome == "refused"]
    assert [(one.accession, one.kind) for one in refused] == [(ADSH, "fsds-num")]
    assert reason in str(refused[0].reason)
    assert [fact.accession for fact in of(app)] == [other]


def test_rows_of_a_filing_that_the_list_lacks_are_left_out(app: App, tmp_path: Path) -> None:
    rows = [NUM, NUM | {"adsh": "0000950123-09-000001"}]
    take(app, folder(tmp_path / "set", tables(num=rows, pre=[PRE])))
    assert [fact.accession for fact in of(app)] == [ADSH]


@pytest.mark.parametrize(
    "line", [b"a\tb", b"", b"\t" * 9, b"\xff" * 10 + b"\t" * 9, b"\0" + b"\t" * 9, b"a" * 1000 + b"\t" * 20]
)
def test_garbage_between_rows_belongs_to_no_filing(app: App, tmp_path: Path, line: bytes) -> None:
    files = tables()
    files["num.txt"] += line + b"\n"
    take(app, folder(tmp_path / "set", files))
    assert len(of(app)) == 12


@pytest.mark.parametrize(
    "line", [ADSH.encode(), f"{ADSH}\tAssets".encode(), f"{ADSH}\t\xff".encode("latin-1") + b"\t" * 8]
)
def test_broken_line_of_a_filing_refuses_it(app: App, tmp_path: Path, line: bytes) -> None:
    files = tables()
    files["num.txt"] += line + b"\n"
    outcomes = take(app, folder(tmp_path / "set", files))
    assert [one.accession for one in outcomes if one.outcome == "refused"] == [ADSH]


def test_line_without_end_is_refused_in_bounded_memory(app: App, tmp_path: Path) -> None:
    files = tables()
    files["num.txt"] += b"x" * (2 * sources.MAX_LINE_BYTES)
    outcomes = take(app, folder(tmp_path / "set", files))
    assert "has a line of more than" in str(outcomes[0].reason)


def test_why_a_quarter_cannot_be_read_names_the_table_where_it_is_another(app: App, tmp_path: Path) -> None:
    place = folder(tmp_path / "set", tables() | {"num.txt": table([NUM]).replace(b"qtrs", b"count", 1)})
    reasons = {one.kind: one.reason for one in take(app, place)}
    assert reasons["fsds-num"] == "line 1: lacks the column qtrs"
    assert reasons["fsds-sub"] == f"{place}/num.txt: line 1: lacks the column qtrs"


def test_two_tables_of_one_kind_are_refused(app: App, tmp_path: Path) -> None:
    outcomes = take(app, folder(tmp_path / "set", tables() | {"num2.txt": table([NUM])}))
    assert {one.reason for one in outcomes} == {"two tables of one kind lie in one folder"}


@pytest.mark.slow
def test_nothing_is_left_in_the_temporary_directory(
    app: App, quarter: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    take(app, quarter)
    gc.collect()
    assert list(place.iterdir()) == []


def test_filing_larger_than_any_is_refused(app: App, quarter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_set_intake, "MAX_PART_BYTES", 100)
    assert "more rows for one filing" in str(take(app, quarter)[0].reason)


def test_filings_are_dealt_to_files_and_all_found_again(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement_set_intake, "PART_BYTES", 500)
    numbers = [f"0000950123-09-{n:06}" for n in range(40)]
    place = folder(
        tmp_path / "set",
        tables(
            sub=[SUB | {"adsh": one} for one in numbers],
            num=[NUM | {"adsh": one, "ddate": day} for day in ("20090630", "20081231") for one in numbers],
            pre=[PRE | {"adsh": one} for one in numbers],
        ),
    )
    take(app, place)
    assert sorted(fact.accession for fact in of(app)) == sorted(numbers * 2)


# ---- dates


@pytest.mark.parametrize(
    ("day", "end"),
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
    assert agreement.month_end(day) == end


@pytest.mark.parametrize(
    ("start", "end", "count"),
    [
        (None, "2024-09-28", 0),
        ("2024-06-30", "2024-09-28", 1),
        ("2023-10-01", "2024-09-28", 4),
        ("2022-09-25", "2023-09-30", 4),
        ("2009-01-01", "2009-06-30", 2),
    ],
)
def test_periods_are_counted_in_quarters(start: str | None, end: str, count: int) -> None:
    assert sets.count_quarters(start, end) == count


def test_header_that_names_a_column_twice_is_refused() -> None:
    with pytest.raises(ParseError, match="twice"):
        sets.DataSetTable(iter([b"adsh\tadsh"]), "num.txt", ())


def test_tags_without_their_table_are_known_by_their_name() -> None:
    line = table([NUM | {"tag": "IncomeLossFromContinuingOperationsPerBasicShare", "qtrs": "1"}]).splitlines()
    made = sets.DataSetTable(iter(line), "num.txt", sets.NUM_COLUMNS)
    (of_place,) = sets.NumReader(made, {}).read_figures(made.decode_lines(line[1])).values()
    assert list(of_place) == [("us-gaap:IncomeLossFromContinuingOperationsPerBasicShare", "USD/shares")]
    assert len(TAGS) == 3


def figures_of(*rows: Mapping[str, str]) -> sets.Figures:
    head, body = table(list(rows)).split(b"\n", 1)
    made = sets.DataSetTable(iter([head]), "num.txt", sets.NUM_COLUMNS)
    return sets.NumReader(made, {}).read_figures(made.decode_lines(body))


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_rows_of_one_figure_the_longer_value_stands_in_any_order(turned: bool) -> None:
    one = NUM | {"segments": "A=1;B=2;", "value": "12.5000"}
    other = NUM | {"segments": "B=2;A=1;", "value": "13.0000"}
    empty = NUM | {"segments": "A=1;B=2;", "value": ""}
    rows = [one, other, empty]
    place = (None, "2009-06-30", (("A", "1"), ("B", "2")))
    assert figures_of(*(rows[::-1] if turned else rows)) == {place: {("us-gaap:Assets", "USD"): "12.5"}}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("0.0000", "0"),
        ("-0.0000", "0"),
        ("-0", "0"),
        ("", None),
        ("100.0000", "100"),
        ("100", "100"),
        ("-8.4200", "-8.42"),
        ("0.0001", "0.0001"),
        ("1" * 40, "1" * 40),
    ],
)
def test_a_value_is_its_text_without_the_zeros_that_pad_it(value: str, plain: str | None) -> None:
    assert figures_of(NUM | {"value": value}) == {(None, "2009-06-30", ()): {("us-gaap:Assets", "USD"): plain}}


def test_more_names_and_places_than_are_kept_are_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "MAX_CACHED", 2)
    rows = [NUM | {"tag": f"Tag{n % 5}", "segments": f"A={n % 3};", "value": str(n)} for n in range(15)]
    assert figures_of(*rows) == {
        (None, "2009-06-30", (("A", str(m)),)): {
            (f"us-gaap:Tag{n % 5}", "USD"): str(n) for n in range(15) if n % 3 == m
        }
        for m in range(3)
    }


def test_a_quarter_whose_lines_end_in_carriage_returns_is_the_same_quarter(
    app: App, quarter: Path, tmp_path: Path
) -> None:
    take(app, quarter)
    returned = {name: data.replace(b"\n", b"\r\n") for name, data in tables().items()}
    outcomes = take(app, folder(tmp_path / "again", returned))
    assert {one.reason for one in outcomes} == {"1 filings: 0 ingested, 1 held already"}


def test_a_row_with_a_nul_refuses_its_filing(app: App, tmp_path: Path) -> None:
    files = tables(num=[NUM | {"tag": "As\0sets"}], pre=[PRE])
    outcomes = take(app, folder(tmp_path / "set", files))
    assert [(one.accession, "NUL" in str(one.reason)) for one in outcomes if one.accession] == [(ADSH, True)]
    assert of(app) == []
