"""The views that the SQL proxy may read (``sql/schema.sql``), with their columns and descriptions."""

from __future__ import annotations

from typing import NamedTuple


class View(NamedTuple):
    """A view that callers may query."""

    # Separated by ", ", in the order of the view.
    columns: str
    description: str

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the view."""
        return tuple(self.columns.split(", "))


# In these views a CIK is a number, and prices and figures are binary floating point numbers for calculations in SQL.
# The endpoints for prices and facts return exact decimals.
VIEWS: dict[str, View] = {
    "company": View("cik, name, sic, state, fiscal_year_end, entity_type", "companies and people"),
    "former_name": View("cik, name, from_date, to_date", "former names of companies"),
    "ticker": View("symbol, cik, exchange, last_seen", "tickers, current and former"),
    "filing": View(
        "accession_number, cik, form_type, filed_at, accepted_at, period_of_report, items, primary_document, size, "
        "is_xbrl",
        "filings, each with its main company",
    ),
    "filing_party": View("accession_number, cik", "every company and person of a filing"),
    "price": View(
        "symbol, date, open, high, low, close, volume, synthetic, price_doubt",
        "prices by day, as the files have them; price_doubt says why a day may be wrong",
    ),
    "price_action": View("symbol, date, kind, value", "splits (new shares for one old) and dividends"),
    "fact": View(
        "cik, accession_number, form_type, filed_at, concept, unit, start_date, end_date, days, value, number",
        "tagged figures without dimensions; value is the text as tagged, number is value as a number to calculate with",
    ),
    "insider": View("cik, name, is_entity", "people and entities that report as insiders"),
    "insider_transaction": View(
        "accession_number, seq, form_type, filed_at, issuer_cik, symbol, insider_cik, insider_name, derivative, "
        "security_title, transaction_date, code, standard_type, acquired_disposed, shares, price, value, "
        "shares_following, ownership, nature, rule_10b5_1, value_doubt, same_trade_as",
        "transactions of insiders as last amended, under their first owner; rows with same_trade_as repeat another's",
    ),
    "beneficial_ownership": View(
        "accession_number, form_type, filed_at, event_date, issuer_cik, issuer_name, cusip, seq, is_lead, holder_cik, "
        "holder_name, member, shares, percent_of_class, sole_voting, shared_voting, is_current",
        "persons of Schedules 13D and 13G; those of one filing mostly report the same shares, and is_lead is the one "
        "who reports most: do not add the rows up, count only is_lead",
    ),
    "proposed_sale": View(
        "accession_number, form_type, filed_at, issuer_cik, issuer_name, filer_cik, seller, seq, security_title, "
        "broker, shares, value, approximate_sale_date",
        "lines of Forms 144: what is to be sold",
    ),
    "fund": View(
        "cik, name, filing_count, latest_period, latest_filed_at, latest_value", "managers that file Form 13F"
    ),
    "fund_quarter": View(
        "fund_cik, period, accession_number, filed_at, complete, value, position_count, option_count",
        "quarters of funds; complete says that the table has as many rows as its cover",
    ),
    "security": View(
        "cusip, issuer, title, security_group, symbol, cik, evidence",
        "securities by CUSIP; symbol and cik are null if unknown",
    ),
    "holding": View(
        "fund_cik, period, cusip, issuer, symbol, kind, shares, value, status, previous_shares, previous_value",
        "what funds held at the end of a quarter, in dollars, and what they no longer held (closed)",
    ),
    "fund_report": View(
        "accession_number, form_type, filed_at, cik, registrant_name, series_id, series_name, period, net_assets, "
        "total_assets, total_liabilities, position_count, is_latest",
        "reports of mutual funds and ETFs (Form N-PORT) as last amended; is_latest is 1 for the latest of each fund",
    ),
    "fund_position": View(
        "accession_number, seq, series_id, period, name, title, cusip, isin, balance, units, currency, value, percent, "
        "payoff_profile, asset_category, issuer_category, country, derivative_category",
        "positions in those reports: value in dollars, percent of net assets; both may be negative",
    ),
}


def describe_views() -> str:
    """Return all views with their columns and descriptions as one text for the OpenAPI document."""
    return "; ".join(f"{name}({view.columns}): {view.description}" for name, view in VIEWS.items())
