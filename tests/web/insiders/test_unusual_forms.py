"""Unusual ownership forms: titles in the remarks, impossible amounts, share classes, and unticked boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.edgar import ownership_forms
from finapi.market.documents.metadata import DOCUMENT_EVIDENCE, FilingMetadata
from finapi.market.insiders import insider_store
from finapi.market.reference import companies
from finapi.web.http.route import INSIDERS
from tests.client import Client
from tests.conftest import NOW
from tests.support.ownership_xml import ANN, BEN, ISSUER, form, holding, owner, transaction

FILED = "2026-01-22"


@pytest.fixture
def api(make_app: Callable[..., App]) -> Client:
    app = make_app(insider_per_minute_paid=100_000)
    return Client(app, users.create(app, "ann@example.com", "pro", NOW).api_key)


def store_forms(
    api: Client, *documents: bytes, filed: str | None = FILED, accession: str = "0001234567-26-{:06}"
) -> None:
    for number, data in enumerate(documents, 1):
        filing = FilingMetadata(accession.format(number), DOCUMENT_EVIDENCE, filed_at=filed)
        with api.app.db.write() as tx:
            insider_store.upsert_form(tx, ownership_forms.parse(data, "form.xml"), filing, NOW)


def get_json(api: Client, path: str, **query: Any) -> Any:
    answer = api.get(INSIDERS + path, query=query)
    assert answer.status == 200, answer.json
    return answer.json


def only(api: Client, **query: Any) -> Any:
    (row,) = get_json(api, "/transactions/latest", **query)["data"]
    return row


@pytest.mark.parametrize(
    ("title", "remarks", "expected_title", "standard"),
    [
        ("See Remarks", "Executive Vice President and Chief Financial Officer.", "EVP", "Chief Financial Officer"),
        ("(see remarks below)", "Officer Title: SVP, Sales; and more.", "SVP, Sales", "Senior Vice President"),
        ("See remarks", "Exhibit 24 is attached.", "See remarks", "Other Officer"),
        ("Treasurer", "The President signed.", "Treasurer", "Treasurer"),
    ],
)
def test_a_title_that_refers_to_the_remarks_is_read_there(
    api: Client, title: str, remarks: str, expected_title: str, standard: str
) -> None:
    store_forms(api, form(transaction(), owners=(owner(title=title),), remarks=remarks))
    row = only(api)
    expected_title = (
        "Executive Vice President and Chief Financial Officer" if expected_title == "EVP" else expected_title
    )
    assert (row["insider_title"], row["officer_title_standardized"]) == (expected_title, standard)
    assert row["is_c_suite"] is (standard == "Chief Financial Officer")


def test_impossible_amounts_and_dates_are_marked_and_not_counted(api: Client) -> None:
    store_forms(
        api,
        form(transaction("P", "-100", "10", date="2026-01-20"), period="2026-01-20"),
        form(transaction("P", "100", "10", date="3025-01-20"), period="2026-01-20"),
    )
    later, negative = get_json(api, "/transactions/latest")["data"]
    assert (later["transaction_date"], later["marks"]["transaction_date"]["reason"]) == (None, "out_of_range")
    assert (negative["shares"], negative["marks"]["shares"]["reason"]) == (None, "negative")
    assert negative["marks"]["transaction_value"]["reason"] == "shares_missing"
    summary = get_json(api, "/summary/by-ticker/BRK-B", filed_at_days=3650)["data"]
    assert summary["total_buy_value"] == 1000
    # The view of the form shows the filed values.
    filed_transaction = get_json(api, "/filings/0001234567-26-000001")["data"]["nonDerivativeTable"]["transactions"][0]
    assert filed_transaction["transactionAmounts"]["transactionShares"]["value"] == -100


def test_sums_are_exact(api: Client) -> None:
    rows = [transaction("P", "1", price, date="2026-01-20") for price in ("10.40", "20.40", "30.40")]
    store_forms(api, form(*rows, period="2026-01-20"))
    assert get_json(api, "/summary/by-ticker/BRK-B", filed_at_days=3650)["data"]["total_buy_value"] == 61
    values = [row["transaction_value"] for row in get_json(api, "/transactions/latest")["data"]]
    assert sum(values) == 60
    assert get_json(api, f"/insider/{ANN[0]}")["total_buy_value_365d"] == 61


def test_shares_of_different_classes_are_not_added(api: Client) -> None:
    store_forms(api, form(transaction(after="1100"), holding("500"), holding("70", title="Series A Preferred")))
    summary = get_json(api, f"/holdings/by-insider/{ANN[0]}")["meta"]["ownership_summary"][ISSUER]
    assert [summary[name] for name in ("total_shares_direct", "total_shares_indirect", "total_beneficial")] == [
        None
    ] * 3
    assert [(share_class["security_title"], share_class["total_beneficial"]) for share_class in summary["classes"]] == [
        ("Common Stock", 1600),
        ("Series A Preferred", 70),
    ]
    assert get_json(api, "/holdings/by-ticker/BRK-B")["meta"]["summary"]["total_shares_direct"] is None


def test_a_role_is_current_for_two_years_or_until_its_stated_end(api: Client) -> None:
    store_forms(
        api,
        form(transaction(date="2015-03-02"), period="2015-03-02", issuer=("0000000007", "Old Corp", "OLD")),
        form(transaction(date="2026-01-20"), period="2026-01-20", issuer=("0000000008", "New Corp", "NEW")),
        form(
            transaction(date="2026-01-20"),
            period="2026-01-20",
            issuer=("0000000009", "Left Corp", "LEFT"),
            extra="<notSubjectToSection16>1</notSubjectToSection16>",
        ),
    )
    insider = get_json(api, f"/insider/{ANN[0]}")
    assert [role["company"] for role in insider["current_roles"]] == ["New Corp"]
    assert sorted(role["company"] for role in insider["former_roles"]) == ["Left Corp", "Old Corp"]


def test_an_unticked_relationship_is_false_in_forms_and_lists(api: Client) -> None:
    store_forms(api, form(transaction(), owners=(owner(BEN, flags="director"),)))
    (reporting_owner,) = get_json(api, "/filings/0001234567-26-000001")["data"]["reportingOwners"]
    assert reporting_owner["relationship"] == {
        "isOfficer": False,
        "officerTitle": None,
        "isDirector": True,
        "isTenPercentOwner": False,
        "isOther": False,
        "otherText": None,
    }
    assert only(api)["is_officer"] is False


def test_sql_returns_the_transactions_and_tickers_of_the_lists(api: Client) -> None:
    store_forms(api, form(transaction("P", "5", "2"), issuer=("0000000007", "Letters Inc", "LTRC")))
    store_forms(api, form(transaction("S", "7", "3")), filed=None, accession="unfiled-00000000000000{:02}")
    with api.app.db.write() as tx:
        companies.upsert_tickers(tx, 7, [("LTRL", None), ("LTRC", None)], companies.FROM_LIST)
        tx.run("bump_data_version")
    listed_rows = get_json(api, "/transactions/latest", limit=10)["data"]
    listed_rows += get_json(api, "/transactions/by-ticker/BRK-B")["data"]
    query = "SELECT symbol, shares, accession_number FROM insider_transaction ORDER BY shares"
    answer = api.post("/api/v1/sql-proxy", {"query": query})
    assert answer.status == 200, answer.json
    rows = [(row["symbol"], row["shares"], row["accession_number"]) for row in answer.json["data"]]
    assert rows == [(row["ticker"], row["shares"], row["accession_number"]) for row in listed_rows]
    assert [row[0] for row in rows] == ["LTRL", "BRK-B"]
