"""Tests of accounts in PostgreSQL: the same queries and promises, several processes over one ledger."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi import server
from finapi.accounts import archive, audit, billing, logins, recovery, users
from finapi.app import App
from finapi.core import background, lockout
from finapi.core.clock import FixedClock, iso
from finapi.core.config import Config
from finapi.core.errors import ApiError, StoreUnavailableError, UsageError
from finapi.delivery import credential_replacement
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from finapi.ops import moving
from finapi.ops.app_opening import open_app
from finapi.store import backup, db, schema, sql_files
from finapi.store.db import Transaction
from finapi.store.tables import ACCOUNTS
from finapi.web.accounts import account
from finapi.web.http.call import Call
from finapi.web.http.messages import Response
from finapi.web.routes import ROUTES
from tests import postgres_cluster
from tests.charging import charged
from tests.client import PASSWORD, Answer, Client, session_of, with_handler
from tests.conftest import NOW
from tests.ops.test_moving import make_directory
from tests.postgres_cluster import Cluster
from tests.process import eventually, get
from tests.stores import add_migrations, stores_of_queries
from tests.support.metered_calls import create_client
from tests.support.raw_sql import run_sql

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(postgres_cluster.programs() is None, reason="PostgreSQL is not installed"),
]
psycopg = pytest.importorskip("psycopg")

from finapi.store import postgres  # noqa: E402

# Of the test server, whose worlds are layers over a file.
OF_THE_FILE = {"next_happening", "happenings", "count_hours_passed", "sum_days_passed"}

QUOTA = "/api/v1/billing/quota"


def query_rows(url: str, words: str) -> list[tuple[Any, ...]]:
    """Return the rows of a statement on a connection of its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(words)
        return [tuple(row) for row in cursor] if cursor.description else []


def left(app: App) -> int:
    """Return the tokens of the first account."""
    with app.accounts.read() as tx:
        return int(tx.find_row("userplan", user_id=1)["current_balance"])  # type: ignore[index]


def test_every_query_of_accounts_compiles_in_postgresql_too(url: str) -> None:
    store = postgres.Postgres(url)
    wrong = {}
    for name in sorted(name for name, stores in stores_of_queries().items() if stores == {"accounts"}):
        query = db.load_queries()[name]
        if name in OF_THE_FILE:
            continue
        values: Any = (None,) * query.count("?") if "?" in query else defaultdict(lambda: None)
        with store._borrow_connection() as connection:
            try:
                text = psycopg.ClientCursor(connection).mogrify(postgres.translate_query(query), values)
                connection.execute(f"EXPLAIN {text}")
            except psycopg.Error as error:
                wrong[name] = str(error)
    store.close()
    assert wrong == {}


# Types of SQLite's columns in PostgreSQL.
TYPES = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea"}


def test_its_tables_have_the_columns_of_sqlite(url: str) -> None:
    postgres.Postgres(url).close()
    for table in ACCOUNTS:
        expected = [
            (name, TYPES[kind], not (required or key), default)
            for _, name, kind, required, default, key in schema.get_empty_database().execute(
                f"PRAGMA table_info({table})"
            )
        ]
        rows = query_rows(
            url,
            "SELECT column_name, data_type, is_nullable = 'YES', split_part(column_default, '::', 1) "
            f"FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position",
        )
        assert rows == expected, table


def test_its_tables_have_the_indexes_and_first_rows_of_sqlite(url: str) -> None:
    postgres.Postgres(url).close()
    index_query = "SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
    expected = {name for name, table in schema.get_empty_database().execute(index_query) if table in ACCOUNTS}
    assert expected <= {name for (name,) in query_rows(url, "SELECT indexname FROM pg_indexes")}
    for table in ACCOUNTS:
        rows = [tuple(row) for row in schema.get_empty_database().execute(f"SELECT * FROM {table} ORDER BY 1")]
        assert query_rows(url, f"SELECT * FROM {table} ORDER BY 1") == rows, table


def test_accounts_of_a_newer_finapi_are_refused(url: str) -> None:
    postgres.Postgres(url).close()
    query_rows(url, "UPDATE finapi_schema SET version = 9999")
    with pytest.raises(UsageError, match="have schema version 9999, but this finapi supports 1: install a newer"):
        postgres.Postgres(url)


def test_accounts_of_a_development_version_are_refused(url: str) -> None:
    query_rows(url, "CREATE TABLE schema_version (number BIGINT NOT NULL, moved_to TEXT)")
    query_rows(url, "INSERT INTO schema_version VALUES (65, NULL)")
    with pytest.raises(UsageError, match="made by a development version of finapi and cannot be upgraded"):
        postgres.Postgres(url)


def test_accounts_without_a_column_of_this_version_are_refused(url: str) -> None:
    postgres.Postgres(url).close()
    rows = query_rows(
        url, "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    )
    assert postgres.list_columns(sql_files.read_text("postgres/schema.sql")) == set(rows)
    query_rows(url, "ALTER TABLE email_changes DROP COLUMN revert_until")
    reason = "were probably made by a development version of finapi: name an empty database in accounts_url"
    missing = "the column revert_until of the table email_changes"
    with pytest.raises(UsageError, match=f"^the accounts in PostgreSQL lack {missing} and {reason}$"):
        postgres.Postgres(url)
    query_rows(url, "DROP TABLE login_failures")
    with pytest.raises(UsageError, match=f"^the accounts in PostgreSQL lack {missing} and 3 more and {reason}$"):
        postgres.Postgres(url)


def test_an_upgrade_runs_the_migrations_that_concern_accounts(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.Postgres(url).close()
    files = {
        "migrations/0002_market.sql": "CREATE TABLE markets (x INTEGER) STRICT;\n",
        "migrations/0003_shoes.sql": "ALTER TABLE users ADD COLUMN shoes INTEGER;\n",
        "postgres/migrations/0003_shoes.sql": "ALTER TABLE users ADD COLUMN shoes BIGINT;\nSELECT 1;\n",
    }
    add_migrations(monkeypatch, tmp_path / "sql", files)
    for _ in range(2):
        postgres.Postgres(url).close()
        assert query_rows(url, "SELECT version FROM finapi_schema") == [(3,)]
        assert query_rows(url, "SELECT shoes FROM users") == []


def test_an_upgrade_that_fails_leaves_the_accounts_as_they_were(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.Postgres(url).close()
    files = {
        "migrations/0002_shoes.sql": "ALTER TABLE users ADD COLUMN shoes INTEGER;\n",
        "postgres/migrations/0002_shoes.sql": "ALTER TABLE users ADD COLUMN shoes BIGINT;\nSELECT * FROM nowhere;\n",
    }
    add_migrations(monkeypatch, tmp_path / "sql", files)
    with pytest.raises(db.DatabaseError, match="nowhere"):
        postgres.Postgres(url)
    assert query_rows(url, "SELECT version FROM finapi_schema") == [(1,)]
    with pytest.raises(psycopg.errors.UndefinedColumn):
        query_rows(url, "SELECT shoes FROM users")


def test_a_database_that_is_not_there_is_a_line(tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path, accounts_url="postgresql:///nobody?host=/nowhere")
    with pytest.raises(UsageError, match=r"accounts_url cannot be opened: .*nowhere"):
        apps.open_on_disk(config)


def test_an_url_of_another_database_is_refused() -> None:
    with pytest.raises(UsageError, match="accounts_url: must begin with postgresql://"):
        Config(accounts_url="mysql://host/accounts")


def test_a_billed_call_takes_two_round_trips(node: Callable[..., App], monkeypatch: pytest.MonkeyPatch) -> None:
    app = node()
    user = users.create(app, "ann@example.com", "pro", NOW)
    caller = Client(app, user.api_key)
    statements = []
    send = postgres.PostgresTransaction._send
    monkeypatch.setattr(
        postgres.PostgresTransaction, "_send", lambda tx, text: (statements.append(text), send(tx, text))[1]
    )
    for _ in range(2):
        statements.clear()
        assert caller.get("/api/v1/sec/filings").status == 200
    # The first of them closes the debit of the call before.
    assert len(statements) == 2


def test_threads_on_three_nodes_spend_the_last_tokens_once(node: Callable[..., App]) -> None:
    nodes = [node(free_tokens=50) for _ in range(3)]
    users.create(nodes[0], "ann@example.com", "free", NOW)
    spent, refused = [], []

    def spend(app: App, number: int) -> None:
        for turn in range(20):
            try:
                with charged(app, 1, "GET /x", 1, f"r{number}-{turn}"):
                    spent.append(1)
            except ApiError as error:
                refused.append(error.code)

    threads = [threading.Thread(target=spend, args=(nodes[number % 3], number)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for node_app in nodes:
        billing.run_settlement_step(node_app)
    assert (len(spent), set(refused), left(nodes[0])) == (50, {"insufficient_tokens"}, 0)
    assert billing.list_errors(nodes[0]) == []
    with nodes[1].accounts.read() as tx:
        spending = billing.compute_spending(tx, 1, 1, NOW)
    assert [row["calls"] for row in spending["daily"]] == [50]
    assert spending["top_endpoints"] == [{"endpoint": "GET /x", "tokens": 50, "calls": 50}]


def test_a_key_that_one_node_changes_is_unknown_to_the_others(node: Callable[..., App]) -> None:
    node_a, other = node(), node()
    heard = threading.Event()
    other.accounts.listen("any", heard.set)
    user = users.create(node_a, "ann@example.com", "pro", NOW)
    # It begins to hear, and what was said before counts as said now.
    assert heard.wait(10)
    heard.clear()
    assert users.find_cached_caller(other, user.api_key) is not None
    before = other.accounts.write_count
    with node_a.accounts.write() as tx:
        tx.announce("any")
        tx.run("delete_api_key", user_id=user.id)
    assert heard.wait(10)
    assert other.accounts.write_count > before
    assert users.find_cached_caller(other, user.api_key) is None


def test_parallel_repeats_on_two_nodes_buy_once(node: Callable[..., App]) -> None:
    nodes = [node(app_per_minute=1_000) for _ in range(2)]
    users.create(nodes[0], "ann@example.com", "pro", NOW, password=PASSWORD)
    users.change_credit(nodes[0], "ann@example.com", 100, NOW)
    session = session_of(Client(nodes[0]))
    barrier = threading.Barrier(12, timeout=20)

    def buy(call: Call) -> Response:
        barrier.wait()  # No call has found a stored response.
        return account.buy_quota(call)

    routes = [with_handler(route, buy) if route.path == QUOTA else route for route in ROUTES]
    clients = [create_client(app, None, *routes) for app in nodes] * 6

    def send(client: Client) -> Answer:
        headers = {"Idempotency-Key": "k1"}
        return client.post(QUOTA, {"amount_dollars": 1}, session=session, headers=headers)

    with ThreadPoolExecutor(12) as pool:
        answers = [future.result(timeout=30) for future in [pool.submit(send, client) for client in clients]]
    assert [answer.status for answer in answers] == [200] * 12
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert left(nodes[1]) == 500_100


def test_open_debits_of_a_dead_node_are_refunded_later(node: Callable[..., App], clock: FixedClock) -> None:
    dead, alive = node(), node()
    users.create(dead, "ann@example.com", "pro", NOW)
    billing.charge(dead, 1, "GET /x", 25, "r1")
    assert billing.refund_open_debits(alive, clock.now()) == 0
    clock.advance(seconds=306)
    # Until then it is no error, at whatever time a check looks at it.
    open_debit = {"account": "ann@example.com", "endpoint": "GET /x", "request_id": "r1", "tokens": 25}
    assert billing.list_open_debits(alive) == [{**open_debit, "created_at": iso(NOW)}]
    assert billing.list_errors(alive) == []
    assert billing.refund_open_debits(alive, clock.now()) == 1
    assert left(alive) == 500_000
    assert billing.list_open_debits(alive) == []


def test_an_open_debit_that_no_start_refunds_is_an_error(node: Callable[..., App], url: str) -> None:
    app = node()
    users.create(app, "ann@example.com", "pro", NOW)
    billing.charge(app, 1, "GET /x", 25, "r1")
    query_rows(url, "UPDATE ledger_summed SET closed_to = 2")
    assert billing.list_errors(app) == [
        "ledger row 2: 25 tokens for GET /x are open, "
        "but all rows up to 2 are recorded as closed, so no start refunds them"
    ]


def test_an_overtaken_debit_is_not_taken_for_closed(node: Callable[..., App], url: str, clock: FixedClock) -> None:
    slow, other = node(), node()
    user, bob = (users.create(slow, f"{name}@example.com", "pro", NOW) for name in ("ann", "bob"))
    numbered, ends = threading.Event(), threading.Event()

    def debit(tx: Transaction) -> None:
        row = {"user_id": user.id, "cost": 25, "endpoint": "GET /x", "request_id": "r1"}
        row |= {"delta": -25, "reason": "debit", "status": None, "open": 1}
        tx.run("take_tokens", row, now=iso(NOW))
        tx.insert_row("insert_ledger_row", row, now=iso(NOW))
        numbered.set()
        assert ends.wait(10)

    paying = threading.Thread(target=slow.accounts.write_batched, args=(debit,))
    paying.start()
    assert numbered.wait(10)
    with charged(other, bob.id, "GET /x", 25, "r2"):
        pass
    closing = threading.Thread(target=billing.run_settlement_step, args=(other,))
    closing.start()
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    while closing.is_alive() and query_rows(url, waits) == [(0,)]:
        pass
    ends.set()
    paying.join()
    closing.join()
    clock.advance(seconds=306)
    assert billing.refund_open_debits(other, clock.now()) == 1
    assert left(other) == 500_000


def test_postgresql_reads_few_rows_for_open_debits(
    node: Callable[..., App], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = node()
    user = users.create(app, "ann@example.com", "pro", NOW)
    # As rows lie in the places of those that were archived.
    query_rows(
        url,
        "INSERT INTO ledger (id, user_id, delta, reason, open, created_at)"
        f" SELECT one, {user.id}, 0, 'grant', 0, '2026' FROM generate_series(1001, 100000) AS one ORDER BY one % 16",
    )
    query_rows(url, "UPDATE ledger_summed SET closed_to = 100000, last_id = 100000")
    query_rows(url, "SELECT setval(pg_get_serial_sequence('ledger', 'id'), 100000)")
    query_rows(url, "VACUUM ANALYZE ledger, ledger_summed")
    statements: list[str] = []
    send = postgres.PostgresTransaction._send
    monkeypatch.setattr(
        postgres.PostgresTransaction, "_send", lambda tx, text: (statements.append(text), send(tx, text))[1]
    )
    billing.charge(app, user.id, "GET /x", 25, "r1").settle()
    billing.run_settlement_step(app)
    billing.refund_open_debits(app, NOW)
    archive.run_archive_step(app)
    asked_for = [text for text in statements if "open = 1 AND" in text or "min(id)" in text]
    costs = [float(re.findall(r"\.\.([0-9.]+) ", query_rows(url, f"EXPLAIN {text}")[0][0])[0]) for text in asked_for]
    assert len(costs) == 3
    assert max(costs) < 500  # of pages, in PostgreSQL's measure; the ledger has 1,000


def test_one_process_works_and_the_next_when_it_has_died(node: Callable[..., App]) -> None:
    node_a, other = node(), node()
    deposed: list[str] = []
    assert node_a.accounts.elect(10, lambda: deposed.append("one"))
    assert not other.accounts.elect(0.1, lambda: deposed.append("other"))
    node_a.db.close()
    assert other.accounts.elect(10, lambda: deposed.append("other"))
    assert deposed == []


def test_a_write_on_one_node_waits_for_that_on_another(node: Callable[..., App]) -> None:
    node_a, other = node(), node()
    order = []

    def write() -> None:
        with other.accounts.write() as tx:
            tx.find_value("any_user_or_invite")
            order.append("other")

    with node_a.accounts.write() as tx:
        tx.find_value("any_user_or_invite")
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(0.2)
        order.append("one")
    thread.join()
    assert order == ["one", "other"]


def test_a_transaction_that_raises_leaves_nothing(node: Callable[..., App]) -> None:
    app = node()
    with suppress(KeyError), app.accounts.write() as tx:
        tx.insert_row("insert_mail", template="welcome", subject_id=1, now="2026-01-01")
        raise KeyError
    with app.accounts.read() as tx:
        assert tx.find_value("queued_mails") == 0


def test_nothing_is_written_where_it_is_read(node: Callable[..., App]) -> None:
    with pytest.raises(db.DatabaseError, match="read-only"), node().accounts.read() as tx:
        tx.run("delete_resets")


def test_a_refused_row_names_the_column_as_sqlite_does(node: Callable[..., App], clock: FixedClock) -> None:
    app, now = node(), clock.now()
    user = users.create(app, "ann@example.com", "free", now)
    with pytest.raises(ApiError, match=r"A user with the email ann@example\.com exists already\."):
        users.create(app, "ann@example.com", "free", now)
    with pytest.raises(db.ConstraintError, match=r"^UNIQUE constraint failed: users\.uuid$"):
        users.create(replace(app, new_uuid=lambda: user.uuid), "bob@example.com", "free", now)
    with pytest.raises(db.ConstraintError, match="audit_subject_fkey"), app.accounts.write() as tx:
        audit.record_action(tx, audit.Actor(None, "/"), "lock", now, subject=999)
    audit_line = audit.Actor(None, "/", form_id="1")
    users.change_credit(app, "ann@example.com", 100, now, audit_line)
    with pytest.raises(ApiError, match="This form was already sent"):
        users.change_credit(app, "ann@example.com", 100, now, audit_line)


def test_a_text_that_postgresql_cannot_store_finds_no_user(node: Callable[..., App]) -> None:
    with node().accounts.read() as tx:
        assert tx.find_row("user_by_email", email="a\0b@example.com") is None


def test_calls_are_503_while_postgresql_is_away(node: Callable[..., App], cluster: Cluster, clock: FixedClock) -> None:
    app = node()
    user = users.create(app, "ann@example.com", "pro", NOW)
    caller = Client(app, user.api_key)
    free, billed = "/api/v1/form-13f/funds", "/api/v1/sec/filings"
    assert caller.get(free).status == 200
    cluster.stop()
    try:
        away = caller.get(billed)
        assert (away.status, away.json["code"], away.headers["retry-after"]) == (503, "UNAVAILABLE", "30")
        assert away.json["message"] == "Accounts cannot be reached at the moment."
        # Whose key it is was known, and may be taken for known for a second.
        assert caller.get(free).status == 200
        clock.advance(seconds=1)
        assert caller.get(free).status == 503
        assert caller.get("/readyz").status == 200
        with pytest.raises(StoreUnavailableError):
            users.find_cached_caller(app, "0" * 32)
    finally:
        cluster.start()
    assert [caller.get(path).status for path in (free, billed)] == [200, 200]
    assert billing.list_errors(app) == []


def test_failures_on_several_nodes_lock_an_email_on_all(node: Callable[..., App], clock: FixedClock) -> None:
    nodes = [node() for _ in range(3)]
    users.create(nodes[0], "ann@example.com", "pro", NOW, password="the right one")

    def try_login(app: App, password: str) -> int:
        return Client(app).post("/api/v1/auth/login", {"email": "ann@example.com", "password": password}).status

    assert [try_login(nodes[number % 3], "a wrong one") for number in range(5)] == [401, 401, 401, 401, 429]
    # On each node, for any password, and only until the lock ends.
    assert [try_login(node_app, "the right one") for node_app in nodes] == [429, 429, 429]
    clock.advance(seconds=lockout.LOCK_SECONDS_BY_FAILURES[5])
    assert [try_login(node_app, "a wrong one") for node_app in nodes] == [401, 401, 401]
    assert try_login(nodes[0], "the right one") == 200
    # A right login on any node clears the earlier failures.
    assert [try_login(nodes[number % 3], "a wrong one") for number in range(1, 5)] == [401, 401, 401, 401]
    assert try_login(nodes[2], "a wrong one") == 429


def test_a_failure_in_hand_when_the_lock_comes_changes_nothing(node: Callable[..., App], clock: FixedClock) -> None:
    node_a, other = node(), node()
    key = lockout.hash_email("ann@example.com")
    for app in (node_a, other, node_a, other):
        assert logins.record_failure(app, key, None, clock.now()) is None
    assert logins.record_failure(node_a, key, None, clock.now()) == lockout.LOCK_SECONDS_BY_FAILURES[5]
    clock.advance(seconds=10)
    assert logins.record_failure(other, key, None, clock.now()) == lockout.LOCK_SECONDS_BY_FAILURES[5] - 10
    clock.advance(seconds=lockout.LOCK_SECONDS_BY_FAILURES[5] - 9)
    assert logins.record_failure(other, key, None, clock.now()) is None


def test_usage_is_summed_once_whoever_sums_it(node: Callable[..., App], monkeypatch: pytest.MonkeyPatch) -> None:
    node_a, other = node(), node()
    user = users.create(node_a, "ann@example.com", "pro", NOW)
    with charged(node_a, user.id, "GET /x", 5, "r1"):
        pass
    share = node_a.accounts.write_batched

    def after_another(work: Any, **how: Any) -> Any:
        # Read before, written behind: what the other has summed is not summed again.
        monkeypatch.undo()
        billing.run_settlement_step(other)
        return share(work, **how)

    monkeypatch.setattr(node_a.accounts, "write_batched", after_another)
    billing.run_settlement_step(node_a)
    with node_a.accounts.read() as tx:
        assert [
            (row["calls"], row["tokens_consumed"]) for row in billing.compute_spending(tx, user.id, 1, NOW)["daily"]
        ] == [(1, 5)]


def test_a_worker_waits_for_the_one_that_works(url: str, tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path, accounts_url=url, role="worker")
    elected = server.open_elected_accounts(config, lambda seconds: True)
    assert elected is not None
    waited: list[float] = []
    assert (
        server.open_elected_accounts(config, lambda seconds: bool(waited.append(seconds)) or len(waited) == 2) is None
    )
    assert waited == [server.ELECTION_RETRY_SECONDS] * 2
    elected.close()
    two = server.open_elected_accounts(config, lambda seconds: True)
    assert two is not None
    two.close()


@pytest.mark.parametrize("role", ["api", "worker"])
def test_a_role_without_accounts_in_postgresql_is_refused(role: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"role {role} needs accounts in PostgreSQL"):
        server.open_elected_accounts(Config(data_dir=tmp_path, role=role), lambda seconds: True)


def test_a_node_without_the_secrets_of_the_worker_is_refused(tmp_path: Path, url: str) -> None:
    config = make_directory(tmp_path)
    moving.move_to_postgres(replace(config, accounts_url=url))
    node = replace(config, data_dir=tmp_path / "node", accounts_url=url, role="api")
    node.data_dir.mkdir(mode=0o700)
    with pytest.raises(UsageError, match="does not exist"), open_app(node):
        pass
    with backup.temporary_copy(config.data_dir / "finapi.db", node.data_dir, "copy") as copy:
        copy.replace(node.data_dir / "finapi.db")
    with pytest.raises(UsageError, match="secrets is missing, which is needed for 2 API keys"), open_app(node):
        pass
    (node.data_dir / "secrets").write_text("11" * 32)
    (node.data_dir / "secrets").chmod(0o600)
    with pytest.raises(UsageError, match=r"the worker is missing here \(2 API keys depend on it"), open_app(node):
        pass
    (node.data_dir / "secrets").write_bytes((config.data_dir / "secrets").read_bytes())
    with open_app(node) as app:
        assert users.find_cached_caller(app, "0" * 32) is None
        with pytest.raises(ApiError) as refused:
            ingest.run(app, [], IngestOptions(), lambda outcome: None)
    assert refused.value.code == "CONFLICT"


def test_a_key_that_is_replaced_elsewhere_ends_on_every_node(tmp_path: Path, url: str, cluster: Cluster) -> None:
    config = make_directory(tmp_path)
    moving.move_to_postgres(replace(config, accounts_url=url))
    data_dir = tmp_path / "node"
    data_dir.mkdir(mode=0o700)
    with backup.temporary_copy(config.data_dir / "finapi.db", data_dir, "copy") as copy:
        copy.replace(data_dir / "finapi.db")
    shutil.copy(config.data_dir / "secrets", data_dir)
    free = "/api/v1/form-13f/funds"
    with open_app(replace(config, accounts_url=url)) as worker:
        cat = users.create(worker, "cat@example.com", "pro", worker.clock.now())
        dan = users.create(worker, "dan@example.com", "pro", worker.clock.now())
        eve = users.create(worker, "eve@example.com", "pro", worker.clock.now())
        node = replace(config, data_dir=data_dir, accounts_url=url, role="api", port=0)
        with server.run_server(node, lambda *words: 0) as api:
            where = ("127.0.0.1", api.port)
            assert [get(where, free, user.api_key).status for user in (cat, dan, eve)] == [200, 200, 200]
            users.rotate_key(worker, eve.id, worker.clock.now())
            recovery.request_password_reset(worker, cat.email, worker.clock.now())
            recovery.run_mail_step(worker)
            token = link_in_mail(config)
            credential_replacement.reset_password(
                worker, token, "another horse battery", "192.0.2.1", worker.clock.now(), replace_credentials=True
            )
            eventually(lambda: get(where, free, cat.api_key).status == 401, 5)
            # Neither does it come back while nobody can be looked up. Others are known for another second.
            assert get(where, free, dan.api_key).status == 200
            cluster.stop()
            try:
                assert 200 not in [get(where, free, user.api_key).status for user in (cat, eve)]
                eventually(lambda: get(where, free, dan.api_key).status == 503, 5)
            finally:
                cluster.start()


def link_in_mail(config: Config) -> str:
    """Return the token of the only mail that the server wrote."""
    (file,) = (config.data_dir / "mail").glob("*.eml")
    (token,) = set(re.findall(r"token=3?D?(r[^\s\"<]+)", file.read_text().replace("=\n", "")))
    return str(token)


def test_a_worker_that_waits_for_postgresql_is_broken_off(
    node: Callable[..., App], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "STOP_SECONDS", 0.05)
    app, entered = node(), threading.Event()

    def step() -> None:
        with app.accounts.write() as tx:
            tx.find_row("user_by_email", email="nobody@example.com")
            entered.set()
            run_sql(tx, "SELECT pg_sleep(60)")

    worker = background.Worker("waiting", step, interrupt_thread=app.db.interrupt_thread)
    worker.start()
    assert entered.wait(10)
    began = time.monotonic()
    worker.stop()
    assert not worker._thread.is_alive()
    assert time.monotonic() - began < 5
    with app.accounts.write() as tx:
        assert tx.find_row("user_by_email", email="nobody@example.com") is None
