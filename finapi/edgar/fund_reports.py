"""The parser of Form N-PORT, the monthly report of a mutual fund or ETF: its assets, flows, returns and every position.

A document is about one *series*, which is what investors call a fund. A registrant (a trust) may have hundreds of
series, and a series several share classes with tickers of their own. A registrant without series reports for itself.

Two dates are easily confused: ``repPdDate`` is the day that the figures are of (here ``period``), and ``repPdEnd`` is
the end of the fund's fiscal year. Flows and returns are those of three months. The third one ends with ``period``.

Filers write "N/A" or "XXXX" where they have no value, and a placeholder such as 000000000 where a security has no
CUSIP. Both become None. An amendment (NPORT-P/A) is a complete report, which replaces the earlier one.

Source: EDGAR Form N-PORT XML Technical Specification, and real filings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from sys import intern
from typing import NamedTuple

from finapi.core.errors import ParseError
from finapi.edgar import cusip, identifiers, online_forms, xml_reader

FORM_TYPES = ("NPORT-P", "NPORT-P/A")
NAMESPACE = "http://www.sec.gov/edgar/nport"

# Positions of one report. The largest bond index funds have some 20,000.
MAX_POSITIONS = 250_000
# Share classes of a series. The longest real lists have some 40.
MAX_CLASSES = 1_000
# Identifiers or counterparties of one position.
MAX_PARTS = 50
MAX_TEXT_CHARACTERS = 2_000  # The length of a name, a number or a date.

_PLACEHOLDERS = frozenset({"", "N/A", "NA", "XXXX", "XXX", "NONE"})
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{0,30})?(?:[eE][+-]?[0-9]{1,2})?|[+-]?\.[0-9]{1,30}")
_ISIN = re.compile("[A-Z]{2}[0-9A-Z]{9}[0-9]")
_BOOLEANS = {"y": True, "true": True, "1": True, "n": False, "false": False, "0": False}


class Identifier(NamedTuple):
    """An identifier of a position in addition to its CUSIP.

    ``kind`` is "isin", "ticker" or "other". ``description`` is the filer's name for an identifier of kind "other", such
    as "SEDOL".
    """

    kind: str
    value: str
    description: str | None


class Counterparty(NamedTuple):
    """The other party of a derivative."""

    name: str | None
    lei: str | None


@dataclass(frozen=True, slots=True)
class DebtTerms:
    """The terms of a debt security. ``annualized_rate`` is in per cent."""

    maturity_date: str | None
    coupon_kind: str | None
    annualized_rate: str | None
    is_default: bool | None
    has_interest_in_arrears: bool | None
    is_paid_in_kind: bool | None


@dataclass(frozen=True, slots=True)
class DerivativeTerms:
    """The terms of a derivative. Most of them are None for any one category.

    ``category`` is FUT, FWD, OPT, SWP, SWO, WAR or OTH. ``expiration_date`` is the day on which the contract expires,
    terminates or settles. The instrument that it refers to is an index or a security.
    """

    category: str | None
    description: str | None
    counterparties: tuple[Counterparty, ...]
    payoff_profile: str | None
    put_or_call: str | None
    written_or_purchased: str | None
    reference_name: str | None
    reference_title: str | None
    reference_cusip: str | None
    reference_isin: str | None
    reference_ticker: str | None
    shares: str | None
    exercise_price: str | None
    exercise_currency: str | None
    expiration_date: str | None
    delta: str | None
    notional_amount: str | None
    notional_currency: str | None
    amount_sold: str | None
    currency_sold: str | None
    amount_purchased: str | None
    currency_purchased: str | None
    unrealized_appreciation: str | None


@dataclass(frozen=True, slots=True)
class LendingTerms:
    """Securities of a position that are on loan, and the collateral in it. Values are in dollars."""

    is_cash_collateral: bool | None
    cash_collateral_value: str | None
    is_non_cash_collateral: bool | None
    non_cash_collateral_value: str | None
    is_on_loan: bool | None
    loan_value: str | None


@dataclass(frozen=True, slots=True)
class ReportedPosition:
    """A position of a report. Numbers are decimal texts and may be negative, for instance of short positions.

    ``value`` is in dollars, ``percent`` in per cent of the fund's net assets. ``currency`` is the position's own, and
    ``exchange_rate`` is the number of its units for a dollar (None for dollars). ``filed_cusip`` is the filer's text if
    it is not a valid CUSIP. Codes (asset and issuer category, units, payoff profile) are those of the form.
    """

    name: str | None
    lei: str | None
    title: str | None
    cusip: str | None
    filed_cusip: str | None
    identifiers: tuple[Identifier, ...]
    balance: str | None
    units: str | None
    currency: str | None
    exchange_rate: str | None
    value: str | None
    percent: str | None
    payoff_profile: str | None
    asset_category: str | None
    asset_description: str | None
    issuer_category: str | None
    issuer_description: str | None
    country: str | None
    is_restricted: bool | None
    fair_value_level: str | None
    debt: DebtTerms | None
    derivative: DerivativeTerms | None
    lending: LendingTerms | None

    @property
    def isin(self) -> str | None:
        """Return the first ISIN, or None."""
        return next((part.value for part in self.identifiers if part.kind == "isin"), None)

    @property
    def ticker(self) -> str | None:
        """Return the first ticker, or None. Few filers give one."""
        return next((part.value for part in self.identifiers if part.kind == "ticker"), None)


class MonthlyFlow(NamedTuple):
    """The dollars of shares sold, of dividends reinvested, and of shares redeemed in a month, as filed."""

    sales: str | None
    reinvestment: str | None
    redemption: str | None


class ClassReturns(NamedTuple):
    """The total returns of a share class in per cent, of three months. ``class_id`` is None without classes."""

    class_id: str | None
    month_1: str | None
    month_2: str | None
    month_3: str | None


@dataclass(frozen=True, slots=True)
class FundReport:
    """An N-PORT report. Dates are ISO dates, ``cik`` has ten digits, None stands for anything that is left out.

    ``flows`` has the three months, the month of ``period`` last. ``payables`` has the amounts payable by the names of
    their elements.
    """

    form: str
    cik: str
    registrant_name: str
    file_number: str | None
    registrant_lei: str | None
    street: str | None
    city: str | None
    state: str | None
    zip_code: str | None
    phone: str | None
    series_id: str | None
    series_name: str | None
    series_lei: str | None
    class_ids: tuple[str, ...]
    period: str
    fiscal_year_end: str | None
    is_final_filing: bool | None
    total_assets: str | None
    total_liabilities: str | None
    net_assets: str | None
    payables: tuple[tuple[str, str], ...]
    flows: tuple[MonthlyFlow, ...]
    returns: tuple[ClassReturns, ...]
    signed_date: str | None
    signing_company: str | None
    signer: str | None
    signer_title: str | None
    positions: tuple[ReportedPosition, ...]

    @property
    def is_amendment(self) -> bool:
        """Return True for an NPORT-P/A."""
        return self.form.endswith("/A")


def is_isin(text: str) -> bool:
    """Return True for twelve characters in the form of an ISIN. The check digit is not checked."""
    return _ISIN.fullmatch(text) is not None


def parse(content: bytes, file: str) -> FundReport:
    """Return the report in a document.

    Raise ParseError if the document is not well-formed, is of another form, is a test filing, lacks its registrant or
    its period, or has an invalid number or date. An error in a position names its number.
    """
    reader = _FundReportReader(file)
    reader.read(content.strip())
    return _build_report(reader)


# ---- the reader

# The names of texts, by the local names of an element's parent and of the element.
_REPORT_TEXTS = {
    ("headerData", "submissionType"): "form",
    ("filerInfo", "liveTestFlag"): "live",
    ("issuerCredentials", "cik"): "filer_cik",
    ("seriesClassInfo", "seriesId"): "header_series_id",
    ("genInfo", "regName"): "name",
    ("genInfo", "regFileNumber"): "file_number",
    ("genInfo", "regCik"): "cik",
    ("genInfo", "regLei"): "lei",
    ("genInfo", "regStreet1"): "street",
    ("genInfo", "regCity"): "city",
    ("genInfo", "regZipOrPostalCode"): "zip",
    ("genInfo", "regPhone"): "phone",
    ("genInfo", "seriesName"): "series_name",
    ("genInfo", "seriesId"): "series_id",
    ("genInfo", "seriesLei"): "series_lei",
    ("genInfo", "repPdEnd"): "fiscal_year_end",
    ("genInfo", "repPdDate"): "period",
    ("genInfo", "isFinalFiling"): "final",
    ("fundInfo", "totAssets"): "total_assets",
    ("fundInfo", "totLiabs"): "total_liabilities",
    ("fundInfo", "netAssets"): "net_assets",
    ("signature", "dateSigned"): "signed",
    ("signature", "nameOfApplicant"): "company",
    ("signature", "signerName"): "signer",
    ("signature", "title"): "signer_title",
}
_PAYABLE_START = "amtPay"
_FLOWS = ("mon1Flow", "mon2Flow", "mon3Flow")

_POSITION = "invstOrSec"
_POSITION_TEXTS = {
    (_POSITION, "name"): "name",
    (_POSITION, "lei"): "lei",
    (_POSITION, "title"): "title",
    (_POSITION, "cusip"): "cusip",
    (_POSITION, "balance"): "balance",
    (_POSITION, "units"): "units",
    (_POSITION, "curCd"): "currency",
    (_POSITION, "valUSD"): "value",
    (_POSITION, "pctVal"): "percent",
    (_POSITION, "payoffProfile"): "payoff",
    (_POSITION, "assetCat"): "asset",
    (_POSITION, "issuerCat"): "issuer",
    (_POSITION, "invCountry"): "country",
    (_POSITION, "isRestrictedSec"): "restricted",
    (_POSITION, "fairValLevel"): "level",
    ("debtSec", "maturityDt"): "debt_maturity",
    ("debtSec", "couponKind"): "debt_coupon",
    ("debtSec", "annualizedRt"): "debt_rate",
    ("debtSec", "isDefault"): "debt_default",
    ("debtSec", "areIntrstPmntsInArrs"): "debt_arrears",
    ("debtSec", "isPaidKind"): "debt_in_kind",
    ("securityLending", "isCashCollateral"): "cash_collateral",
    ("securityLending", "isNonCashCollateral"): "non_cash_collateral",
    ("securityLending", "isLoanByFund"): "on_loan",
    ("indexBasketInfo", "indexName"): "reference_name",
    ("otherRefInst", "issuerName"): "reference_name",
    ("otherRefInst", "issueTitle"): "reference_title",
}
# Elements of a derivative, whose parents differ by its category.
_DERIVATIVE_TEXTS = {
    "payOffProf": "payoff_profile",
    "putOrCall": "put_or_call",
    "writtenOrPur": "written_or_purchased",
    "shareNo": "shares",
    "exercisePrice": "exercise_price",
    "exercisePriceCurCd": "exercise_currency",
    "expDt": "expiration",
    "expDate": "expiration",
    "terminationDt": "expiration",
    "settlementDt": "expiration",
    "delta": "delta",
    "notionalAmt": "notional",
    "curCd": "notional_currency",
    "amtCurSold": "amount_sold",
    "curSold": "currency_sold",
    "amtCurPur": "amount_purchased",
    "curPur": "currency_purchased",
    "unrealizedAppr": "appreciation",
}
# Names of the texts in attributes, by the local names of an element's parent and of the element.
_POSITION_ATTRIBUTES = {
    (_POSITION, "currencyConditional"): {"curCd": "currency", "exchangeRt": "exchange_rate"},
    (_POSITION, "assetConditional"): {"assetCat": "asset", "desc": "asset_description"},
    (_POSITION, "issuerConditional"): {"issuerCat": "issuer", "desc": "issuer_description"},
    ("securityLending", "cashCollateralCondition"): {
        "isCashCollateral": "cash_collateral",
        "cashCollateralVal": "cash_collateral_value",
    },
    ("securityLending", "nonCashCollateralCondition"): {
        "isNonCashCollateral": "non_cash_collateral",
        "nonCashCollateralVal": "non_cash_collateral_value",
    },
    ("securityLending", "loanByFundCondition"): {"isLoanByFund": "on_loan", "loanVal": "loan_value"},
}
_IDENTIFIER_KINDS = ("isin", "ticker", "other")
_COUNTERPARTY = "counterparties"


class _PositionTexts:
    """The texts of the position that is being read, by their names, and the elements that it may contain repeatedly."""

    __slots__ = ("counterparties", "derivative", "identifiers", "texts")

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.derivative: dict[str, str] = {}
        self.identifiers: list[Identifier] = []
        self.counterparties: list[dict[str, str]] = []


class _FundReportReader(xml_reader.XmlReader):
    """A reader that builds a ReportedPosition from each ``invstOrSec`` and collects the texts outside of them."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.open_handlers = {
            f"{NAMESPACE} edgarSubmission": _FundReportReader.open_other,
            "edgarSubmission": _FundReportReader.open_other,
        }
        self.texts: dict[str, str] = {}
        self.class_ids: list[str] = []
        self.payables: dict[str, str] = {}
        self.flows: dict[str, Mapping[str, str]] = {}
        self.returns: list[Mapping[str, str]] = []
        self.positions: list[ReportedPosition] = []
        self._open_elements: list[str] = []
        self._position: _PositionTexts | None = None

    def open_other(self, name: str, attributes: xml_reader.Attributes) -> None:
        """Collect the text or the attributes of a known element. Of an unknown element, only read the children."""
        element = xml_reader.local_name(name)
        parent = self._open_elements[-1] if self._open_elements else ""
        position = self._position
        if position is None:
            is_leaf = self._open_report_element(parent, element, attributes)
        else:
            is_leaf = self._open_position_element(position, parent, element, attributes)
        if not is_leaf:
            self._open_elements.append(element)
            self.call_on_close(self._close_position if element == _POSITION else self._close_other)

    def _close_other(self) -> None:
        self._open_elements.pop()

    # ---- outside of positions

    def _open_report_element(self, parent: str, element: str, attributes: xml_reader.Attributes) -> bool:
        """Handle an element. Return True if its text is collected, and no children are expected."""
        if element == _POSITION:
            if len(self.positions) >= MAX_POSITIONS:
                raise self.build_error(f"more than {MAX_POSITIONS} positions")
            self._position = _PositionTexts()
            return False
        text_name = _REPORT_TEXTS.get((parent, element))
        if text_name is not None:
            self.collect_text(partial(self._set_text, text_name), max_characters=MAX_TEXT_CHARACTERS)
            return True
        if (parent, element) == ("seriesClassInfo", "classId"):
            self._check_class_count(self.class_ids)
            self.collect_text(self.class_ids.append, max_characters=MAX_TEXT_CHARACTERS)
            return True
        if parent == "fundInfo" and element.startswith(_PAYABLE_START):
            if len(self.payables) >= MAX_PARTS:
                raise self.build_error(f"more than {MAX_PARTS} amounts payable")
            self.collect_text(partial(_set_first, self.payables, element), max_characters=MAX_TEXT_CHARACTERS)
            return True
        if element == "regStateConditional":
            self._set_text("state", attributes.get("regState", ""))
        elif element in _FLOWS and parent == "fundInfo":
            self.flows[element] = attributes
        elif element == "monthlyTotReturn":
            self._check_class_count(self.returns)
            self.returns.append(attributes)
        return False

    def _check_class_count(self, rows: list[str] | list[Mapping[str, str]]) -> None:
        if len(rows) >= MAX_CLASSES:
            raise self.build_error(f"more than {MAX_CLASSES} share classes")

    def _set_text(self, name: str, text: str) -> None:
        words = " ".join(text.split())
        # A combined filing lists several filers. The registrant's CIK is in genInfo.
        if self.texts.setdefault(name, words) != words and name != "filer_cik":
            raise self.build_error(f"{name} occurs twice with different values")

    # ---- inside of a position

    def _open_position_element(
        self, position: _PositionTexts, parent: str, element: str, attributes: xml_reader.Attributes
    ) -> bool:
        """Handle an element. Return True if its children are not read."""
        path = (parent, element)
        text_name = _POSITION_TEXTS.get(path)
        if text_name is not None:
            self.collect_text(partial(_set_first, position.texts, text_name), max_characters=MAX_TEXT_CHARACTERS)
            return True
        attribute_names = _POSITION_ATTRIBUTES.get(path)
        if attribute_names is not None:
            for attribute, name in attribute_names.items():
                _set_first(position.texts, name, attributes.get(attribute, ""))
        elif element == _POSITION:
            raise self.build_error("a position inside a position")
        elif element == "nestedDerivInfo":
            # An option or a swap may refer to another derivative. That one contains the same elements, whose texts must
            # not be taken for those of the position.
            self.skip_element()
            return True
        elif parent == "identifiers":
            self._add_identifier(position, element, attributes)
        elif parent == _COUNTERPARTY:
            self._open_counterparty_text(position, element)
            return element in ("counterpartyName", "counterpartyLei")
        elif element == _COUNTERPARTY:
            if len(position.counterparties) >= MAX_PARTS:
                raise self.build_error(f"more than {MAX_PARTS} counterparties")
            position.counterparties.append({})
        elif parent == "derivativeInfo":
            _set_first(position.derivative, "category", attributes.get("derivCat", ""))
            _set_first(position.derivative, "description", attributes.get("othDesc", ""))
        elif parent == "notionalAmts" and "amt" in attributes:
            _set_first(position.derivative, "notional", attributes["amt"])
            _set_first(position.derivative, "notional_currency", attributes.get("curCd", ""))
        elif parent.endswith("Deriv") and element in _DERIVATIVE_TEXTS:
            name = _DERIVATIVE_TEXTS[element]
            self.collect_text(partial(_set_first, position.derivative, name), max_characters=MAX_TEXT_CHARACTERS)
            return True
        return False

    def _add_identifier(self, position: _PositionTexts, element: str, attributes: xml_reader.Attributes) -> None:
        """Add an identifier of the position, or of the instrument that its derivative refers to."""
        text = " ".join(attributes.get("value", "").split())
        if text.upper() in _PLACEHOLDERS:
            return
        if self._open_elements[-2] == "otherRefInst":
            _set_first(position.derivative, f"reference_{element}", text)
        elif element in _IDENTIFIER_KINDS:
            if len(position.identifiers) >= MAX_PARTS:
                raise self.build_error(f"more than {MAX_PARTS} identifiers")
            description = " ".join(attributes.get("otherDesc", "").split())[:MAX_TEXT_CHARACTERS] or None
            position.identifiers.append(Identifier(element, text[:MAX_TEXT_CHARACTERS], description))

    def _open_counterparty_text(self, position: _PositionTexts, element: str) -> None:
        if element in ("counterpartyName", "counterpartyLei"):
            texts = position.counterparties[-1]
            self.collect_text(partial(_set_first, texts, element), max_characters=MAX_TEXT_CHARACTERS)

    def _close_position(self) -> None:
        self._open_elements.pop()
        assert self._position is not None
        number = len(self.positions) + 1
        self.positions.append(_build_position(self.file, number, self._position))
        self._position = None


def _set_first(texts: dict[str, str], name: str, text: str) -> None:
    """Set a text unless an earlier element has set it."""
    words = " ".join(text.split())
    if words:
        texts.setdefault(name, words)


# ---- records from texts


class _Texts:
    """Texts by their names, with methods that convert them. ``place`` is their place in the document, for errors."""

    def __init__(self, file: str, place: str, texts: Mapping[str, str]) -> None:
        self._file = file
        self._place = place
        self._texts = texts

    def text(self, name: str) -> str | None:
        """Return a text, or None if it is missing or a placeholder such as "N/A"."""
        text = self._texts.get(name, "").strip()
        return None if text.upper() in _PLACEHOLDERS else text

    def code(self, name: str) -> str | None:
        """Return a code such as a currency. Equal codes are one object in memory, because many positions have them."""
        text = self.text(name)
        return None if text is None else intern(text)

    def number(self, name: str) -> str | None:
        """Return a number as a decimal text without trailing zeros. Raise ParseError if it is invalid."""
        text = self.text(name)
        if text is None:
            return None
        if _NUMBER.fullmatch(text) is None:
            raise self.build_error(name, f"{text[:40]!r} is not a decimal number")
        return format_number(Decimal(text))

    def boolean(self, name: str) -> bool | None:
        """Return the value of Y or N. Raise ParseError for any other text."""
        text = self.text(name)
        if text is None:
            return None
        value = _BOOLEANS.get(text.lower())
        if value is None:
            raise self.build_error(name, f"{text[:40]!r} is neither Y nor N")
        return value

    def date(self, name: str) -> str | None:
        """Return a day as an ISO date. Raise ParseError if it is invalid."""
        text = self.text(name)
        if text is None:
            return None
        try:
            # Some filers add a time zone to a day.
            return online_forms.parse_date(text[:10])
        except ValueError as error:
            raise self.build_error(name, str(error)) from None

    def build_error(self, name: str, reason: str) -> ParseError:
        """Return a ParseError about the text of a name."""
        return ParseError(self._file, f"{self._place} {name}".strip(), reason)


def format_number(number: Decimal) -> str:
    """Return a number without an exponent and without trailing zeros."""
    text = f"{number:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _build_report(reader: _FundReportReader) -> FundReport:
    file = reader.file
    texts = _Texts(file, "", reader.texts)
    form = (texts.text("form") or "").upper()
    if form not in FORM_TYPES:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(FORM_TYPES)}")
    if (texts.text("live") or "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    name = texts.text("name")
    if name is None:
        raise ParseError(file, "regName", "is missing")
    period = texts.date("period")
    if period is None:
        raise ParseError(file, "repPdDate", "is missing")
    state = texts.text("state")
    payables = _Texts(file, "", reader.payables)
    payable_numbers = [(element, payables.number(element)) for element in reader.payables]
    return FundReport(
        form=form,
        cik=_parse_cik(texts, file),
        registrant_name=name,
        file_number=texts.text("file_number"),
        registrant_lei=texts.text("lei"),
        street=texts.text("street"),
        city=texts.text("city"),
        # The form has US-NY for New York.
        state=None if state is None else state.removeprefix("US-"),
        zip_code=texts.text("zip"),
        phone=texts.text("phone"),
        series_id=_find_series_id(texts),
        series_name=texts.text("series_name"),
        series_lei=texts.text("series_lei"),
        class_ids=tuple(dict.fromkeys(filter(identifiers.CLASS_ID.fullmatch, map(str.strip, reader.class_ids)))),
        period=period,
        fiscal_year_end=texts.date("fiscal_year_end"),
        is_final_filing=texts.boolean("final"),
        total_assets=texts.number("total_assets"),
        total_liabilities=texts.number("total_liabilities"),
        net_assets=texts.number("net_assets"),
        payables=tuple((element, number) for element, number in payable_numbers if number is not None),
        flows=tuple(_build_flow(file, element, reader.flows.get(element, {})) for element in _FLOWS),
        returns=tuple(_build_returns(file, attributes) for attributes in reader.returns),
        signed_date=texts.date("signed"),
        signing_company=texts.text("company"),
        signer=texts.text("signer"),
        signer_title=texts.text("signer_title"),
        positions=tuple(reader.positions),
    )


def _parse_cik(texts: _Texts, file: str) -> str:
    try:
        return identifiers.parse_cik(texts.text("cik") or texts.text("filer_cik") or "")
    except ValueError as error:
        raise ParseError(file, "regCik", str(error)) from None


def _find_series_id(texts: _Texts) -> str | None:
    """Return the id of the series, or None for a registrant without series."""
    for name in ("series_id", "header_series_id"):
        text = texts.text(name)
        if text is not None and identifiers.SERIES_ID.fullmatch(text.upper()):
            return text.upper()
    return None


def _build_flow(file: str, element: str, attributes: Mapping[str, str]) -> MonthlyFlow:
    texts = _Texts(file, element, attributes)
    return MonthlyFlow(texts.number("sales"), texts.number("reinvestment"), texts.number("redemption"))


def _build_returns(file: str, attributes: Mapping[str, str]) -> ClassReturns:
    texts = _Texts(file, "monthlyTotReturn", attributes)
    class_id = texts.text("classId")
    return ClassReturns(class_id, texts.number("rtn1"), texts.number("rtn2"), texts.number("rtn3"))


def _build_position(file: str, number: int, parts: _PositionTexts) -> ReportedPosition:
    place = f"position {number}"
    texts = _Texts(file, place, parts.texts)
    if not {"name", "title"} & parts.texts.keys():
        raise ParseError(file, place, "has neither a name nor a title")
    filed_cusip = texts.text("cusip")
    if filed_cusip is not None and len(set(filed_cusip)) == 1:
        filed_cusip = None  # A placeholder such as 000000000.
    parsed_cusip = _parse_cusip(filed_cusip)
    return ReportedPosition(
        name=texts.text("name"),
        lei=texts.text("lei"),
        title=texts.text("title"),
        cusip=parsed_cusip,
        filed_cusip=filed_cusip if parsed_cusip is None else None,
        identifiers=tuple(filter(None, map(_normalise_identifier, parts.identifiers))),
        balance=texts.number("balance"),
        units=texts.code("units"),
        currency=texts.code("currency"),
        exchange_rate=texts.number("exchange_rate"),
        value=texts.number("value"),
        percent=texts.number("percent"),
        payoff_profile=texts.code("payoff"),
        asset_category=texts.code("asset"),
        asset_description=texts.text("asset_description"),
        issuer_category=texts.code("issuer"),
        issuer_description=texts.text("issuer_description"),
        country=texts.code("country"),
        is_restricted=texts.boolean("restricted"),
        fair_value_level=texts.code("level"),
        debt=_build_debt(texts),
        derivative=_build_derivative(file, place, parts, texts),
        lending=_build_lending(texts),
    )


def _parse_cusip(text: str | None) -> str | None:
    """Return a CUSIP in normal form, or None for any other identifier."""
    try:
        number = cusip.normalise(text or "")
    except ValueError:
        return None
    return intern(number) if cusip.is_valid(number) else None


def _normalise_identifier(identifier: Identifier) -> Identifier | None:
    """Return an identifier with its ISIN in upper case, or None if it should be an ISIN but does not look like one."""
    if identifier.kind != "isin":
        return identifier
    isin = identifier.value.upper()
    return identifier._replace(value=isin) if is_isin(isin) else None


def _build_debt(texts: _Texts) -> DebtTerms | None:
    terms = DebtTerms(
        maturity_date=texts.date("debt_maturity"),
        coupon_kind=texts.code("debt_coupon"),
        annualized_rate=texts.number("debt_rate"),
        is_default=texts.boolean("debt_default"),
        has_interest_in_arrears=texts.boolean("debt_arrears"),
        is_paid_in_kind=texts.boolean("debt_in_kind"),
    )
    return None if terms == _NO_DEBT else terms


def _build_lending(texts: _Texts) -> LendingTerms | None:
    terms = LendingTerms(
        is_cash_collateral=texts.boolean("cash_collateral"),
        cash_collateral_value=texts.number("cash_collateral_value"),
        is_non_cash_collateral=texts.boolean("non_cash_collateral"),
        non_cash_collateral_value=texts.number("non_cash_collateral_value"),
        is_on_loan=texts.boolean("on_loan"),
        loan_value=texts.number("loan_value"),
    )
    return None if terms == _NO_LENDING else terms


_NO_DEBT = DebtTerms(None, None, None, None, None, None)
_NO_LENDING = LendingTerms(None, None, None, None, None, None)


def _build_derivative(file: str, place: str, parts: _PositionTexts, texts: _Texts) -> DerivativeTerms | None:
    if not parts.derivative:
        return None
    terms = _Texts(file, place, parts.derivative)
    counterparties = [_Texts(file, place, party) for party in parts.counterparties]
    return DerivativeTerms(
        category=terms.code("category"),
        description=terms.text("description"),
        counterparties=tuple(
            Counterparty(party.text("counterpartyName"), party.text("counterpartyLei")) for party in counterparties
        ),
        payoff_profile=terms.code("payoff_profile"),
        put_or_call=terms.code("put_or_call"),
        written_or_purchased=terms.code("written_or_purchased"),
        reference_name=texts.text("reference_name"),
        reference_title=texts.text("reference_title"),
        reference_cusip=_parse_cusip(terms.text("reference_cusip")),
        reference_isin=terms.text("reference_isin"),
        reference_ticker=terms.text("reference_ticker"),
        shares=terms.number("shares"),
        exercise_price=terms.number("exercise_price"),
        exercise_currency=terms.code("exercise_currency"),
        expiration_date=terms.date("expiration"),
        delta=terms.number("delta"),
        notional_amount=terms.number("notional"),
        notional_currency=terms.code("notional_currency"),
        amount_sold=terms.number("amount_sold"),
        currency_sold=terms.code("currency_sold"),
        amount_purchased=terms.number("amount_purchased"),
        currency_purchased=terms.code("currency_purchased"),
        unrealized_appreciation=terms.number("appreciation"),
    )
