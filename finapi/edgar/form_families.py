"""The forms that finapi reads more of than their headers: a line for each kind of filing that has documents in XML.

Ingest, full submissions, the poller, packs, the demo, feeds and webhooks read this table. A new form is its line here
and the module that the line names (``market/documents/families.py`` says what stands in it).
"""

from __future__ import annotations

from typing import NamedTuple


class RootElement(NamedTuple):
    """The root element of a kind of document; with ``marks``, one of them stands in the document's beginning."""

    element: bytes
    kind: str
    marks: tuple[bytes, ...] = ()


class FormFamily(NamedTuple):
    """One kind of filing.

    ``module`` parses and stores. ``kinds`` are those of its documents, ``roots`` the root elements that show them,
    each with marks of which one must follow; a filing has at least one document of ``required``. ``data_sets`` are the
    kinds of the SEC's bulk tables. ``fetched`` are the form types whose documents are fetched whoever files them. Its
    news stand in ``feed`` as ``events`` and go to webhooks as ``topic``. Of the form types ``headed`` the submission's
    header is all that is read.
    """

    name: str
    module: str
    kinds: tuple[str, ...]
    required_kinds: tuple[str, ...]
    roots: tuple[RootElement, ...]
    data_set_kinds: tuple[str, ...] = ()
    fetched_forms: tuple[str, ...] = ()
    feed: str = "main-api"
    event_types: tuple[str, ...] = ()
    topic: str | None = None
    header_only_forms: tuple[str, ...] = ()


XBRL = FormFamily(
    name="reports",
    module="finapi.market.statements.intake",
    kinds=(
        "xbrl-instance",
        "xbrl-schema",
        "xbrl-presentation",
        "xbrl-calculation",
        "xbrl-definition",
        "xbrl-label",
        "xbrl-linkbase",
    ),
    required_kinds=("xbrl-instance",),
    roots=(RootElement(b"xbrl", "xbrl-instance"), RootElement(b"schema", "xbrl-schema", (b"http://www.xbrl.org/",))),
    data_set_kinds=("fsds-sub", "fsds-num", "fsds-pre", "fsds-tag"),
    event_types=("data_ready", "restatement_detected"),
)
OWNERSHIP = FormFamily(
    name="insiders",
    module="finapi.market.insiders.intake",
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
    module="finapi.market.holdings.intake",
    kinds=("13f-cover", "13f-table"),
    required_kinds=("13f-cover", "13f-table"),
    roots=(
        # The same root serves other forms: D, N-PORT, 144, 13G.
        RootElement(b"edgarSubmission", "13f-cover", (b"edgar/thirteenffiler", b"<submissionType>13F")),
        RootElement(b"informationTable", "13f-table"),
    ),
    fetched_forms=("13F-HR", "13F-HR/A"),
    feed="13f-live",
    event_types=("13f_filing",),
    topic="13f.holdings.updated",
)
SCHEDULES = FormFamily(
    name="ownership",
    module="finapi.market.ownership.intake",
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
    module="finapi.market.ownership.notices",
    kinds=("form-144",),
    required_kinds=("form-144",),
    roots=(RootElement(b"edgarSubmission", "form-144", (b"sec.gov/edgar/ownership", b"submissionType>144")),),
    fetched_forms=("144", "144/A"),
    feed="insider-api",
    event_types=("proposed_sale",),
    topic="insider.proposed_sale.created",
)

# In the order in which a folder's documents are stored.
FAMILIES = (OWNERSHIP, THIRTEEN_F, SCHEDULES, SALE_NOTICES, XBRL)

TOPICS = tuple(form.topic for form in FAMILIES if form.topic)
FETCHED_FORMS = frozenset(form_type for form in FAMILIES for form_type in form.fetched_forms)
DOCUMENT_KINDS = frozenset(kind for form in FAMILIES for kind in (*form.kinds, *form.data_set_kinds))
