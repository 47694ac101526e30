"""13F documents made by hand, for tests: the figures are invented, the elements are EDGAR's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

APPLE, MICROSOFT, ALLY, NOTE = "037833100", "594918104", "02005N100", "88579Y101"
LAMP_FUND, OTHER_FUND = "0001234567", "0007654321"

NAMES = {
    APPLE: ("APPLE INC", "COM"),
    MICROSOFT: ("MICROSOFT CORP", "COM"),
    ALLY: ("ALLY FINL INC", "COM"),
    NOTE: ("3M CO", "NOTE 1.250% 6/1"),
}


def row(number: str, worth: int, amount: int, /, **changes: Any) -> str:
    """A row of a table; ``changes`` replace or add elements, None leaves one out."""
    issuer, title = NAMES.get(number, ("SOME CO", "COM"))
    leaves: dict[str, Any] = {
        "nameOfIssuer": issuer,
        "titleOfClass": title,
        "cusip": number,
        "value": worth,
        "sshPrnamt": amount,
        "sshPrnamtType": "SH",
        "putCall": None,
        "investmentDiscretion": "SOLE",
        "otherManager": None,
        "Sole": amount,
        "Shared": 0,
        "None": 0,
        **changes,
    }
    inside = {"sshPrnamt": "shrsOrPrnAmt", "Sole": "votingAuthority"}
    closing = {"sshPrnamtType": "shrsOrPrnAmt", "None": "votingAuthority"}
    parts = ["<infoTable>"]
    for name, value_ in leaves.items():
        if name in inside:
            parts.append(f"<{inside[name]}>")
        if value_ is not None:
            parts.append(f"<{name}>{value_}</{name}>")
        if name in closing:
            parts.append(f"</{closing[name]}>")
    return "".join([*parts, "</infoTable>"])


def table(*rows: str, prefix: str = "") -> bytes:
    """An information table of these rows."""
    space = "http://www.sec.gov/edgar/document/thirteenf/informationtable"
    text = f'<informationTable xmlns="{space}">{"".join(rows)}</informationTable>'
    if prefix:
        text = text.replace("</", "\0").replace("<", f"<{prefix}:").replace("\0", f"</{prefix}:")
        text = text.replace("xmlns=", f"xmlns:{prefix}=")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode()


def cover(
    *,
    cik: str = LAMP_FUND,
    name: str = "Lamp Capital LP",
    period: str = "09-30-2025",
    form: str = "13F-HR",
    entries: int | None = None,
    total: int | None = None,
    amendment: tuple[int, str] | None = None,
    signed: str = "11-14-2025",
    managers: Sequence[str] = (),
    flag: str = "LIVE",
) -> bytes:
    """Return a cover page; ``amendment`` is its number and type."""
    other_managers = "".join(
        f"<otherManager2><sequenceNumber>{number}</sequenceNumber><otherManager><name>{manager}</name>"
        "<form13FFileNumber>028-00001</form13FFileNumber></otherManager></otherManager2>"
        for number, manager in enumerate(managers, 1)
    )
    amended = (
        f"<isAmendment>true</isAmendment><amendmentNo>{amendment[0]}</amendmentNo>"
        f"<amendmentInfo><amendmentType>{amendment[1]}</amendmentType></amendmentInfo>"
        if amendment
        else ""
    )
    sums = "".join(
        f"<{element}>{number}</{element}>"
        for element, number in (("tableEntryTotal", entries), ("tableValueTotal", total))
        if number is not None
    )
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<edgarSubmission xmlns="http://www.sec.gov/edgar/thirteenffiler" xmlns:com="http://www.sec.gov/edgar/common">
<headerData><submissionType>{form}</submissionType><filerInfo><liveTestFlag>{flag}</liveTestFlag>
<filer><credentials><cik>{cik}</cik><ccc>XXXXXXXX</ccc></credentials></filer>
<periodOfReport>{period}</periodOfReport></filerInfo></headerData>
<formData><coverPage><reportCalendarOrQuarter>{period}</reportCalendarOrQuarter>{amended}
<filingManager><name>{name}</name><address><com:street1>1 Wick Street</com:street1><com:city>Reno</com:city>
<com:stateOrCountry>NV</com:stateOrCountry><com:zipCode>89501</com:zipCode></address></filingManager>
<reportType>13F HOLDINGS REPORT</reportType><form13FFileNumber>028-12345</form13FFileNumber></coverPage>
<signatureBlock><name>Ann Lamp</name><title>CCO</title><signatureDate>{signed}</signatureDate></signatureBlock>
<summaryPage>{sums}<otherManagers2Info>{other_managers}</otherManagers2Info></summaryPage></formData></edgarSubmission>"""
    return text.encode()
