"""Statements as filed, with the periods of several reports side by side.

The lines are those of the newest report. A line that only an older report has is inserted after the line that it
follows there. A period that several reports show is taken from the newest of them, or from the oldest one for
``basis=original``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from finapi.core.days import shift
from finapi.core.errors import ApiError
from finapi.market.documents import filing_rows
from finapi.market.filings import filing_search
from finapi.market.statements import filed_statements, printed_lines
from finapi.web.html import html_tables, number_formats
from finapi.web.html.number_formats import ONES, Scale, format_money, format_number
from finapi.web.html.reason_legend import ReasonLegend, describe_reason
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
PERIODS = {"A": "Annual", "Q": "Quarterly"}
REPORT_COUNTS = {"1": "One report", "4": "Four reports", "10": "Ten reports"}
PARAMS = (
    *company_layout.PARAMS,
    Param("period", default="A", allowed=tuple(PERIODS)),
    Param("statement", default="income", allowed=tuple(STATEMENTS)),
    Param("reports", default="4", allowed=tuple(REPORT_COUNTS)),
)
MAX_COLUMNS = 10
MAX_INDENTATION = 6

# Columns belong together if their lengths differ by fewer days than this.
_LENGTH_TOLERANCE_DAYS = 20


class LineKey(NamedTuple):
    """The identity of a line in the statements of several reports."""

    concept: str
    unit: str | None
    is_opening_balance: bool
    occurrence: int  # 0 unless the same line appears several times in one statement.


class PeriodColumn(NamedTuple):
    """A column of the table: a period and the report that it is taken from."""

    first_day: str | None  # None for an instant.
    last_day: str
    accession_number: str
    form_type: str
    column_index: int  # The column's position in the report.
    report_index: int  # The report's position among the answers.


class LineValue(NamedTuple):
    """A value of a line as filed, or the reason code why it is missing.

    ``conflicting_values`` are other numbers that the filing states for the value.
    """

    text: str | None
    reason_code: str | None
    conflicting_values: Sequence[str] = ()


class JoinedLine(NamedTuple):
    """A line of the joined statement: the row as filed, and its values by report and column."""

    row: Mapping[str, Any]
    number: int  # The position among the rows of its report, from 1.
    values: dict[tuple[int, int], LineValue]

    def get_value(self, column: PeriodColumn) -> LineValue:
        """Return the line's value in a column."""
        return self.values.get((column.report_index, column.column_index), _NOT_REPORTED)


_NOT_REPORTED = LineValue(None, "not_reported")


# ---- the page


def show_statements(call: Call) -> Response:
    """Return the page at ``/company/{ticker}/statements``."""
    return company_layout.serve_tab(call, _build_calls, _render_page, _serve_csv, _find_period)


def _build_calls(call: Call, view: CompanyView) -> Sequence[ApiCall]:
    """Return one call for each period that has the statement, the newest first: of the report that counts for it.

    If there is none, the call for the company says why.
    """
    params = call.params
    statement = params["statement"]
    with call.app.db.read() as tx:
        periods = filed_statements.list_reports_by_period(
            tx,
            view.company.cik,
            int(params["reports"]),
            period=params["period"],
            as_of=view.as_of,
            basis=view.basis,
        )
        answers = [filed_statements.read_period_statements(tx, reports, (statement,)) for reports in periods]
    accessions = [
        filed_statement["accession"] for answer in answers for filed_statement in list(answer.statements.values())[:1]
    ]
    if not accessions:
        company_call = build_api_call(
            "/xbrl/companies/{ticker}/statements",
            ticker=view.url_name,
            period=params["period"],
            statement=statement,
        )
        return (company_call,)
    return [
        build_api_call("/xbrl/filing/{accession}/statements", accession=accession, statement=statement)
        for accession in accessions
    ]


def _find_period(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> str:
    """Return "Q" if only quarterly reports are stored, else the period of the call."""
    with call.app.db.read() as tx:
        stored_periods = [
            period
            for period in PERIODS
            if filed_statements.list_reports_by_period(tx, view.company.cik, 1, period=period, as_of=view.as_of)
        ]
    return "Q" if stored_periods == ["Q"] else str(call.params["period"])


def _render_page(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    chosen = {name: call.params[name] for name in ("period", "statement", "reports")}
    views = [
        company_layout.render_choice(view, "statements", label, chosen[param], choices, param, **chosen)
        for label, choices, param in (
            ("Statement", STATEMENTS, "statement"),
            ("Period", PERIODS, "period"),
            ("Reports", REPORT_COUNTS, "reports"),
        )
    ]
    kept_params = tuple(chosen)
    try:
        columns, lines = join_statements([api_call.get_answer(call) for api_call in api_calls], view.basis)
    except ApiError as error:
        return company_layout.render_missing_tab(call, view, "statements", error, kept_params)
    title = STATEMENTS[chosen["statement"]]
    body: Child
    if lines:
        body = render_statement_table(title, columns, lines)
        csv_url = view.get_url("statements", **chosen, format="csv")
    else:
        reason = describe_reason("not_in_filing")
        body = h.p(f"{title}: {reason.label.lower()}.", class_="note", role="status")
        csv_url = ""
    source = api_backed_pages.render_source_note(call, *api_calls, csv_url=csv_url)
    missing_reports = _render_missing_reports(call, view)
    return company_layout.render_tab(
        call,
        view,
        "statements",
        h.div(views, class_="views"),
        body,
        missing_reports,
        source,
        kept_params=kept_params,
    )


def _render_missing_reports(call: Call, view: CompanyView) -> Html | None:
    """Return a note that lists the newest reports whose statements are not stored, or None if all are stored."""
    forms = filed_statements.FORMS_BY_PERIOD[call.params["period"]]
    with call.app.db.read() as tx:
        question = filing_search.FilingQuery((view.company.cik,), forms, last_day=view.as_of)
        positions = filing_search.list_positions(tx, question, filing_search.PageRequest(MAX_COLUMNS))
        missing = []
        for position in positions:
            accession_number = filing_search.get_accession(position)
            if filed_statements.find_report_by_accession(tx, accession_number) is None:
                missing.append(accession_number)
        rows = filing_rows.list_filings(tx, missing)
    if not rows:
        return None
    links: list[Child] = []
    for row in rows:
        separator = ", " if links else ""
        name = f"{row['form_type']} of {row['filed_date']}"
        links.append([separator, h.a(name, href=f"/filing/{row['accession_number']}")])
    return h.section(
        h.h2("Reports without statements"),
        h.p("The statements of these reports are not stored: ", links, "."),
        h.p(api_backed_pages.render_load_hint(view.load_argument or "", pronoun="them")),
        class_="quiet",
    )


def _serve_csv(call: Call, view: CompanyView, api_calls: Sequence[ApiCall]) -> Response:
    columns, lines = join_statements([api_call.get_answer(call) for api_call in api_calls], view.basis)
    column_names = [_format_days(column) for column in columns]
    rows = []
    for line in lines:
        row = {"concept": line.row["concept"], "label": line.row["label"], "unit": line.row["unit"]}
        for name, column in zip(column_names, columns, strict=True):
            row[name] = line.get_value(column).text
        rows.append(row)
    url = view.get_url("statements", **call.params)
    return series_page.serve_rows_as_csv(["concept", "label", "unit", *column_names], rows, url)


# ---- joining the statements of several reports


def join_statements(
    answers: Sequence[Mapping[str, Any]], basis: str, *, all_columns: bool = False
) -> tuple[list[PeriodColumn], list[JoinedLine]]:
    """Return the columns, newest first, and the lines of the first statement in each answer.

    The answers begin with the newest report. Of each report the columns of the same length are taken, or all of them.
    """
    columns: dict[tuple[str | None, str], PeriodColumn] = {}
    lines: dict[LineKey, JoinedLine] = {}
    order: list[LineKey] = []
    for report_index, answer in enumerate(answers):
        statement = next(iter(answer["data"]["statements"].values()), None)
        if statement is None:
            continue
        report_columns = statement["columns"]
        for column_index in range(len(report_columns)) if all_columns else _list_similar_columns(report_columns):
            period = report_columns[column_index]
            key = (period["start_date"], period["end_date"])
            if basis == "original" or key not in columns:
                columns[key] = PeriodColumn(
                    first_day=period["start_date"],
                    last_day=period["end_date"],
                    accession_number=answer["meta"]["accession"],
                    form_type=answer["meta"]["form_type"],
                    column_index=column_index,
                    report_index=report_index,
                )
        _insert_lines(lines, order, statement["rows"], report_index)
    newest_first = sorted(columns.values(), key=lambda column: (column.last_day, column.first_day or ""), reverse=True)
    if not all_columns:
        newest_first = newest_first[:MAX_COLUMNS]
    shown_lines = [lines[key] for key in order if _is_shown(lines[key], newest_first)]
    return newest_first, shown_lines


def _list_similar_columns(columns: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indexes of the columns as long as the shortest one that ends last.

    In the report of a second quarter these are the quarters, not the half years.
    """
    if not columns:
        return []
    last_day = max(column["end_date"] for column in columns)
    length = min(_count_days(column) for column in columns if column["end_date"] == last_day)
    return [index for index, column in enumerate(columns) if abs(_count_days(column) - length) < _LENGTH_TOLERANCE_DAYS]


def _count_days(column: Mapping[str, Any]) -> int:
    if column["start_date"] is None:
        return 0
    return _count_days_between(column["start_date"], column["end_date"])


def _count_days_between(first_day: str, last_day: str) -> int:
    return (date.fromisoformat(last_day) - date.fromisoformat(first_day)).days


def _insert_lines(
    lines: dict[LineKey, JoinedLine], order: list[LineKey], rows: Sequence[Mapping[str, Any]], report_index: int
) -> None:
    """Add the rows of a report to the lines and their order. A new line goes after the row before it."""
    previous_position = -1
    keys_of_report = set[LineKey]()
    for number, row in enumerate(rows, 1):
        key = LineKey(row["concept"], row["unit"], _is_opening_balance(row), 0)
        while key in keys_of_report:
            key = key._replace(occurrence=key.occurrence + 1)
        keys_of_report.add(key)
        if key not in lines:
            order.insert(previous_position + 1, key)
            lines[key] = JoinedLine(row, number, {})
        previous_position = order.index(key)
        conflicting_values = row.get("conflicting_values") or [None] * len(row["values"])
        cells = zip(row["values"], row["marks"], conflicting_values, strict=True)
        for column_index, (text, mark, other_values) in enumerate(cells):
            reason_code = mark["reason"] if mark else None
            lines[key].values[report_index, column_index] = LineValue(text, reason_code, other_values or ())


def _is_opening_balance(row: Mapping[str, Any]) -> bool:
    return (row["preferred_label"] or "").endswith("periodStartLabel")


def _is_shown(line: JoinedLine, columns: Sequence[PeriodColumn]) -> bool:
    return bool(line.row["abstract"]) or any(line.get_value(column) != _NOT_REPORTED for column in columns)


# ---- the table


def render_statement_table(
    caption: str,
    columns: Sequence[PeriodColumn],
    lines: Sequence[JoinedLine],
    base_url: str = "",
    *,
    with_anchors: bool = False,
) -> Html:
    """Return the lines under their periods. ``base_url`` is the company's path, "" on one of its own pages.

    ``with_anchors`` gives each cell the id that the API's links to cells have. The columns must be of one report.
    """
    units = [line.row["unit"] for line in lines if line.row["unit"]]
    currency = max(set(units), key=units.count) if units else ""
    amounts = []
    for line in lines:
        if line.row["unit"] == currency:
            texts = [line.get_value(column).text for column in columns]
            amounts += [Decimal(text) for text in texts if text is not None]
    scale = number_formats.choose_scale(amounts)
    legend = ReasonLegend()
    rows = [_render_line(line, columns, currency, scale, legend, base_url, with_anchors=with_anchors) for line in lines]
    headings = [h.th(h.span("Line", class_="unseen"), scope="col")]
    for column in columns:
        filing_url = f"/filing/{column.accession_number}"
        filing_link = h.a(column.form_type, href=filing_url, title=column.accession_number)
        heading = printed_lines.format_column({"start_date": column.first_day, "end_date": column.last_day})
        headings.append(h.th(heading, h.small(filing_link), scope="col"))
    full_caption = f"{caption} as filed. {scale.describe(currency)}, unless a line gives another unit."
    table = html_tables.render_table(full_caption, headings, rows, class_="fig filed", label=caption)
    return h.section(table, legend.render())


def _format_days(column: PeriodColumn) -> str:
    """Return "2024-01-01 to 2024-12-31", or the day of an instant."""
    return column.last_day if column.first_day is None else f"{column.first_day} to {column.last_day}"


def _render_line(
    line: JoinedLine,
    columns: Sequence[PeriodColumn],
    currency: str,
    scale: Scale,
    legend: ReasonLegend,
    base_url: str,
    *,
    with_anchors: bool,
) -> Html:
    row = line.row
    label = row["label"] or row["concept"].partition(":")[2]
    level_class = f"l{min(row['depth'], MAX_INDENTATION)}"
    if row["abstract"]:
        title = label.removesuffix(" [Abstract]")
        return h.tr(h.th(title, scope="row", colspan=len(columns) + 1, class_=level_class), class_="heading")
    has_other_unit = row["unit"] not in (currency, None)
    unit_note = has_other_unit and h.small(" ", row["unit"])
    name = h.th(label, unit_note, scope="row", class_=level_class, title=row["concept"])
    is_total = (row["preferred_label"] or "").lower().endswith("totallabel")
    line_scale = ONES if has_other_unit else scale
    cells = []
    for column in columns:
        fact_day = column.last_day
        if column.first_day is not None and _is_opening_balance(row):
            fact_day = shift(column.first_day, -1)
        fact_url = f"{base_url}fact/{row['concept']}?end={fact_day}"
        anchor = None
        if with_anchors:
            anchor = filed_statements.build_cell_anchor(line.number, column.column_index + 1)
        cells.append(_render_cell(line.get_value(column), fact_url, row, line_scale, legend, anchor))
    return h.tr(name, cells, class_="total" if is_total else None)


def _render_cell(
    line_value: LineValue,
    fact_url: str,
    row: Mapping[str, Any],
    scale: Scale,
    legend: ReasonLegend,
    anchor: str | None,
) -> Html:
    """Return the cell of a value, or of the reason why it is missing. ``anchor`` is the id of a cell with a value."""
    if line_value.text is None:
        return legend.render_missing_cell(line_value.reason_code or "not_reported")
    try:
        amount = Decimal(line_value.text)
    except ArithmeticError:
        return h.td(line_value.text, id=anchor)
    # A negated line is printed with the opposite sign of the fact, as in the filing itself.
    if row["negated"]:
        amount = -amount
    needs_decimals = not scale.exponent and amount != amount.to_integral_value()
    text = format_number(amount) if needs_decimals else format_money(amount, scale)
    link = h.a(text, href=fact_url)
    if line_value.conflicting_values:
        sign = -1 if row["negated"] else 1
        other_values = ", ".join(format_number(sign * Decimal(value)) for value in line_value.conflicting_values)
        return html_tables.render_figure_cell([link, h.small(" also filed as ", other_values)], amount, id=anchor)
    return html_tables.render_figure_cell(link, amount, id=anchor)
