"""Figures by segment, and classes of shares, over HTTP."""

from __future__ import annotations

from typing import TypedDict

from finapi.core import days, suggestions
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date
from finapi.market.financials import segment_figures
from finapi.market.financials.latest_years import PRIMITIVES
from finapi.market.financials.metric_mapping import get_mapping
from finapi.market.financials.metric_series import SeriesQuery, check_query, format_years
from finapi.market.financials.segment_figures import SegmentMember, ShareClass
from finapi.web.financials import series
from finapi.web.financials.company import AS_OF, BASIS, CompanyNames, names
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.schema import Envelope

PARAMS = (
    *series.COMPANY,
    Param("axis", help="The axis; without one the axis with most figures.", example="srt:ProductOrServiceAxis"),
    Param("concept", help="A concept; a bare name is us-gaap.", example="us-gaap:Revenues"),
    Param("metric", help="A metric instead of a concept; revenue without either.", example="revenue"),
    Param("period", default="A", allowed=("A", "Q"), help="A: fiscal years. Q: quarters.", example="A"),
    series.YEARS,
    AS_OF,
    BASIS,
)
CLASSES_PARAMS = (*series.COMPANY, AS_OF, BASIS)


class CoveredCompany(CompanyNames):
    """Whose figures they are, and whether there are any; ``phase`` is always "ready"."""

    covered: bool
    phase: str


class SegmentData(CoveredCompany):
    """Figures of a concept or metric by the members of an axis."""

    axis: str | None
    concept_or_metric: str
    period: str
    series: list[SegmentMember]


class SegmentMeta(TypedDict):
    """What else could be asked for."""

    member_count: int
    concepts_resolved: list[str]
    axes: list[str]
    years: str
    note: str


class CoverFiling(TypedDict):
    """The report that a cover page is of."""

    accession_no: str
    form_type: str
    period_of_report: Date | None
    filed_at: Date | None


class ShareClassData(CoveredCompany):
    """The classes of shares of a company."""

    filing: CoverFiling
    classes: list[ShareClass]


class ShareClassMeta(TypedDict):
    """How many classes there are."""

    class_count: int


SHAPE = Envelope[SegmentData, SegmentMeta]
CLASSES_SHAPE = Envelope[ShareClassData, ShareClassMeta]


def by_axis(call: Call) -> Response:
    """Figures of a concept or metric by the members of an axis."""
    params, concept = call.params, call.params["concept"]
    if concept is not None and params["metric"] is not None:
        raise invalid_param("metric", "Give either concept or metric, not both.", expected="concept or metric")
    metric = params["metric"] or "revenue"
    question = SeriesQuery(params["period"], years=params["years"], basis=params["basis"], as_of=params["as_of"])
    check_query(question)
    if concept is None and metric not in get_mapping().metrics:
        raise _unknown_metric(metric)
    with call.app.db.read() as tx:
        company = series.selected(tx, params)
        held = series.book_of(call, tx, company, params["as_of"])
        concepts = segment_figures.list_concepts(concept, metric, held.industry)
        if not concepts:
            raise _unknown_metric(metric)
        found = segment_figures.build_segments(tx, company.cik, held, concepts, question, params["axis"])
    data: SegmentData = {
        **names(company),
        "covered": bool(found.members),
        "phase": "ready",
        "axis": found.axis,
        "concept_or_metric": concept or metric,
        "period": params["period"],
        "series": found.members,
    }
    return call.success(data, _meta(found))


def _unknown_metric(metric: str) -> ApiError:
    near = suggestions.list_similar(metric, PRIMITIVES)
    message = f"{metric[: suggestions.MAX_WORD_LENGTH]} is not a metric{suggestions.did_you_mean(near)}"
    return invalid_param("metric", message, expected="a primitive key", nearest=near)


def _meta(found: segment_figures.Segments) -> SegmentMeta:
    return {
        "member_count": len(found.members),
        "concepts_resolved": found.concepts,
        "axes": found.axes,
        "years": format_years(point["fiscal_year"] for one in found.members for point in one["points"]),
        "note": "Facts with exactly one dimension; companyfacts documents have none.",
    }


def share_classes(call: Call) -> Response:
    """The classes of shares as the cover page of a report counts them."""
    with call.app.db.read() as tx:
        company = series.selected(tx, call.params)
        filing, classes = segment_figures.list_share_classes(
            tx, company.cik, call.params["as_of"], call.params["basis"]
        )
    if filing is None:
        raise ApiError("NOT_COVERED", f"finapi has no cover page of {company.name} with a share count.")
    data: ShareClassData = {
        **names(company),
        "covered": True,
        "phase": "ready",
        "filing": {
            "accession_no": filing.accession,
            "form_type": filing.form,
            "period_of_report": None if filing.period_end is None else days.iso(filing.period_end),
            "filed_at": filing.filed,
        },
        "classes": classes,
    }
    return call.success(data, {"class_count": len(classes)})
