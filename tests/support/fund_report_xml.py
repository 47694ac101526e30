"""Form N-PORT reports written for tests, in the layout of the SEC's specification. All figures are invented."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from finapi.edgar import fund_reports, sgml
from finapi.market.documents import families
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.funds import fund_report_store
from finapi.store.db import Transaction
from tests.support import submission_texts
from tests.support.schedule_xml import element

TRUST = ("0009200001", "Lantern Funds Trust")
SERIES = ("S000900001", "Lantern Index ETF")
OTHER_SERIES = ("S000900002", "Lantern Bond Fund")
CLASSES = ("C000900001", "C000900002")
APPLE, MICROSOFT, ALLY = "037833100", "594918104", "02005N100"

HEADER_SERIES = """
<SERIES-AND-CLASSES-CONTRACTS-DATA>
<EXISTING-SERIES-AND-CLASSES-CONTRACTS>
<SERIES>
<OWNER-CIK>0009200001
<SERIES-ID>S000900001
<SERIES-NAME>Lantern Index ETF
<CLASS-CONTRACT>
<CLASS-CONTRACT-ID>C000900001
<CLASS-CONTRACT-NAME>ETF Shares
<CLASS-CONTRACT-TICKER-SYMBOL>LNTN
</CLASS-CONTRACT>
<CLASS-CONTRACT>
<CLASS-CONTRACT-ID>C000900002
<CLASS-CONTRACT-NAME>Institutional
</CLASS-CONTRACT>
</SERIES>
</EXISTING-SERIES-AND-CLASSES-CONTRACTS>
</SERIES-AND-CLASSES-CONTRACTS-DATA>
"""


def position(
    name: str | None = "Apple Inc.",
    cusip: str | None = APPLE,
    *,
    title: str | None = "Apple Inc. common stock",
    lei: str | None = "HWUPKR0MPOU8FGXBT394",
    isin: str | None = "US0378331005",
    more_identifiers: str = "",
    balance: str | None = "100.00000000",
    units: str = "NS",
    currency: str = "<curCd>USD</curCd>",
    value: str | None = "25000.50000000",
    percent: str | None = "50.001000000000",
    payoff: str = "Long",
    asset: str = "<assetCat>EC</assetCat>",
    issuer: str = "<issuerCat>CORP</issuerCat>",
    country: str = "US",
    restricted: str = "N",
    level: str = "1",
    more: str = "",
) -> str:
    """Return a position. ``more`` are elements at its end, such as ``debtSec``."""
    isin_element = "" if isin is None else f'<isin value="{isin}"/>'
    return (
        f"<invstOrSec>{element('name', name)}{element('lei', lei)}{element('title', title)}{element('cusip', cusip)}"
        f"<identifiers>{isin_element}{more_identifiers}</identifiers>{element('balance', balance)}"
        f"<units>{units}</units>{currency}{element('valUSD', value)}{element('pctVal', percent)}"
        f"<payoffProfile>{payoff}</payoffProfile>{asset}{issuer}<invCountry>{country}</invCountry>"
        f"<isRestrictedSec>{restricted}</isRestrictedSec><fairValLevel>{level}</fairValLevel>{more}</invstOrSec>"
    )


DEBT = (
    "<debtSec><maturityDt>2031-05-15</maturityDt><couponKind>Fixed</couponKind><annualizedRt>4.25000000</annualizedRt>"
    "<isDefault>N</isDefault><areIntrstPmntsInArrs>N</areIntrstPmntsInArrs><isPaidKind>N</isPaidKind></debtSec>"
)
LENDING = (
    "<securityLending><isCashCollateral>N</isCashCollateral>"
    '<nonCashCollateralCondition isNonCashCollateral="Y" nonCashCollateralVal="1020.5"/>'
    '<loanByFundCondition isLoanByFund="Y" loanVal="1000.00"/></securityLending>'
)
FUTURE = (
    '<derivativeInfo><futrDeriv derivCat="FUT"><counterparties><counterpartyName>Lamp Clearing LLC</counterpartyName>'
    "<counterpartyLei>N/A</counterpartyLei></counterparties><payOffProf>Short</payOffProf><descRefInstrmnt>"
    "<indexBasketInfo><indexName>Lamp 500</indexName><indexIdentifier>LMP</indexIdentifier></indexBasketInfo>"
    "</descRefInstrmnt><expDate>2026-03-20</expDate><notionalAmt>-50000.00</notionalAmt><curCd>USD</curCd>"
    "<unrealizedAppr>-120.25</unrealizedAppr></futrDeriv></derivativeInfo>"
)
OPTION = (
    '<derivativeInfo><optionSwaptionWarrantDeriv derivCat="OPT"><counterparties>'
    "<counterpartyName>N/A</counterpartyName><counterpartyLei>N/A</counterpartyLei></counterparties>"
    "<putOrCall>Call</putOrCall><writtenOrPur>Written</writtenOrPur><descRefInstrmnt><otherRefInst>"
    "<issuerName>Apple Inc.</issuerName><issueTitle>Apple Inc. common stock</issueTitle><identifiers>"
    f'<cusip value="{APPLE}"/><isin value="US0378331005"/><ticker value="AAPL"/></identifiers></otherRefInst>'
    "<nestedDerivInfo><fwdDeriv><settlementDt>2020-01-01</settlementDt></fwdDeriv></nestedDerivInfo>"
    "</descRefInstrmnt><shareNo>100</shareNo><exercisePrice>260.5</exercisePrice>"
    "<exercisePriceCurCd>USD</exercisePriceCurCd><expDt>2026-04-17</expDt><delta>XXXX</delta>"
    "<unrealizedAppr>33.1</unrealizedAppr></optionSwaptionWarrantDeriv></derivativeInfo>"
)

FLOWS = (
    '<mon1Flow redemption="100.00" reinvestment="0.00" sales="200.00"/>'
    '<mon2Flow redemption="N/A" reinvestment="N/A" sales="N/A"/>'
    '<mon3Flow redemption="310.25" reinvestment="5.50" sales="420.00"/>'
)


def report(
    *positions: str,
    form: str = "NPORT-P",
    trust: tuple[str, str] = TRUST,
    series: tuple[str, str] | None = SERIES,
    class_ids: Sequence[str] = CLASSES,
    period: str | None = "2025-12-31",
    fiscal_year_end: str = "2026-06-30",
    total_assets: str = "50500.00",
    total_liabilities: str = "500.00",
    net_assets: str | None = "50000.00",
    flows: str = FLOWS,
    returns: Mapping[str, tuple[str, str, str]] | None = None,
    final: str = "N",
    live: str = "LIVE",
    space: str = "http://www.sec.gov/edgar/nport",
    prefix: str = "",
) -> bytes:
    """Return a report of these positions. ``series`` is None for a registrant without series."""
    series_id, series_name = series or ("", "N/A")
    returns = dict.fromkeys(class_ids, ("1.10", "-2.20", "3.30")) if returns is None else returns
    return_elements = "".join(
        f'<monthlyTotReturn classId="{class_id}" rtn1="{first}" rtn2="{second}" rtn3="{third}"/>'
        for class_id, (first, second, third) in returns.items()
    )
    class_elements = "".join(element("classId", class_id) for class_id in class_ids)
    text = (
        f'<edgarSubmission xmlns="{space}"><headerData><submissionType>{form}</submissionType>'
        f"<isConfidential>false</isConfidential><filerInfo><liveTestFlag>{live}</liveTestFlag><filer>"
        f"<issuerCredentials><cik>{trust[0]}</cik><ccc>XXXXXXXX</ccc></issuerCredentials></filer>"
        f"<seriesClassInfo>{element('seriesId', series_id)}{class_elements}</seriesClassInfo></filerInfo></headerData>"
        f"<formData><genInfo><regName>{trust[1]}</regName><regFileNumber>811-90001</regFileNumber>"
        f"<regCik>{trust[0]}</regCik><regLei>549300LANTERN0000T01</regLei><regStreet1>1 Main Street</regStreet1>"
        '<regCity>Reno</regCity><regStateConditional regCountry="US" regState="US-NV"/>'
        "<regZipOrPostalCode>89501</regZipOrPostalCode><regPhone>775-555-0100</regPhone>"
        f"<seriesName>{series_name}</seriesName>{element('seriesId', series_id or None)}"
        f"<seriesLei>549300LANTERN0000S01</seriesLei><repPdEnd>{fiscal_year_end}</repPdEnd>"
        f"{element('repPdDate', period)}<isFinalFiling>{final}</isFinalFiling></genInfo>"
        f"<fundInfo><totAssets>{total_assets}</totAssets><totLiabs>{total_liabilities}</totLiabs>"
        f"{element('netAssets', net_assets)}<amtPayOneYrOther>12.50</amtPayOneYrOther>"
        f"<returnInfo><monthlyTotReturns>{return_elements}</monthlyTotReturns></returnInfo>{flows}</fundInfo>"
        f"<invstOrSecs>{''.join(positions)}</invstOrSecs>"
        "<signature><dateSigned>2026-02-26</dateSigned><nameOfApplicant>Lantern Funds Trust</nameOfApplicant>"
        "<signature>Ann Lamp</signature><signerName>Ann Lamp</signerName><title>Treasurer</title></signature>"
        "</formData></edgarSubmission>"
    )
    if prefix:
        text = text.replace("</", "\0").replace("<", f"<{prefix}:").replace("\0", f"</{prefix}:")
        text = text.replace("xmlns=", f"xmlns:{prefix}=")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()


def submission(
    accession: str,
    content: bytes,
    *documents: str,
    form: str = "NPORT-P",
    filed: str = "20260227060000",
    period: str = "20251231",
    trust: tuple[str, str] = TRUST,
    header_series: str = HEADER_SERIES,
) -> bytes:
    """Return a full submission with a report. Its header lists the series and its classes."""
    filer = submission_texts.party("FILER", trust[1], trust[0]) + submission_texts.values(form) + header_series
    document = submission_texts.xml(form, "primary_doc.xml", content)
    return submission_texts.full(accession, form, filer, document, *documents, filed=filed, period=period)


def examples() -> list[tuple[str, str, bytes]]:
    """Return the accession number, the filing day and the document of reports of two funds.

    They have positions of every kind, and changes between two quarters.
    """
    september = report(
        position(balance="80", value="18000", percent="45"),
        position("Ally Financial Inc", ALLY, title="Ally common stock", isin=None, value="22000", percent="55"),
        period="2024-09-30",
        fiscal_year_end="2025-06-30",
        net_assets="40000",
        total_assets="40500",
    )
    bond = position(
        "Lamp Corp", "N/A", title="Lamp 2031", isin=None, units="PA", value="20000", percent="40", more=DEBT
    )
    december = report(
        position(more=LENDING),
        bond,
        position("N/A", "N/A", title="Lamp 500 future", isin=None, value="-120.25", percent="-0.24", more=FUTURE),
        period="2024-12-31",
        fiscal_year_end="2025-06-30",
    )
    other = report(
        position(value="5000", percent="50"),
        series=OTHER_SERIES,
        class_ids=("C000900003",),
        period="2024-11-30",
        net_assets="10000",
        total_assets="10500",
    )
    return [
        ("0009200001-24-000009", "2024-11-27", september),
        ("0009200001-25-000001", "2025-01-17", december),
        ("0009200001-25-000002", "2025-01-20", other),
    ]


def example_submissions() -> list[tuple[str, bytes]]:
    """Return the accession number and the full submission of each example."""
    return [
        (accession, submission(accession, content, filed=filed.replace("-", "") + "060000"))
        for accession, filed, content in examples()
    ]


def store_examples(tx: Transaction, now: datetime) -> None:
    """Store the examples, and the tickers in their headers."""
    for accession, filed, content in examples():
        metadata = FilingMetadata(accession, DOCUMENT_EVIDENCE, filed_at=filed)
        fund_report_store.upsert(tx, fund_reports.parse(content, accession), metadata, now)
    for accession, content in example_submissions():
        families.store_header(tx, sgml.parse_header(content, accession), now)
