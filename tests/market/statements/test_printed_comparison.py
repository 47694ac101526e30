"""The comparison of figures with the lines that filers printed: which label means what, and what it finds."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from finapi.app import App
from finapi.market.documents.identification import IngestOptions
from finapi.market.financials import company_books
from finapi.market.intake import ingest
from tests.measure import printed, report
from tests.measure.printed import PrintedLine, PrintedRule
from tests.support.statement_set_tables import ADSH, NUM, PRE, SUB, folder, tables


def rule(metric: str) -> PrintedRule:
    return next(one for one in printed.RULES if one.metric == metric)


def line(label: str, tag: str = "", unit: str = "money") -> PrintedLine:
    return PrintedLine(tag or label, label, {("20090630", 1): Decimal(1)}, unit)


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Property, plant & equipment, net (note 3)", "property plant and equipment net"),
        ("(Loss) income from operations", "loss income from operations"),
        ("Shareholders' equity", "shareholders equity"),
        ("Long-term debt Note 7", "long term debt"),
    ],
)
def test_labels_are_read_plainly(label: str, text: str) -> None:
    assert printed.plain(label) == text


@pytest.mark.parametrize(
    ("metric", "labels", "meant"),
    [
        ("revenue", ["Net sales", "Financing revenue", "Total revenues"], "Total revenues"),
        ("revenue", ["Net sales", "Financing revenue"], None),
        ("revenue", ["Net sales", "Cost of sales"], "Net sales"),
        ("cost_of_revenue", ["Cost of products sold", "Cost of services"], None),
        ("net_income", ["Net income", "Net income attributable to Acme Inc."], "Net income attributable to Acme Inc."),
        ("net_income", ["Net income", "Less: noncontrolling interests"], None),
        ("pretax_income", ["Income before taxes and minority interest"], None),
        ("total_equity", ["Total shareholders' equity", "Total equity"], "Total equity"),
        ("operating_cashflow", ["Net cash provided by operating activities of continuing operations"], None),
        ("dividends_paid", ["Dividends paid", "Dividends paid to noncontrolling interests"], None),
        ("interest_expense", ["Interest income"], None),
    ],
)
def test_a_line_is_meant_where_its_label_leaves_no_doubt(metric: str, labels: list[str], meant: str | None) -> None:
    found = printed.chosen(rule(metric), [line(label) for label in labels])
    assert (found and found.label) == meant


def test_a_rule_is_about_one_unit() -> None:
    shares, each = line("Basic", "a", "shares"), line("Basic", "b", "each")
    assert printed.chosen(rule("eps_basic"), [shares, each]) == each
    assert printed.chosen(rule("weighted_average_shares_basic"), [shares, each]) == shares
    assert printed.chosen(rule("eps_basic"), [line("Basic", "c")]) is None


# statement, element, label, quarters, value
PRINTED = [
    ("BS", "Assets", "Total assets", "0", "100"),
    ("IS", "Revenues", "Net sales", "1", "50000"),
    ("IS", "OperatingIncomeLoss", "Gross profit", "1", "20000"),
    ("IS", "GrossProfit", "What is left", "1", "30000"),
    ("BS", "AcmeSecurities", "Marketable securities", "0", "40000"),
]


def test_what_is_printed_is_compared_with_the_figures(app: App, tmp_path: Path) -> None:
    num = [
        NUM
        | {"tag": tag, "qtrs": quarters, "value": value, "version": ADSH if tag.startswith("Acme") else "us-gaap/2009"}
        for _, tag, _, quarters, value in PRINTED
    ]
    pre = [
        PRE
        | {"report": stmt, "line": str(at), "stmt": stmt, "tag": one["tag"], "plabel": label, "version": one["version"]}
        for at, ((stmt, _, label, *_), one) in enumerate(zip(PRINTED, num, strict=True))
    ]
    pre = [one | {"report": "2" if one["stmt"] == "BS" else "4"} for one in pre]
    place = folder(tmp_path / "2009q3", tables(sub=[SUB | {"sic": "3571"}], num=num, pre=pre))
    ingest.run(app, [place], IngestOptions(), lambda outcome: None)
    with app.db.read() as tx:
        books = {cik: company_books.load(tx, cik) for cik in company_books.list_ciks(tx)}
    found = report.printed_lines(place, books)
    assert found["counts"] == {"same": 1, "differs": 1, "hole": 1}
    assert [(one["metric"], one["outcome"], one["printed"], one["given"]) for one in found["misses"]] == [
        ("gross_profit", "differs", "20000", "30000"),
        ("short_term_investments", "hole", "40000", "not_mapped"),
    ]
    assert any(line.startswith("revenue ") and line.endswith("IS: 1") for line in found["lines"])
    told = report.printed_text(found)
    assert sum(line.startswith(("differs: ", "hole: ")) for line in told) == 2
