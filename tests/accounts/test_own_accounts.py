"""Tests of account administration: deletion, export and counts, and the operator's own plans and costs."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import ANY

import pytest

from finapi.accounts import billing, plans, users
from finapi.app import App
from finapi.core import config as settings
from finapi.core import metrics
from finapi.core.clock import FixedClock, SystemClock
from finapi.core.config import Config, CustomPlan
from finapi.core.errors import ApiError, UsageError
from finapi.ops import doctor
from finapi.verbs.verb_table import VERBS
from finapi.web.application import WsgiApp
from finapi.web.routes import ROUTES, apply_costs
from tests.charging import charged
from tests.client import PASSWORD, Client
from tests.mail_server import Mailbox, mail_server
from tests.process import environment, finapi
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

USER = "/api/v1/user/"
PRICES = "/api/v1/prices/AAPL"


@pytest.fixture
def session(app: App, client: Client, clock: FixedClock) -> str:
    """Return a session of an account that has used every feature."""
    users.create(app, "bob@example.com", "pro", clock.now(), password=PASSWORD)
    users.change_credit(app, "bob@example.com", 5000, clock.now())
    token = client.post("/api/v1/auth/login", {"email": "bob@example.com", "password": PASSWORD}).json["token"]
    settled = client.post("/api/v1/billing/quota", {"amount_dollars": 1}, session=token)
    assert settled.status == 200
    client.put(USER, {"webhook_url": "https://example.com/hook"}, session=token)
    return str(token)


def rows(app: App, query: str) -> list[tuple[Any, ...]]:
    with app.db.read() as tx:
        return [tuple(row) for row in run_sql(tx, query)]


def test_an_export_holds_what_is_kept_of_the_caller(client: Client, session: str) -> None:
    export = client.get(USER + "export", session=session).json
    assert export["user"]["email"] == "bob@example.com"
    assert [(row["amount_usd"], row["type"]) for row in export["wallet"]] == [(1.0, "purchase"), (50.0, "credit")]
    assert [row["reason"] for row in export["transactions"]] == ["purchase", "refill"]
    assert (export["sniper_targets"], export["deliveries"], export["cut"]) == ([], [], [])
    assert client.get(USER + "export").status == 401


def test_an_export_contains_only_data_the_session_can_read(client: Client, session: str) -> None:
    export = client.get(USER + "export", session=session).json

    def own(path: str) -> Any:
        return client.get(f"/api/v1{path}", session=session).json

    user = own("/user/")["user"]
    assert len(user["api_key"]) == 32
    assert export["user"] == {name: user[name] for name in export["user"]} | {"api_key": None}
    assert export["wallet"] == own("/billing/history")["transactions"]
    usage = own("/account/usage?days=365")
    assert export["usage"] == {name: usage[name] for name in export["usage"]}
    assert export["transactions"] == own("/account/transactions?limit=500")["transactions"]
    assert export["sniper_targets"] == own("/sniper/targets")["targets"]
    assert export["deliveries"] == own("/webhooks/deliveries")["deliveries"]


def test_lists_that_go_on_are_named_with_their_path(client: Client, session: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("finapi.web.accounts.own_data.MAX_ROWS", 1)
    export = client.get(USER + "export", session=session).json
    assert export["cut"] == ["/api/v1/billing/history", "/api/v1/account/transactions"]
    assert (len(export["wallet"]), len(export["transactions"])) == (1, 1)


def test_a_deleted_account_opens_nothing_and_leaves_the_books(
    app: App, client: Client, session: str, clock: FixedClock
) -> None:
    key = client.get(USER, session=session).json["user"]["api_key"]
    answer = client.call("DELETE", USER, json={"password": PASSWORD}, session=session)
    assert (answer.status, answer.json["message"]) == (200, "The account is deleted.")
    assert client.get(USER, session=session).status == 401
    assert client.get(PRICES, headers={"X-API-Key": key}).status == 401
    assert client.post("/api/v1/auth/login", {"email": "bob@example.com", "password": PASSWORD}).status == 401
    export = "\n".join(
        str(row)
        for (table,) in rows(app, "SELECT name FROM sqlite_master WHERE type = 'table'")
        for row in rows(app, f"SELECT * FROM {table}")
    )
    assert "bob@example.com" not in export
    assert "https://example.com/hook" not in export
    assert rows(app, "SELECT reason FROM ledger ORDER BY id") == [("refill",), ("purchase",)]
    assert rows(app, "SELECT cents FROM wallet ORDER BY id") == [(5000,), (-100,)]
    assert billing.list_errors(app) == []
    # No period begins again, no key is made again, and the address is free.
    clock.advance(seconds=400 * 86_400)
    plans.run_refill_step(app, clock.now())
    assert len(rows(app, "SELECT 1 FROM ledger")) == 2
    users.create(app, "bob@example.com", "free", clock.now())


@pytest.mark.slow
def test_a_wrong_password_deletes_nothing_and_counts_as_failure(client: Client, session: str) -> None:
    for _ in range(4):
        assert client.call("DELETE", USER, json={"password": "x"}, session=session).status == 401
    assert client.call("DELETE", USER, json={"password": "x"}, session=session).status == 429
    assert client.get(USER, session=session).status == 200
    assert client.call("DELETE", USER, json={}, session=session).status == 400
    assert client.call("DELETE", USER, json={"password": PASSWORD}).status == 401


def test_who_uses_what_is_told_by_plan(app: App, client: Client, user: users.NewUser) -> None:
    client.get(PRICES, headers={"X-API-Key": user.api_key})
    client.get("/api/v1/stats", headers={"X-API-Key": user.api_key})
    text = app.metrics.render({})
    assert 'finapi_plan_requests_total{plan="pro"} 2\n' in text
    assert "finapi_plan_tokens_total" not in text  # 404: refunded
    app.metrics.count_request(("GET", "/x", "200"), 0.1, 5, None, "pro")
    assert 'finapi_plan_tokens_total{plan="pro",route="/x"} 5\n' in app.metrics.render({})
    assert metrics.PLAN_TOKENS in metrics.FAMILIES


# ---- plans and costs of one's own

FILE = """
[plans.gold]
tokens = 1000
period = "week"
price = 99
[plans.pro]
price = 49
[costs]
"GET /api/v1/prices/{ticker}" = 2
"""


@pytest.fixture
def custom_config(tmp_path: Path) -> Config:
    (tmp_path / "f.toml").write_text(FILE)
    return settings.load({"config": str(tmp_path / "f.toml")}, {})[0]


def test_plans_are_read_from_the_file(custom_config: Config) -> None:
    assert custom_config.plans == (CustomPlan("gold", 1000, "week", 99), CustomPlan("pro", None, None, 49))
    terms = {
        plan["name"]: (plan["price"], plan["interval"], plan["features"][0]) for plan in plans.iter_plans(custom_config)
    }
    assert terms["gold"] == (99, "week", "99 dollars a week")
    assert terms["pro"] == (49, "month", "49 dollars a month")
    assert terms["free"] == (0, "month", "2,000 tokens a month")


def test_an_account_on_an_own_plan_gets_its_quota_by_its_period(
    custom_config: Config, make_app: Callable[..., App], clock: FixedClock
) -> None:
    app = make_app(plans=custom_config.plans)
    user = users.create(app, "ann@example.com", "gold", clock.now())
    with app.db.read() as tx:
        balance = plans.get_balance(tx, app.config, user.id, clock.now())
    assert (balance["plan"], balance["current_balance"], balance["days_until_refill"]) == ("gold", 1000, 7)
    clock.advance(seconds=8 * 86_400)
    plans.run_refill_step(app, clock.now())
    with app.db.read() as tx:
        assert plans.get_balance(tx, app.config, user.id, clock.now())["days_until_refill"] == 6
    # Taken away again: as the free one, until the account is put on another.
    assert plans.get_terms(Config(), "gold").tokens == 2000


def test_an_own_cost_is_charged_and_told(
    custom_config: Config, make_app: Callable[..., App], clock: FixedClock
) -> None:
    app = make_app(costs=custom_config.costs)
    user = users.create(app, "ann@example.com", "pro", clock.now())
    client = Client(app)
    document = client.get("/openapi.json").json["paths"]
    assert document["/api/v1/prices/{ticker}"]["get"]["x-token-cost"] == 2
    with pytest.raises(ApiError), charged(app, user.id, "x", 10**9, "r"):
        pass
    assert [
        route.cost for route in apply_costs(ROUTES, app.config.costs) if route.path.startswith("/api/v1/prices/")
    ] == [2]


@run_each_case(
    "text, complaint",
    [
        ("plans = 1", "plans: must be a table in the file (--config), not 1"),
        ("[plans.Gold]\ntokens = 1", "plans.Gold: a plan is a name of a-z"),
        ("[plans.gold]\ntokens = -1", "plans.gold: a plan is a name of a-z"),
        ("[plans.gold]\ntokens = true", "plans.gold: a plan is a name of a-z"),
        ('[plans.gold]\nperiod = "day"', "plans.gold: a plan is a name of a-z"),
        ("[plans.gold]\ncolour = 1", "plans.gold: colour is not a term of a plan; use one of tokens, period, price"),
        ("[plans.gold]\ntoken = 1", "plans.gold: token is not a term of a plan, did you mean tokens?; use one of"),
        (
            "[plans.gold]\nprices = 1\ntokens = -1",
            "plans.gold: prices is not a term of a plan, did you mean price?; use",
        ),
        ('[costs]\n"GET /x" = 1.5', "costs: the cost of GET /x must be 0 to 1,000,000,000 whole tokens, not 1.5"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "f.toml").write_text(text)
    with pytest.raises(UsageError) as wrong:
        settings.load({"config": str(tmp_path / "f.toml")}, {})
    assert str(wrong.value).startswith(complaint)


def test_a_cost_of_no_call_is_refused(make_app: Callable[..., App]) -> None:
    with pytest.raises(UsageError, match="'GET /api/v1/user/' is not a call made with a key"):
        WsgiApp(make_app(costs=(("GET /api/v1/user/", 1),)))
    with pytest.raises(UsageError, match=r"key \(GET /api/v1/\.\.\.\), did you mean GET /api/v1/prices/\{ticker\}\?$"):
        WsgiApp(make_app(costs=(("GET /api/v1/price/{ticker}", 1),)))


# ---- the verbs


@run_each_case(
    "words",
    [
        (name, *action)
        for name, verb in VERBS.items()
        for action in ([[verb_action] for verb_action in verb.actions] or [[]])
    ],
)
def test_every_verb_answers_in_json(words: tuple[str, ...]) -> None:
    verb = VERBS[words[0]]
    options = {name for names, _ in verb.get_arguments(words[1] if verb.actions else None) for name in names}
    assert options & {"--json", "--ready"}


NEEDS_NONE = {
    "demo",
    "fixture",
    "conformance",
    "serve",
    "ingest",
    "load",
    "restore",
    "config",
    "receipts",
    "openapi",
    "doctor",
    "trigger",
    "completion",
}


WITHOUT_DATABASE = [
    ("follow", "list"),
    ("poll",),
    ("documents", "list"),
    ("outbox", "list"),
    ("user", "list"),
    ("invite", "list"),
    ("secret", "list"),
    ("mail", "test", "a@b.example"),
    ("audit",),
    ("pack", "export", "x"),
    ("check",),
    ("backup", "x"),
    ("move", "--to", "file"),
    ("mapping", "save", "x"),
    ("get", "/livez"),
    ("statements", "AAPL"),
    ("timeseries", "AAPL"),
    ("filings",),
    ("insiders", "AAPL"),
    ("fund", "1067983"),
    ("mcp",),
    ("nport", "SPY"),
    ("claims", "-"),
    ("screen", "roe>1"),
    ("watch", "main-api"),
    ("listen", "--forward-to", "http://x"),
]


@run_each_case("words", WITHOUT_DATABASE)
def test_a_directory_without_a_database_is_refused_and_not_made(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert words[0] not in NEEDS_NONE
    claims_file = b"ticker,metric,period,value\nAAPL,revenue,FY2024,1\n"
    done = finapi(*words, "--data-dir", tmp_path / "data", stdin=claims_file, make=False)
    assert done.status == 2
    assert str(tmp_path / "data") in done.complaint
    assert not (tmp_path / "data").exists()


def test_the_walk_above_leaves_no_verb_out() -> None:
    assert NEEDS_NONE | {words[0] for words in WITHOUT_DATABASE} == set(VERBS)


@pytest.mark.slow
def test_user_verbs_list_count_set_passwords_and_delete(tmp_path: Path) -> None:
    def did(*words: object, **options: Any) -> Any:
        done = finapi("user", *words, "--json", "--data-dir", tmp_path, **options)
        assert (done.status, done.err) == (0, ""), done
        return done.json

    added = did("add", "ann@example.com", "--plan", "pro")
    users = did("list")["users"]
    assert [(row["email"], row["plan"], row["balance"], row["state"], row["uuid"]) for row in users] == [
        ("ann@example.com", "pro", 500_000, "active", added["uuid"])
    ]
    assert did("usage") == {"accounts": []}
    assert did("usage", "ann@example.com", "--days", "1")["daily"][0]["calls"] == 0
    assert did("password", "ann@example.com") == {"email": "ann@example.com", "set": False}
    line = {"stdin": b"correct horse battery\n"}
    assert did("password", "ann@example.com", "--password-stdin", **line) == {"email": "ann@example.com", "set": True}
    short = finapi("user", "password", "ann@example.com", "--password-stdin", "--data-dir", tmp_path, stdin=b"short\n")
    assert short.status == 2
    sure = finapi("user", "delete", "ann@example.com", "--data-dir", tmp_path)
    assert sure.complaint == "deletion cannot be undone; confirm with --yes"
    assert did("delete", "ann@example.com", "--yes") == {"email": "ann@example.com", "deleted": True}
    assert did("list")["users"][0]["state"] == "deleted"
    deleted = finapi("user", "show", "ann@example.com", "--data-dir", tmp_path)
    assert deleted.complaint == "There is no user with the email ann@example.com."


@pytest.mark.slow
def test_a_test_mail_says_whether_it_left(tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    done = finapi("mail", "test", "ann@example.com", *data)
    assert done.out == f"ann@example.com: written to {tmp_path}/data/mail\n"
    (file,) = (tmp_path / "data" / "mail").glob("*.eml")
    assert b"Subject: A test of finapi" in file.read_bytes()
    nobody = environment(FINAPI_SMTP_URL="smtp://127.0.0.1:1")
    failed = finapi("mail", "test", "ann@example.com", *data, env=nobody)
    assert (failed.status, failed.complaint.partition(":")[0]) == (1, "the mail could not be sent")
    assert finapi("mail", "test", "ann", *data).complaint == "'ann' is not an email address"


# ---- doctor and config


def findings(*words: object, **env: str) -> dict[str, list[tuple[str, str, str | None]]]:
    done = finapi("doctor", "--json", *words, env=environment(**env))
    findings_by_check: dict[str, list[tuple[str, str, str | None]]] = {}
    for finding in json.loads(done.out)["findings"]:
        findings_by_check.setdefault(finding["check"], []).append((finding["state"], finding["found"], finding["fix"]))
    assert done.status == int(
        any(state == "wrong" for check_findings in findings_by_check.values() for state, _, _ in check_findings)
    )
    return findings_by_check


def test_the_doctor_tries_whether_the_directory_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    config = Config(data_dir=tmp_path)
    tmp_path.chmod(0o700)
    assert next(iter(doctor._check_data_directory(config, SystemClock()))) == (True, f"{tmp_path} is writable", ANY)
    monkeypatch.setattr("finapi.ops.proof.tempfile.TemporaryFile", full)
    assert next(iter(doctor._check_data_directory(config, SystemClock()))) == (
        False,
        f"{tmp_path} is not writable: No space left on device",
        "make room, or mount it so that it can be written",
    )


def test_the_doctor_names_a_place_of_backups_that_is_not_there(tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path, backup_dir=str(tmp_path / "shelf"))
    missing = (False, f"backups go to {tmp_path}/shelf, which is no directory", f"mount it, or: mkdir {tmp_path}/shelf")
    assert list(doctor._check_disk(config, SystemClock()))[1:] == [missing]
    (tmp_path / "shelf").mkdir()
    assert [well for well, _, _ in doctor._check_disk(config, SystemClock())][1:] == [True]


def test_the_doctor_says_whose_files_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", "/data/finapi.db")

    monkeypatch.setattr(doctor, "CHECKS", {"database": refused})
    assert doctor.list_findings(Config(data_dir=tmp_path), SystemClock()) == [
        {
            "check": "database",
            "state": "wrong",
            "found": "/data/finapi.db: Permission denied",
            "fix": "run it as the user whose files these are",
        }
    ]


def test_the_doctor_says_where_no_directory_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finapi.ops.doctor.os.access", lambda *arguments: False)
    assert list(doctor._check_data_directory(Config(data_dir=Path("/nowhere/data")), SystemClock())) == [
        (False, "/nowhere/data cannot be made: / is not writable", "name another with --data-dir")
    ]


@pytest.mark.slow
def test_the_doctor_says_what_is_wrong_and_what_mends_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    problems = findings("--data-dir", data)
    assert problems["data directory"] == [
        ("warning", f"{data} is not there yet", "finapi serve makes it; or name another with --data-dir")
    ]
    assert problems["settings"][0][0] == problems["clock"][0][0] == "ok"
    assert problems["EDGAR"][0][2] == "--user-agent 'Your Name name@example.com'"
    assert not data.exists()
    finapi("ingest", "/dev/null", "--data-dir", data)
    (data / "secrets").chmod(0o644)
    problems = findings("--data-dir", data, FINAPI_PUBLIC_URL="https://f.example", FINAPI_SMTP_URL="smtp://127.0.0.1:1")
    assert problems["data directory"][-1] == (
        "wrong",
        f"{data / 'secrets'} is open to others",
        f"chmod 600 {data / 'secrets'}",
    )
    assert problems["proxy"][0][0] == "warning"
    assert problems["mail"][0][0] == "wrong"
    assert problems["database"][0][0] == "ok"
    data.chmod(0o755)
    assert problems != findings("--data-dir", data)
    text = finapi("doctor", "--data-dir", data)
    assert text.status == 1
    assert f"wrong    data directory: {data} is open to others; restrict it with: chmod 700 {data}\n" in text.out
    assert "         to fix it: " in text.out


@pytest.mark.slow
def test_the_doctor_asks_mail_and_edgar_themselves(tmp_path: Path) -> None:
    from tests.support.edgar_server import AGENT, Page, fake_edgar

    with fake_edgar() as (edgar, edgar_settings), mail_server(Mailbox()) as port:
        edgar.pages["/files/company_tickers.json"] = Page(headers={"Date": "Sat, 31 Jan 2015 12:00:00 GMT"})
        words = ("--data-dir", tmp_path, "--user-agent", AGENT, "--base-url", f"http://127.0.0.1:{edgar_settings.port}")
        problems = findings(*words, FINAPI_SMTP_URL=f"smtp://127.0.0.1:{port}?starttls=never")
        assert problems["mail"] == [("ok", "the server greets and lets us in", None)]
        assert [state for state, _, _ in problems["EDGAR"]] == ["ok", "wrong"]
        assert problems["EDGAR"][1][2] == "timedatectl set-ntp true"
        assert edgar.requests[0].line.startswith("HEAD /files/company_tickers.json")
        assert edgar.requests[0].headers["user-agent"] == AGENT
        edgar.always = Page(b"", 403)
        assert findings(*words)["EDGAR"][0][0] == "wrong"


@pytest.mark.slow
@pytest.mark.parametrize(
    "env",
    [
        {"FINAPI_SMTP_URL": "smtp://"},
        {"FINAPI_MAIL_FROM": "nobody"},
        {"FINAPI_SECRETS": "zz"},
        {"FINAPI_SECRETS": "00" * 32},
        {"FINAPI_POLL_EVERY": "60"},
        {"FINAPI_HOST": "0.0.0.0"},
    ],
)
def test_config_judges_every_value_as_serve_does(env: dict[str, str], tmp_path: Path) -> None:
    words = ("--data-dir", tmp_path / "data", "--port", "0")
    served = finapi("serve", *words, env=environment(**env))
    output = finapi("config", *words, env=environment(**env))
    assert (served.status, output.status) == (2, 2)
    assert output.complaint == served.complaint


def test_an_own_cost_of_no_call_is_refused_by_config_too(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text('[costs]\n"GET /nothing" = 1\n')
    done = finapi("config", "--config", tmp_path / "f.toml")
    assert done.complaint == "setting costs: 'GET /nothing' is not a call made with a key (GET /api/v1/...)"
