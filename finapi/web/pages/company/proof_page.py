"""The proof of a figure: the facts it is computed from, the formula, other facts for the period, and the filings.

A second page lists every fact that a company filed under one concept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

from finapi.core.counts import format_count
from finapi.core.errors import ApiError
from finapi.market.documents import filing_rows
from finapi.market.financials.series_rows import find_definition
from finapi.web.html import html_tables
from finapi.web.html.html_tables import GridColumn
from finapi.web.html.number_formats import ONES, format_number
from finapi.web.html.reason_legend import describe_reason
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

# A cell in the path: "A2024FY", or by the last day of the period "A2024-09-28".
_CELL = re.compile(
    r"(?P<period>A|Q|TTM|YTD)"
    r"(?:(?P<fiscal_year>[12][0-9]{3})(?P<fiscal_period>FY|Q[1-4])"
    r"|(?P<period_end>[12][0-9]{3}-[01][0-9]-[0-3][0-9]))"
)
MAX_NAMED_CHARACTERS = 40  # Maximum length of a metric or period that a message repeats.
MAX_FILED_CHARACTERS = 200  # Maximum length of a label or title of a filing in a table.
_METHOD_TEXTS = {
    "reported": "as reported, under the first tag of its rule",
    "mapped": "as reported, under another tag with the same meaning",
    "derived": "computed from reported figures",
}
_CHECK_TEXTS = {
    "consistent": "adds up",
    "inconsistent": "does not add up",
}
# The roles of printed labels; a standard label needs no remark.
_LABEL_ROLE_TEXTS = {
    "terselabel": "short label",
    "verboselabel": "long label",
    "totallabel": "label of a total",
    "netlabel": "label of a net amount",
    "periodstartlabel": "label of an opening balance",
    "periodendlabel": "label of a closing balance",
}
# The statements of filings without stored titles, by the first word of their keys.
_STATEMENT_KINDS = {
    "income": "Income statement",
    "balance": "Balance sheet",
    "cash": "Cash flow statement",
    "comprehensive": "Statement of comprehensive income",
    "equity": "Statement of equity",
}
_UNPRINTED_TEXTS = {
    "no_stored_statement": "The filing's statements are not stored.",
    "not_on_a_statement": "Not on a statement of the filing, but perhaps in a note.",
}
_SIGNS = {1: "+", -1: "−"}


class SecLinks(NamedTuple):
    """The SEC's URLs of a filing: its index, and its main document if that is known."""

    index_url: str | None
    document_url: str | None
    stored_documents: frozenset[str] = frozenset()  # The names of the documents that have a page here.


# ---- proof of a figure


def show_proof(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/proof/{metric}/{cell}``, where the cell is "A2024FY" or "Q2025Q2".

    Raise NOT_FOUND for a metric or cell that does not exist.
    """
    if _CELL.fullmatch(call.params["cell"]) is None or find_definition(call.params["metric"]) is None:
        metric, cell = call.params["metric"][:MAX_NAMED_CHARACTERS], call.params["cell"][:MAX_NAMED_CHARACTERS]
        message = (
            f"There is no figure {metric} for {cell}. A figure is a metric with a period such as A2024FY, Q2024Q3 or "
            "TTM2024-09-28."
        )
        raise ApiError("NOT_FOUND", message)
    return company_layout.serve_tab(call, _build_proof_calls, _render_proof)


def _build_proof_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    cell = _CELL.fullmatch(call.params["cell"])
    assert cell is not None
    proof_call = build_api_call(
        "/xbrl/proof",
        ticker=view.url_name,
        metric=call.params["metric"],
        **cell.groupdict(),
        **view.as_of_arguments,
    )
    return (proof_call,)


def _render_proof(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    tab = f"proof/{call.params['metric']}/{call.params['cell']}"
    try:
        proof = api_calls[0].get_answer(call)["data"]
    except ApiError as error:
        return company_layout.render_missing_tab(call, view, tab, error)
    cell, operands, vintages = proof["cell"], proof["cell"]["operands"], proof["vintages"]
    facts = (*operands, *vintages)
    links = load_sec_links(call, [cell["accession"], *(fact["accession"] for fact in facts)])
    return company_layout.render_tab(
        call,
        view,
        tab,
        h.div(
            h.h2(f"{proof['label']}, {_describe_period(call, proof)}", class_="title"),
            _render_figure(call, cell),
            _render_missing_reason(cell),
            _render_description(proof, links),
            _render_inputs(view, proof["inputs"]),
            render_section("Facts it is computed from", render_facts(operands, links, with_signs=True)),
            vintages and render_section("Everything that was filed for this period", render_facts(vintages, links)),
            _render_rules(proof["considered"]),
            _render_claim_link(call, view, proof),
            data_panel=True,
        ),
        api_backed_pages.render_source_note(call, *api_calls),
    )


def _render_figure(call: Call, cell: Mapping[str, Any]) -> Html:
    """Return the figure as it is read, followed by its exact digits if they differ."""
    exact = text = "–"
    if cell["value"] is not None:
        exact = format_number(cell["value"])
        text = series_page.format_metric(call.params["metric"], cell["value"], ONES)
    unit = h.span(text != exact and f"{exact} ", cell["unit"], class_="quiet")
    return h.p(h.strong(text), " ", unit, class_="answer")


def _describe_period(call: Call, proof: Mapping[str, Any]) -> str:
    kind = call.params["cell"]
    if kind.startswith("TTM"):
        return f"twelve months to {proof['period_end']}"
    if kind.startswith("YTD"):
        return f"year to date, {proof['period_end']}"
    return f"{proof['fiscal_period']} {proof['fiscal_year']}"


def _render_description(proof: Mapping[str, Any], links: Mapping[str, SecLinks]) -> Html:
    cell = proof["cell"]
    accession_number = cell["accession"]
    confidence = cell["confidence"]
    printed_labels = dict.fromkeys(fact["printed"]["label"] for fact in cell["operands"] if fact["printed"])
    printed_lines = [h.li(_render_filed_text(label)) for label in printed_labels if label]
    # A figure that is computed has no concept of its own, but the key of its metric.
    concept = None if cell["concept"] == proof["metric"] else cell["concept"]
    return html_tables.render_description_list(
        [
            ("Period", format_span(proof["period_start"], proof["period_end"])),
            ("What it is", proof["definition"]),
            ("Formula", proof["formula"] and h.code(proof["formula"])),
            ("Concept", concept and h.code(concept)),
            ("How", _METHOD_TEXTS.get(cell["method"] or "", cell["method"])),
            ("Total", _CHECK_TEXTS.get(cell["calc_status"] or "")),
            ("Confidence", confidence is not None and f"{confidence} of 100"),
            ("Filing", accession_number and render_filing_links(accession_number, links)),
            ("Filed", cell["filed_at"]),
            ("Printed as", printed_lines and h.ul(printed_lines, class_="plain")),
        ]
    )


def format_span(first_day: str | None, last_day: str) -> str:
    """Return a duration as "2024-01-01 to 2024-12-31", an instant as its day."""
    return f"{first_day} to {last_day}" if first_day else last_day


def _render_missing_reason(cell: Mapping[str, Any]) -> Html | None:
    if cell["value"] is not None:
        return None
    reason = describe_reason(cell["reason_code"] or "not_reported")
    return h.p(h.b(reason.label, "."), " ", reason.definition, class_="note", role="status")


def load_sec_links(call: Call, accession_numbers: Iterable[str | None]) -> dict[str, SecLinks]:
    """Return the SEC's URLs of filings by accession number. Facts without an accession number are ignored."""
    unique_numbers = list(dict.fromkeys(number for number in accession_numbers if number))
    with call.app.db.read() as tx:
        rows = filing_rows.list_filings(tx, unique_numbers)
    links: dict[str, SecLinks] = {}
    for row in rows:
        stored_documents = {file["document"] for file in row["document_files"] if file["content_url"]}
        names = frozenset(name for name in stored_documents if name)
        links[row["accession_number"]] = SecLinks(row["primary_link"], row["primary_html_url"], names)
    return links


def render_filing_links(accession_number: str, links: Mapping[str, SecLinks]) -> Html:
    """Return the link to a filing's page, and the link to the SEC's copy if it is known."""
    page_link = h.a(accession_number, href=f"/filing/{accession_number}")
    sec_links = links.get(accession_number, SecLinks(None, None))
    sec_url = sec_links.document_url or sec_links.index_url
    return h.span(page_link, sec_url and [" ", h.a("at the SEC", href=sec_url, rel="noreferrer")])


def render_facts(
    facts: Sequence[Mapping[str, Any]], links: Mapping[str, SecLinks], *, with_signs: bool = False
) -> Html:
    """Return the table of facts, whose values link to the printed numbers. ``links`` has the URLs of their filings."""
    if not facts:
        return h.p("None.", class_="quiet")
    columns = [
        GridColumn("Concept", lambda fact: h.th(h.code(fact["concept"]), scope="row")),
        GridColumn("Value", lambda fact: _render_fact_value(fact, links), numeric=True),
        GridColumn("Unit", "unit"),
        GridColumn("Period", lambda fact: format_span(fact["start_date"], fact["end_date"])),
        GridColumn("Form", "form_type"),
        GridColumn("Filed", "filed_at"),
        GridColumn("Filing", lambda fact: h.td(render_filing_links(fact["accession"], links), class_="id")),
    ]
    if any("printed" in fact for fact in facts):
        columns.insert(3, GridColumn("Printed as", _render_printed_line))
    if with_signs:
        columns.insert(0, GridColumn("Sign", lambda fact: _SIGNS.get(fact["sign"], "")))
    return html_tables.render_grid(format_count(len(facts), "fact"), columns, facts, "facts")


def _render_fact_value(fact: Mapping[str, Any], links: Mapping[str, SecLinks]) -> Html:
    """Return the cell of a fact's value, which links to the printed number, with the filing's other values for it."""
    other_values = ", ".join(format_number(value) for value in fact.get("conflicting_values", ()))
    note = other_values and h.small(" also filed as ", other_values)
    text = _format_value(fact["value"])
    ink_url = fact.get("ink_url")
    if ink_url is None:
        page_url = (fact.get("printed") or {}).get("page_url")
        return h.td(h.a(text, href=page_url) if page_url else text, note, class_="num")
    name = unquote(ink_url.partition("#")[0].rpartition("/")[2])
    if name in links.get(fact["accession"], SecLinks(None, None)).stored_documents:
        query = urlencode({"document": name, "fact": fact["fact_id"]})
        number_link = h.a(text, href=f"/filing/{fact['accession']}/document?{query}")
    else:
        number_link = h.a(text, href=ink_url, rel="noreferrer")
    return h.td(number_link, note, class_="num")


def _render_printed_line(fact: Mapping[str, Any]) -> Html:
    """Return the cell of the label that the filing prints, with its place, or of the reason why it is not known."""
    printed = fact["printed"]
    if printed is None:
        return h.td(_UNPRINTED_TEXTS[fact["printed_reason"]], class_="quiet printed")
    place = f"line {printed['line']}, {printed['column_heading']}"
    role = _LABEL_ROLE_TEXTS.get((printed["label_role"] or "").removeprefix("negated").lower(), "")
    sign = "printed with the opposite sign" if printed["negated"] else ""
    details = ", ".join(filter(None, (role, sign)))
    kind = printed["statement"].split("-")[0]
    statement_name = _render_filed_text(printed["statement_name"] or _STATEMENT_KINDS.get(kind, "Statement"))
    place_link = h.a(place, href=printed["page_url"]) if printed["page_url"] else place
    return h.td(
        _render_filed_text(printed["label"] or "without a label"),
        h.small(statement_name, ", ", place_link, class_="under"),
        details and h.small(details, class_="under"),
        class_="printed",
    )


def _render_filed_text(text: str) -> Html:
    """Return a text of a filing, shortened and with a writing direction that does not change the text around it."""
    is_long = len(text) > MAX_FILED_CHARACTERS
    return h.bdi(text[: MAX_FILED_CHARACTERS - 1] + "…" if is_long else text)


def _format_value(value: Decimal | int | str | None, reason_code: str | None = None) -> str:
    if value is None:
        return f"– ({describe_reason(reason_code).label})" if reason_code else "nil"
    return value if isinstance(value, str) else format_number(value)


def _render_inputs(view: CompanyView, inputs: Sequence[Mapping[str, Any]]) -> Html | None:
    """Return the section of the figures that a formula combines, each with a link to its own proof."""
    if not inputs:
        return None

    def render_name(figure: Mapping[str, Any]) -> Html:
        label = getattr(find_definition(figure["metric"]), "label", "")
        return html_tables.render_link_header(label, _get_proof_url(view, figure))

    def render_value(figure: Mapping[str, Any]) -> Html:
        return h.td(_format_value(figure["value"], figure["reason_code"]), class_="num")

    columns = (
        GridColumn("Figure", render_name),
        GridColumn("Period", lambda figure: f"{figure['fiscal_period']} {figure['fiscal_year']}"),
        GridColumn("Value", render_value, numeric=True),
        GridColumn("Unit", "unit"),
    )
    table = html_tables.render_grid("Inputs of the formula", columns, inputs, "facts")
    return render_section("Figures it is computed from", table)


def _get_proof_url(view: CompanyView, figure: Mapping[str, Any]) -> str:
    cell = f"{figure['period']}{figure['fiscal_year']}{figure['fiscal_period']}"
    return view.get_url(f"proof/{figure['metric']}/{cell}")


def _render_rules(rules: Sequence[Mapping[str, Any]]) -> Html | None:
    entries = [h.li(h.code(rule["way"]), value=rule["tier"]) for rule in rules]
    return render_section("Rules in order of preference", h.ol(entries, class_="rules")) if entries else None


def _render_claim_link(call: Call, view: CompanyView, proof: Mapping[str, Any]) -> Html | None:
    """Return the link to the form that compares a stated value with this figure; None on a page as of a past day."""
    if any(view.as_of_arguments.values()):
        return None
    kind = call.params["cell"]
    kind_word = next((f"{word} " for word in ("TTM", "YTD") if kind.startswith(word)), "")
    url = api_backed_pages.build_url(
        "/claims",
        ticker=view.url_name,
        figure=proof["metric"],
        period=f"{kind_word}{proof['fiscal_period']} {proof['fiscal_year']}",
    )
    return h.p(h.a("Compare a stated value with this figure", href=url))


# ---- facts of a concept


def show_fact(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/fact/{concept}``: the facts that were filed under a concept."""
    return company_layout.serve_tab(call, _build_fact_calls, _render_concept)


def _build_fact_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    end = call.params["end"]
    fact_call = build_api_call(
        "/facts/by-concept",
        concept=call.params["concept"],
        ticker=view.url_name,
        date_from=end,
        date_to=end,
    )
    return (fact_call,)


def _render_concept(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    tab = f"fact/{call.params['concept']}"
    try:
        answer = api_calls[0].get_answer(call)
    except ApiError as error:
        return company_layout.render_missing_tab(call, view, tab, error)
    rows = answer["facts"]
    if rows:
        links = load_sec_links(call, [row["accession_number"] for row in rows])
        body = render_facts([_build_fact(row, answer["concept"]) for row in rows], links)
    else:
        text = "No stored filing states this concept for the entire company in this period."
        body = h.p(text, class_="note", role="status")
    all_link = call.params["end"] and h.p(h.a("Every period of this concept", href=view.get_url(tab)))
    title = h.h2(h.code(answer["concept"]), class_="title")
    source = api_backed_pages.render_source_note(call, *api_calls)
    content = h.div(title, body, all_link, data_panel=True)
    return company_layout.render_tab(call, view, tab, content, source)


def _build_fact(row: Mapping[str, Any], concept: str) -> dict[str, Any]:
    """Return a fact of the API's list under the names that facts of a proof have."""
    return {
        **row,
        "concept": concept,
        "start_date": row["period_start"],
        "end_date": row["period_end"],
        "accession": row["accession_number"],
    }
