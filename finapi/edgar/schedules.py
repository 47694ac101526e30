"""Schedules 13D and 13G (and their amendments) as values: the XML that EDGAR takes since December 18, 2024.

Both are one form to a reader, with other names for the same things. Every reporting person has figures of its own;
joint filers and members of a group mostly report the same shares, so that nothing here may be added up. Amendments may
leave out whatever did not change. Source: EDGAR Schedule 13D and 13G XML Technical Specification, and what public
readers of these filings met in them (``issuerCusips`` of the later schema, two spellings of CIK, empty items).
"""

from __future__ import annotations

from dataclasses import dataclass

from finapi.core.errors import ParseError
from finapi.edgar import cusip, identifiers
from finapi.edgar.online_forms import ElementPath, FormTexts, OnlineFormReader

XML_FORM_TYPES = ("SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A")
# Before, with no document in XML.
TEXT_FORM_TYPES = ("SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A")
ALL_FORM_TYPES = (*XML_FORM_TYPES, *TEXT_FORM_TYPES)

_SPACES = tuple(f"http://www.sec.gov/edgar/schedule13{letter}" for letter in "DdGg")

_PERSON_D, _PERSON_G = "reportingPersonInfo", "coverPageHeaderReportingPersonDetails"
_POWERS_G = "reportingPersonBeneficiallyOwnedNumberOfShares"
_POWERS = ("soleVotingPower", "sharedVotingPower", "soleDispositivePower", "sharedDispositivePower")
# What is said of a person: the names of a 13D and of a 13G.
_OF_PERSON = {
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
    **{power: power for power in _POWERS},
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
    **{(person, element): name for person in (_PERSON_D, _PERSON_G) for element, name in _OF_PERSON.items()},
    **{(_POWERS_G, power): power for power in _POWERS},
}
_GROUPS = {_PERSON_D: "persons", _PERSON_G: "persons"}


@dataclass(frozen=True, slots=True)
class ReportingPerson:
    """One person on the cover: what it says of itself.

    Numbers are decimal texts, ``percent`` of the class; what is not said is None. ``member`` is "a" of a group or "b",
    which disclaims being one. ``excludes``: certain shares are left out of ``shares``. ``types`` are the codes of the
    form (IN a person, IA an adviser, HC a parent ...), ``funds`` those of where the money came from.
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
    """A Schedule 13D or 13G. Dates are ISO, CIKs have 10 digits; what is not said is None.

    ``filer_cik`` is whose credentials filed it, ``previous`` the accession number that an amendment names. ``cusips``
    are those that read as one. The items are their texts; ``five_or_less`` is Item 5 of a 13G, the end of a report.
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


def parse(data: bytes, file: str) -> Schedule:
    """The schedule that a document is.

    ParseError for what is not well-formed, of another form or namespace, a test filing, without its issuer or any
    person, and for a figure or date that is none.
    """
    reader = OnlineFormReader(file, _SPACES, _NAMES, _GROUPS)
    reader.read(data.strip())
    said = FormTexts(file, reader.leaves)
    form = (said.text("form") or "").upper()
    if form not in XML_FORM_TYPES:
        raise ParseError(file, "submissionType", f"{form[:40]!r} is not one of {', '.join(XML_FORM_TYPES)}")
    if (said.text("live") or "LIVE").upper() != "LIVE":
        raise ParseError(file, "liveTestFlag", "is a test filing")
    if not reader.groups["persons"]:
        raise ParseError(file, "", "names no reporting person")
    return Schedule(
        form=form,
        filer_cik=said.filer(),
        previous_accession=identifiers.parse_accession(said.text("previous") or ""),
        amendment_number=said.whole("amendment"),
        event_date=said.date("event"),
        issuer_cik=said.needed("issuer_cik", said.cik("issuer_cik")),
        issuer_name=said.needed("issuer_name", said.text("issuer_name")),
        cusips=_cusips(said.all("cusips")),
        rules=said.all("rules"),
        persons=tuple(
            _person(FormTexts(file, one, f"reporting person {number}"))
            for number, one in enumerate(reader.groups["persons"], 1)
        ),
        is_five_percent_or_less=said.truth("five_or_less"),
        class_title=said.text("title"),
        source_of_funds=said.text("funds_source"),
        purpose=said.text("purpose"),
        transactions=said.text("transactions"),
        contracts=said.text("contracts"),
        group_members=said.text("group_members"),
        dissolution=said.text("dissolution"),
    )


def _cusips(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The CUSIPs among what is written in their place: many issuers have none, and filers say so in words."""
    found = []
    for text in texts:
        try:
            number = cusip.normalise(text)
        except ValueError:
            continue
        if len(number) == 9 and any(one.isdigit() for one in number) and number.strip("0"):
            found.append(number)
    return tuple(dict.fromkeys(found))


def _person(said: FormTexts) -> ReportingPerson:
    member = (said.text("member") or "").lower() or None
    if member not in (None, "a", "b"):
        raise said.wrong("member", f"{member[:20]!r} is neither a nor b")
    return ReportingPerson(
        name=said.needed("name", said.text("name")),
        cik=said.cik("cik"),
        has_no_cik=said.truth("no_cik"),
        group_membership=member,
        citizenship=said.text("citizenship"),
        sole_voting=said.number("soleVotingPower"),
        shared_voting=said.number("sharedVotingPower"),
        sole_dispositive=said.number("soleDispositivePower"),
        shared_dispositive=said.number("sharedDispositivePower"),
        shares=said.number("shares"),
        excludes_certain_shares=said.truth("excludes"),
        percent_of_class=said.number("percent"),
        person_types=said.all("types"),
        fund_sources=said.all("funds"),
        comment=said.text("comment"),
    )
