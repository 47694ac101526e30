"""The families of forms that finapi parses beyond their headers: one table row for each kind of filing with XML.

Ingest, full submissions, the poller, packs, the demo, feeds and webhooks read this table. A new form is one more row
here, and the module that the row names (``market/documents/families.py`` describes its contents).
"""

from __future__ import annotations

from typing import NamedTuple


class RootElement(NamedTuple):
    """The root element of a kind of document. The start of the document contains one of ``marks``, if any."""

    element: bytes
    kind: str
    marks: tuple[bytes, ...] = ()


class FormFamily(NamedTuple):
    """A kind of filing.

    - ``module`` is the module that parses and stores the filings.
    - ``kinds`` are the kinds of their documents, and ``roots`` the root elements by which these are recognised.
    - A filing has at least one document of ``required_kinds``.
    - ``data_set_kinds`` are the kinds of the tables in which the SEC publishes the same filings in bulk.
    - ``fetched_forms`` are the form types whose documents are fetched from EDGAR for all filers, and
      ``followed_forms`` those that are fetched for followed companies only.
    - A new filing is announced as an event of ``event_types`` in ``feed``, and as a webhook of ``topic``.
    - Of ``header_only_forms`` only the header of the submission is parsed.
    - If ``reads_series`` is True, the family stores the fund series that the header of any submission lists.
    """

    name: str
    module: str
    kinds: tuple[str, ...]
    required_kinds: tuple[str, ...]
    roots: tuple[RootElement, ...]
    data_set_kinds: tuple[str, ...] = ()
    fetched_forms: tuple[str, ...] = ()
    followed_forms: tuple[str, ...] = ()
    feed: str = "main-api"
    event_types: tuple[str, ...] = ()
    topic: str | None = None
    header_only_forms: tuple[str, ...] = ()
    reads_series: bool = False


XBRL = FormFamily(
    name="reports",
    module="finapi.market.statements.xbrl_intake",
    kinds=(
        "xbrl-instance",
        "xbrl-schema",
        "xbrl-presentation",
        "xbrl-calculation",
        "xbrl-definition",
        "xbrl-label",
        "xbrl-linkbase",
        "inline-html",
    ),
    required_kinds=("xbrl-instance", "inline-html"),
    roots=(RootElement(b"xbrl", "xbrl-instance"), RootElement(b"schema", "xbrl-schema", (b"http://www.xbrl.org/",))),
    data_set_kinds=("fsds-sub", "fsds-num", "fsds-pre", "fsds-tag"),
    event_types=("data_ready", "restatement_detected"),
)
OWNERSHIP = FormFamily(
    name="insiders",
    module="finapi.market.insiders.insider_intake",
    kinds=("ownership",),
    required_kinds=("ownership",),
    roots=(RootElement(b"ownershipDocument", "ownership"),),
    data_set_kinds=(
        "insider-set-submission",
        "insider-set-owner",
        "insider-set-nonderiv-trans",
        "insider-set-nonderiv-holding",
        "insider-set-deriv-trans",
        "insider-set-deriv-holding",
        "insider-set-footnotes",
        "insider-set-signature",
    ),
    fetched_forms=("3", "3/A", "4", "4/A", "5", "5/A"),
    feed="insider-api",
    event_types=("insider_transaction",),
    topic="insider.transaction.created",
)
THIRTEEN_F = FormFamily(
    name="holdings",
    module="finapi.market.holdings.holdings_intake",
    kinds=("13f-cover", "13f-table"),
    required_kinds=("13f-cover", "13f-table"),
    roots=(
        # Other forms have the same root element: D, N-PORT, 144, 13G.
        RootElement(b"edgarSubmission", "13f-cover", (b"edgar/thirteenffiler", b"<submissionType>13F")),
        RootElement(b"informationTable", "13f-table"),
    ),
    fetched_forms=("13F-HR", "13F-HR/A", "13F-CTR", "13F-CTR/A"),
    feed="13f-live",
    event_types=("13f_filing",),
    topic="13f.holdings.updated",
)
SCHEDULES = FormFamily(
    name="ownership",
    module="finapi.market.ownership.schedule_family",
    kinds=("schedule-13",),
    required_kinds=("schedule-13",),
    roots=(RootElement(b"edgarSubmission", "schedule-13", (b"edgar/schedule13", b"submissionType>SCHEDULE 13")),),
    fetched_forms=("SCHEDULE 13D", "SCHEDULE 13D/A", "SCHEDULE 13G", "SCHEDULE 13G/A"),
    event_types=("beneficial_ownership",),
    topic="ownership.filing.created",
    header_only_forms=("SC 13D", "SC 13D/A", "SC 13G", "SC 13G/A"),
)
SALE_NOTICES = FormFamily(
    name="sale-notices",
    module="finapi.market.ownership.sale_notice_store",
    kinds=("form-144",),
    required_kinds=("form-144",),
    roots=(RootElement(b"edgarSubmission", "form-144", (b"sec.gov/edgar/ownership", b"submissionType>144")),),
    fetched_forms=("144", "144/A"),
    feed="insider-api",
    event_types=("proposed_sale",),
    topic="insider.proposed_sale.created",
)

FUND_REPORTS = FormFamily(
    name="fund-reports",
    module="finapi.market.funds.fund_report_store",
    kinds=("nport",),
    required_kinds=("nport",),
    roots=(RootElement(b"edgarSubmission", "nport", (b"sec.gov/edgar/nport", b"submissionType>NPORT-P")),),
    # All funds together file more than ten gigabytes in a quarter, so only those of followed registrants are fetched.
    followed_forms=("NPORT-P", "NPORT-P/A"),
    event_types=("fund_report",),
    topic="nport.report.created",
    reads_series=True,
)

# In the order in which the documents of a folder are stored.
FAMILIES = (OWNERSHIP, THIRTEEN_F, SCHEDULES, SALE_NOTICES, FUND_REPORTS, XBRL)

TOPICS = tuple(family.topic for family in FAMILIES if family.topic)
FETCHED_FORMS = frozenset(form for family in FAMILIES for form in family.fetched_forms)
# Those that are fetched for followed companies without a choice of forms.
FOLLOWED_FORMS = FETCHED_FORMS.union(form for family in FAMILIES for form in family.followed_forms)
