"""Ownership forms written for tests: XML documents and tables of a data set, with figures small enough to check."""

from __future__ import annotations

from finapi.edgar import insider_sets

ISSUER, NAME, SYMBOL = "0001234567", "Brook Lamps Inc.", "BRK-B"
ANN, BEN, FUND = ("0000000101", "Lamp Ann"), ("0000000102", "Shade Ben"), ("0000000103", "Wick Capital LP")


def cell(element: str, value: str | None, notes: str = "") -> str:
    """Return an element with a value, footnotes or both, or an empty text if there is neither."""
    if value is None and not notes:
        return ""
    value_element = "" if value is None else f"<value>{value}</value>"
    footnote_elements = "".join(f'<footnoteId id="{note_id}"/>' for note_id in notes.split())
    return f"<{element}>{value_element}{footnote_elements}</{element}>"


def transaction(
    code: str = "P",
    shares: str | None = "100",
    price: str | None = "10.00",
    *,
    date: str | None = "2025-03-03",
    sign: str | None = None,
    after: str | None = "1100",
    title: str = "Common Stock",
    hands: str = "D",
    nature: str | None = None,
    notes: str = "",
    price_notes: str = "",
    nature_notes: str = "",
    derivative: str | None = None,
    timeliness: str = "",
) -> str:
    """Return a transaction; ``derivative`` is the exercise price of a derivative."""
    kind = "nonDerivativeTransaction" if derivative is None else "derivativeTransaction"
    sign = sign or ("D" if code in "SFGD" else "A")
    terms = (
        ""
        if derivative is None
        else cell("expirationDate", "2030-01-01")
        + f"<underlyingSecurity>{cell('underlyingSecurityTitle', 'Common Stock')}"
        + f"{cell('underlyingSecurityShares', shares)}</underlyingSecurity>"
    )
    return f"""<{kind}>
        {cell("securityTitle", title, notes)}
        {cell("conversionOrExercisePrice", derivative)}
        {cell("transactionDate", date)}
        <transactionCoding><transactionFormType>4</transactionFormType><transactionCode>{code}</transactionCode>
        <equitySwapInvolved>0</equitySwapInvolved></transactionCoding>
        {cell("transactionTimeliness", timeliness or None)}
        <transactionAmounts>{cell("transactionShares", shares)}
        {cell("transactionPricePerShare", price, price_notes)}
        {cell("transactionAcquiredDisposedCode", sign)}</transactionAmounts>
        {terms}
        <postTransactionAmounts>{cell("sharesOwnedFollowingTransaction", after)}</postTransactionAmounts>
        <ownershipNature>{cell("directOrIndirectOwnership", hands)}
        {cell("natureOfOwnership", nature, nature_notes)}</ownershipNature>
    </{kind}>"""


def holding(amount: str = "500", nature: str = "By trust", notes: str = "", title: str = "Common Stock") -> str:
    """Return an indirect holding of shares."""
    return f"""<nonDerivativeHolding>{cell("securityTitle", title)}
        <postTransactionAmounts>{cell("sharesOwnedFollowingTransaction", amount)}</postTransactionAmounts>
        <ownershipNature>{cell("directOrIndirectOwnership", "I")}{cell("natureOfOwnership", nature, notes)}
        </ownershipNature></nonDerivativeHolding>"""


def owner(
    person: tuple[str, str] = ANN,
    *,
    title: str | None = "Chief Financial Officer",
    flags: str = "officer",
    street: str = "",
) -> str:
    """Return a reporting owner; ``flags`` are names out of director, officer, ten and other."""
    flag = {"director": "isDirector", "officer": "isOfficer", "ten": "isTenPercentOwner", "other": "isOther"}
    relationship = "".join(f"<{flag[name]}>1</{flag[name]}>" for name in flags.split())
    relationship += f"<officerTitle>{title}</officerTitle>" if title and "officer" in flags else ""
    address = (
        f"<reportingOwnerAddress><rptOwnerStreet1>{street}</rptOwnerStreet1></reportingOwnerAddress>" if street else ""
    )
    return f"""<reportingOwner><reportingOwnerId><rptOwnerCik>{person[0]}</rptOwnerCik>
        <rptOwnerName>{person[1]}</rptOwnerName></reportingOwnerId>{address}
        <reportingOwnerRelationship>{relationship}</reportingOwnerRelationship></reportingOwner>"""


def form(
    *rows: str,
    kind: str = "4",
    period: str = "2025-03-03",
    owners: tuple[str, ...] = (),
    footnotes: dict[str, str] | None = None,
    box: str | None = "0",
    original: str | None = None,
    remarks: str = "",
    issuer: tuple[str, str, str] = (ISSUER, NAME, SYMBOL),
    extra: str = "",
) -> bytes:
    """Return a complete document; rows of derivatives are in the second table."""
    plain = "".join(row for row in rows if row.startswith("<nonD"))
    derivative = "".join(row for row in rows if row.startswith("<deri"))
    notes = "".join(f'<footnote id="{note_id}">{text}</footnote>' for note_id, text in (footnotes or {}).items())
    return f"""<?xml version="1.0"?>
<ownershipDocument><schemaVersion>X0508</schemaVersion><documentType>{kind}</documentType>
<periodOfReport>{period}</periodOfReport>{extra}
{f"<dateOfOriginalSubmission>{original}</dateOfOriginalSubmission>" if original else ""}
<issuer><issuerCik>{issuer[0]}</issuerCik><issuerName>{issuer[1]}</issuerName>
<issuerTradingSymbol>{issuer[2]}</issuerTradingSymbol></issuer>
{"".join(owners or (owner(),))}
{"" if box is None else f"<aff10b5One>{box}</aff10b5One>"}
<nonDerivativeTable>{plain}</nonDerivativeTable><derivativeTable>{derivative}</derivativeTable>
<footnotes>{notes}</footnotes><remarks>{remarks}</remarks>
<ownerSignature><signatureName>/s/ Somebody</signatureName><signatureDate>2025-03-05</signatureDate></ownerSignature>
</ownershipDocument>""".encode()


# ---- a data set

ACCESSION = "0001234567-25-000010"
_COLUMNS = {
    "submission": "ACCESSION_NUMBER FILING_DATE PERIOD_OF_REPORT DATE_OF_ORIG_SUB NO_SECURITIES_OWNED NOT_SUBJECT_SEC16"
    " FORM3_HOLDINGS_REPORTED FORM4_TRANS_REPORTED DOCUMENT_TYPE ISSUERCIK ISSUERNAME ISSUERTRADINGSYMBOL REMARKS"
    " AFF10B5ONE",
    "owner": "ACCESSION_NUMBER RPTOWNERCIK RPTOWNERNAME RPTOWNER_RELATIONSHIP RPTOWNER_TITLE RPTOWNER_TXT",
    "nonderiv-trans": "ACCESSION_NUMBER NONDERIV_TRANS_SK SECURITY_TITLE SECURITY_TITLE_FN TRANS_DATE TRANS_FORM_TYPE"
    " TRANS_CODE EQUITY_SWAP_INVOLVED TRANS_SHARES TRANS_PRICEPERSHARE TRANS_PRICEPERSHARE_FN TRANS_ACQUIRED_DISP_CD"
    " SHRS_OWND_FOLWNG_TRANS DIRECT_INDIRECT_OWNERSHIP NATURE_OF_OWNERSHIP",
    "nonderiv-holding": "ACCESSION_NUMBER NONDERIV_HOLDING_SK SECURITY_TITLE SHRS_OWND_FOLWNG_TRANS"
    " DIRECT_INDIRECT_OWNERSHIP NATURE_OF_OWNERSHIP NATURE_OF_OWNERSHIP_FN",
    "deriv-trans": "ACCESSION_NUMBER DERIV_TRANS_SK SECURITY_TITLE CONV_EXERCISE_PRICE TRANS_DATE TRANS_CODE"
    " TRANS_SHARES TRANS_ACQUIRED_DISP_CD EXCERCISE_DATE EXPIRATION_DATE UNDLYNG_SEC_TITLE UNDLYNG_SEC_SHARES"
    " SHRS_OWND_FOLWNG_TRANS DIRECT_INDIRECT_OWNERSHIP",
    "deriv-holding": "ACCESSION_NUMBER DERIV_HOLDING_SK SECURITY_TITLE EXERCISE_DATE UNDLYNG_SEC_SHARES",
    "footnotes": "ACCESSION_NUMBER FOOTNOTE_ID FOOTNOTE_TXT",
    "signature": "ACCESSION_NUMBER OWNERSIGNATURENAME OWNERSIGNATUREDATE",
}


def table(name: str, *rows: dict[str, str], without: str = "") -> bytes:
    """Return a table of a data set from rows with some of its columns."""
    columns = [column for column in _COLUMNS[name].split() if column != without]
    lines = ["\t".join(columns)]
    lines += ["\t".join({"ACCESSION_NUMBER": ACCESSION, **row}.get(column, "") for column in columns) for row in rows]
    return "\n".join(lines).encode() + b"\n"


def data_set(**changed: bytes) -> dict[str, bytes]:
    """Return the tables of a set of one filing: a purchase at a price in a footnote, a holding, and an option."""
    tables = {
        "submission": table(
            "submission",
            {
                "FILING_DATE": "05-MAR-2025",
                "PERIOD_OF_REPORT": "03-MAR-2025",
                "DOCUMENT_TYPE": "4",
                "ISSUERCIK": "1234567",
                "ISSUERNAME": NAME,
                "ISSUERTRADINGSYMBOL": SYMBOL,
                "AFF10B5ONE": "false",
            },
        ),
        "owner": table(
            "owner",
            {
                "RPTOWNERCIK": "101",
                "RPTOWNERNAME": "Lamp Ann",
                "RPTOWNER_RELATIONSHIP": "Director,Officer",
                "RPTOWNER_TITLE": "CFO",
            },
            {"RPTOWNERCIK": "103", "RPTOWNERNAME": "Wick Capital LP", "RPTOWNER_RELATIONSHIP": "TenPercentOwner"},
        ),
        "nonderiv-trans": table(
            "nonderiv-trans",
            {
                "NONDERIV_TRANS_SK": "9",
                "SECURITY_TITLE": "Common Stock",
                "TRANS_DATE": "03-MAR-2025",
                "TRANS_FORM_TYPE": "4",
                "TRANS_CODE": "P",
                "EQUITY_SWAP_INVOLVED": "0",
                "TRANS_SHARES": "200.0",
                "TRANS_PRICEPERSHARE_FN": "F1",
                "TRANS_ACQUIRED_DISP_CD": "A",
                "SHRS_OWND_FOLWNG_TRANS": "1200",
                "DIRECT_INDIRECT_OWNERSHIP": "D",
            },
            {
                "NONDERIV_TRANS_SK": "8",
                "SECURITY_TITLE": "Common Stock",
                "TRANS_DATE": "03-MAR-2025",
                "TRANS_FORM_TYPE": "4",
                "TRANS_CODE": "P",
                "EQUITY_SWAP_INVOLVED": "0",
                "TRANS_SHARES": "100",
                "TRANS_PRICEPERSHARE": "10.50",
                "TRANS_ACQUIRED_DISP_CD": "A",
                "SHRS_OWND_FOLWNG_TRANS": "1000",
                "DIRECT_INDIRECT_OWNERSHIP": "D",
            },
        ),
        "nonderiv-holding": table(
            "nonderiv-holding",
            {
                "NONDERIV_HOLDING_SK": "3",
                "SECURITY_TITLE": "Common Stock",
                "SHRS_OWND_FOLWNG_TRANS": "500",
                "DIRECT_INDIRECT_OWNERSHIP": "I",
                "NATURE_OF_OWNERSHIP": "By trust",
                "NATURE_OF_OWNERSHIP_FN": "F2, F1",
            },
        ),
        "deriv-trans": table(
            "deriv-trans",
            {
                "DERIV_TRANS_SK": "4",
                "SECURITY_TITLE": "Stock Option",
                "CONV_EXERCISE_PRICE": "2.5",
                "TRANS_DATE": "03-MAR-2025",
                "TRANS_CODE": "A",
                "TRANS_SHARES": "40",
                "TRANS_ACQUIRED_DISP_CD": "A",
                "EXCERCISE_DATE": "03-MAR-2026",
                "EXPIRATION_DATE": "03-MAR-2035",
                "UNDLYNG_SEC_TITLE": "Common Stock",
                "UNDLYNG_SEC_SHARES": "40",
                "SHRS_OWND_FOLWNG_TRANS": "40",
                "DIRECT_INDIRECT_OWNERSHIP": "D",
            },
        ),
        "footnotes": table(
            "footnotes",
            {"FOOTNOTE_ID": "F1", "FOOTNOTE_TXT": "Paid with an old lamp."},
            {"FOOTNOTE_ID": "F2", "FOOTNOTE_TXT": "The Wick Trust."},
        ),
    }
    return {**tables, **{name.replace("_", "-"): data for name, data in changed.items()}}


def files_of(tables: dict[str, bytes]) -> dict[str, str]:
    """Paths of the tables, by which messages name them."""
    return {name: f"{name.upper()}.tsv" for name in tables}


assert set(_COLUMNS) == set(insider_sets.TABLES)
