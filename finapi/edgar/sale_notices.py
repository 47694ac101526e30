"""Form 144 (and 144/A) as values: the notice of a proposed sale of restricted or control securities, XML since 2022.

It tells what its seller means to sell, not that anything was sold. A seller may name several classes, brokers and days.
Source: EDGAR Form 144 XML Technical Specification and its samples.
"""

from __future__ import annotations

from dataclasses import dataclass

from finapi.core.errors import ParseError
from finapi.edgar import identifiers
from finapi.edgar.online_forms import ElementPath, FormTexts, OnlineFormReader

FORM_TYPES = ("144", "144/A")

_SPACES = ("http://www.sec.gov/edgar/ownership",)

_SALE, _LOT, _SOLD = "securitiesInformation", "securitiesToBeSold", "securitiesSoldInPast3Months"
_GROUPS = {_SALE: "sales", _LOT: "lots", _SOLD: "sold"}
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
    (_SALE, "securitiesClassTitle"): "title",
    ("brokerOrMarketmakerDetails", "name"): "broker",
    (_SALE, "noOfUnitsSold"): "units",
    (_SALE, "aggregateMarketValue"): "value",
    (_SALE, "noOfUnitsOutstanding"): "outstanding",
    (_SALE, "approxSaleDate"): "date",
    (_SALE, "securitiesExchangeName"): "exchange",
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
    (_SOLD, "securitiesClassTitle"): "title",
    (_SOLD, "saleDate"): "date",
    (_SOLD, "amountOfSecuritiesSold"): "units",
    (_SOLD, "grossProceeds"): "proceeds",
}


@dataclass(frozen=True, slots=True)
class ProposedSale:
    """Securities of one class that are to be sold by one broker; ``value`` is in dollars, numbers are decimal texts."""

    title: str | None
    broker: str | None
    units: str | None
    market_value: str | None
    units_outstanding: str | None
    sale_date: str | None
    exchange: str | None


@dataclass(frozen=True, slots=True)
class SaleLot:
    """How securities that are to be sold were acquired; ``donor_acquired`` is the day of whoever gave them."""

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
    """What was sold in the three months before; ``proceeds`` in dollars."""

    seller: str | None
    title: str | None
    sale_date: str | None
    units: str | None
    gross_proceeds: str | None


@dataclass(frozen=True, slots=True)
class SaleNotice:
    """A Form 144. Dates are ISO, CIKs have 10 digits; what is not said is None.

    ``filer_cik`` is whose credentials filed it: the seller's, who is otherwise known by name only. ``plans`` are the
    days on which plans under Rule 10b5-1 were adopted, ``nothing_sold`` says that there is no past sale.
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


def parse(data: bytes, file: str) -> SaleNotice:
    """The notice that a document is.

    ParseError for what is not well-formed, of another form or namespace, a test filing, without its issuer, its seller
    or any sale, and for a figure or date that is none.
    """
    reader = OnlineFormReader(file, _SPACES, _NAMES, _GROUPS)
    reader.read(data.strip())
    said = FormTexts(file, reader.leaves)
    form = (said.text("form") or "").upper()
    if form not in FORM_TYPES:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(FORM_TYPES)}")
    if (said.text("live") or "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    if not reader.groups["sales"]:
        raise ParseError(file, "", "names no securities that are to be sold")

    def each(name: str) -> list[FormTexts]:
        return [FormTexts(file, one, f"{name} {number}") for number, one in enumerate(reader.groups[name], 1)]

    return SaleNotice(
        form=form,
        filer_cik=said.filer(),
        previous_accession=identifiers.parse_accession(said.text("previous") or ""),
        issuer_cik=said.needed("issuer_cik", said.cik("issuer_cik")),
        issuer_name=said.needed("issuer_name", said.text("issuer_name")),
        file_number=said.text("file_number"),
        seller=said.needed("seller", said.text("seller")),
        relationships=said.all("relationships"),
        sales=tuple(_sale(one) for one in each("sales")),
        lots=tuple(_lot(one) for one in each("lots")),
        past_sales=tuple(_sold(one) for one in each("sold")),
        reports_no_past_sales=said.truth("nothing_sold"),
        remarks=said.text("remarks"),
        notice_date=said.date("signed"),
        plan_adoption_dates=said.dates("plans"),
    )


def _sale(said: FormTexts) -> ProposedSale:
    return ProposedSale(
        title=said.text("title"),
        broker=said.text("broker"),
        units=said.number("units"),
        market_value=said.number("value"),
        units_outstanding=said.number("outstanding"),
        sale_date=said.date("date"),
        exchange=said.text("exchange"),
    )


def _lot(said: FormTexts) -> SaleLot:
    return SaleLot(
        title=said.text("title"),
        acquisition_date=said.date("acquired"),
        acquisition_nature=said.text("nature"),
        acquired_from=said.text("from_whom"),
        is_gift=said.truth("gift"),
        donor_acquisition_date=said.date("donor_acquired"),
        units=said.number("units"),
        payment_date=said.date("paid"),
        payment_nature=said.text("payment"),
    )


def _sold(said: FormTexts) -> PastSale:
    return PastSale(
        seller=said.text("seller"),
        title=said.text("title"),
        sale_date=said.date("date"),
        units=said.number("units"),
        gross_proceeds=said.number("proceeds"),
    )
