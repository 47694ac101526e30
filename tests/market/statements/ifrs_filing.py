"""A small fictional annual report under IFRS: instance, schema and linkbases as EDGAR publishes them with a 20-F.

Its statements follow the habits of IFRS filers: non-current lines first, equity before liabilities, costs printed in
brackets, cash from operations before interest and taxes, and a line with an element of the filer's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

CIK = 1999001
STEM = "nord-20241231"
IFRS = "https://xbrl.ifrs.org/taxonomy/2024-03-27/ifrs-full"
DEI = "http://xbrl.sec.gov/dei/2024"
OWN = "http://nordhafen.example/20241231"
NEGATED, CLOSING, OPENING, TOTAL = "negatedLabel", "periodEndLabel", "periodStartLabel", "totalLabel"
_ROLES = {NEGATED: "http://www.xbrl.org/2009/role/negatedLabel"}


class FiledLine(NamedTuple):
    """A line: element, label, figures of 2024 and 2023, kind of label, and the total that it is part of."""

    element: str
    label: str
    values: tuple[str, ...] = ()
    role: str = ""
    into: str = ""


L = FiledLine
PROFIT = (
    L("Revenue", "Revenue", ("900", "800"), into="GrossProfit"),
    L("CostOfSales", "Cost of sales", ("540", "500"), NEGATED, "-GrossProfit"),
    L("GrossProfit", "Gross profit", ("360", "300"), TOTAL, "ProfitLossFromOperatingActivities"),
    L("DistributionCosts", "Distribution costs", ("70", "60"), NEGATED, "-ProfitLossFromOperatingActivities"),
    L("AdministrativeExpense", "Administrative expenses", ("90", "80"), NEGATED, "-ProfitLossFromOperatingActivities"),
    L("ProfitLossFromOperatingActivities", "Operating profit", ("200", "160"), TOTAL, "ProfitLossBeforeTax"),
    L("FinanceIncome", "Finance income", ("4", "3"), into="ProfitLossBeforeTax"),
    L("FinanceCosts", "Finance costs", ("24", "23"), NEGATED, "-ProfitLossBeforeTax"),
    L(
        "ShareOfProfitLossOfAssociatesAndJointVenturesAccountedForUsingEquityMethod",
        "Share of profit of associates",
        ("10", "8"),
        into="ProfitLossBeforeTax",
    ),
    L("ProfitLossBeforeTax", "Profit before tax", ("190", "148"), TOTAL, "ProfitLoss"),
    L("IncomeTaxExpenseContinuingOperations", "Income tax", ("50", "38"), NEGATED, "-ProfitLoss"),
    L("ProfitLoss", "Profit for the year", ("140", "110"), TOTAL),
    L("ProfitLossAttributableToOwnersOfParent", "Owners of the parent", ("132", "104"), into="ProfitLoss"),
    L("ProfitLossAttributableToNoncontrollingInterests", "Non-controlling interests", ("8", "6"), into="ProfitLoss"),
    L("BasicEarningsLossPerShare", "Basic earnings per share", ("1.32", "1.04")),
    L("DilutedEarningsLossPerShare", "Diluted earnings per share", ("1.30", "1.03")),
)
COMPREHENSIVE = (
    L("ProfitLoss", "Profit for the year", ("140", "110")),
    L("OtherComprehensiveIncome", "Other comprehensive income", ("-15", "5"), into="ComprehensiveIncome"),
    L("ComprehensiveIncome", "Total comprehensive income", ("125", "115"), TOTAL),
)
BALANCE = (
    L("PropertyPlantAndEquipment", "Property, plant and equipment", ("600", "560"), into="NoncurrentAssets"),
    L("Goodwill", "Goodwill", ("150", "150"), into="NoncurrentAssets"),
    L("IntangibleAssetsOtherThanGoodwill", "Intangible assets", ("90", "95"), into="NoncurrentAssets"),
    L("nord:LongTermTradeReceivables", "Trade receivables", ("20", "15"), into="NoncurrentAssets"),
    L("NoncurrentAssets", "Total non-current assets", ("860", "820"), TOTAL, "Assets"),
    L("Inventories", "Inventories", ("110", "100"), into="CurrentAssets"),
    L("TradeAndOtherCurrentReceivables", "Trade and other receivables", ("140", "130"), into="CurrentAssets"),
    L("CashAndCashEquivalents", "Cash and cash equivalents", ("90", "70"), into="CurrentAssets"),
    L("CurrentAssets", "Total current assets", ("340", "300"), TOTAL, "Assets"),
    L("Assets", "Total assets", ("1200", "1120"), TOTAL),
    L("IssuedCapital", "Share capital", ("100", "100"), into="EquityAttributableToOwnersOfParent"),
    L("SharePremium", "Share premium", ("80", "80"), into="EquityAttributableToOwnersOfParent"),
    L("RetainedEarnings", "Retained earnings", ("350", "273"), into="EquityAttributableToOwnersOfParent"),
    L("TreasuryShares", "Own shares", ("30", "30"), NEGATED, "-EquityAttributableToOwnersOfParent"),
    L("EquityAttributableToOwnersOfParent", "Equity of the owners", ("500", "423"), TOTAL, "Equity"),
    L("NoncontrollingInterests", "Non-controlling interests", ("50", "47"), into="Equity"),
    L("Equity", "Total equity", ("550", "470"), TOTAL, "EquityAndLiabilities"),
    L("LongtermBorrowings", "Borrowings", ("330", "350"), into="NoncurrentLiabilities"),
    L("DeferredTaxLiabilities", "Deferred tax", ("60", "55"), into="NoncurrentLiabilities"),
    L("NoncurrentLiabilities", "Total non-current liabilities", ("390", "405"), TOTAL, "Liabilities"),
    L("TradeAndOtherCurrentPayables", "Trade and other payables", ("180", "165"), into="CurrentLiabilities"),
    L("ShorttermBorrowings", "Bank overdrafts", ("25", "30"), into="CurrentLiabilities"),
    L("CurrentPortionOfLongtermBorrowings", "Current portion of loans", ("55", "50"), into="CurrentLiabilities"),
    L("CurrentLiabilities", "Total current liabilities", ("260", "245"), TOTAL, "Liabilities"),
    L("Liabilities", "Total liabilities", ("650", "650"), TOTAL, "EquityAndLiabilities"),
    L("EquityAndLiabilities", "Total equity and liabilities", ("1200", "1120"), TOTAL),
)
_OPERATING = "CashFlowsFromUsedInOperatingActivities"
_INVESTING, _FINANCING = "CashFlowsFromUsedInInvestingActivities", "CashFlowsFromUsedInFinancingActivities"
_CHANGE = "IncreaseDecreaseInCashAndCashEquivalents"
FLOWS = (
    L("ProfitLoss", "Profit for the year", ("140", "110"), into="CashFlowsFromUsedInOperations"),
    L(
        "AdjustmentsForDepreciationAndAmortisationExpense",
        "Depreciation and amortisation",
        ("75", "70"),
        into="CashFlowsFromUsedInOperations",
    ),
    L("AdjustmentsForSharebasedPayments", "Share-based payments", ("5", "4"), into="CashFlowsFromUsedInOperations"),
    L("CashFlowsFromUsedInOperations", "Cash generated from operations", ("220", "184"), TOTAL, _OPERATING),
    L("InterestPaidClassifiedAsOperatingActivities", "Interest paid", ("22", "20"), NEGATED, f"-{_OPERATING}"),
    L(_OPERATING, "Net cash from operating activities", ("198", "164"), TOTAL, _CHANGE),
    L(
        "PurchaseOfPropertyPlantAndEquipmentClassifiedAsInvestingActivities",
        "Purchase of property, plant and equipment",
        ("110", "100"),
        NEGATED,
        f"-{_INVESTING}",
    ),
    L(_INVESTING, "Net cash used in investing activities", ("-110", "-100"), TOTAL, _CHANGE),
    L(
        "RepaymentsOfBorrowingsClassifiedAsFinancingActivities",
        "Repayment of borrowings",
        ("15", "10"),
        NEGATED,
        f"-{_FINANCING}",
    ),
    L("DividendsPaidClassifiedAsFinancingActivities", "Dividends paid", ("50", "40"), NEGATED, f"-{_FINANCING}"),
    L(_FINANCING, "Net cash used in financing activities", ("-65", "-50"), TOTAL, _CHANGE),
    L("EffectOfExchangeRateChangesOnCashAndCashEquivalents", "Exchange differences", ("-3", "1"), into=_CHANGE),
    L(_CHANGE, "Net increase in cash", ("20", "15"), TOTAL),
    L("CashAndCashEquivalents", "Cash at the beginning of the year", (), OPENING),
    L("CashAndCashEquivalents", "Cash at the end of the year", (), CLOSING),
)
# By the last part of the role, the title and the first, abstract line.
STATEMENTS = {
    "ProfitOrLoss": ("CONSOLIDATED STATEMENTS OF PROFIT OR LOSS", "ProfitLossAbstract", PROFIT),
    "ComprehensiveIncome": (
        "CONSOLIDATED STATEMENTS OF COMPREHENSIVE INCOME",
        "StatementOfComprehensiveIncomeAbstract",
        COMPREHENSIVE,
    ),
    "FinancialPosition": (
        "CONSOLIDATED STATEMENTS OF FINANCIAL POSITION",
        "StatementOfFinancialPositionAbstract",
        BALANCE,
    ),
    "CashFlows": ("CONSOLIDATED STATEMENTS OF CASH FLOWS", "StatementOfCashFlowsAbstract", FLOWS),
}
_XBRL = (
    'xmlns="http://www.xbrl.org/2003/instance" xmlns:link="http://www.xbrl.org/2003/linkbase" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:iso4217="http://www.xbrl.org/2003/iso4217" '
    f'xmlns:ifrs-full="{IFRS}" xmlns:dei="{DEI}" xmlns:nord="{OWN}"'
)
_ARCROLES = "http://www.xbrl.org/2003/arcrole"


def documents(*, schema: bool = True) -> dict[str, bytes]:
    """The documents by file name, amounts in full; without a ``schema`` roles alone name statements."""
    files = {
        f"{STEM}.xml": _instance(),
        f"{STEM}_pre.xml": _linkbase("presentation", _presentation()),
        f"{STEM}_cal.xml": _linkbase("calculation", _calculation()),
        f"{STEM}_lab.xml": _linkbase("label", {"": _labels()}),
    }
    return files | ({f"{STEM}.xsd": _schema()} if schema else {})


def _named(element: str) -> str:
    return element if ":" in element else f"ifrs-full:{element}"


def _id(element: str) -> str:
    return _named(element).replace(":", "_")


def _role(name: str) -> str:
    return f"{OWN}/role/{name}"


def _instance() -> bytes:
    entity = f'<entity><identifier scheme="http://www.sec.gov/CIK">{CIK:010}</identifier></entity>'
    parts = [
        '<unit id="eur"><measure>iso4217:EUR</measure></unit>',
        '<unit id="shares"><measure>shares</measure></unit>',
    ]
    parts.append(
        '<unit id="each"><divide><unitNumerator><measure>iso4217:EUR</measure></unitNumerator>'
        "<unitDenominator><measure>shares</measure></unitDenominator></divide></unit>"
    )
    for year in (2024, 2023, 2022):
        full_year = f"<startDate>{year}-01-01</startDate><endDate>{year}-12-31</endDate>"
        parts.append(f'<context id="y{year}">{entity}<period>{full_year}</period></context>')
        parts.append(f'<context id="d{year}">{entity}<period><instant>{year}-12-31</instant></period></context>')
    cover = {
        "EntityRegistrantName": "Nordhafen plc",
        "EntityCentralIndexKey": f"{CIK:010}",
        "DocumentType": "20-F",
        "DocumentPeriodEndDate": "2024-12-31",
        "DocumentFiscalYearFocus": "2024",
        "DocumentFiscalPeriodFocus": "FY",
    }
    parts += [f'<dei:{name} contextRef="y2024">{value}</dei:{name}>' for name, value in cover.items()]
    fact_elements: dict[str, None] = dict.fromkeys(_facts())
    shares = (("WeightedAverageShares", "100000000"), ("AdjustedWeightedAverageShares", "101500000"))
    parts += [
        *fact_elements,
        *(_fact(name, f"y{year}", "shares", value, "0") for name, value in shares for year in (2024, 2023)),
    ]
    return f"<xbrl {_XBRL}>{''.join(parts)}</xbrl>".encode()


def _facts() -> Iterator[str]:
    for title, _, lines in STATEMENTS.values():
        for line in lines:
            for year, value in zip((2024, 2023), line.values, strict=False):
                context = f"{'d' if 'POSITION' in title else 'y'}{year}"
                each = "PerShare" in line.element
                unit, decimals = ("each", "2") if each else ("eur", "-3")
                yield _fact(line.element, context, unit, value if each else f"{value}000000", decimals)
    # The opening balance of cash of 2023.
    yield _fact("CashAndCashEquivalents", "d2022", "eur", "55000000", "-3")


def _fact(element: str, context: str, unit: str, value: str, decimals: str) -> str:
    name = _named(element)
    return f'<{name} contextRef="{context}" unitRef="{unit}" decimals="{decimals}">{value}</{name}>'


def _schema() -> bytes:
    roles = "".join(
        f'<link:roleType id="{name}" roleURI="{_role(name)}"><link:definition>{number:07} - Statement - {title}'
        "</link:definition><link:usedOn>link:presentationLink</link:usedOn></link:roleType>"
        for number, (name, (title, _, _)) in enumerate(STATEMENTS.items(), 1)
    )
    element = (
        '<xs:element id="nord_LongTermTradeReceivables" name="LongTermTradeReceivables" xbrli:balance="debit" '
        'type="xbrli:monetaryItemType" substitutionGroup="xbrli:item" xbrli:periodType="instant"/>'
    )
    namespaces = f'xmlns:xs="http://www.w3.org/2001/XMLSchema" {_XBRL.replace("xmlns=", "xmlns:xbrli=")}'
    content = f"<xs:annotation><xs:appinfo>{roles}</xs:appinfo></xs:annotation>{element}"
    return f'<xs:schema {namespaces} targetNamespace="{OWN}">{content}</xs:schema>'.encode()


def _linkbase(kind: str, links: dict[str, list[str]]) -> bytes:
    link_elements = "".join(
        f'<link:{kind}Link xlink:type="extended" '
        f'xlink:role="{_role(name) if name else "http://www.xbrl.org/2003/role/link"}">{"".join(parts)}</link:{kind}Link>'
        for name, parts in links.items()
    )
    return f"<link:linkbase {_XBRL}>{link_elements}</link:linkbase>".encode()


def _locators(elements: Iterable[str]) -> list[str]:
    def schema(element: str) -> str:
        return f"{STEM}.xsd" if element.startswith("nord:") else f"{IFRS}/full_ifrs-cor_2024-03-27.xsd"

    return [
        f'<link:loc xlink:type="locator" xlink:label="{_id(element)}" xlink:href="{schema(element)}#{_id(element)}"/>'
        for element in dict.fromkeys(elements)
    ]


def _presentation() -> dict[str, list[str]]:
    parts_by_role = {}
    for name, (_, top, lines) in STATEMENTS.items():
        parts = _locators([top, *(line.element for line in lines)])
        for order, line in enumerate(lines, 1):
            role = _ROLES.get(line.role, f"http://www.xbrl.org/2003/role/{line.role or 'label'}")
            parts.append(
                f'<link:presentationArc xlink:type="arc" xlink:arcrole="{_ARCROLES}/parent-child" '
                f'xlink:from="{_id(top)}" xlink:to="{_id(line.element)}" order="{order}" preferredLabel="{role}"/>'
            )
        parts_by_role[name] = parts
    return parts_by_role


def _calculation() -> dict[str, list[str]]:
    parts_by_role = {}
    for name, (_, _, lines) in STATEMENTS.items():
        arcs = [line for line in lines if line.into]
        parts = _locators([*(line.element for line in arcs), *(line.into.lstrip("-") for line in arcs)])
        for order, line in enumerate(arcs, 1):
            weight = -1 if line.into.startswith("-") else 1
            parts.append(
                f'<link:calculationArc xlink:type="arc" xlink:arcrole="{_ARCROLES}/summation-item" '
                f'xlink:from="{_id(line.into.lstrip("-"))}" xlink:to="{_id(line.element)}" order="{order}" '
                f'weight="{weight}"/>'
            )
        parts_by_role[name] = parts
    return parts_by_role


def _labels() -> list[str]:
    lines = [line for _, _, lines in STATEMENTS.values() for line in lines]
    texts = {(line.element, line.role): line.label for line in lines}
    tops = {(top, ""): title for title, top, _ in STATEMENTS.values()}
    parts = _locators(element for element, _ in (*texts, *tops))
    for number, ((element, role), text) in enumerate({**texts, **tops}.items()):
        label = _ROLES.get(role, f"http://www.xbrl.org/2003/role/{role or 'label'}")
        parts.append(
            f'<link:label xlink:type="resource" xlink:label="t{number}" xlink:role="{label}" xml:lang="en">{text}'
            f'</link:label><link:labelArc xlink:type="arc" xlink:arcrole="{_ARCROLES}/concept-label" '
            f'xlink:from="{_id(element)}" xlink:to="t{number}"/>'
        )
    return parts
