"""The CPU allowance of refunded calls: the calls that count, the refusals, and their duration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from finapi.accounts import users
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.errors import ApiError
from finapi.core.passwords import Hasher
from finapi.store import idempotency
from finapi.web.application import WsgiApp
from finapi.web.exports import StreamedExport
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.http.params import Param
from finapi.web.http.route import Route
from finapi.web.routes import ROUTES
from finapi.web.validation import ParameterCache
from tests.client import Answer, Client, login, sign_up
from tests.conftest import ACCOUNTS, NOW
from tests.core.test_cpu_allowance import CpuClock
from tests.support.metered_calls import get_balance, list_ledger_rows
from tests.support.raw_sql import run_sql

PATH, FREE_PATH = "/api/v1/work", "/api/v1/free"
MESSAGE = (
    "Calls of this account or address that failed and cost nothing have used their seconds of CPU. Try again later."
)
PARAMS = (Param("outcome", "word", required=True), Param("limit", "integer", minimum=1, maximum=5))


class Worker:
    """A route that uses 20 seconds of CPU and ends as its parameter states; 10 seconds are allowed per minute."""

    def __init__(self, app: App) -> None:
        self.cpu = app.refunded_cpu.cpu_seconds = CpuClock()
        self.calls = 0
        self.routes = [
            *ROUTES,
            Route("GET", PATH, self.work, auth="key", cost=5, zone="xbrl", summary="Work", params=PARAMS),
            Route("GET", FREE_PATH, self.work, auth="none", zone="app", summary="Free work", params=PARAMS),
        ]
        self.wsgi = WsgiApp(app, self.routes)

    def work(self, call: Call) -> Response:
        self.calls += 1
        self.cpu.seconds += 20.0
        outcome = call.params["outcome"]
        if outcome == "refusal":
            raise ApiError("NOT_FOUND", "Nothing was found.")
        if outcome == "failure":
            raise RuntimeError("broken")
        if outcome.endswith("stream"):
            return Response(200, b"", "text/csv", stream=StreamedExport(self._rows(outcome), ExitStack()))
        return Response({"unchanged": 304, "page": 404}.get(outcome, 200), b"")

    def _rows(self, outcome: str) -> Iterator[bytes]:
        yield b"a,b"
        self.cpu.seconds += 20.0
        if outcome == "broken_stream":
            raise ApiError("TIMEOUT", "The call exceeded the server's time limit.")
        yield b"1,2"


@pytest.fixture
def app(make_app: Callable[..., App]) -> App:
    return make_app(**ACCOUNTS, refunded_cpu_per_minute=10.0, server_timeout=300.0)


@pytest.fixture
def worker(app: App) -> Worker:
    return Worker(app)


@pytest.fixture
def client(app: App, user: users.NewUser, worker: Worker) -> Client:
    return client_of(app, worker, user.api_key)


def client_of(app: App, worker: Worker, key: str | None = None) -> Client:
    client = Client(app, key)
    client.call_application(worker.wsgi)
    return client


def ask(client: Client, outcome: str, path: str = PATH, **options: Any) -> Answer:
    return client.get(path, query={"outcome": outcome}, **options)


def stream_of(worker: Worker, client: Client) -> Any:
    """Return the body of a stream that breaks, without the WSGI validator, which would refuse it."""
    environ = {"REQUEST_METHOD": "GET", "REQUEST_URI": f"{PATH}?outcome=broken_stream", "HTTP_X_API_KEY": client.key}
    environ |= {"QUERY_STRING": "outcome=broken_stream", "REMOTE_ADDR": "192.0.2.1"}
    return worker.wsgi(environ, lambda *_: None)


@pytest.mark.parametrize(("outcome", "status"), [("refusal", 404), ("failure", 500), ("unchanged", 304), ("page", 404)])
def test_a_refunded_call_counts_and_the_next_is_refused(
    app: App, client: Client, worker: Worker, outcome: str, status: int
) -> None:
    first = ask(client, outcome)
    assert (first.status, first.headers["x-tokens-charged"]) == (status, "0")
    rows = list_ledger_rows(app)
    refused = ask(client, "success")
    assert refused.verdict == (429, "RATE_LIMIT_EXCEEDED", MESSAGE)
    assert (refused.headers["retry-after"], refused.headers["x-tokens-charged"]) == ("60", "0")
    assert (worker.calls, list_ledger_rows(app), get_balance(app, 1)) == (1, rows, 500_000)


def test_the_wait_follows_the_clock_of_the_server(app: App, client: Client, worker: Worker, clock: FixedClock) -> None:
    assert ask(client, "refusal").status == 404
    clock.advance(59.0)
    assert ask(client, "success").headers["retry-after"] == "1"
    clock.advance(1.0)
    assert (ask(client, "success").status, get_balance(app, 1)) == (200, 499_995)


def test_a_paid_call_counts_nothing_however_long_it_takes(app: App, client: Client) -> None:
    assert [ask(client, outcome).status for outcome in ("success", "stream", "success")] == [200] * 3
    assert get_balance(app, 1) == 499_985


def test_a_stream_that_is_refunded_counts_all_its_work(app: App, client: Client, worker: Worker) -> None:
    with pytest.raises(ApiError), closing(stream_of(worker, client)) as stream:
        list(stream)
    assert get_balance(app, 1) == 500_000
    assert ask(client, "success").headers["retry-after"] == "180"


def test_an_invalid_parameter_counts_its_parsing_time(
    client: Client, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = ParameterCache.read

    def read_slowly(*args: Any) -> Any:
        worker.cpu.seconds += 20.0
        return read(*args)

    monkeypatch.setattr(ParameterCache, "read", read_slowly)
    assert client.get(PATH).json["details"]["param"] == "outcome"
    assert client.get(PATH).headers["retry-after"] == "60"


def test_one_account_does_not_use_the_allowance_of_another(app: App, client: Client, worker: Worker) -> None:
    other = client_of(app, worker, users.create(app, "bob@example.com", "free", NOW).api_key)
    assert ask(client, "refusal").status == 404
    assert [ask(caller, "success").status for caller in (client, other)] == [429, 200]


def test_work_without_an_account_counts_for_its_address(app: App, client: Client, worker: Worker) -> None:
    stranger = client_of(app, worker)
    assert ask(stranger, "refusal", FREE_PATH).status == 404
    refused = ask(stranger, "success", FREE_PATH)
    assert (refused.verdict, refused.headers["retry-after"]) == ((429, "RATE_LIMIT_EXCEEDED", MESSAGE), "60")
    assert ask(stranger, "success", FREE_PATH, address="192.0.2.2").status == 200
    # The account has its own allowance at the same address.
    assert ask(client, "success").status == 200


def test_probes_answer_an_address_that_used_its_allowance(app: App, worker: Worker) -> None:
    stranger = client_of(app, worker)
    assert ask(stranger, "refusal", FREE_PATH).status == 404
    assert [stranger.get(path).status for path in ("/livez", "/readyz", "/robots.txt")] == [200] * 3
    assert stranger.get("/api/v1/policy").status == 429


def test_free_calls_that_succeed_count_nothing(app: App, worker: Worker) -> None:
    stranger = client_of(app, worker)
    assert [ask(stranger, "success", FREE_PATH).status for _ in range(3)] == [200] * 3


def test_a_stored_answer_to_an_idempotency_key_is_sent_again(app: App, client: Client, worker: Worker) -> None:
    path = "/api/v1/sniper/targets"
    once, twice = ({idempotency.HEADER: name, "X-API-Key": str(client.key)} for name in ("once", "twice"))
    with app.db.write() as tx:
        sql = "INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (320193, 'Apple', 0, '')"
        run_sql(tx, sql)
        run_sql(tx, "INSERT INTO tickers (ticker, cik, source, position) VALUES ('AAPL', 320193, 2, 0)")
    first = client.post(path, {"ticker": "AAPL"}, headers=once)
    assert first.status == 200
    assert ask(client, "refusal").status == 404
    again = client.post(path, {"ticker": "AAPL"}, headers=once)
    assert (again.status, again.headers["idempotent-replayed"]) == (200, "true")
    assert client.post(path, {"ticker": "AAPL"}, headers=twice).verdict == (429, "RATE_LIMIT_EXCEEDED", MESSAGE)


def test_a_refused_call_with_an_idempotency_key_counts(app: App, client: Client, worker: Worker) -> None:
    def fail(call: Call) -> Response:
        worker.cpu.seconds += 20.0
        raise ApiError("CONFLICT", "There are too many targets.")

    route = Route("POST", PATH, fail, auth="key", zone="app", summary="Fail", body=(), idempotent=True)
    client.call_application(WsgiApp(app, [route]))
    headers = {idempotency.HEADER: "once", "X-API-Key": str(client.key)}
    assert client.post(PATH, {}, headers=headers).status == 409
    assert client.post(PATH, {}, headers=headers).headers["retry-after"] == "60"


def test_a_failed_login_counts_for_its_address(app: App, worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = client_of(app, worker)
    sign_up(stranger)
    verify = Hasher.verify

    def verify_slowly(*args: Any) -> bool:
        worker.cpu.seconds += 20.0
        return verify(*args)

    monkeypatch.setattr(Hasher, "verify", verify_slowly)
    assert login(stranger).status == 200
    assert login(stranger, password="wrong password").status == 401
    assert login(stranger).status == 429


def test_the_policy_reports_the_allowance(client: Client) -> None:
    limits = client.get("/api/v1/policy").json["data"]["rate_limits"]
    assert limits["refunded_calls_cpu_seconds_per_minute"] == 10.0
