"""Handlers for figures by segment and for classes of shares."""

from __future__ import annotations

from typing import TypedDict

from finapi.core import days, suggestions
from finapi.core.errors import ApiError, invalid_param
from finapi.core.records import Date
from finapi.market.financials import segment_figures
from finapi.market.financials.latest_years import PRIMITIVES
from finapi.market.financials.metric_mapping import get_mapping
from finapi.market.financials.segment_figures import SegmentMember, ShareClass
from finapi.market.financials.series_query import SeriesQuery, check_query, format_years
from finapi.web.financials import timeseries
from finapi.web.financials.company_params import AS_OF, BASIS, CompanyNames, build_company_names
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.schema import Envelope

PARAMS = (
    *timeseries.COMPANY_PARAMS,
    Param("axis", help="The axis; by default the axis with the most figures.", example="srt:ProductOrServiceAxis"),
    Param("concept", help="A concept; without a prefix, of us-gaap.", example="us-gaap:Revenues"),
    Param("metric", help="A metric instead of a concept; revenue if neither is given.", example="revenue"),
    Param("period", default="A", allowed=("A", "Q"), help="A: fiscal years. Q: quarters.", example="A"),
    timeseries.YEARS,
    AS_OF,
    BASIS,
)
CLASSES_PARAMS = (*timeseries.COMPANY_PARAMS, AS_OF, BASIS)


class CoveredCompany(CompanyNames):
    """The company, and a flag that it has any figures. ``phase`` is always "ready"."""

    covered: bool
    phase: str


class SegmentData(CoveredCompany):
    """Figures of a concept or metric by the members of an axis."""

    axis: str | None
    concept_or_metric: str
    period: str
    series: list[SegmentMember]


class SegmentMeta(TypedDict):
    """The available axes of the concepts, and the years with figures."""

    member_count: int
    concepts_resolved: list[str]
    axes: list[str]
    years: str
    note: str


class CoverFiling(TypedDict):
    """The report whose cover page states the share counts."""

    accession_no: str
    form_type: str
    period_of_report: Date | None
    filed_at: Date | None


class ShareClassData(CoveredCompany):
    """The classes of shares of a company."""

    filing: CoverFiling
    classes: list[ShareClass]


class ShareClassMeta(TypedDict):
    """The number of classes."""

    class_count: int


SHAPE = Envelope[SegmentData, SegmentMeta]
CLASSES_SHAPE = Envelope[ShareClassData, ShareClassMeta]


def get_segments(call: Call) -> Response:
    """Return the figures of a concept or metric by the members of an axis."""
    params = call.params
    concept = params["concept"]
    if concept is not None and params["metric"] is not None:
        raise invalid_param("metric", "Give either concept or metric, not both.", expected="concept or metric")
    metric = params["metric"] or "revenue"
    query = SeriesQuery(params["period"], years=params["years"], basis=params["basis"], as_of=params["as_of"])
    check_query(query)
    if concept is None and metric not in get_mapping().metrics:
        raise _build_unknown_metric_error(metric)
    with call.app.db.read() as tx:
        company = timeseries.get_selected_company(tx, params)
        company_book = timeseries.get_book(call, tx, company, params["as_of"])
        concepts = segment_figures.list_concepts(concept, metric, company_book.industry)
        if not concepts:
            raise _build_unknown_metric_error(metric)
        segments = segment_figures.build_segments(tx, company.cik, company_book, concepts, query, params["axis"])
    data: SegmentData = {
        **build_company_names(company),
        "covered": bool(segments.members),
        "phase": "ready",
        "axis": segments.axis,
        "concept_or_metric": concept or metric,
        "period": params["period"],
        "series": segments.members,
    }
    meta: SegmentMeta = {
        "member_count": len(segments.members),
        "concepts_resolved": segments.concepts,
        "axes": segments.axes,
        "years": format_years(point["fiscal_year"] for member in segments.members for point in member["points"]),
        "note": "Facts with exactly one dimension; companyfacts documents have none.",
    }
    return call.success(data, meta)


def _build_unknown_metric_error(metric: str) -> ApiError:
    similar_keys = suggestions.list_similar_metrics(metric, PRIMITIVES)
    message = f"{metric[: suggestions.MAX_WORD_LENGTH]} is not a metric{suggestions.did_you_mean(similar_keys)}"
    return invalid_param("metric", message, expected="a primitive key", nearest=similar_keys)


def get_share_classes(call: Call) -> Response:
    """Return the classes of shares with the share counts on a report's cover page."""
    params = call.params
    with call.app.db.read() as tx:
        company = timeseries.get_selected_company(tx, params)
        filing, classes = segment_figures.list_share_classes(tx, company.cik, params["as_of"], params["basis"])
    if filing is None:
        raise ApiError("NOT_COVERED", f"finapi has no cover page of {company.name} with a share count.")
    data: ShareClassData = {
        **build_company_names(company),
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
