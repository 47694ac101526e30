"""The tests with accounts in PostgreSQL: ``python -m pytest -p tests.on_postgres PATHS``.

Every database in memory gets accounts in PostgreSQL beside it. What a test asks of one store and the other holds is
asked of the other: tests were written for one file.
"""

from __future__ import annotations

import re
from typing import Any

import psycopg
import pytest

from finapi.store import db, postgres
from finapi.store import schema as schemas
from finapi.store.tables import ACCOUNTS
from tests import postgres_cluster

_FREE: list[str] = []
_SCHEMAS: list[str] = []
_CLUSTER: list[Any] = []


def _cluster() -> postgres_cluster.Cluster:
    if not _CLUSTER:
        context = postgres_cluster.running()
        _CLUSTER.extend((context.__enter__(), context))
    return _CLUSTER[0]  # type: ignore[no-any-return]


def pytest_unconfigure() -> None:
    """Stop the cluster of this process."""
    if _CLUSTER:
        _CLUSTER[1].__exit__(None, None, None)
        _CLUSTER.clear()


def emptied(url: str, schema: str) -> None:
    """Make a schema what it was when it was new."""
    # Without triggers and references, which have their say about single rows.
    words = [f"SET search_path = {schema}", "BEGIN", "SET LOCAL session_replication_role = replica"]
    words += [f"DELETE FROM {table}" for table in ACCOUNTS]
    with psycopg.connect(url, autocommit=True, cursor_factory=psycopg.ClientCursor) as connection:
        for table in ACCOUNTS:
            rows = schemas.get_empty_database().execute(f"SELECT * FROM {table}")
            columns = [column[0] for column in rows.description]
            marks = ", ".join(["%s"] * len(columns))
            words += [connection.cursor().mogrify(f"INSERT INTO {table} VALUES ({marks})", tuple(row)) for row in rows]
            if "id" in columns:
                words.append(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), 1, false)")
        connection.execute("; ".join((*words, "COMMIT")))


def opened() -> postgres.Postgres:
    """Accounts in a schema that nobody else uses now, with nothing in it."""
    url = _cluster().url()
    if _FREE:
        schema = _FREE.pop()
        emptied(url, schema)
    else:
        schema = f"t{len(_SCHEMAS)}"
        _SCHEMAS.append(schema)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
    store = postgres.Postgres(url, schema=schema)
    close = store.close

    def closed() -> None:
        if not store.closed:
            close()
            _FREE.append(schema)

    store.close = closed  # type: ignore[method-assign]
    return store


class Done:
    """What became of a statement that answers no rows."""

    def __init__(self, cursor: Any) -> None:
        self.rowcount = cursor.rowcount

    def fetchall(self) -> list[Any]:
        """No rows."""
        return []

    def fetchone(self) -> None:
        """No row."""

    def __iter__(self) -> Any:
        return iter(())


class Bridge:
    """A connection to the file that sends what names a table of accounts to PostgreSQL."""

    def __init__(self, connection: Any, home: db.Database) -> None:
        self._connection, self.home = connection, home

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def is_elsewhere(self, query: str) -> bool:
        """Whether a statement names a table of accounts, which are in PostgreSQL."""
        return isinstance(self.home.accounts, postgres.Postgres) and _NAMES.search(query) is not None

    def backup(self, target: Any) -> None:
        """Copy the file; accounts stay where they are."""
        self._connection.backup(target._connection if isinstance(target, Bridge) else target)

    def execute(self, query: str, values: Any = ()) -> Any:
        """Run a statement where its tables are."""
        if not self.is_elsewhere(query):
            return self._connection.execute(query, values)
        if "strftime" in query or "printf" in query or "sqlite_" in query:
            pytest.skip("of the file itself")
        with self.home.accounts._open_transaction() as tx:  # type: ignore[attr-defined]
            cursor = tx._send(psycopg.ClientCursor(tx._to).mogrify(postgres.translate_query(query), values))
            return cursor if cursor.description else Done(cursor)

    def executemany(self, query: str, rows: Any) -> Any:
        """Run a statement for each row where its tables are."""
        if not self.is_elsewhere(query):
            return self._connection.executemany(query, rows)
        for row in rows:
            last = self.execute(query, row)
        return last


_NAMES = re.compile(rf"\b(FROM|INTO|UPDATE|JOIN)\s+({'|'.join(ACCOUNTS)})\b")


class Bridged(db.Transaction):
    """A transaction on a :class:`Bridge`."""

    __slots__ = ()

    def insert_row(self, query: str, values: Any = db.NO_VALUES, /, **named_values: Any) -> int:
        """What it is, in the store that has the table."""
        bridge: Any = self._connection
        if not bridge.is_elsewhere(self._queries[query]):
            return super().insert_row(query, values, **named_values)
        with bridge.home.accounts._open_transaction() as tx:
            return int(tx.insert_row(query, values, **named_values))

    insert_last = insert_row


_original_init, _plain = db.Database.__init__, db.Transaction


def _with_accounts(self: db.Database, path: Any, **how: Any) -> None:
    _original_init(self, path, **how)
    if path is None:
        self.accounts = store = opened()
        store._listeners = self._listeners
        self._writer = Bridge(self._writer, self)  # type: ignore[assignment]


class Chosen(_plain):
    """What makes transactions of the one kind or the other; a class, as tests derive theirs from it."""

    __slots__ = ()

    def __new__(cls, connection: Any, queries: dict[str, str]) -> Any:
        if cls is not Chosen:
            return super().__new__(cls)
        return (Bridged if isinstance(connection, Bridge) else _plain)(connection, queries)


def pytest_configure(config: pytest.Config) -> None:
    """Give every database in memory its accounts."""
    # Of a database that a test leaves to the collector, as one in memory may be.
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestUnraisableExceptionWarning")
    db.Database.__init__ = _with_accounts  # type: ignore[method-assign]
    db.Transaction = Chosen  # type: ignore[misc]


# Tests of the file itself, and why.
OF_THE_FILE: dict[str, str] = {
    **dict.fromkeys(
        (
            "tests/accounts/test_billing.py::test_a_failed_refund_is_retried_and_the_error_stays",
            "tests/web/test_metering.py::test_a_full_disk_is_a_free_503_and_free_reads_continue",
            "tests/net/test_mail.py::test_a_give_up_that_fails_is_rolled_back_and_called_again",
        ),
        "patches the writer of SQLite",
    ),
    **dict.fromkeys(
        (
            "tests/accounts/test_billing.py::test_a_debit_is_refunded_only_once",
            "tests/accounts/test_billing.py::test_a_debit_that_was_refunded_is_not_kept_afterwards",
            "tests/accounts/test_plans.py::TestAccounting",
        ),
        "a start refunds what is open; of shared accounts it is refunded by age (tests/store/test_postgres.py)",
    ),
    **dict.fromkeys(
        (
            "tests/store/test_db.py::test_a_repeated_unique_value_is_refused[memory]",
            "tests/store/test_db.py::test_a_reference_to_nothing_is_refused[memory]",
            "tests/store/test_db.py::test_a_value_of_another_type_is_refused[memory]",
            "tests/store/test_db.py::test_a_commit_that_is_refused_ends_its_transaction[memory]",
            "tests/store/test_db.py::test_the_error_that_ended_a_transaction_is_raised[memory]",
            "tests/store/test_db.py::test_work_that_fails_is_undone_alone[memory]",
            "tests/store/test_db.py::test_a_commit_that_fails_fails_all_that_share_it[memory]",
            "tests/store/test_db.py::test_a_database_refusal_reaches_its_own_writer[memory]",
            "tests/net/test_mail.py::test_the_database_refuses_a_row_that_means_nothing",
            "tests/accounts/test_users.py::test_the_database_holds_no_key",
            "tests/accounts/test_users.py::test_a_refused_audit_row_is_not_called_a_repeated_form",
            "tests/store/test_sql_files.py::test_a_value_that_is_not_given_is_an_error",
        ),
        "SQLite's own words, types and dumps",
    ),
    **dict.fromkeys(
        (
            "tests/net/test_mail.py::test_the_queries_of_the_queue_use_its_indexes",
            "tests/store/test_free_calls.py::test_a_free_call_takes_no_more_the_more_there_is",
            "tests/store/test_free_calls.py::test_what_waits_is_counted_up_to_a_bound",
        ),
        "counts SQLite's steps, or fills tables by its functions",
    ),
    **dict.fromkeys(
        (
            "tests/python_client/test_client.py::test_events_go_on_where_they_were",
            "tests/testing/test_conformance.py::test_finapi_passes_every_check",
            "tests/testing/test_fixture.py::test_control_sends_events_and_webhooks",
            "tests/testing/test_fixture_server.py::test_a_stop_leaves_no_thread_and_no_directory",
        ),
        "the test server's worlds are layers over a file, whose events are not in PostgreSQL",
    ),
    **dict.fromkeys(
        (
            "tests/feeds/test_keys.py::test_wrong_keys_limit_their_address_but_not_valid_keys",
            "tests/feeds/test_keys.py::test_messages_behind_the_key_wait_for_its_answer",
            "tests/feeds/test_keys.py::test_a_key_lookup_of_five_seconds_ends_the_connection",
        ),
        "a thread hears of the key a moment later, and it is looked up once more than the test's own steps",
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of the file itself, by name."""
    for item in items:
        why = next((why for prefix, why in OF_THE_FILE.items() if item.nodeid.startswith(prefix)), None)
        if why:
            item.add_marker(pytest.mark.skip(reason=why))
