"""Statements as filed, period by period side by side: the lines of the newest report, those of others among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.core.errors import ApiError
from finapi.market.documents import filing_rows
from finapi.market.filings import filing_search
from finapi.market.statements import filed_statements
from finapi.web.html import html_tables
from finapi.web.html.tags import Child, Html, h
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.pages import api_backed_pages
from finapi.web.pages.api_backed_pages import ApiCall, build_api_call
from finapi.web.pages.company import company_layout, series_page
from finapi.web.pages.company.company_layout import CompanyView

STATEMENTS = {
    "income": "Income",
    "balance": "Balance sheet",
    "cash-flow": "Cash flow",
    "comprehensive-income": "Comprehensive income",
    "equity": "Equity",
}
REPORT_COUNTS = {"1": "One report", "4": "Four reports", "10": "Ten reports"}
PARAMS = (
    *company_layout.PARAMS,
    Param("period", default="A", allowed=("A", "Q")),
    Param("statement", default="income", allowed=tuple(STATEMENTS)),
    Param("reports", default="4", allowed=tuple(REPORT_COUNTS)),
)
MAX_COLUMNS = 10  # columns

# A line where it is not the same in another report: its concept, and whether it is what a period opens with.
LineKey = tuple[str, str | None, str | None]


class PeriodColumn(NamedTuple):
    """A period that a report shows, and the report."""

    start: str | None
    end: str
    accession: str
    form: str
    place: int
    report: int


class JoinedLine(NamedTuple):
    """A line of the joined statement: the row as it was filed, and its values by (report, column)."""

    row: Mapping[str, Any]
    values: dict[tuple[int, int], tuple[str | None, str | None]]


def show_statements(call: Call) -> Response:
    """The page at ``/company/{ticker}/statements``."""
    return company_layout.serve_tab(call, _asks, _page, _csv)


def _asks(call: Call, one: CompanyView) -> Sequence[ApiCall]:
    params = call.params
    with call.app.db.read() as tx:
        held = filed_statements.list_reports(
            tx, one.company.cik, int(params["reports"]), period=params["period"], as_of=one.as_of, basis=one.basis
        )
        kind = params["statement"]
        held = [report for report in held if filed_statements.read_statements(tx, report, (kind,))[0]]
    if not held:
        return (
            build_api_call(
                "/xbrl/companies/{ticker}/statements", ticker=one.named, period=params["period"], statement=kind
            ),
        )
    return [
        build_api_call("/xbrl/filing/{accession}/statements", accession=report.accession, statement=kind)
        for report in held
    ]


def _page(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    params = call.params
    chosen = {name: params[name] for name in ("period", "statement", "reports")}
    views = [
        company_layout.render_choice(one, "statements", label, chosen[param], choices, param, **chosen)
        for label, choices, param in (
            ("Statement", STATEMENTS, "statement"),
            ("Period", {"A": "Annual", "Q": "Quarterly"}, "period"),
            ("Reports", REPORT_COUNTS, "reports"),
        )
    ]
    keep = tuple(chosen)
    try:
        columns, lines = join_statements([one.answer(call) for one in asks], one.basis)
    except ApiError as error:
        return company_layout.render_missing_tab(call, one, "statements", error, keep)
    body: Child = render_statement_table(STATEMENTS[chosen["statement"]], columns, lines)
    if not lines:
        reason = html_tables.ReasonLegend.said("not_in_filing")[0]
        body = h.p(f"{STATEMENTS[chosen['statement']]}: {reason.lower()}.", class_="note", role="status")
    csv = one.address("statements", **chosen, format="csv")
    source = api_backed_pages.render_source_note(call, *asks, csv=csv if lines else "")
    views_of = h.div(views, class_="views")
    return company_layout.render_tab(call, one, "statements", views_of, body, _not_loaded(call, one), source, keep=keep)


def _not_loaded(call: Call, one: CompanyView) -> Html | None:
    """The newest reports that are known of, but whose statements are not held."""
    forms = filed_statements.FORMS_BY_PERIOD[call.params["period"]]
    with call.app.db.read() as tx:
        places = filing_search.list_positions(
            tx,
            filing_search.FilingQuery((one.company.cik,), forms, last_day=one.as_of),
            filing_search.PageRequest(MAX_COLUMNS),
        )
        named = [filing_search.get_accession(place) for place in places]
        absent = [name for name in named if filed_statements.find_report_by_accession(tx, name) is None]
        rows = filing_rows.list_filings(tx, absent)
    told = [
        [n and ", ", h.a(f"{row['form_type']} of {row['filed_date']}", href=f"/filing/{row['accession_number']}")]
        for n, row in enumerate(rows)
    ]
    return (
        h.p(
            "Not loaded: ",
            told,
            ". ",
            api_backed_pages.render_load_hint(company_layout.get_load_argument(one) or ""),
            class_="quiet",
        )
        if rows
        else None
    )


def _csv(call: Call, one: CompanyView, asks: Sequence[ApiCall]) -> Response:
    columns, lines = join_statements([one.answer(call) for one in asks], one.basis)
    names = [_said(column, full=True) for column in columns]
    rows = [
        {
            "concept": line.row["concept"],
            "label": line.row["label"],
            "unit": line.row["unit"],
            **{name: _at(line, column)[0] for name, column in zip(names, columns, strict=True)},
        }
        for line in lines
    ]
    return series_page.serve_rows_as_csv(
        ["concept", "label", "unit", *names], rows, one.address("statements", **call.params)
    )


def join_statements(
    answers: Sequence[Mapping[str, Any]], basis: str, *, every: bool = False
) -> tuple[list[PeriodColumn], list[JoinedLine]]:
    """The columns, newest first, and lines of the first statement of each answer, which begin with the newest report.

    Of each report the columns that are alike, or ``every`` one. A period that several reports show is taken from the
    last of them, or by ``basis`` from the first. A line that a newer report does not have stands behind the one that it
    follows in its own.
    """
    columns: dict[tuple[str | None, str], PeriodColumn] = {}
    lines: dict[LineKey, JoinedLine] = {}
    order: list[LineKey] = []
    for n, answer in enumerate(answers):
        statement = next(iter(answer["data"]["statements"].values()), None)
        if statement is None:
            continue
        told = answer["meta"]
        for place in range(len(statement["columns"])) if every else _alike(statement["columns"]):
            one = statement["columns"][place]
            column = PeriodColumn(one["start_date"], one["end_date"], told["accession"], told["form_type"], place, n)
            if basis == "original" or column[:2] not in columns:
                columns[column[:2]] = column
        _put(lines, order, statement["rows"], n)
    shown = sorted(columns.values(), key=lambda one: (one.end, one.start or ""), reverse=True)[:MAX_COLUMNS]
    return shown, [lines[key] for key in order if _has(lines[key], shown)]


def _alike(columns: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of the columns that are as long as the shortest one that ends last: a quarter, not the half year."""
    if not columns:
        return []
    last = max(one["end_date"] for one in columns)
    length = min(_days(one) for one in columns if one["end_date"] == last)
    return [n for n, one in enumerate(columns) if abs(_days(one) - length) < 20]


def _days(column: Mapping[str, Any]) -> int:
    if column["start_date"] is None:
        return 0
    return (date.fromisoformat(column["end_date"]) - date.fromisoformat(column["start_date"])).days


def _put(
    lines: dict[LineKey, JoinedLine], order: list[LineKey], rows: Sequence[Mapping[str, Any]], report: int
) -> None:
    before, seen = -1, set[LineKey]()
    for row in rows:
        role = "periodStart" if (row["preferred_label"] or "").endswith("periodStartLabel") else None
        key: LineKey = (row["concept"], row["unit"], role)
        while key in seen:  # the same line twice in one statement
            key = (key[0], key[1], f"{key[2]}+")
        seen.add(key)
        if key not in lines:
            order.insert(before + 1, key)
            lines[key] = JoinedLine(row, {})
        before = order.index(key)
        for place, (value, mark) in enumerate(zip(row["values"], row["marks"], strict=True)):
            lines[key].values[report, place] = (value, mark and mark["reason"])


def _at(line: JoinedLine, column: PeriodColumn) -> tuple[str | None, str | None]:
    return line.values.get((column.report, column.place), (None, "not_reported"))


def _has(line: JoinedLine, columns: Sequence[PeriodColumn]) -> bool:
    return bool(line.row["abstract"]) or any(_at(line, one) != (None, "not_reported") for one in columns)


def render_statement_table(
    caption: str, columns: Sequence[PeriodColumn], lines: Sequence[JoinedLine], base: str = ""
) -> Html:
    """The lines under their periods; proofs of figures stand below the address ``base``."""
    units = [line.row["unit"] for line in lines if line.row["unit"]]
    currency = max(set(units), key=units.count) if units else ""
    money = [
        Decimal(value)
        for line in lines
        if line.row["unit"] == currency
        for one in columns
        if (value := _at(line, one)[0]) is not None
    ]
    scale, reasons = html_tables.choose_scale(money), html_tables.ReasonLegend()
    rows = [_row(line, columns, currency, scale, reasons, base) for line in lines]
    head = [h.th(h.span("Line", class_="unseen"), scope="col")]
    head += [
        h.th(_said(one), h.small(h.a(one.form, href=f"/filing/{one.accession}", title=one.accession)), scope="col")
        for one in columns
    ]
    said = f"{caption} as filed. {scale.of(currency)}, unless a line gives another unit."
    return h.section(html_tables.render_table(said, head, rows, class_="fig filed", label=caption), reasons.legend())


def _said(column: PeriodColumn, *, full: bool = False) -> str:
    if column.start is None:
        return column.end
    length = round(_days({"start_date": column.start, "end_date": column.end}) / 30.4)
    return f"{column.start} to {column.end}" if full else f"{length} months to {column.end}"


def _row(
    line: JoinedLine,
    columns: Sequence[PeriodColumn],
    currency: str,
    scale: html_tables.Scale,
    reasons: html_tables.ReasonLegend,
    base: str,
) -> Html:
    row = line.row
    label = row["label"] or row["concept"].partition(":")[2]
    level = f"l{min(row['depth'], 6)}"
    if row["abstract"]:
        return h.tr(
            h.th(label.removesuffix(" [Abstract]"), scope="row", colspan=len(columns) + 1, class_=level),
            class_="heading",
        )
    other = row["unit"] not in (currency, None)
    name = h.th(label, other and h.small(" ", row["unit"]), scope="row", class_=level, title=row["concept"])
    total = (row["preferred_label"] or "").lower().endswith("totallabel")
    by = html_tables.SCALES[2] if other else scale
    cells = [_cell(_at(line, one), f"{base}fact/{row['concept']}?end={one.end}", row, by, reasons) for one in columns]
    return h.tr(name, cells, class_="total" if total else None)


def _cell(
    told: tuple[str | None, str | None],
    proof: str,
    row: Mapping[str, Any],
    by: html_tables.Scale,
    reasons: html_tables.ReasonLegend,
) -> Html:
    value, reason = told
    if value is None:
        return reasons.mark(reason or "not_reported")
    try:
        amount = Decimal(value)
    except ArithmeticError:
        return h.td(value)
    # A negated line shows the other sign than was reported, as the filing itself does.
    amount = -amount if row["negated"] else amount
    exact = not by.places and amount != amount.to_integral_value()
    return html_tables.render_figure_cell(
        h.a(html_tables.format_number(amount) if exact else html_tables.format_money(amount, by), href=proof), amount
    )
