"""The parser of Form 144, the notice of a proposed sale of restricted or control securities (XML since 2022).

A notice states what its seller intends to sell. It does not say that anything was sold. One notice may list several
classes of securities, brokers and days. Source: EDGAR Form 144 XML Technical Specification and its samples.

A document has an ``issuerInfo``, one ``securitiesInformation`` for each broker and class (here a
:class:`ProposedSale`), one ``securitiesToBeSold`` for each way in which the securities were acquired
(:class:`SaleLot`) and one ``securitiesSoldInPast3Months`` for each earlier sale (:class:`PastSale`).
"""

from __future__ import annotations

from dataclasses import dataclass

from finapi.core.errors import ParseError
from finapi.edgar import identifiers
from finapi.edgar.online_forms import ElementPath, FormTexts, OnlineFormReader

FORM_TYPES = ("144", "144/A")

_NAMESPACES = ("http://www.sec.gov/edgar/ownership",)

_PROPOSED_SALE = "securitiesInformation"
_LOT = "securitiesToBeSold"
_PAST_SALE = "securitiesSoldInPast3Months"
_GROUPS = {_PROPOSED_SALE: "sales", _LOT: "lots", _PAST_SALE: "sold"}
_NAMES: dict[ElementPath, str] = {
    ("headerData", "submissionType"): "form",
    ("headerData", "previousAccessionNumber"): "previous",
    ("filerCredentials", "cik"): "filer",
    ("filerInfo", "liveTestFlag"): "live",
    ("issuerInfo", "issuerCik"): "issuer_cik",
    ("issuerInfo", "issuerName"): "issuer_name",
    ("issuerInfo", "secFileNumber"): "file_number",
    ("issuerInfo", "nameOfPersonForWhoseAccountTheSecuritiesAreToBeSold"): "seller",
    ("relationshipsToIssuer", "relationshipToIssuer"): "relationships",
    ("formData", "nothingToReportFlagOnSecuritiesSoldInPast3Months"): "nothing_sold",
    ("formData", "remarks"): "remarks",
    ("noticeSignature", "noticeDate"): "signed",
    ("planAdoptionDates", "planAdoptionDate"): "plans",
    (_PROPOSED_SALE, "securitiesClassTitle"): "title",
    ("brokerOrMarketmakerDetails", "name"): "broker",
    (_PROPOSED_SALE, "noOfUnitsSold"): "units",
    (_PROPOSED_SALE, "aggregateMarketValue"): "value",
    (_PROPOSED_SALE, "noOfUnitsOutstanding"): "outstanding",
    (_PROPOSED_SALE, "approxSaleDate"): "date",
    (_PROPOSED_SALE, "securitiesExchangeName"): "exchange",
    (_LOT, "securitiesClassTitle"): "title",
    (_LOT, "acquiredDate"): "acquired",
    (_LOT, "natureOfAcquisitionTransaction"): "nature",
    (_LOT, "nameOfPersonfromWhomAcquired"): "from_whom",
    (_LOT, "isGiftTransaction"): "gift",
    (_LOT, "donarAcquiredDate"): "donor_acquired",
    (_LOT, "amountOfSecuritiesAcquired"): "units",
    (_LOT, "paymentDate"): "paid",
    (_LOT, "natureOfPayment"): "payment",
    ("sellerDetails", "name"): "seller",
    (_PAST_SALE, "securitiesClassTitle"): "title",
    (_PAST_SALE, "saleDate"): "date",
    (_PAST_SALE, "amountOfSecuritiesSold"): "units",
    (_PAST_SALE, "grossProceeds"): "proceeds",
}


@dataclass(frozen=True, slots=True)
class ProposedSale:
    """Securities of one class that one broker is to sell.

    Numbers are decimal texts, ``market_value`` is in dollars.
    """

    title: str | None
    broker: str | None
    units: str | None
    market_value: str | None
    units_outstanding: str | None
    sale_date: str | None
    exchange: str | None


@dataclass(frozen=True, slots=True)
class SaleLot:
    """The acquisition of securities that are to be sold.

    ``donor_acquisition_date`` is the day on which the giver of a gift had acquired them.
    """

    title: str | None
    acquisition_date: str | None
    acquisition_nature: str | None
    acquired_from: str | None
    is_gift: bool | None
    donor_acquisition_date: str | None
    units: str | None
    payment_date: str | None
    payment_nature: str | None


@dataclass(frozen=True, slots=True)
class PastSale:
    """A sale in the three months before the notice. ``gross_proceeds`` is in dollars."""

    seller: str | None
    title: str | None
    sale_date: str | None
    units: str | None
    gross_proceeds: str | None


@dataclass(frozen=True, slots=True)
class SaleNotice:
    """A Form 144. Dates are ISO dates, CIKs have ten digits, None stands for anything that the document leaves out.

    ``filer_cik`` is the CIK whose credentials were used: mostly the seller's, of whom the document has only the name.
    ``plan_adoption_dates`` are the days on which plans under Rule 10b5-1 were adopted.
    """

    form: str
    filer_cik: str | None
    previous_accession: str | None
    issuer_cik: str
    issuer_name: str
    file_number: str | None
    seller: str
    relationships: tuple[str, ...]
    sales: tuple[ProposedSale, ...]
    lots: tuple[SaleLot, ...]
    past_sales: tuple[PastSale, ...]
    reports_no_past_sales: bool | None
    remarks: str | None
    notice_date: str | None
    plan_adoption_dates: tuple[str, ...]


def parse(content: bytes, file: str) -> SaleNotice:
    """Return the notice in a document.

    Raise ParseError if the document is not well-formed, is of another form or namespace, is a test filing, lacks its
    issuer, its seller or any sale, or has an invalid number or date.
    """
    reader = OnlineFormReader(file, _NAMESPACES, _NAMES, _GROUPS)
    reader.read(content.strip())
    texts = FormTexts(file, reader.texts)
    form = (texts.text("form") or "").upper()
    if form not in FORM_TYPES:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(FORM_TYPES)}")
    if (texts.text("live") or "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    if not reader.groups["sales"]:
        raise ParseError(file, "", "has no securities to be sold")
    return SaleNotice(
        form=form,
        filer_cik=texts.filer_cik(),
        previous_accession=identifiers.parse_accession(texts.text("previous") or ""),
        issuer_cik=texts.require("issuer_cik", texts.cik("issuer_cik")),
        issuer_name=texts.require("issuer_name", texts.text("issuer_name")),
        file_number=texts.text("file_number"),
        seller=texts.require("seller", texts.text("seller")),
        relationships=texts.list_texts("relationships"),
        sales=tuple(map(_build_proposed_sale, _list_groups(reader, "sales"))),
        lots=tuple(map(_build_lot, _list_groups(reader, "lots"))),
        past_sales=tuple(map(_build_past_sale, _list_groups(reader, "sold"))),
        reports_no_past_sales=texts.boolean("nothing_sold"),
        remarks=texts.text("remarks"),
        notice_date=texts.date("signed"),
        plan_adoption_dates=texts.list_dates("plans"),
    )


def _list_groups(reader: OnlineFormReader, name: str) -> list[FormTexts]:
    """Return the texts of each group. Errors call them "sales 1", "sales 2", ..."""
    groups = enumerate(reader.groups[name], 1)
    return [FormTexts(reader.file, texts, f"{name} {number}") for number, texts in groups]


def _build_proposed_sale(texts: FormTexts) -> ProposedSale:
    return ProposedSale(
        title=texts.text("title"),
        broker=texts.text("broker"),
        units=texts.number("units"),
        market_value=texts.number("value"),
        units_outstanding=texts.number("outstanding"),
        sale_date=texts.date("date"),
        exchange=texts.text("exchange"),
    )


def _build_lot(texts: FormTexts) -> SaleLot:
    return SaleLot(
        title=texts.text("title"),
        acquisition_date=texts.date("acquired"),
        acquisition_nature=texts.text("nature"),
        acquired_from=texts.text("from_whom"),
        is_gift=texts.boolean("gift"),
        donor_acquisition_date=texts.date("donor_acquired"),
        units=texts.number("units"),
        payment_date=texts.date("paid"),
        payment_nature=texts.text("payment"),
    )


def _build_past_sale(texts: FormTexts) -> PastSale:
    return PastSale(
        seller=texts.text("seller"),
        title=texts.text("title"),
        sale_date=texts.date("date"),
        units=texts.number("units"),
        gross_proceeds=texts.number("proceeds"),
    )
