"""The shapes of the answers about insiders (CONTRACT 8, ``wire.json``)."""

from __future__ import annotations

from typing import Any

from finapi.edgar.ownership import FORMS
from finapi.market.insider_rules import STANDARD_TYPES
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    TEXT,
    TIME,
    URL,
    array,
    described,
    enum,
    envelope,
    mapping,
    nullable,
    obj,
)

_ABSENT = obj(status=enum("absent"), reason=TEXT, footnotes=array(TEXT))
_MARKS = described(mapping(_ABSENT), "Why a figure is null, by its name.")
_SCORE_MARKS = described(
    mapping(obj(status=enum("nm"), reason=TEXT)), "Why a score is not meaningful, by its name."
)
_FIGURE = nullable(NUMBER)
_WORDS = nullable(TEXT)
_FLAG = nullable(BOOLEAN)
_DAY = nullable(DATE)
_MOMENT = nullable(TIME)
_FORM = enum(*FORMS)

PAGINATION = obj(total=nullable(INTEGER), limit=INTEGER, offset=INTEGER, has_more=BOOLEAN, next_cursor=_WORDS)

OWNER = obj(
    cik=TEXT,
    name=TEXT,
    is_entity=BOOLEAN,
    is_director=BOOLEAN,
    is_officer=BOOLEAN,
    is_ten_percent_owner=BOOLEAN,
    is_other=BOOLEAN,
    is_c_suite=BOOLEAN,
    title=_WORDS,
    officer_title_standardized=_WORDS,
)

TRADE = obj(
    transaction_id=TEXT,
    transaction_date=_DAY,
    transaction_code=_WORDS,
    transaction_description=_WORDS,
    standard_type=enum(*STANDARD_TYPES),
    acquired_disposed_code=_WORDS,
    shares=_FIGURE,
    price_per_share=_FIGURE,
    transaction_value=described(nullable(INTEGER), "Shares times price in whole dollars."),
    shares_owned_following=_FIGURE,
    value_owned_following=_FIGURE,
    total_beneficial_ownership=described(_FIGURE, "Shares of the class after the form, over all vehicles."),
    ownership_nature=_WORDS,
    indirect_owner_name=_WORDS,
    is_derivative=BOOLEAN,
    security_type=_WORDS,
    is_common_stock=BOOLEAN,
    is_rule_10b5_1=BOOLEAN,
    rule_10b5_1_source=enum("checkbox", "footnote", "remarks", "not_stated"),
    is_cashless_exercise=BOOLEAN,
    is_sell_to_cover=BOOLEAN,
    insider_name=TEXT,
    insider_cik=TEXT,
    is_entity=BOOLEAN,
    is_director=BOOLEAN,
    is_officer=BOOLEAN,
    is_ten_percent_owner=BOOLEAN,
    is_other=BOOLEAN,
    insider_title=_WORDS,
    officer_title_standardized=_WORDS,
    is_c_suite=BOOLEAN,
    seniority_rank=nullable(INTEGER),
    title_category=_WORDS,
    is_section_16_officer=BOOLEAN,
    is_named_executive_officer=described(_FLAG, "null: a form does not tell."),
    ticker=_WORDS,
    company_name=TEXT,
    sector=_WORDS,
    industry=_WORDS,
    issuer_cik=TEXT,
    accession_number=TEXT,
    form_type=_FORM,
    filing_date=_DAY,
    filed_at=_DAY,
    accepted_at=_MOMENT,
    period_of_report=DATE,
    is_late=described(_FLAG, "null: an amendment, or a day is not known."),
    business_days_to_file=nullable(INTEGER),
    is_amendment=BOOLEAN,
    non_derivative_holding_count=INTEGER,
    derivative_holding_count=INTEGER,
    footnote_count=INTEGER,
    owner_count=INTEGER,
    owners=array(OWNER),
    marks=_MARKS,
)

TRADES = envelope(array(TRADE), obj(pagination=PAGINATION))
TRADES_FOUND = envelope(
    array(TRADE),
    obj(
        total=nullable(INTEGER),
        limit=INTEGER,
        has_more=BOOLEAN,
        next_cursor=_WORDS,
        matched_insiders=INTEGER,
        matched_issuers=INTEGER,
        matches_cut=BOOLEAN,
    ),
)
INSIDER_NAME = obj(cik=TEXT, name=TEXT, is_entity=BOOLEAN, total_companies=INTEGER)
TRADES_OF_INSIDER = envelope(array(TRADE), obj(pagination=PAGINATION, insider=INSIDER_NAME))

HOLDING = obj(
    holding_id=TEXT,
    security_title=_WORDS,
    amount_owned=_FIGURE,
    ownership_nature=_WORDS,
    indirect_owner_name=_WORDS,
    reported_date=DATE,
    is_derivative=BOOLEAN,
    total_beneficial_ownership=_FIGURE,
    ticker=_WORDS,
    company_name=TEXT,
    issuer_cik=TEXT,
    sector=_WORDS,
    industry=_WORDS,
    insider_name=TEXT,
    insider_cik=TEXT,
    is_entity=BOOLEAN,
    is_director=BOOLEAN,
    is_officer=BOOLEAN,
    is_ten_percent_owner=BOOLEAN,
    insider_title=_WORDS,
    is_c_suite=BOOLEAN,
    accession_number=TEXT,
    filed_at=_DAY,
    owners=array(OWNER),
    marks=_MARKS,
)
_COMPANY = obj(ticker=_WORDS, name=TEXT, cik=TEXT)
HOLDINGS_OF_ISSUER = envelope(
    array(HOLDING),
    obj(
        pagination=PAGINATION,
        company=_COMPANY,
        summary=obj(total_insiders=INTEGER, total_shares_direct=NUMBER, total_shares_indirect=NUMBER),
    ),
)
_VEHICLE = obj(
    nature=_WORDS,
    ownership_nature=_WORDS,
    security_title=_WORDS,
    shares=_FIGURE,
    as_of=DATE,
    name=_WORDS,
    indirect_owner_name=_WORDS,
)
_OWNED: dict[str, Any] = {
    "total_shares_direct": NUMBER,
    "total_shares_indirect": NUMBER,
    "total_beneficial": NUMBER,
}
HOLDINGS_OF_INSIDER = envelope(
    array(HOLDING),
    obj(
        pagination=PAGINATION,
        insider=INSIDER_NAME,
        ownership_summary=mapping(obj(**_OWNED, ownership_vehicles=array(_VEHICLE))),
    ),
)
SNAPSHOT = envelope(array(HOLDING), obj(snapshot_date=DATE, pagination=PAGINATION))

PROFILE = obj(
    cik=TEXT,
    name=TEXT,
    is_entity=BOOLEAN,
    current_roles=array(
        obj(
            ticker=_WORDS,
            company=TEXT,
            issuer_cik=TEXT,
            roles=array(TEXT),
            as_of=DATE,
            total_beneficial_ownership=_FIGURE,
        )
    ),
    ownership_summary=obj(
        **_OWNED,
        companies=mapping(obj(total_beneficial_ownership=NUMBER, vehicles=array(_VEHICLE))),
    ),
    total_transactions_365d=INTEGER,
    total_buy_value_365d=INTEGER,
    total_sell_value_365d=INTEGER,
    latest_transaction_date=_DAY,
    recent_transactions=array(TRADE),
)
NAMES_FOUND = array(
    obj(cik=TEXT, name=TEXT, is_entity=BOOLEAN, latest_company=_WORDS, active_tickers=array(TEXT))
)

_ISSUER_NAMED: dict[str, Any] = {"ticker": _WORDS, "company_name": TEXT, "issuer_cik": TEXT}
_SUMS: dict[str, Any] = {
    **dict.fromkeys(
        (
            "total_transactions",
            "total_buys",
            "total_sells",
            "total_buy_value",
            "total_sell_value",
            "net_value",
            "transactions_without_value",
            "unique_insiders",
            "unique_buyers",
            "unique_sellers",
            "rule_10b5_1_buy_count",
            "rule_10b5_1_sell_count",
            "rule_10b5_1_buy_value",
            "rule_10b5_1_sell_value",
            "csuite_buy_count",
            "csuite_sell_count",
            "csuite_buy_value",
            "csuite_sell_value",
            "csuite_net_value",
            "officer_buy_value",
            "officer_sell_value",
            "director_buy_value",
            "director_sell_value",
            "filing_count",
        ),
        INTEGER,
    ),
    **dict.fromkeys(
        (
            "buy_sell_ratio",
            "sentiment_score",
            "value_sentiment_score",
            "csuite_sentiment_score",
            "value_csuite_sentiment_score",
        ),
        _FIGURE,
    ),
    "latest_transaction_date": _DAY,
    "marks": _SCORE_MARKS,
}
SUMMARY = envelope(
    obj(**_ISSUER_NAMED, **_SUMS),
    obj(filed_at_days=INTEGER, transaction_days=nullable(INTEGER)),
)
SCREEN = obj(
    results=array(obj(**_ISSUER_NAMED, sector=_WORDS, industry=_WORDS, **_SUMS)),
    meta=obj(
        total_results=INTEGER,
        returned=INTEGER,
        limit=INTEGER,
        offset=INTEGER,
        has_more=BOOLEAN,
        request_id=TEXT,
        timestamp=TIME,
        filters_applied={"type": "object"},
    ),
)
_CLUSTER: dict[str, Any] = {
    **_ISSUER_NAMED,
    "sector": _WORDS,
    "industry": _WORDS,
    "insider_count": INTEGER,
    "total_value": INTEGER,
    "net_shares": NUMBER,
    "transaction_count": INTEGER,
    "first_date": _DAY,
    "last_date": _DAY,
    "insiders": array(TEXT),
    "cluster_type": enum("buy", "sell"),
    "has_officer": BOOLEAN,
    "has_director": BOOLEAN,
    "has_c_suite": BOOLEAN,
    "has_ten_percent_owner": BOOLEAN,
    "price_avg": _FIGURE,
    "last_filed": _DAY,
}
CLUSTERS = array(obj(**_CLUSTER))
_SIGNAL = array(
    obj(
        ticker=_WORDS,
        company_name=TEXT,
        signal=enum("cluster_buy", "cluster_sell"),
        insider_count=INTEGER,
        total_value=INTEGER,
        price_avg=_FIGURE,
        latest_date=_DAY,
    )
)
SIGNALS = obj(buy=_SIGNAL, sell=_SIGNAL, meta=obj(strategy=TEXT, period=TEXT, generated_at=TIME))
GROUPS = envelope(
    array(
        obj(
            group=_WORDS,
            transaction_count=INTEGER,
            filing_count=INTEGER,
            unique_insiders=INTEGER,
            unique_issuers=INTEGER,
            buy_count=INTEGER,
            sell_count=INTEGER,
            buy_value=INTEGER,
            sell_value=INTEGER,
            net_value=INTEGER,
        )
    ),
    obj(
        total=INTEGER,
        limit=INTEGER,
        offset=INTEGER,
        has_more=BOOLEAN,
        group_by=TEXT,
        filed_at_days=INTEGER,
    ),
)
OVERVIEW = obj(
    period_days=INTEGER,
    volume=obj(buy_volume=INTEGER, sell_volume=INTEGER, buy_count=INTEGER, sell_count=INTEGER),
    top_tickers=array(obj(ticker=_WORDS, company_name=TEXT, total_value=INTEGER)),
    recent_large_tx=array(
        obj(ticker=_WORDS, date=_DAY, type=TEXT, value=INTEGER, insider=TEXT, transaction_id=TEXT)
    ),
    daily_trend=array(obj(date=_DAY, buy=INTEGER, sell=INTEGER)),
    top_insiders=array(obj(insider=TEXT, insider_cik=TEXT, ticker=_WORDS, total_value=INTEGER)),
    recent_clusters=array(
        obj(ticker=_WORDS, company_name=TEXT, insiders=INTEGER, value=INTEGER, last_active=_DAY, type=TEXT)
    ),
)

FILING = obj(
    filing_id=TEXT,
    accession_number=TEXT,
    form_type=_FORM,
    filed_at=_DAY,
    accepted_at=_MOMENT,
    period_of_report=DATE,
    is_amendment=BOOLEAN,
    is_superseded=BOOLEAN,
    is_late=_FLAG,
    business_days_to_file=nullable(INTEGER),
    issuer=obj(cik=TEXT, name=TEXT, trading_symbol=_WORDS, sector=_WORDS, industry=_WORDS),
    owner_count=INTEGER,
    non_derivative_transaction_count=INTEGER,
    derivative_transaction_count=INTEGER,
    non_derivative_holding_count=INTEGER,
    derivative_holding_count=INTEGER,
    footnote_count=INTEGER,
    xml_url=nullable(URL),
    index_url=nullable(URL),
)
FILINGS = envelope(array(FILING), obj(pagination=PAGINATION))
FILINGS_OF_ISSUER = envelope(array(FILING), obj(pagination=PAGINATION, company=_COMPANY))

_ADDRESS = obj(street1=_WORDS, street2=_WORDS, city=_WORDS, state=_WORDS, zipCode=_WORDS)
_RELATION = obj(
    isOfficer=_FLAG,
    officerTitle=_WORDS,
    isDirector=_FLAG,
    isTenPercentOwner=_FLAG,
    isOther=_FLAG,
    otherText=_WORDS,
)
_OWNER_AS_FILED = obj(name=_WORDS, cik=TEXT, address=_ADDRESS, relationship=_RELATION)
_NOTES = array(TEXT)
_TEXT_CELL = obj(value=_WORDS, footnotes=_NOTES)
_CELL = obj(value=_FIGURE, footnotes=_NOTES, mark=nullable(_ABSENT))
_AFTER = obj(sharesOwnedFollowingTransaction=_CELL, valueOwnedFollowingTransaction=_CELL)
_NATURE = obj(directOrIndirectOwnership=_TEXT_CELL, natureOfOwnership=_TEXT_CELL)
_CODING = obj(transactionFormType=_WORDS, transactionCode=_WORDS, equitySwapInvolved=_FLAG, footnotes=_NOTES)
_AMOUNTS = obj(
    transactionShares=_CELL,
    transactionTotalValue=_CELL,
    transactionPricePerShare=_CELL,
    transactionAcquiredDisposedCode=_TEXT_CELL,
)
_DERIVATIVE: dict[str, Any] = {
    "conversionOrExercisePrice": _CELL,
    "exerciseDate": _TEXT_CELL,
    "expirationDate": _TEXT_CELL,
    "underlyingSecurity": obj(
        underlyingSecurityTitle=_TEXT_CELL, underlyingSecurityShares=_CELL, underlyingSecurityValue=_CELL
    ),
}
_TRANSACTION: dict[str, Any] = {
    "transactionDate": _TEXT_CELL,
    "deemedExecutionDate": _TEXT_CELL,
    "transactionCoding": _CODING,
    "transactionTimeliness": _TEXT_CELL,
    "transactionAmounts": _AMOUNTS,
}
_ROW: dict[str, Any] = {
    "securityTitle": _TEXT_CELL,
    "postTransactionAmounts": _AFTER,
    "ownershipNature": _NATURE,
    "isSuperseded": BOOLEAN,
}
_FOOTNOTES = array(obj(id=TEXT, text=TEXT))
_HEAD: dict[str, Any] = {
    "id": TEXT,
    "accessionNo": TEXT,
    "documentType": _FORM,
    "filedAt": _DAY,
    "periodOfReport": DATE,
    "schemaVersion": _WORDS,
    "notSubjectToSection16": _FLAG,
}
FORM = envelope(
    obj(
        **_HEAD,
        acceptedAt=_MOMENT,
        noSecuritiesOwned=_FLAG,
        isAmendment=BOOLEAN,
        isSuperseded=BOOLEAN,
        isLate=_FLAG,
        businessDaysToFile=nullable(INTEGER),
        dateOfOriginalSubmission=_DAY,
        aff10b5One=_FLAG,
        indexUrl=nullable(URL),
        xmlUrl=nullable(URL),
        issuer=obj(cik=TEXT, name=TEXT, tradingSymbol=_WORDS, tradingSymbolAtFiling=_WORDS),
        reportingOwners=array(_OWNER_AS_FILED),
        nonDerivativeTable=obj(transactions=array(obj(**_ROW, **_TRANSACTION)), holdings=array(obj(**_ROW))),
        derivativeTable=obj(
            transactions=array(obj(**_ROW, **_TRANSACTION, **_DERIVATIVE)),
            holdings=array(obj(**_ROW, **_DERIVATIVE)),
        ),
        footnotes=_FOOTNOTES,
        remarks=_WORDS,
        ownerSignatureName=_WORDS,
        ownerSignatureDate=_DAY,
        processingMetadata=obj(
            createdAt=TIME,
            updatedAt=TIME,
            processingState=TEXT,
            source=enum("document", "data_set"),
        ),
    )
)

_FLAT_ROW: dict[str, Any] = {
    "securityTitle": _WORDS,
    "postTransactionAmounts": obj(
        sharesOwnedFollowingTransaction=_FIGURE, valueOwnedFollowingTransaction=_FIGURE
    ),
    "ownershipNature": obj(directOrIndirectOwnership=_WORDS, natureOfOwnership=_WORDS),
    "footnotes": mapping(_NOTES),
}
_FLAT_TRANSACTION: dict[str, Any] = {
    "transactionDate": _DAY,
    "coding": obj(formType=_WORDS, code=_WORDS, equitySwapInvolved=_FLAG, footnoteId=_NOTES),
    "amounts": obj(shares=_FIGURE, pricePerShare=_FIGURE, acquiredDisposedCode=_WORDS),
}
_FLAT_DERIVATIVE: dict[str, Any] = {
    "conversionOrExercisePrice": _FIGURE,
    "exerciseDate": _DAY,
    "expirationDate": _DAY,
    "underlyingSecurity": obj(title=_WORDS, shares=_FIGURE, value=_FIGURE),
}
QUERY = obj(
    total=obj(value=INTEGER, relation=enum("eq", "gte")),
    transactions=array(
        obj(
            **_HEAD,
            issuer=obj(cik=TEXT, name=TEXT, tradingSymbol=_WORDS),
            reportingOwner=_OWNER_AS_FILED,
            reportingOwners=array(_OWNER_AS_FILED),
            nonDerivativeTable=obj(
                transactions=array(obj(**_FLAT_ROW, **_FLAT_TRANSACTION)), holdings=array(obj(**_FLAT_ROW))
            ),
            derivativeTable=obj(
                transactions=array(obj(**_FLAT_ROW, **_FLAT_TRANSACTION, **_FLAT_DERIVATIVE)),
                holdings=array(obj(**_FLAT_ROW, **_FLAT_DERIVATIVE)),
            ),
            footnotes=_FOOTNOTES,
            remarks=_WORDS,
            ownerSignatureName=_WORDS,
            ownerSignatureNameDate=_DAY,
        )
    ),
)
