"""The shapes of what is answered about series: rows of cells, templates, several companies at once."""

from __future__ import annotations

from finapi.market.rows import KINDS
from finapi.market.series import BASES, PROVENANCE
from finapi.web.shapes import (
    BOOLEAN,
    DATE,
    DECIMALS,
    INTEGER,
    NUMBER,
    TEXT,
    Schema,
    array,
    enum,
    envelope,
    mapping,
    nullable,
    obj,
)

OPERAND = obj(
    sign=INTEGER,
    value=NUMBER,
    concept=TEXT,
    unit=TEXT,
    decimals=DECIMALS,
    start_date=nullable(DATE),
    end_date=DATE,
    accession=TEXT,
    form_type=TEXT,
    filed_at=nullable(DATE),
    source=TEXT,
)
CELL = obj(
    optional=("decimals", "filed_at", "operands"),
    value=nullable(NUMBER),
    status=enum("value", "hole", "nm"),
    reason_code=nullable(TEXT),
    concept=nullable(TEXT),
    tier=nullable(INTEGER),
    method=nullable(enum("reported", "mapped", "derived")),
    calc_status=enum("consistent", "inconsistent", "unchecked"),
    confidence=INTEGER,
    accession=nullable(TEXT),
    source=nullable(TEXT),
    unit=TEXT,
    decimals=DECIMALS,
    filed_at=nullable(DATE),
    operands=array(OPERAND),
)
_STATEMENT = obj(
    lines=array(
        obj(
            key=TEXT,
            label=TEXT,
            status=enum("value", "hole", "nm"),
            value=nullable(NUMBER),
            level=INTEGER,
            parent=nullable(TEXT),
            is_subtotal=BOOLEAN,
        )
    ),
    subtotals=array(
        obj(
            target=TEXT,
            reported=nullable(NUMBER),
            recomputed=nullable(NUMBER),
            residual=nullable(NUMBER),
            status=enum("consistent", "inconsistent", "unchecked"),
            tolerance=nullable(NUMBER),
            operands=array(obj(key=TEXT, sign=INTEGER)),
        )
    ),
    other=array(
        obj(
            bucket=TEXT,
            section_total_key=TEXT,
            foots_to_filed_total=BOOLEAN,
            value=nullable(NUMBER),
            status=enum("value", "hole"),
        )
    ),
    footing_status=enum("consistent", "inconsistent", "unchecked"),
)
_ROW = obj(
    optional=("holes", "template", "calendar_year", "calendar_period"),
    fiscal_year=INTEGER,
    fiscal_period=TEXT,
    period_start=nullable(DATE),
    period_end=DATE,
    calendar_year=INTEGER,
    calendar_period=TEXT,
    metrics=mapping({"anyOf": [NUMBER, {"type": "null"}, CELL]}),
    holes=mapping(obj(status=enum("hole", "nm"), reason_code=TEXT)),
    template=obj(income=_STATEMENT, balance=_STATEMENT, cashflow=_STATEMENT, comprehensive_income=_STATEMENT),
)
DATA = obj(
    optional=("template", "industry"),
    ticker=nullable(TEXT),
    cik=TEXT,
    company_name=TEXT,
    period=enum(*KINDS),
    basis=enum(*BASES),
    provenance=enum(*PROVENANCE),
    reporting_currency=TEXT,
    ratios=BOOLEAN,
    rows=array(_ROW),
    template=BOOLEAN,
    industry=TEXT,
)
META = obj(
    covered=BOOLEAN,
    phase=TEXT,
    industry=TEXT,
    mapping_version=INTEGER,
    metric_count=INTEGER,
    row_count=INTEGER,
    years=TEXT,
    price_source=nullable(enum("csv", "synthetic")),
    pagination=obj(
        limit=INTEGER,
        has_more=BOOLEAN,
        page_row_count=INTEGER,
        series_row_count=INTEGER,
        next_cursor=nullable(TEXT),
    ),
)
SHAPE: Schema = envelope(DATA, META)

BATCH_SHAPE = envelope(
    obj(
        results=array(
            obj(
                selector=TEXT,
                status=enum("success", "error"),
                data=nullable(DATA),
                meta=nullable(META),
                error=nullable(obj(code=TEXT, message=TEXT)),
            )
        )
    ),
    obj(requested=INTEGER, resolved=INTEGER, errors=INTEGER, batch_max=INTEGER, tokens_note=TEXT),
)
