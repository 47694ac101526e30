"""Answers for a past day (``as_of``): each operation honours the parameter or refuses it with a reason."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core import days
from finapi.market.documents import filing_store
from finapi.market.documents.metadata import LISTED_RANK, SUBMISSIONS_EVIDENCE, FilingMetadata, Party
from finapi.web.financials import screen
from finapi.web.http.route import API, Route
from finapi.web.openapi import build_document
from finapi.web.point_in_time import RULES
from finapi.web.router import Router
from finapi.web.routes import ROUTES
from tests.client import PASSWORD, Answer, Client
from tests.conftest import ACCOUNTS, NOW
from tests.golden.asking import RequestLine, parse_request, read_areas
from tests.support import fund_filings
from tests.support.case_tables import run_each_case
from tests.support.filing_order import END, DatedWorld, FilingOrder
from tests.support.thirteenf_xml import APPLE

OPERATIONS = [route for route in ROUTES if not route.page]
ROUTER = Router(ROUTES)
DAY = "2015-01-01"
PATH_EXAMPLES = {"accession_number": "0000320193-25-000057", "name": "paging", "badge": "main_api.svg"}


@pytest.fixture(scope="module")
def api(make_stored: Callable[..., App]) -> Client:
    app = make_stored(**ACCOUNTS, pages="public")
    return Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)


def fill_path(route: Route) -> str:
    """Return the path of a route with an example for each of its parameters."""
    examples = {param.name: str(param.example) for param in route.params if param.location == "path"}
    return re.sub(r"{(\w+)}", lambda match: PATH_EXAMPLES.get(match[1]) or examples[match[1]] or "x", route.path)


def test_each_call_of_the_api_has_a_rule_of_its_own() -> None:
    """A call that is missing refuses as_of, but its reason should be written down."""
    calls = {route.name for route in OPERATIONS if route.path.startswith(API)}
    assert calls - RULES.keys() == set()
    assert RULES.keys() - {route.name for route in ROUTES} == set()


@run_each_case("route", [route for route in ROUTES if route.as_of_rule.kind != "honoured"])
def test_a_route_that_does_not_honour_as_of_refuses_it(api: Client, route: Route) -> None:
    session = None
    if route.auth == "session":
        session = api.post(f"{API}/auth/login", {"email": "ann@example.com", "password": PASSWORD}).json["token"]
    options = {} if route.body is None else {"json": {"as_of": DAY}}
    path = fill_path(route) + ("" if options else f"?as_of={DAY}")
    answer = api.call(route.method, path, session=session, **options)
    assert (answer.status, answer.json["code"], answer.json["details"]["param"]) == (400, "INVALID_PARAM", "as_of")
    assert answer.json["message"] == f"as_of is not supported by this call: {route.as_of_rule.reason}."


@run_each_case("route", [route for route in ROUTES if route.as_of_rule.kind == "honoured"])
def test_a_route_that_honours_as_of_declares_it(route: Route) -> None:
    params = [*route.params, *(route.body or ())]
    (as_of,) = [param for param in params if param.name == "as_of"]
    assert (as_of.kind, as_of.location) == ("date", "query" if route.body is None else "body")


def test_as_of_is_refused_in_any_spelling(api: Client) -> None:
    assert api.get(f"{API}/sec/forms?AS_OF=no-day").json["details"]["param"] == "as_of"
    assert api.get(f"{API}/account/balance?As_Of={DAY}").json["details"]["param"] == "as_of"


def test_as_of_is_refused_where_unknown_names_are_reported(make_app: Callable[..., App]) -> None:
    app = make_app(**ACCOUNTS, unknown_parameters="report")
    api = Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)
    assert api.get(f"{API}/cusip/stats?as_of={DAY}").status == 400
    assert api.get(f"{API}/cusip/stats?as_of[]={DAY}").json["details"]["param"] == "as_of"


def test_as_of_is_refused_where_a_call_does_not_read_it(make_app: Callable[..., App]) -> None:
    app = make_app(**ACCOUNTS, unknown_parameters="report")
    api = Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)
    answers = [
        api.post(f"{API}/insiders/query?as_of={DAY}", {}),
        api.post(f"{API}/insiders/query", {"As_Of": DAY}),
        api.get(f"/company/AAPL?AS_OF={DAY}"),
    ]
    messages = [answer.json["message"] for answer in answers]
    assert messages[0] == "This call reads as_of, in this spelling, from its body."
    hint = "As_Of is not a parameter of this call; did you mean as_of?"
    assert messages[1] == f"This call reads as_of, in this spelling, from its body. {hint}"
    hint = "AS_OF is not a parameter of this call; did you mean as_of?"
    assert messages[2] == f"This call reads as_of, in this spelling, from its query. {hint}"
    assert {(answer.status, answer.json["details"]["param"]) for answer in answers} == {(400, "as_of")}
    assert api.post(f"{API}/insiders/query", {"query": "issuer.tradingSymbol:AAPL", "as_of": DAY}).status == 200


def test_the_document_states_the_rule_of_each_operation() -> None:
    paths = build_document("", ROUTES)["paths"]
    for route in OPERATIONS:
        rule = route.as_of_rule.kind
        if rule != "honoured":
            rule += f": {route.as_of_rule.reason}"
        assert paths[route.path][route.method.lower()]["x-as-of"] == rule


# ---- The proof: a service that has only the documents filed up to a day gives the same answers


@pytest.fixture(scope="module")
def order() -> FilingOrder:
    return FilingOrder()


@pytest.fixture(scope="module")
def full_world(order: FilingOrder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatedWorld]:
    """Yield a service with all documents, in a file: its past days are read by connections with views of their own."""
    world = DatedWorld(order, tmp_path_factory.mktemp("full"))
    world.move_to(END)
    yield world
    world.close()


def list_honouring_requests(max_per_route: int) -> list[RequestLine]:
    """Return golden requests of calls that honour as_of."""
    requests_by_route: dict[str, list[RequestLine]] = {}
    for line in dict.fromkeys(line for area in read_areas().values() for line in area):
        if line in ("next", "again") or "as_of" in line or " ~ " in line:
            continue
        request = parse_request(line)
        route = find_route(request)
        if route is not None and route.as_of_rule.kind == "honoured" and not route.page:
            requests_by_route.setdefault(route.name, []).append(request)
    return [request for requests in requests_by_route.values() for request in requests[:max_per_route]]


def find_route(request: RequestLine) -> Route | None:
    match = ROUTER.match(tuple(request.target.partition("?")[0].strip("/").split("/")))
    return match.by_method.get(request.method) if match else None


def send(client: Client, request: RequestLine, as_of: str | None) -> Answer:
    target, body = request.target, request.body
    if as_of is not None and body is not None:
        body = {**body, "as_of": as_of}
    elif as_of is not None:
        target += ("&" if "?" in target else "?") + f"as_of={as_of}"
    options = {} if body is None else {"json": body}
    return client.call(request.method, target, **options)


def normalise(answer: Answer) -> Any:
    """Return an answer without its stamps and the repeated ``as_of``."""
    if not answer.headers["content-type"].startswith("application/json"):
        return answer.status, answer.body
    return answer.status, _without_stamps(answer.json)


STAMPS = {
    *("request_id", "timestamp", "generated_at", "as_of", "parsed_at", "first_seen_at", "last_seen_at"),
    *("updated_at", "stored_at", "createdAt", "updatedAt"),
}


def _without_stamps(member: Any) -> Any:
    if isinstance(member, dict):
        return {name: _without_stamps(value) for name, value in member.items() if name not in STAMPS}
    if isinstance(member, list):
        return [_without_stamps(value) for value in member]
    # Messages repeat the day too, after the full stop of a name: "for SNOWFLAKE INC. filed by 2026-01-31."
    return re.sub(r"\.? filed by \d{4}-\d{2}-\d{2}", "", member) if isinstance(member, str) else member


def list_differences(full_world: DatedWorld, dated_world: DatedWorld, day: str, max_per_route: int) -> list[str]:
    """Return the requests whose answers for a day are not those of the service as it was on that day."""
    differences = []
    for request in list_honouring_requests(max_per_route):
        then = normalise(send(dated_world.client, request, None))
        now = normalise(send(full_world.client, request, day))
        if now != then:
            differences.append(f"{day} {request.text}\n  then: {then}\n  now:  {now}")
    return differences


def choose_days(order: FilingOrder, count: int) -> list[str]:
    """Return days of filings, and days before them, at even distances."""
    days_of_filings = [filed_at for filed_at in order.list_days() if filed_at <= END]
    days_before = [days.shift(filed_at, -1) for filed_at in days_of_filings]
    candidates = sorted({*days_of_filings, *days_before})
    count = min(count, len(candidates))
    return [candidates[number * len(candidates) // count] for number in range(count)]


def check_days(order: FilingOrder, full_world: DatedWorld, count: int, max_per_route: int) -> None:
    dated_world = DatedWorld(order)
    differences: list[str] = []
    for day in choose_days(order, count):
        dated_world.move_to(day)
        dated_world.adopt_names(full_world)
        differences += list_differences(full_world, dated_world, day, max_per_route)
    dated_world.close()
    assert not differences, "\n".join(differences)


@pytest.mark.slow
def test_answers_for_a_day_are_those_of_that_day(order: FilingOrder, full_world: DatedWorld) -> None:
    check_days(order, full_world, 2, 1)


# Days of the longest test. The slow step compares 50, the long one 200 (POINT_IN_TIME_DAYS).
SLOW_DAYS = int(os.environ.get("POINT_IN_TIME_DAYS", "50"))


@pytest.mark.first
@pytest.mark.slow
def test_answers_for_many_days_are_those_of_the_days(order: FilingOrder, full_world: DatedWorld) -> None:
    check_days(order, full_world, SLOW_DAYS, 4)


# ---- known_on


def test_a_row_is_known_on_the_filing_day_of_its_newest_figure(full_world: DatedWorld) -> None:
    """A row with as_of before its known_on does not have the same figures."""
    path = f"{API}/xbrl/timeseries?ticker=AAPL&metrics=net_income&period=A&basis=original"
    rows = full_world.client.get(path).json["data"]["rows"]
    known_days = {row["fiscal_year"]: row["known_on"] for row in rows}
    assert (known_days[2024], known_days[2025]) == ("2024-11-01", "2025-10-31")
    for fiscal_year, known_day in known_days.items():
        years_by_day = {
            day: [row["fiscal_year"] for row in full_world.client.get(f"{path}&as_of={day}").json["data"]["rows"]]
            for day in (days.shift(known_day, -1), known_day)
            if day > "2022-01-01"
        }
        assert all((fiscal_year in years) is (day == known_day) for day, years in years_by_day.items())


def test_a_row_without_figures_has_no_day(full_world: DatedWorld) -> None:
    path = f"{API}/xbrl/timeseries?ticker=AAPL&metrics=goodwill&period=A&years=1"
    (row,) = full_world.client.get(path).json["data"]["rows"]
    assert (row["metrics"]["goodwill"], row["known_on"]) == (None, None)


def test_a_screened_company_is_known_on_the_day_of_its_report(full_world: DatedWorld) -> None:
    path = f"{API}/xbrl/screen?ticker=AAPL&metrics=net_margin"
    for as_of, known_day in (("", "2026-01-30"), ("&as_of=2026-01-29", "2025-10-31")):
        (company,) = full_world.client.get(path + as_of).json["data"]
        assert company["known_on"] == known_day


def test_a_past_screen_of_too_many_companies_is_refused(
    full_world: DatedWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "MAX_YEARS_DUE", 1)
    answer = full_world.client.get(f"{API}/xbrl/screen?as_of=2025-01-15")
    assert (answer.status, answer.json["details"]["param"]) == (400, "as_of")
    assert full_world.client.get(f"{API}/xbrl/screen?ticker=AAPL&as_of=2025-01-15").status == 200


# ---- what is as of the day, in exact values


def test_an_amended_trade_is_valid_until_the_amendment(full_world: DatedWorld) -> None:
    path = f"{API}/insiders/transactions/by-ticker/BRK-B?from_date=2025-10-01&to_date=2025-10-01&filed_at_days=36500"
    shares_by_day = {}
    for day in ("2025-10-02", "2025-10-19", "2025-10-20", "2025-11-02", "2025-11-03"):
        answer = full_world.client.get(f"{path}&as_of={day}")
        shares_by_day[day] = [row["shares"] for row in answer.json["data"]] if answer.status == 200 else answer.status
    assert shares_by_day == {
        "2025-10-02": [],
        "2025-10-19": [10],
        "2025-10-20": [12],
        "2025-11-02": [12],
        "2025-11-03": [14],
    }


def test_a_company_has_the_name_of_the_day(make_app: Callable[..., App]) -> None:
    app = make_app(**ACCOUNTS)
    api = Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)
    with app.db.write() as tx:
        for accession, filed_at in (("0000000077-20-000001", "2020-01-10"), ("0000000077-22-000001", "2022-01-10")):
            party = Party(77, LISTED_RANK, "New Lamps Inc.")
            filing = FilingMetadata(accession, SUBMISSIONS_EVIDENCE, (party,), form="8-K", filed_at=filed_at)
            filing_store.upsert(tx, filing, NOW, announces=False)
        former = {"from_date": "2015-01-01T00:00:00.000Z", "to_date": "2021-06-01T00:00:00.000Z"}
        tx.run("insert_former_name", cik=77, name="Old Lamps Inc.", **former)
        tx.run("bump_data_version")
    names = {}
    for day in ("2020-01-10", "2021-05-31", "2021-06-01", "2022-01-10"):
        filings = api.get(f"{API}/sec/filings?cik=77&as_of={day}").json["data"]
        names[day] = [filing["entity_name"] for filing in filings]
    assert names == {
        "2020-01-10": ["Old Lamps Inc."],
        "2021-05-31": ["Old Lamps Inc."],
        "2021-06-01": ["New Lamps Inc."],
        "2022-01-10": ["New Lamps Inc.", "New Lamps Inc."],
    }
    assert api.get(f"{API}/sec/filings?cik=77&as_of=2020-01-09").json["code"] == "UNKNOWN_TICKER"
    totals: dict[str, list[int]] = {}
    for day in ("2020-01-09", *names):
        answers = [api.get(f"{API}/sec/filings?q={word}+lamps&as_of={day}").json for word in ("old", "new")]
        totals[day] = [answer["meta"]["pagination"]["total"] for answer in answers]
    # From its last day, the old name finds the company as a former name.
    assert totals == {
        "2020-01-09": [0, 0],
        "2020-01-10": [1, 0],
        "2021-05-31": [1, 0],
        "2021-06-01": [1, 1],
        "2022-01-10": [2, 2],
    }
    entities = {day: api.get(f"{API}/sec/entities?as_of={day}").json["data"] for day in totals}
    entity_names = {day: [entity["entity_name"] for entity in listed] for day, listed in entities.items()}
    assert entity_names == {"2020-01-09": [], **{day: [day_names[0]] for day, day_names in names.items()}}
    assert api.get(f"{API}/index?date=2022-01-10&as_of=2022-01-09").json["count"] == 0
    assert api.get(f"{API}/index?date=2022-01-10&as_of=2022-01-10").json["count"] == 1


def test_a_day_between_a_13f_and_its_amendment_is_refused(make_app: Callable[..., App], tmp_path: Path) -> None:
    app = make_app(**ACCOUNTS)
    api = Client(app, users.create(app, "ann@example.com", "pro", NOW, password=PASSWORD).api_key)
    amendment = ("09-30-2025", "2025-12-01", [(APPLE, 5_000, 20)])
    restated = fund_filings.submission(9, amendment, form="13F-HR/A", amendment=(1, "RESTATEMENT"))
    fund_filings.take(app, tmp_path, fund_filings.june(), fund_filings.september(), restated)
    path = f"{API}/form-13f/fund/{fund_filings.FUND}?as_of="
    assert api.get(path + "2025-08-13").status == 404
    periods = [api.get(path + day).json["period"] for day in ("2025-08-14", "2025-11-13", "2025-12-01")]
    assert periods == ["2025-06-30", "2025-06-30", "2025-09-30"]
    answer = api.get(path + "2025-11-30")
    assert (answer.status, answer.json["details"]["param"]) == (400, "as_of")
    assert "filed a report for 2025-09-30 on 2025-12-01" in answer.json["message"]
