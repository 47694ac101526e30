"""The roles of labels: which of a concept's labels a line of a statement shows, and whether its value is negated.

A concept may have several labels, each with a role: the standard label "Net income", the total label "Total net
income", and so on. A presentation arc names the role that it prefers. A negated role, such as ``negatedLabel``, means
that the value is shown with the opposite sign; the value itself does not change (DECISIONS 14). The same role is spelt
differently in the filings of 2009 and 2010.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class _Role(NamedTuple):
    kind: str
    negated: bool


_XBRL_2003 = "http://www.xbrl.org/2003/role/"
_XBRL_2009 = "http://www.xbrl.org/2009/role/"
_US_GAAP_2008 = "http://xbrl.us/us-gaap/role/label/"  # The US GAAP taxonomies of 2008 and 2009.

STANDARD_LABEL = _XBRL_2003 + "label"

# XBRL 2.1 table 8, and negated-2009-12-16, net-2009-12-16 and negated-2008-03-31 of the link role registry. The plain
# role of a kind is before the negated ones: find_label uses the first that the concept has.
_ROLES: dict[str, _Role] = {
    STANDARD_LABEL: _Role("standard", False),
    _XBRL_2009 + "negatedLabel": _Role("standard", True),
    _US_GAAP_2008 + "negated": _Role("standard", True),
    _XBRL_2003 + "terseLabel": _Role("terse", False),
    _XBRL_2009 + "negatedTerseLabel": _Role("terse", True),
    _XBRL_2003 + "verboseLabel": _Role("verbose", False),
    _XBRL_2003 + "totalLabel": _Role("total", False),
    _XBRL_2009 + "negatedTotalLabel": _Role("total", True),
    _US_GAAP_2008 + "negatedTotal": _Role("total", True),
    _XBRL_2009 + "netLabel": _Role("net", False),
    _XBRL_2009 + "negatedNetLabel": _Role("net", True),
    _XBRL_2003 + "periodStartLabel": _Role("periodStart", False),
    _XBRL_2009 + "negatedPeriodStartLabel": _Role("periodStart", True),
    _US_GAAP_2008 + "negatedPeriodStart": _Role("periodStart", True),
    _XBRL_2003 + "periodEndLabel": _Role("periodEnd", False),
    _XBRL_2009 + "negatedPeriodEndLabel": _Role("periodEnd", True),
    _US_GAAP_2008 + "negatedPeriodEnd": _Role("periodEnd", True),
    _XBRL_2003 + "positiveLabel": _Role("positive", False),
    _XBRL_2003 + "positiveTerseLabel": _Role("positiveTerse", False),
    _XBRL_2003 + "positiveVerboseLabel": _Role("positiveVerbose", False),
    _XBRL_2003 + "negativeLabel": _Role("negative", False),
    _XBRL_2003 + "negativeTerseLabel": _Role("negativeTerse", False),
    _XBRL_2003 + "negativeVerboseLabel": _Role("negativeVerbose", False),
    _XBRL_2003 + "zeroLabel": _Role("zero", False),
    _XBRL_2003 + "zeroTerseLabel": _Role("zeroTerse", False),
    _XBRL_2003 + "zeroVerboseLabel": _Role("zeroVerbose", False),
    _XBRL_2003 + "documentation": _Role("documentation", False),
}
_OTHER_ROLE = _Role("other", False)


def _group_roles_by_kind() -> dict[str, list[str]]:
    roles_by_kind: dict[str, list[str]] = {}
    for uri, role in _ROLES.items():
        roles_by_kind.setdefault(role.kind, []).append(uri)
    return roles_by_kind


_ROLES_BY_KIND = _group_roles_by_kind()


def is_negated(role: str | None) -> bool:
    """Return True if a preferred label's role shows the value with the opposite sign."""
    return role is not None and _ROLES.get(role, _OTHER_ROLE).negated


def get_label_kind(role: str | None) -> str:
    """Return the kind of a label role, which is the same for all its spellings, negated or not.

    The kinds are ``standard`` (also for None, a line without a preferred label), ``terse``, ``verbose``, ``total``,
    ``net``, ``periodStart``, ``periodEnd``, ``documentation``, the ``positive``, ``negative`` and ``zero`` ones, and
    ``other`` for a role that is in neither XBRL 2.1 nor the US GAAP taxonomies.
    """
    return "standard" if role is None else _ROLES.get(role, _OTHER_ROLE).kind


def find_label(labels_of_concept: Mapping[str, str], preferred: str | None) -> str | None:
    """Return the label of a line with this preferred role (None for the standard label), or None if there is none.

    ``labels_of_concept`` maps full role URIs to texts. As in the SEC's renderer, the preferred role comes first, then
    the other roles of its kind, then the standard label.
    """
    preferred = STANDARD_LABEL if preferred is None else preferred
    for role in (preferred, *_ROLES_BY_KIND.get(get_label_kind(preferred), ()), STANDARD_LABEL):
        if role in labels_of_concept:
            return labels_of_concept[role]
    return None
