"""Figures by segment, and classes of shares, over HTTP."""

from __future__ import annotations

from typing import Any

from finapi.errors import ApiError, invalid_param
from finapi.market import book, segments
from finapi.market.series import Question
from finapi.web import series
from finapi.web.call import Call
from finapi.web.http import Response
from finapi.web.params import Param
from finapi.web.shapes import BOOLEAN, DATE, DECIMALS, INTEGER, NUMBER, TEXT, array, envelope, nullable, obj

PARAMS = (
    *series.COMPANY,
    Param(
        "axis", help="The axis; without one the axis with most figures.", example="srt:ProductOrServiceAxis"
    ),
    Param("concept", help="A concept; a bare name is us-gaap.", example="us-gaap:Revenues"),
    Param("metric", help="A metric instead of a concept.", example="revenue"),
    Param("period", default="A", allowed=("A", "Q"), help="A: fiscal years. Q: quarters.", example="A"),
    series.YEARS,
    series.AS_OF,
    series.BASIS,
)
_NAMES: dict[str, Any] = {
    "ticker": nullable(TEXT),
    "cik": TEXT,
    "company_name": TEXT,
    "covered": BOOLEAN,
    "phase": TEXT,
}
SHAPE = envelope(
    obj(
        **_NAMES,
        axis=nullable(TEXT),
        concept_or_metric=TEXT,
        period=TEXT,
        series=array(
            obj(
                member=TEXT,
                points=array(
                    obj(
                        fiscal_year=INTEGER,
                        fiscal_period=TEXT,
                        period_end=DATE,
                        start_date=nullable(DATE),
                        end_date=DATE,
                        value=NUMBER,
                        decimals=DECIMALS,
                        unit=TEXT,
                        concept=TEXT,
                        is_extension=BOOLEAN,
                        accession_no=TEXT,
                    )
                ),
            )
        ),
    ),
    obj(member_count=INTEGER, concepts_resolved=array(TEXT), axes=array(TEXT), years=TEXT, note=TEXT),
)
CLASSES_PARAMS = (*series.COMPANY, series.AS_OF, series.BASIS)
CLASSES_SHAPE = envelope(
    obj(
        **_NAMES,
        filing=obj(
            accession_no=TEXT, form_type=TEXT, period_of_report=nullable(DATE), filed_at=nullable(DATE)
        ),
        classes=array(
            obj(
                member=TEXT,
                class_ticker=nullable(TEXT),
                shares_outstanding=NUMBER,
                context_end_date=DATE,
                unit=TEXT,
            )
        ),
    ),
    obj(class_count=INTEGER),
)


def by_axis(call: Call) -> Response:
    """Figures of a concept or metric by the members of an axis."""
    params = call.params
    if (params["concept"] is None) == (params["metric"] is None):
        raise invalid_param(
            "metric", "Either a concept or a metric is required.", expected="concept or metric"
        )
    question = Question(
        period=params["period"], years=params["years"], basis=params["basis"], as_of=params["as_of"]
    )
    with call.app.db.read() as tx:
        company = series.selected(tx, params)
        held = series.book_of(call, tx, company, params["as_of"])
        concepts = segments.concepts_of(params["concept"], params["metric"], held.industry)
        if not concepts:
            raise invalid_param("metric", f"{params['metric']} is not a metric.", expected="a primitive key")
        found = segments.by_axis(tx, company.cik, held, concepts, question, params["axis"])
    data = {
        **series.names(company),
        "covered": bool(found.members),
        "phase": "ready",
        "axis": found.axis,
        "concept_or_metric": params["concept"] or params["metric"],
        "period": params["period"],
        "series": found.members,
    }
    years = sorted({point["fiscal_year"] for one in found.members for point in one["points"]})
    meta = {
        "member_count": len(found.members),
        "concepts_resolved": found.concepts,
        "axes": found.axes,
        "years": f"{years[0]}-{years[-1]}" if years else "",
        "note": "Facts with exactly one dimension; companyfacts documents have none.",
    }
    return call.success(data, meta)


def share_classes(call: Call) -> Response:
    """The classes of shares as the cover page of a report counts them."""
    with call.app.db.read() as tx:
        company = series.selected(tx, call.params)
        filing, classes = segments.share_classes(tx, company.cik, call.params["as_of"], call.params["basis"])
    if filing is None:
        raise ApiError("NOT_COVERED", f"No cover page of {company.name} that counts shares is held.")
    end = filing.period_end
    data = {
        **series.names(company),
        "covered": True,
        "phase": "ready",
        "filing": {
            "accession_no": filing.accession,
            "form_type": filing.form,
            "period_of_report": None if end is None else book.iso(end),
            "filed_at": filing.filed,
        },
        "classes": classes,
    }
    return call.success(data, {"class_count": len(classes)})
