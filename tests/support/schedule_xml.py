"""Schedules 13D and 13G and Forms 144 written for tests, in the layout of the SEC's technical specifications."""

from __future__ import annotations

from tests.support import submission_texts

LAMPS = ("0001234567", "Brook Lamps Inc.", "037833100")
# An adviser, its owner, and a fund of theirs.
WICK, BEN, FUND = ("0000000103", "Wick Capital LP"), ("0000000102", "Shade Ben"), ("0000000104", "Wick Master Fund")
FIRST, SECOND, THIRD = "0000000103-25-000001", "0000000103-25-000002", "0000000103-25-000003"

COMMON = "http://www.sec.gov/edgar/common"


def element(name: str, text: str | None) -> str:
    """Return an element with a text, or nothing without a text."""
    return "" if text is None else f"<{name}>{text}</{name}>"


def person(
    party: tuple[str | None, str] = WICK,
    shares: str | None = "1000000.00",
    percent: str | None = "7.5",
    *,
    sole: str | None = "0.00",
    shared: str | None = "1000000.00",
    member: str | None = None,
    types: str = "IA PN",
    comment: str | None = None,
    schedule: str = "D",
) -> str:
    """Return a reporting person of a 13D or a 13G."""
    cik, name = party
    powers = "".join(
        element(power, value)
        for power, value in (
            ("soleVotingPower", sole),
            ("sharedVotingPower", shared),
            ("soleDispositivePower", sole),
            ("sharedDispositivePower", shared),
        )
    )
    kinds = "".join(element("typeOfReportingPerson", code) for code in types.split())
    if schedule == "G":
        return (
            f"<coverPageHeaderReportingPersonDetails>{element('reportingCik', cik)}"
            f"{element('reportingPersonName', name)}{element('memberGroup', member)}"
            "<citizenshipOrOrganization>DE</citizenshipOrOrganization>"
            f"<reportingPersonBeneficiallyOwnedNumberOfShares>{powers}</reportingPersonBeneficiallyOwnedNumberOfShares>"
            f"{element('reportingPersonBeneficiallyOwnedAggregateNumberOfShares', shares)}"
            "<aggregateAmountExcludesCertainSharesFlag>N</aggregateAmountExcludesCertainSharesFlag>"
            f"{element('classPercent', percent)}{kinds}{element('comments', comment)}"
            "</coverPageHeaderReportingPersonDetails>"
        )
    no_cik = "Y" if cik is None else "N"
    return (
        f"<reportingPersonInfo>{element('reportingPersonCIK', cik)}"
        f"<reportingPersonNoCIK>{no_cik}</reportingPersonNoCIK>{element('reportingPersonName', name)}"
        f"{element('memberOfGroup', member)}<fundType>WC</fundType>"
        f"<citizenshipOrOrganization>DE</citizenshipOrOrganization>{powers}"
        f"{element('aggregateAmountOwned', shares)}<isAggregateExcludeShares>N</isAggregateExcludeShares>"
        f"{element('percentOfClass', percent)}{kinds}{element('commentContent', comment)}</reportingPersonInfo>"
    )


def _build_submission(
    form: str, space: str, body: str, *, filer: str, previous: str | None = None, live: str = "LIVE", prefix: str = ""
) -> bytes:
    text = (
        f'<edgarSubmission xmlns="{space}" xmlns:com="{COMMON}"><headerData>'
        f"<submissionType>{form}</submissionType>{element('previousAccessionNumber', previous)}"
        f"<filerInfo><filer><filerCredentials><cik>{filer}</cik><ccc>XXXXXXXX</ccc></filerCredentials></filer>"
        f"<liveTestFlag>{live}</liveTestFlag></filerInfo></headerData><formData>{body}</formData></edgarSubmission>"
    )
    if prefix:
        text = text.replace("</com:", "</com:").replace("<", f"<{prefix}:").replace(f"<{prefix}:/", f"</{prefix}:")
        text = text.replace(f"<{prefix}:com:", "<com:").replace(f"</{prefix}:com:", "</com:")
        text = text.replace(f'xmlns="{space}"', f'xmlns:{prefix}="{space}"')
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()


def d(
    *persons: str,
    form: str = "SCHEDULE 13D",
    event: str | None = "03/03/2025",
    purpose: str | None = "The shares were bought for investment.",
    cusip: str | None = LAMPS[2],
    issuer: tuple[str, str, str] = LAMPS,
    space: str = "http://www.sec.gov/edgar/schedule13D",
    more_items: str = "",
    number: str | None = None,
    **head: str,
) -> bytes:
    """Return a Schedule 13D of these persons, or an amendment."""
    cusip_element = element("issuerCUSIP", cusip)
    body = (
        f"<coverPageHeader>{element('amendmentNo', number)}"
        "<securitiesClassTitle>Common Stock, $0.001 par value</securitiesClassTitle>"
        f"{element('dateOfEvent', event)}<previouslyFiledFlag>false</previouslyFiledFlag>"
        f"<issuerInfo><issuerCIK>{issuer[0]}</issuerCIK>{cusip_element}<issuerName>{issuer[1]}</issuerName>"
        "<address><com:street1>1 Main Street</com:street1><com:city>Reno</com:city></address></issuerInfo>"
        f"</coverPageHeader><reportingPersons>{''.join(persons or [person()])}</reportingPersons>"
        f"<items1To7><item1><issuerName>Written otherwise</issuerName></item1>"
        f"<item3><fundsSource>Working capital.</fundsSource></item3>"
        f"<item4>{element('transactionPurpose', purpose)}</item4>{more_items}</items1To7>"
    )
    return _build_submission(form, space, body, **{"filer": WICK[0], **head})


def g(
    *persons: str,
    form: str = "SCHEDULE 13G",
    event: str | None = "03/31/2025",
    cusip: str | None = LAMPS[2],
    issuer: tuple[str, str, str] = LAMPS,
    space: str = "http://www.sec.gov/edgar/schedule13g",
    five_or_less: str = "N",
    number: str | None = None,
    **head: str,
) -> bytes:
    """Return a Schedule 13G of these persons, or an amendment."""
    cusip_element = (
        "" if cusip is None else f"<issuerCusips><issuerCusipNumber>{cusip}</issuerCusipNumber></issuerCusips>"
    )
    body = (
        f"<coverPageHeader>{element('amendmentNo', number)}"
        "<securitiesClassTitle>Common Stock, $0.001 par value</securitiesClassTitle>"
        f"{element('eventDateRequiresFilingThisStatement', event)}"
        f"<issuerInfo><issuerCik>{issuer[0]}</issuerCik><issuerName>{issuer[1]}</issuerName>{cusip_element}</issuerInfo>"
        "<designateRulesPursuantThisScheduleFiled><designateRulePursuantThisScheduleFiled>Rule 13d-1(b)"
        "</designateRulePursuantThisScheduleFiled></designateRulesPursuantThisScheduleFiled></coverPageHeader>"
        f"{''.join(persons or [person(schedule='G')])}"
        "<items><item3><notApplicableFlag>N</notApplicableFlag><typeOfPersonFiling>IA</typeOfPersonFiling></item3>"
        "<item4><classPercent>see the cover</classPercent></item4>"
        f"<item5><classOwnership5PercentOrLess>{five_or_less}</classOwnership5PercentOrLess></item5></items>"
    )
    return _build_submission(form, space, body, **{"filer": WICK[0], **head})


def sale(
    units: str | None = "5000",
    value: str | None = "250000.50",
    *,
    title: str = "Common",
    date: str | None = "04/13/2025",
    broker: str = "Lamp Brokers LLC",
    outstanding: str | None = "13000000",
) -> str:
    """Return securities that are to be sold."""
    return (
        f"<securitiesInformation><securitiesClassTitle>{title}</securitiesClassTitle>"
        f"<brokerOrMarketmakerDetails><name>{broker}</name><address><com:city>Reno</com:city></address>"
        f"</brokerOrMarketmakerDetails>{element('noOfUnitsSold', units)}{element('aggregateMarketValue', value)}"
        f"{element('noOfUnitsOutstanding', outstanding)}{element('approxSaleDate', date)}"
        "<securitiesExchangeName>NYSE</securitiesExchangeName></securitiesInformation>"
    )


LOT = (
    "<securitiesToBeSold><securitiesClassTitle>Common</securitiesClassTitle><acquiredDate>03/31/2023</acquiredDate>"
    "<natureOfAcquisitionTransaction>Restricted stock units</natureOfAcquisitionTransaction>"
    "<nameOfPersonfromWhomAcquired>Issuer</nameOfPersonfromWhomAcquired><isGiftTransaction>N</isGiftTransaction>"
    "<amountOfSecuritiesAcquired>5000</amountOfSecuritiesAcquired><paymentDate>03/31/2023</paymentDate>"
    "<natureOfPayment>Compensation</natureOfPayment></securitiesToBeSold>"
)
SOLD = (
    "<securitiesSoldInPast3Months><sellerDetails><name>Lamp Ann</name><address><com:city>Reno</com:city></address>"
    "</sellerDetails><securitiesClassTitle>Common</securitiesClassTitle><saleDate>04/06/2025</saleDate>"
    "<amountOfSecuritiesSold>200</amountOfSecuritiesSold><grossProceeds>9800</grossProceeds>"
    "</securitiesSoldInPast3Months>"
)


def notice(
    *sales: str,
    form: str = "144",
    seller: str | None = "Lamp Ann",
    relationships: str = "Officer Director",
    lots: str = LOT,
    sold: str = SOLD,
    plans: str = "11/15/2024",
    issuer: tuple[str, str, str] = LAMPS,
    space: str = "http://www.sec.gov/edgar/ownership",
    **head: str,
) -> bytes:
    """Return a Form 144."""
    roles = "".join(element("relationshipToIssuer", relationship) for relationship in relationships.split())
    adopted = "".join(element("planAdoptionDate", day) for day in plans.split())
    body = (
        f"<issuerInfo><issuerCik>{issuer[0]}</issuerCik><issuerName>{issuer[1]}</issuerName>"
        "<secFileNumber>001-36743</secFileNumber>"
        f"{element('nameOfPersonForWhoseAccountTheSecuritiesAreToBeSold', seller)}"
        f"<relationshipsToIssuer>{roles}</relationshipsToIssuer></issuerInfo>{''.join(sales or [sale()])}{lots}"
        f"<nothingToReportFlagOnSecuritiesSoldInPast3Months>{'N' if sold else 'Y'}"
        f"</nothingToReportFlagOnSecuritiesSoldInPast3Months>{sold}"
        "<remarks>Sold for taxes.</remarks><noticeSignature><noticeDate>04/13/2025</noticeDate>"
        f"<planAdoptionDates>{adopted}</planAdoptionDates><signature>/s/ Ann Lamp</signature></noticeSignature>"
    )
    return _build_submission(form, space, body, **{"filer": "0000000101", **head})


def submission(accession: str, document: bytes, form: str, *, subject: int, filer: int) -> bytes:
    """Return a full submission that contains a document."""
    company = submission_texts.party("SUBJECT COMPANY", "BROOK LAMPS INC", f"{subject:010}")
    filer_party = submission_texts.party("FILED BY", "WICK CAPITAL LP", f"{filer:010}")
    return submission_texts.full(
        accession, form, f"{company}\n{filer_party}", submission_texts.xml(form, "primary_doc.xml", document)
    )


def examples() -> list[tuple[str, str, bytes]]:
    """Return the accession number, the filing day and the document of three filings, one for each kind of list."""
    group = (person(member="a"), person(BEN, member="a", types="IN"))
    purpose = "On January 10 Wick nominated two candidates for election as directors of the Issuer."
    return [
        ("0000000103-24-000050", "2024-12-20", g(event="12/18/2024")),
        (FIRST, "2025-01-15", d(*group, event="01/10/2025", purpose=purpose)),
        ("0000000101-25-000001", "2025-01-16", notice(sale(date="01/17/2025"))),
    ]
