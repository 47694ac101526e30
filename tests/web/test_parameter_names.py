"""The names of parameters: unknown ones are refused or reported, and spellings of frameworks are accepted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.web.http.names import HARMLESS_NAMES, MAX_REPORTED_NAMES, is_harmless
from finapi.web.routes import ROUTES
from tests.client import PASSWORD, Answer, Client
from tests.conftest import ACCOUNTS, NOW, SHARED
from tests.support.case_tables import run_each_case

API = "/api/v1"


def open_client(app: App) -> Client:
    return Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)


@pytest.fixture
def api(make_app: Callable[..., App]) -> Client:
    return open_client(make_app(**ACCOUNTS))


@pytest.fixture
def reporting_api(make_app: Callable[..., App]) -> Client:
    return open_client(make_app(**ACCOUNTS, unknown_parameters="report"))


def get_refusal(answer: Answer) -> dict[str, Any]:
    assert answer.verdict[:2] == (400, "INVALID_PARAM"), answer.body
    details: dict[str, Any] = answer.json["details"]
    return details


@run_each_case(
    "path, unknown_name, nearest",
    [
        ("/xbrl/screen?grossmargin_gt=0.9", "grossmargin_gt", "gross_margin_gt"),
        ("/xbrl/timeseries?symbol=AAPL", "symbol", "ticker"),
        ("/sec/filings?tickr=AAPL", "tickr", "ticker"),
        ("/sec/filings?per_page=10", "per_page", "limit"),
        ("/insiders/transactions/latest?minvalue=1", "minvalue", "min_value"),
        ("/status/history?day=3", "day", "days"),
    ],
)
def test_an_unknown_name_is_400_with_the_nearest(api: Client, path: str, unknown_name: str, nearest: str) -> None:
    details = get_refusal(answer := api.get(API + path))
    assert (details["param"], details["nearest"][0]) == (unknown_name, nearest)
    assert answer.json["message"].startswith(f"{unknown_name} is not a parameter of this call; did you mean {nearest}")
    assert nearest in details["allowed"]


def test_a_name_like_no_other_is_400_without_a_suggestion(api: Client) -> None:
    answer = api.get(f"{API}/sec/filings?colour=red")
    assert get_refusal(answer)["nearest"] == []
    assert answer.json["message"] == "colour is not a parameter of this call."


def test_a_refused_name_is_refunded(api: Client) -> None:
    balance = api.get(f"{API}/account/balance").json["current_balance"]
    assert api.get(f"{API}/sec/filings?tickr=AAPL").headers["x-tokens-charged"] == "0"
    assert api.get(f"{API}/account/balance").json["current_balance"] == balance


def test_a_wrong_value_is_named_before_an_unknown_name(api: Client) -> None:
    assert get_refusal(api.get(f"{API}/sec/filings?from_date=x&colour=red"))["param"] == "from_date"


def test_unknown_members_of_a_body_are_400(api: Client) -> None:
    details = get_refusal(api.post(f"{API}/cusip/batch", {"cusips": ["037833100"], "cusip": "037833100"}))
    assert (details["param"], details["nearest"]) == ("cusip", ["cusips"])
    details = get_refusal(api.post(f"{API}/form-13d", {"query": {"ticker": "AAPL", "minOwnershp": 5}}))
    assert details["param"] == "query.minOwnershp"


@run_each_case("name", ["_", "utm_source", "UTM_Campaign", "callback", "pretty", "fbclid"])
def test_harmless_names_change_nothing(api: Client, name: str) -> None:
    plain, harmless = (api.get(f"{API}/sec/forms{query}") for query in ("", f"?{name}=1"))
    assert harmless.headers["etag"] == plain.headers["etag"]
    assert "x-ignored-parameters" not in harmless.headers


def test_harmless_names_are_published(api: Client) -> None:
    assert api.get(f"{API}/policy").json["data"]["parameters"] == {
        "unknown_names": "refuse",
        "harmless_names": list(HARMLESS_NAMES),
    }
    assert not is_harmless("ticker")
    assert not is_harmless("utm")


@run_each_case("name", ["Form_Type", "FORM_TYPE", "form_type[]", "Form_Type[]"])
def test_names_in_another_case_or_with_brackets_are_accepted(api: Client, name: str) -> None:
    plain, other = (api.get(f"{API}/sec/filings?{spelling}=10-K") for spelling in ("form_type", name))
    assert (plain.status, other.headers["etag"]) == (200, plain.headers["etag"])


def test_brackets_repeat_a_list(api: Client) -> None:
    plain = api.get(f"{API}/sec/filings?form_type=10-K,8-K")
    brackets = api.get(f"{API}/sec/filings?form_type[]=10-K&form_type[]=8-K")
    assert (plain.status, brackets.headers["etag"]) == (200, plain.headers["etag"])


def test_two_spellings_of_one_name_are_repeated_values(api: Client) -> None:
    answer = api.get(f"{API}/sec/filings?limit=1&LIMIT=2")
    assert get_refusal(answer)["param"] == "limit"
    assert "more than once" in answer.json["message"]


def test_reported_names_are_in_meta_and_the_header(reporting_api: Client) -> None:
    answer = reporting_api.get(f"{API}/sec/forms?colour=red&tickr=%C3%A4")
    assert (answer.status, answer.json["meta"]["ignored"]) == (200, ["colour", "tickr"])
    assert answer.headers["x-ignored-parameters"] == "colour,tickr"
    assert "ignored" not in reporting_api.get(f"{API}/sec/forms").json["meta"]
    csv = reporting_api.get(f"{API}/sec/forms?colour=red&format=csv")
    assert (csv.status, csv.headers["x-ignored-parameters"]) == (200, "colour")


def test_reported_names_of_a_body_are_in_meta(reporting_api: Client) -> None:
    answer = reporting_api.post(f"{API}/cusip/batch", {"cusips": ["037833100"], "cusip": 1})
    assert (answer.status, answer.headers["x-ignored-parameters"]) == (200, "cusip")
    assert answer.json["meta"]["ignored"] == ["cusip"]


def test_few_and_short_names_are_reported(reporting_api: Client) -> None:
    """A body of a megabyte must not come back as a header."""
    names = [f"{number:02}" + 1_000 * "x" for number in range(1_000)]
    answer = reporting_api.post(f"{API}/cusip/batch", {"cusips": ["037833100"], **dict.fromkeys(names, 1)})
    reported_names = [name[:40] for name in names[:MAX_REPORTED_NAMES]]
    assert (answer.status, answer.json["meta"]["ignored"]) == (200, reported_names)
    assert answer.headers["x-ignored-parameters"] == ",".join(reported_names)


@run_each_case("name", ["a\r\nSet-Cookie: b", "\x00", "\u00e4", "\ud800"])
def test_any_name_is_reported_or_refused(api: Client, reporting_api: Client, name: str) -> None:
    body = {"cusips": ["037833100"], name: 1}
    shown_name = name.replace("\ud800", "?")
    answer = reporting_api.post(f"{API}/cusip/batch", body)
    assert (answer.status, answer.json["meta"]["ignored"]) == (200, [shown_name])
    assert answer.headers["x-ignored-parameters"] == quote(shown_name)
    assert get_refusal(api.post(f"{API}/cusip/batch", body))["param"] == shown_name


def test_the_tag_depends_on_reported_names(reporting_api: Client) -> None:
    tags = [reporting_api.get(f"{API}/sec/forms{query}").headers["etag"] for query in ("", "?a=1", "?b=1")]
    assert len(set(tags)) == 3


def test_account_routes_ignore_unknown_names(api: Client) -> None:
    assert api.get(f"{API}/account/balance?colour=red").status == 200


@pytest.mark.skipif(not (SHARED / "contract").is_dir(), reason="the contract (../shared/contract) is not here")
def test_every_parameter_of_the_contract_is_known() -> None:
    """The names that published clients send: honoured, or refused with a reason where they are documented so."""
    contract = json.loads((SHARED / "contract" / "wire.json").read_text("utf-8"))
    routes = {f"{route.method} {path}": route for route in ROUTES for path in route.paths}
    unknown_names = []
    for operation, definition in contract.items():
        route = routes.get(operation)
        if route is None or not route.serves_data:
            continue
        sent_names = [param["name"] for param in definition.get("parameters", ()) if param["in"] == "query"]
        unknown_names += [f"{operation} {name}" for name in sent_names if name not in route.query_names.names]
    assert len(routes.keys() & contract.keys()) > 80
    assert unknown_names == []
