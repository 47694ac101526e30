"""The parser of Schedules 13D and 13G and their amendments (XML since December 18, 2024).

The two schedules contain the same facts under different element names, so one parser reads both. Each reporting person
on the cover has figures of its own. Joint filers and members of a group mostly report the same shares, so the figures
of the persons must not be added up. An amendment may leave out everything that did not change.

Source: EDGAR Schedule 13D and 13G XML Technical Specification, and variations found in real filings: ``issuerCusips``
of the later schema, two spellings of CIK, empty items.
"""

from __future__ import annotations

from dataclasses import dataclass

from finapi.core.errors import ParseError
from finapi.edgar import cusip, identifiers
from finapi.edgar.online_forms import ElementPath, FormTexts, OnlineFormReader

XML_FORM_TYPES = ("SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A")
# The form types before December 2024. Their filings contain no XML.
TEXT_FORM_TYPES = ("SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A")
ALL_FORM_TYPES = (*XML_FORM_TYPES, *TEXT_FORM_TYPES)

_NAMESPACES = tuple(f"http://www.sec.gov/edgar/schedule13{letter}" for letter in "DdGg")

_PERSON_D = "reportingPersonInfo"
_PERSON_G = "coverPageHeaderReportingPersonDetails"
_GROUPS = {_PERSON_D: "persons", _PERSON_G: "persons"}

_POWERS_G = "reportingPersonBeneficiallyOwnedNumberOfShares"
_POWERS = ("soleVotingPower", "sharedVotingPower", "soleDispositivePower", "sharedDispositivePower")
# Elements of a reporting person, those of 13D and of 13G.
_PERSON_NAMES = {
    "reportingPersonCIK": "cik",
    "reportingPersonCik": "cik",
    "reportingCik": "cik",
    "reportingPersonNoCIK": "no_cik",
    "reportingCikNotPresentInEdgarFlag": "no_cik",
    "reportingPersonName": "name",
    "memberOfGroup": "member",
    "memberGroup": "member",
    "citizenshipOrOrganization": "citizenship",
    "fundType": "funds",
    "aggregateAmountOwned": "shares",
    "reportingPersonBeneficiallyOwnedAggregateNumberOfShares": "shares",
    "isAggregateExcludeShares": "excludes",
    "aggregateAmountExcludesCertainSharesFlag": "excludes",
    "percentOfClass": "percent",
    "classPercent": "percent",
    "typeOfReportingPerson": "types",
    "commentContent": "comment",
    "comments": "comment",
}
_NAMES: dict[ElementPath, str] = {
    ("headerData", "submissionType"): "form",
    ("headerData", "previousAccessionNumber"): "previous",
    ("filerCredentials", "cik"): "filer",
    ("filerInfo", "liveTestFlag"): "live",
    ("coverPageHeader", "amendmentNo"): "amendment",
    ("coverPageHeader", "securitiesClassTitle"): "title",
    ("coverPageHeader", "dateOfEvent"): "event",
    ("coverPageHeader", "eventDateRequiresFilingThisStatement"): "event",
    ("designateRulesPursuantThisScheduleFiled", "designateRulePursuantThisScheduleFiled"): "rules",
    ("issuerInfo", "issuerCIK"): "issuer_cik",
    ("issuerInfo", "issuerCik"): "issuer_cik",
    ("issuerInfo", "issuerName"): "issuer_name",
    ("issuerInfo", "issuerCUSIP"): "cusips",
    ("issuerInfo", "issuerCusip"): "cusips",
    ("issuerInfo", "issuerCusipNumber"): "cusips",
    ("issuerCusips", "issuerCusipNumber"): "cusips",
    ("item3", "fundsSource"): "funds_source",
    ("item4", "transactionPurpose"): "purpose",
    ("item5", "transactionDesc"): "transactions",
    ("item5", "classOwnership5PercentOrLess"): "five_or_less",
    ("item6", "contractDescription"): "contracts",
    ("item8", "identificationAndClassificationOfGroupMembers"): "group_members",
    ("item9", "groupDissolutionNotice"): "dissolution",
}
for _person in (_PERSON_D, _PERSON_G):
    for _element, _name in _PERSON_NAMES.items():
        _NAMES[_person, _element] = _name
# A 13D has the powers in the person, a 13G in an element of their own inside of it.
for _parent in (_PERSON_D, _PERSON_G, _POWERS_G):
    for _power in _POWERS:
        _NAMES[_parent, _power] = _power


@dataclass(frozen=True, slots=True)
class ReportingPerson:
    """One reporting person on the cover. Numbers are decimal texts, None stands for anything that is left out.

    ``group_membership`` is "a" for a member of a group and "b" for a person who disclaims membership. ``shares`` is
    the aggregate amount owned, without certain shares if ``excludes_certain_shares``. ``person_types`` are the codes of
    the form (IN individual, IA investment adviser, HC parent holding company ...), ``fund_sources`` the codes of the
    source of the money.
    """

    name: str
    cik: str | None
    has_no_cik: bool | None
    group_membership: str | None
    citizenship: str | None
    sole_voting: str | None
    shared_voting: str | None
    sole_dispositive: str | None
    shared_dispositive: str | None
    shares: str | None
    excludes_certain_shares: bool | None
    percent_of_class: str | None
    person_types: tuple[str, ...]
    fund_sources: tuple[str, ...]
    comment: str | None


@dataclass(frozen=True, slots=True)
class Schedule:
    """A Schedule 13D or 13G. Dates are ISO dates, CIKs have ten digits, None stands for anything that is left out.

    ``filer_cik`` is the CIK whose credentials were used. ``previous_accession`` is the filing that an amendment names.
    ``cusips`` has only valid CUSIPs. The fields from ``source_of_funds`` (Item 3) to ``dissolution`` (Item 9) are the
    texts of the items. ``is_five_percent_or_less`` is Item 5 of a 13G: the persons no longer have to report.
    """

    form: str
    filer_cik: str | None
    previous_accession: str | None
    amendment_number: int | None
    class_title: str | None
    event_date: str | None
    issuer_cik: str
    issuer_name: str
    cusips: tuple[str, ...]
    rules: tuple[str, ...]
    persons: tuple[ReportingPerson, ...]
    source_of_funds: str | None
    purpose: str | None
    transactions: str | None
    contracts: str | None
    group_members: str | None
    dissolution: str | None
    is_five_percent_or_less: bool | None


def parse(content: bytes, file: str) -> Schedule:
    """Return the schedule in a document.

    Raise ParseError if the document is not well-formed, is of another form or namespace, is a test filing, lacks its
    issuer or any person, or has an invalid number or date.
    """
    reader = OnlineFormReader(file, _NAMESPACES, _NAMES, _GROUPS)
    reader.read(content.strip())
    texts = FormTexts(file, reader.texts)
    form = (texts.text("form") or "").upper()
    if form not in XML_FORM_TYPES:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(XML_FORM_TYPES)}")
    if (texts.text("live") or "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    if not reader.groups["persons"]:
        raise ParseError(file, "", "has no reporting person")
    persons = []
    for number, person_texts in enumerate(reader.groups["persons"], 1):
        persons.append(_build_person(FormTexts(file, person_texts, f"reporting person {number}")))
    return Schedule(
        form=form,
        filer_cik=texts.filer_cik(),
        previous_accession=identifiers.parse_accession(texts.text("previous") or ""),
        amendment_number=texts.integer("amendment"),
        class_title=texts.text("title"),
        event_date=texts.date("event"),
        issuer_cik=texts.require("issuer_cik", texts.cik("issuer_cik")),
        issuer_name=texts.require("issuer_name", texts.text("issuer_name")),
        cusips=_list_valid_cusips(texts.list_texts("cusips")),
        rules=texts.list_texts("rules"),
        persons=tuple(persons),
        source_of_funds=texts.text("funds_source"),
        purpose=texts.text("purpose"),
        transactions=texts.text("transactions"),
        contracts=texts.text("contracts"),
        group_members=texts.text("group_members"),
        dissolution=texts.text("dissolution"),
        is_five_percent_or_less=texts.boolean("five_or_less"),
    )


def _list_valid_cusips(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the CUSIPs among the texts. Many issuers have none, and filers then write words such as "None"."""
    numbers = []
    for text in texts:
        try:
            number = cusip.normalise(text)
        except ValueError:
            continue
        has_digit = any(character.isdigit() for character in number)
        if len(number) == 9 and has_digit and not cusip.is_placeholder(number):
            numbers.append(number)
    return tuple(dict.fromkeys(numbers))


def _build_person(texts: FormTexts) -> ReportingPerson:
    membership = (texts.text("member") or "").lower() or None
    if membership not in (None, "a", "b"):
        raise texts.build_error("member", f"{membership[:20]!r} is neither a nor b")
    return ReportingPerson(
        name=texts.require("name", texts.text("name")),
        cik=texts.cik("cik"),
        has_no_cik=texts.boolean("no_cik"),
        group_membership=membership,
        citizenship=texts.text("citizenship"),
        sole_voting=texts.number("soleVotingPower"),
        shared_voting=texts.number("sharedVotingPower"),
        sole_dispositive=texts.number("soleDispositivePower"),
        shared_dispositive=texts.number("sharedDispositivePower"),
        shares=texts.number("shares"),
        excludes_certain_shares=texts.boolean("excludes"),
        percent_of_class=texts.number("percent"),
        person_types=texts.list_texts("types"),
        fund_sources=texts.list_texts("funds"),
        comment=texts.text("comment"),
    )
