"""The proof of a figure: its facts with their signs, the formula, what else was filed, and the filings themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from finapi.core.errors import ApiError
from finapi.market.documents import filing_rows
from finapi.market.financials.series_rows import find_definition
from finapi.web.html import html_tables
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, path_param
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call, render_section
from finapi.web.pages.company import company_layout, series_page
from finapi.web.pages.company.company_layout import CompanyView

PARAMS = (*company_layout.PARAMS, path_param("metric"), path_param("cell"))
FACT_PARAMS = (*company_layout.PARAMS, path_param("concept"), Param("end", "date", empty_is_default=True))

# "A2024FY", or by the last day of the period "A2024-09-28".
_CELL = re.compile(r"(A|Q|TTM|YTD)(?:([12][0-9]{3})(FY|Q[1-4])|([12][0-9]{3}-[01][0-9]-[0-3][0-9]))")
_METHODS = {
    "reported": "as reported, under the first tag of its rule",
    "mapped": "as reported, under another tag with the same meaning",
    "derived": "computed from reported figures",
}
_CHECKS = {"consistent": "adds up", "inconsistent": "does not add up", "unchecked": "not part of a total"}


def show_proof(call: Call) -> Response:
    """The page at ``/company/{ticker}/proof/{metric}/{cell}``, where the cell is "A2024FY" or "Q2025Q2"."""
    if _CELL.fullmatch(call.params["cell"]) is None or find_definition(call.params["metric"]) is None:
        raise ApiError("NOT_FOUND", "Figure not found.")
    return company_layout.serve_tab(call, _asks, _page)


def _asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    found = _CELL.fullmatch(call.params["cell"])
    assert found is not None
    names = ("period", "fiscal_year", "fiscal_period", "period_end")
    given = {"metric": call.params["metric"], **dict(zip(names, found.groups(), strict=True))}
    return (build_api_call("/xbrl/proof", ticker=one.named, **given, **one.when),)


def _page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    tab = f"proof/{call.params['metric']}/{call.params['cell']}"
    try:
        data = asks[0].answer(call)["data"]
    except ApiError as error:
        return company_layout.render_missing_tab(call, one, tab, error)
    told = data["cell"]
    accessions = {fact["accession"] for fact in (*told["operands"], *data["vintages"]) if fact["accession"]}
    links = _links(call, [*accessions, *([told["accession"]] if told["accession"] else [])])
    vintages = data["vintages"] and render_section(
        "Everything that was filed for this period", _facts(data["vintages"], links)
    )
    return company_layout.render_tab(
        call,
        one,
        tab,
        h.h2(f"{data['label']}, {_period(call, data)}", class_="title"),
        _answer(call, told),
        _why(told),
        _told(data, links),
        _inputs(one, data["inputs"]),
        render_section("Facts it is computed from", _facts(told["operands"], links, signs=True)),
        vintages,
        _rules(data["considered"]),
        api_backed_pages.render_source_note(call, *asks),
    )


def _answer(call: Call, told: Mapping[str, Any]) -> Html:
    """The figure as it is read, and exactly where that is not the same."""
    exact = read = "–"
    if told["value"] is not None:
        exact = html_tables.format_number(told["value"])
        read = series_page.format_metric(call.params["metric"], told["value"], html_tables.SCALES[2])
    unit = h.span(read != exact and f"{exact} ", told["unit"], class_="quiet")
    return h.p(h.strong(read), " ", unit, class_="answer")


def _period(call: Call, data: Mapping[str, Any]) -> str:
    said = {"T": "twelve months to", "Y": "year to date,"}.get(call.params["cell"][0], "")
    return f"{said} {data['period_end']}" if said else f"{data['fiscal_period']} {data['fiscal_year']}"


def _told(data: Mapping[str, Any], links: Mapping[str, tuple[str, str | None]]) -> Html:
    told = data["cell"]
    span = f"{data['period_start'] or ''} to {data['period_end']}".removeprefix(" to ")
    return html_tables.render_description_list(
        [
            ("Period", span),
            ("What it is", data["definition"]),
            ("Formula", data["formula"] and h.code(data["formula"])),
            ("Concept", told["concept"] and h.code(told["concept"])),
            ("How", _METHODS.get(told["method"] or "", told["method"])),
            ("Total", _CHECKS.get(told["calc_status"] or "")),
            ("Confidence", told["confidence"] is not None and f"{told['confidence']} of 100"),
            ("Filing", told["accession"] and _filing(told["accession"], links)),
        ]
    )


def _why(told: Mapping[str, Any]) -> Html | None:
    if told["value"] is not None:
        return None
    label, said = html_tables.ReasonLegend.said(told["reason_code"] or "not_reported")
    return h.p(h.b(label, "."), " ", said, class_="note", role="status")


def _links(call: Call, accessions: Sequence[str]) -> dict[str, tuple[str, str | None]]:
    """Where the SEC has filings, by accession number: the index, and the document that people read."""
    with call.app.db.read() as tx:
        rows = filing_rows.list_filings(tx, list(dict.fromkeys(accessions)))
    return {row["accession_number"]: (row["primary_link"], row["primary_html_url"]) for row in rows}


def _filing(accession: str, links: Mapping[str, tuple[str, str | None]]) -> Html:
    index, document = links.get(accession, (None, None))
    at_sec = document or index
    return h.span(
        h.a(accession, href=f"/filing/{accession}"), at_sec and [" ", h.a("at the SEC", href=at_sec, rel="noreferrer")]
    )


def _facts(
    facts: Sequence[Mapping[str, Any]], links: Mapping[str, tuple[str, str | None]], *, signs: bool = False
) -> Html:
    if not facts:
        return h.p("None.", class_="quiet")
    columns: list[html_tables.GridColumn] = [
        ("Concept", lambda fact: h.th(h.code(fact["concept"]), scope="row")),
        (">Value", lambda fact: h.td(_value(fact["value"]), class_="num")),
        "Unit=unit",
        ("Period", lambda fact: f"{fact['start_date'] or ''} to {fact['end_date']}".removeprefix(" to ")),
        *("Form=form_type", "Filed=filed_at"),
        ("Filing", lambda fact: h.td(_filing(fact["accession"], links), class_="id")),
    ]
    if signs:
        columns.insert(0, ("Sign", lambda fact: {1: "+", -1: "−"}.get(fact["sign"], "")))
    return html_tables.render_grid(html_tables.format_count(len(facts), "fact"), columns, facts, "facts")


def _value(value: Decimal | int | str | None, reason: str | None = None) -> str:
    if value is None:
        return f"– ({html_tables.ReasonLegend.said(reason)[0]})" if reason else "nil"
    return value if isinstance(value, str) else html_tables.format_number(value)


def _inputs(one: CompanyView, inputs: Sequence[Mapping[str, Any]]) -> Html | None:
    if not inputs:
        return None
    columns: Sequence[html_tables.GridColumn] = (
        (
            "Figure",
            lambda each: html_tables.render_link_header(
                getattr(find_definition(each["metric"]), "label", ""), _proof_of(one, each)
            ),
        ),
        ("Period", lambda each: f"{each['fiscal_period']} {each['fiscal_year']}"),
        (">Value", lambda each: h.td(_value(each["value"], each["reason_code"]), class_="num")),
        "Unit=unit",
    )
    return render_section(
        "Figures it is computed from", html_tables.render_grid("Inputs of the formula", columns, inputs, "facts")
    )


def _proof_of(one: CompanyView, each: Mapping[str, Any]) -> str:
    return one.address(f"proof/{each['metric']}/{each['period']}{each['fiscal_year']}{each['fiscal_period']}")


def _rules(considered: Sequence[Mapping[str, Any]]) -> Html | None:
    items = [h.li(h.code(rule["way"]), value=rule["tier"]) for rule in considered]
    return render_section("Rules in order of preference", h.ol(items, class_="rules")) if items else None


def show_fact(call: Call) -> Response:
    """The page at ``/company/{ticker}/fact/{concept}``: what filings say under one concept."""
    return company_layout.serve_tab(call, _fact_asks, _fact_page)


def _fact_asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    end = call.params["end"]
    days = {"date_from": end, "date_to": end}
    return (build_api_call("/facts/by-concept", concept=call.params["concept"], ticker=one.named, **days),)


def _fact_page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    tab = f"fact/{call.params['concept']}"
    try:
        answer = asks[0].answer(call)
    except ApiError as error:
        return company_layout.render_missing_tab(call, one, tab, error)
    links = _links(call, [row["accession_number"] for row in answer["facts"] if row["accession_number"]])
    names = {"start_date": "period_start", "end_date": "period_end", "accession": "accession_number"}
    same = {"concept": answer["concept"]}
    facts = [{**row, **same, **{name: row[theirs] for name, theirs in names.items()}} for row in answer["facts"]]
    end = call.params["end"]
    made = _facts(facts, links)
    every = end and h.p(h.a("Every period of this concept", href=one.address(tab)))
    none = h.p("No figure for the whole company.", class_="note", role="status")
    title = h.h2(h.code(answer["concept"]), class_="title")
    return company_layout.render_tab(
        call, one, tab, title, made if facts else none, every, api_backed_pages.render_source_note(call, *asks)
    )
