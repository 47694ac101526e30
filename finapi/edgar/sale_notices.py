"""Form 144 (and 144/A) as values: the notice of a proposed sale of restricted or control securities, XML since 2022.

It tells what its seller means to sell, not that anything was sold. A seller may name several classes, brokers and days.
Source: EDGAR Form 144 XML Technical Specification and its samples.
"""

from __future__ import annotations

from dataclasses import dataclass

from finapi.core.errors import ParseError
from finapi.edgar import identity
from finapi.edgar.leaves import LeafTexts, LeavesReader, Place

FORMS = ("144", "144/A")

_SPACES = ("http://www.sec.gov/edgar/ownership",)

_SALE, _LOT, _SOLD = "securitiesInformation", "securitiesToBeSold", "securitiesSoldInPast3Months"
_GROUPS = {_SALE: "sales", _LOT: "lots", _SOLD: "sold"}
_NAMES: dict[Place, str] = {
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
    value: str | None
    outstanding: str | None
    date: str | None
    exchange: str | None


@dataclass(frozen=True, slots=True)
class SaleLot:
    """How securities that are to be sold were acquired; ``donor_acquired`` is the day of whoever gave them."""

    title: str | None
    acquired: str | None
    nature: str | None
    from_whom: str | None
    gift: bool | None
    donor_acquired: str | None
    units: str | None
    paid: str | None
    payment: str | None


@dataclass(frozen=True, slots=True)
class PastSale:
    """What was sold in the three months before; ``proceeds`` in dollars."""

    seller: str | None
    title: str | None
    date: str | None
    units: str | None
    proceeds: str | None


@dataclass(frozen=True, slots=True)
class SaleNotice:
    """A Form 144. Dates are ISO, CIKs have 10 digits; what is not said is None.

    ``filer_cik`` is whose credentials filed it: the seller's, who is otherwise known by name only. ``plans`` are the
    days on which plans under Rule 10b5-1 were adopted, ``nothing_sold`` says that there is no past sale.
    """

    form: str
    filer_cik: str | None
    previous: str | None
    issuer_cik: str
    issuer_name: str
    file_number: str | None
    seller: str
    relationships: tuple[str, ...]
    sales: tuple[ProposedSale, ...]
    lots: tuple[SaleLot, ...]
    sold: tuple[PastSale, ...]
    nothing_sold: bool | None
    remarks: str | None
    signed: str | None
    plans: tuple[str, ...]


def parse(data: bytes, file: str) -> SaleNotice:
    """The notice that a document is.

    ParseError for what is not well-formed, of another form or namespace, a test filing, without its issuer, its seller
    or any sale, and for a figure or date that is none.
    """
    reader = LeavesReader(file, _SPACES, _NAMES, _GROUPS)
    reader.read(data.strip())
    said = LeafTexts(file, reader.leaves)
    form = (said.text("form") or "").upper()
    if form not in FORMS:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(FORMS)}")
    if (said.text("live") or "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    if not reader.groups["sales"]:
        raise ParseError(file, "", "names no securities that are to be sold")

    def each(name: str) -> list[LeafTexts]:
        return [LeafTexts(file, one, f"{name} {number}") for number, one in enumerate(reader.groups[name], 1)]

    return SaleNotice(
        form=form,
        filer_cik=said.filer(),
        previous=identity.accession(said.text("previous") or ""),
        issuer_cik=said.needed("issuer_cik", said.cik("issuer_cik")),
        issuer_name=said.needed("issuer_name", said.text("issuer_name")),
        file_number=said.text("file_number"),
        seller=said.needed("seller", said.text("seller")),
        relationships=said.all("relationships"),
        sales=tuple(_sale(one) for one in each("sales")),
        lots=tuple(_lot(one) for one in each("lots")),
        sold=tuple(_sold(one) for one in each("sold")),
        nothing_sold=said.truth("nothing_sold"),
        remarks=said.text("remarks"),
        signed=said.date("signed"),
        plans=said.dates("plans"),
    )


def _sale(said: LeafTexts) -> ProposedSale:
    return ProposedSale(
        title=said.text("title"),
        broker=said.text("broker"),
        units=said.number("units"),
        value=said.number("value"),
        outstanding=said.number("outstanding"),
        date=said.date("date"),
        exchange=said.text("exchange"),
    )


def _lot(said: LeafTexts) -> SaleLot:
    return SaleLot(
        title=said.text("title"),
        acquired=said.date("acquired"),
        nature=said.text("nature"),
        from_whom=said.text("from_whom"),
        gift=said.truth("gift"),
        donor_acquired=said.date("donor_acquired"),
        units=said.number("units"),
        paid=said.date("paid"),
        payment=said.text("payment"),
    )


def _sold(said: LeafTexts) -> PastSale:
    return PastSale(
        seller=said.text("seller"),
        title=said.text("title"),
        date=said.date("date"),
        units=said.number("units"),
        proceeds=said.number("proceeds"),
    )
