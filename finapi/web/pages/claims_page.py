"""The page that compares a stated figure with the filings: a form, the verdict, and the figures with their facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from finapi.core.errors import ApiError, invalid_param
from finapi.market.financials import metric_mapping, ratios
from finapi.web.financials.claims import CLAIM_MEMBERS
from finapi.web.html import form_fields, html_tables, page_layout
from finapi.web.html.number_formats import ONES, format_number
from finapi.web.html.tags import Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param, parse_body
from finapi.web.http.route import API
from finapi.web.pages import api_backed_pages, page_access
from finapi.web.pages.api_backed_pages import render_section
from finapi.web.pages.company import proof_page, series_page
from finapi.web.pages.member.sign_in_pages import render_error

PATH = "/claims"
ROUTE_NAME = f"POST {API}{PATH}"
MAX_FIELD_CHARACTERS = 100
# The requests that a verdict without charge counts as in the limit of pages. It takes up to 50 ms of CPU, so that an
# address could use a tenth of a core with 120 verdicts a minute. Other pages take less than 10 ms.
VERDICT_REQUESTS = 4
# The fields of the form with their labels and an example. The last one may be empty.
_FIELDS = (
    ("ticker", "Company", "AAPL"),
    ("figure", "Figure", "revenue"),
    ("period", "Period", "FY2022"),
    ("value", "Stated value", "394.3 billion"),
    ("unit", "Unit", "USD million"),
)
_REQUIRED_FIELDS = ("ticker", "figure", "period", "value")
PARAMS = tuple(Param(name, default="", empty_is_default=True) for name, _, _ in _FIELDS)


def show_claim(call: Call) -> Response:
    """Return the page at ``/claims``: the form, and the verdict on its claim. A wrong claim is a 400 with the form.

    A form without a value is free, so that other pages can link to a form for one of their figures.
    """
    if not call.params["value"]:
        return page_access.serve_data_page(call, [], lambda: _render_page(call))
    try:
        claim = _build_claim(call)
        arguments = parse_body(CLAIM_MEMBERS, claim)
    except ApiError as error:
        refusal = error
        return page_access.serve_data_page(call, [], lambda: _render_refusal(call, refusal))
    return page_access.serve_data_page(call, [ROUTE_NAME], lambda: _render_verdict(call, claim, arguments))


def _build_claim(call: Call) -> dict[str, str]:
    """Return the claim of the form as the API takes it. Raise INVALID_PARAM if a field is missing or too long."""
    for name, label, example in _FIELDS:
        text = call.params[name]
        if not text and name in _REQUIRED_FIELDS:
            raise invalid_param(name, f"{label} is missing. Write it like {example}.")
        if len(text) > MAX_FIELD_CHARACTERS:
            raise invalid_param(name, f"{label} has more than {MAX_FIELD_CHARACTERS} characters.")
    claim = {name: call.params[name] for name in ("ticker", "period", "value", "unit") if call.params[name]}
    name = call.params["figure"]
    return {**claim, "concept" if ":" in name else "metric": name if ":" in name else _find_key(name)}


def _find_key(name: str) -> str:
    """Return the key of a figure that is named by its key or its label. Return any other name in the form of a key."""
    words = name.strip().lower().replace(",", "")
    key = words.replace(" ", "_")
    return key if key in _get_labels() else _get_keys_by_label().get(words, key)


@cache
def _get_labels() -> dict[str, str]:
    """Return the label of each metric, derived figure and ratio."""
    mapping = metric_mapping.get_mapping()
    keys = (*mapping.metrics, *mapping.derived, *ratios.get_catalogue().ratios)
    return {key: series_page.get_metric_label(key) for key in keys}


@cache
def _get_keys_by_label() -> dict[str, str]:
    return {label.lower().replace(",", ""): key for key, label in _get_labels().items()}


# ---- the page


def _render_verdict(call: Call, claim: Mapping[str, str], arguments: Mapping[str, Any]) -> Response:
    """Return the page with the verdict that the API returns for a claim."""
    if call.app.config.pages == "public":
        _count_verdict(call)
    route = next(route for route in call.routes if route.name == ROUTE_NAME)
    response = route.handler(call._replace(route=route, body={"claims": [arguments]}, idempotent_call=None))
    answer = json.loads(response.body + response.suffix, parse_float=Decimal)
    [result] = answer["data"]["results"]
    summary = f"1 call of the API, {api_backed_pages.format_tokens(route.cost)}"
    sent_body = json.dumps({"claims": [claim]}, ensure_ascii=False)
    source = h.div(h.details(h.summary(summary), h.p(h.code(f"{ROUTE_NAME} {sent_body}"))), class_="source")
    return _render_page(
        call,
        h.p(h.strong(result["verdict"].replace("_", " ").capitalize()), class_="answer", role="status"),
        h.p(result["message"]),
        _render_cell(call, result, "cell", "On file"),
        _render_cell(call, result, "agreeing_cell", "The figure that agrees with the claim"),
        source,
    )


def _count_verdict(call: Call) -> None:
    """Count a verdict in the limit of pages as VERDICT_REQUESTS requests, of which one is counted already.

    Raise RATE_LIMIT_EXCEEDED (429) if the limit is used up.
    """
    key = ("user", call.caller.id) if call.caller else ("address", call.request.address)
    for _ in range(min(VERDICT_REQUESTS, call.app.config.pages_per_minute) - 1):
        decision = call.app.limiters["pages"].take(key, call.app.clock.monotonic())
        if not decision.allowed:
            headers = decision.build_headers(call.now, is_per_node=call.app.config.has_nodes)
            raise ApiError("RATE_LIMIT_EXCEEDED", "Too many requests. Try again later.", headers=headers)


def _render_refusal(call: Call, error: ApiError) -> Response:
    """Return the form with its contents and the message of a field that is not valid."""
    return _render_page(call, render_error(error), status=error.status)


def _render_page(call: Call, *body: Html | None, status: int = 200) -> Response:
    return page_layout.render_page(call, "Check a figure", _render_form(call), *body, wide=True, status=status)


def _render_form(call: Call) -> Html:
    inputs = [
        form_fields.render_input(
            label,
            name,
            call.params[name],
            placeholder=example,
            required=name in _REQUIRED_FIELDS,
            maxlength=MAX_FIELD_CHARACTERS,
            list="figures" if name == "figure" else None,
            autocomplete="off",
        )
        for name, label, example in _FIELDS
    ]
    options = [h.option(label, value=key) for key, label in _get_labels().items()]
    return h.form(
        h.div(inputs, h.button("Check"), class_="filters"),
        h.datalist(options, id="figures"),
        h.p(
            "A figure is a metric, a ratio or a concept such as us-gaap:Assets. Periods are fiscal: FY2022, Q3 2022, "
            "TTM Q3 2022, or a last day. The digits of the value set its rounding. Without a unit, that of the "
            "filing is meant.",
            class_="quiet",
        ),
        action=PATH,
        aria_label="Claim",
        class_="screen",
    )


def _render_cell(call: Call, result: Mapping[str, Any], member: str, title: str) -> Html | None:
    """Return the section of a figure of a result: its value, period and filing, and the facts that it is computed from.

    Return None if the result has no such figure.
    """
    cell = result[member]
    if cell is None:
        return None
    metric = None if cell["proof"] is None else cell["proof"]["metric"]
    label = h.code(cell["concept"]) if metric is None else series_page.get_metric_label(metric)
    links = proof_page.load_sec_links(call, [cell["accession"], *(fact["accession"] for fact in cell["operands"])])
    description = html_tables.render_description_list(
        [
            ("Company", h.a(result["company_name"], href=f"/company/{result['cik']}")),
            ("Figure", label),
            ("Value", _render_value(cell, metric)),
            ("Period", _describe_period(cell)),
            ("Filed", f"{cell['filed_at']} in form {cell['form_type']}"),
            ("Filing", proof_page.render_filing_links(cell["accession"], links)),
            ("Proof", metric and h.a("Formula, facts and rules", href=_get_proof_url(cell["proof"]))),
        ]
    )
    facts = proof_page.render_facts(cell["operands"], links, with_signs=True)
    return render_section(title, description, facts)


def _render_value(cell: Mapping[str, Any], metric: str | None) -> Html:
    """Return the value of a figure with its unit, linked to the printed number or to the filing at the SEC."""
    value = cell["value"]
    text = format_number(value) if metric is None else series_page.format_metric(metric, value, ONES)
    link = h.a(text, href=cell["link"], rel="noreferrer") if cell["link"] else text
    # A ratio is formatted as a percentage or as a multiple.
    return h.span(link, cell["unit"] != "ratio" and f" {cell['unit']}")


def _describe_period(cell: Mapping[str, Any]) -> str:
    span = proof_page.format_span(cell["period_start"], cell["period_end"])
    if cell["fiscal_period"] is None:
        return span
    kind = f"{cell['period']} " if cell["period"] in ("TTM", "YTD") else ""
    return f"{kind}{cell['fiscal_period']} {cell['fiscal_year']}, {span}"


def _get_proof_url(proof: Mapping[str, Any]) -> str:
    return f"/company/{proof['cik']}/proof/{proof['metric']}/{proof['period']}{proof['period_end']}"
