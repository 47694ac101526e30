"""Tests of moves of accounts between the data directory and PostgreSQL, verified, and decided after any kill."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import stat
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from finapi import app as apps
from finapi.accounts import billing, users
from finapi.app import App
from finapi.cli import main
from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.ops import doctor, moving, proof
from finapi.ops.app_opening import open_app
from finapi.ops.moving import MoveResult
from finapi.store import account_moves, db
from finapi.store.account_moves import MOVED, MOVING, UndecidedMoveError
from finapi.store.connections import LockedConnection
from tests import postgres_cluster
from tests.charging import charged
from tests.conftest import NOW
from tests.postgres_cluster import Cluster
from tests.process import eventually
from tests.support.raw_sql import run_sql

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(postgres_cluster.programs() is None, reason="PostgreSQL is not installed"),
]
psycopg = pytest.importorskip("psycopg")

from finapi.store import postgres  # noqa: E402

KILLED = 137
KILLS = int(os.environ.get("KILLS", "5"))  # Beside those at which the situation changes
Run = Callable[..., tuple[int, str, str]]


def make_directory(tmp_path: Path) -> Config:
    """Make a data directory with an account that has spent, and rows in every table that is easy to fill."""
    config = Config(data_dir=tmp_path / "data", password_profile="cheap")
    config.data_dir.mkdir(mode=0o700)
    with open_app(config) as app:
        users.create(app, "ann@example.com", "pro", app.clock.now())
        bob = users.create(app, "bob@example.com", "free", app.clock.now())
        with charged(app, bob.id, "GET /x", 25, "r1"):
            pass
        with app.accounts.write() as tx:
            tx.run("insert_check", service="redis", tick=3600, health="healthy", ms=3, reason=None)
            done = {"action": "user add", "detail": "", "place": "", "once": None}
            tx.run("insert_audit_row", done, now="2026-01-01", by_user=None, subject=bob.id)
    return config


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Return a data directory with two accounts in its file."""
    return make_directory(tmp_path)


@pytest.fixture
def postgres_config(config: Config, url: str) -> Config:
    """Return the same directory with accounts in an empty PostgreSQL database."""
    return replace(config, accounts_url=url)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a verb on a data directory and returns its exit status, stdout and stderr."""

    def run(config: Config, *words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setenv("FINAPI_ACCOUNTS_URL", config.accounts_url)
        status = main([*map(str, words), "--data-dir", str(config.data_dir)])
        output = capsys.readouterr()
        return status, output.out, output.err

    return run


def query(database: Any, statement: str) -> list[tuple[Any, ...]]:
    """Return the rows of a statement that is run beside finapi: on a connection, or on a new one to a URL."""
    if isinstance(database, str):
        with psycopg.connect(database, autocommit=True) as connection:
            return query(connection, statement)
    cursor = database.execute(statement)
    return [tuple(row) for row in cursor] if cursor.description else []


def name_of(url: str) -> str:
    return postgres.describe_database(url)


def spend(config: Config, tokens: int) -> None:
    """Let the second account make a call."""
    with open_app(config) as app, charged(app, 2, "GET /x", tokens, f"call of {tokens}"):
        pass


def find_mark(database: Any) -> str | None:
    """Return the state of the mark in PostgreSQL."""
    if not query(database, "SELECT 1 FROM pg_tables WHERE tablename = 'finapi_schema'"):
        return None
    ((state,),) = query(database, "SELECT move_state FROM finapi_schema")
    return None if state is None else str(state)


# ---- moves that nothing interrupts


def test_accounts_move_to_postgresql_and_back_with_every_token(config: Config, postgres_config: Config) -> None:
    name = name_of(postgres_config.accounts_url)
    assert moving.move_to_postgres(postgres_config) == MoveResult(
        "moved", name, accounts=2, ledger_rows=3, tokens=501_975
    )
    with (
        pytest.raises(UsageError, match=r"accounts are in postgresql:///accounts.*: set accounts_url"),
        open_app(config),
    ):
        pass
    assert (config.data_dir / MOVED).read_text() == name
    assert not (config.data_dir / MOVING).exists()
    spend(postgres_config, 75)
    assert query(postgres_config.accounts_url, "SELECT healthy FROM status_hours") == [(1,)]
    assert query(postgres_config.accounts_url, "SELECT count(*) FROM audit") == [(1,)]
    assert moving.move_to_file(postgres_config) == MoveResult("moved", None, accounts=2, ledger_rows=4, tokens=501_900)
    with pytest.raises(UsageError, match=r"accounts were moved from there to .*data"), open_app(postgres_config):
        pass
    assert {path.name for path in config.data_dir.iterdir()} >= {"finapi.db", "secrets"}
    assert not (config.data_dir / MOVED).exists()
    with open_app(config) as app:
        assert proof.check_database(app.db, config)["problems"] == []
        with app.accounts.read() as tx:
            plan = tx.find_row("userplan", user_id=2)
        assert plan is not None
        assert plan["current_balance"] == 1_900
        # New numbers follow on.
        with app.accounts.write() as tx:
            assert billing.insert_ledger_row(tx, 2, 1, "grant", "2026-01-01") == 5
            tx.run("add_tokens", user_id=2, tokens=1, now="2026-01-01")
    # What was left there does not stand in the way of another move.
    assert moving.move_to_postgres(postgres_config).tokens == 501_901


def test_a_move_to_a_place_with_other_accounts_changes_nothing(
    config: Config, postgres_config: Config, node: Callable[..., App]
) -> None:
    app = node()
    users.create(app, "eve@example.com", "pro", NOW)
    app.db.close()
    with pytest.raises(UsageError, match="PostgreSQL already contains other accounts"):
        moving.move_to_postgres(postgres_config)
    assert query(postgres_config.accounts_url, "SELECT email FROM users") == [("eve@example.com",)]
    assert not (config.data_dir / MOVING).exists()
    spend(config, 1)


def test_a_move_to_identical_accounts_is_made(config: Config, postgres_config: Config) -> None:
    moving.move_to_postgres(postgres_config)
    with closing(db.Database(config.data_dir / "finapi.db")) as file:
        account_moves.set_database(file, config.data_dir, None)
    assert moving.move_to_postgres(postgres_config).tokens == 501_975


def test_a_second_move_to_postgresql_names_where_accounts_are(config: Config, postgres_config: Config) -> None:
    moving.move_to_postgres(postgres_config)
    with pytest.raises(UsageError, match=r"^accounts are in postgresql:///accounts.* already$"):
        moving.move_to_postgres(postgres_config)
    spend(postgres_config, 1)


def test_a_move_that_loses_a_row_is_undone(config: Config, postgres_config: Config) -> None:
    url = postgres_config.accounts_url
    postgres.Postgres(url).close()
    query(url, "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    query(url, "CREATE TRIGGER lose BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION lose()")
    with pytest.raises(UsageError, match="the copy differs from the original"):
        moving.move_to_postgres(postgres_config)
    assert query(url, "SELECT count(*) FROM users") == [(0,)]
    assert (find_mark(url), (config.data_dir / MOVING).exists()) == (None, False)
    spend(config, 1)


@pytest.mark.parametrize("move", [moving.move_to_postgres, moving.move_to_file])
def test_balances_that_differ_after_the_copy_undo_the_move(
    config: Config, postgres_config: Config, monkeypatch: pytest.MonkeyPatch, move: Callable[[Config], MoveResult]
) -> None:
    in_force = config
    if move is moving.move_to_file:
        moving.move_to_postgres(postgres_config)
        in_force = postgres_config
    tokens = iter([501_975, 501_974, 501_975])
    with monkeypatch.context() as patched:
        patched.setattr(moving, "_prove_balances", lambda app: next(tokens))
        with pytest.raises(UsageError, match=r"differ; .*accounts in .* stay in use"):
            move(postgres_config)
    spend(in_force, 1)
    assert move(postgres_config).tokens == 501_974


def test_a_move_beside_any_other_process_is_refused(
    config: Config, postgres_config: Config, node: Callable[..., App]
) -> None:
    moving.move_to_postgres(postgres_config)
    api = node()
    for move in (moving.move_to_file, moving.move_to_postgres):
        with pytest.raises(UsageError, match="another finapi uses the accounts in PostgreSQL; stop every node first"):
            move(postgres_config)
    api.db.close()
    assert moving.move_to_file(postgres_config).outcome == "moved"


def test_a_process_cannot_open_accounts_while_they_move(postgres_config: Config) -> None:
    refusal = pytest.raises(UndecidedMoveError, match="the accounts there are being moved by finapi move")
    with closing(postgres.Postgres(postgres_config.accounts_url, exclusive=True)), refusal:
        postgres.Postgres(postgres_config.accounts_url)
    postgres.Postgres(postgres_config.accounts_url).close()


def test_two_moves_at_once_are_one_move(
    config: Config, postgres_config: Config, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses: list[tuple[int, str, str]] = []
    take = postgres.Postgres.copy_from_file

    def take_beside_another(store: postgres.Postgres, *values: Any) -> None:
        statuses.append(run(postgres_config, "move", "--to", postgres_config.accounts_url))
        take(store, *values)

    monkeypatch.setattr(postgres.Postgres, "copy_from_file", take_beside_another)
    assert moving.move_to_postgres(postgres_config).outcome == "moved"
    assert statuses == [(2, "", f"finapi: {config.data_dir} is in use by a running finapi; stop it first\n")]


def test_two_directories_do_not_move_into_one_database(config: Config, postgres_config: Config, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = replace(make_directory(tmp_path / "other"), accounts_url=postgres_config.accounts_url)
    kill_after(postgres_config, moving.move_to_postgres, "arriving")
    with pytest.raises(UndecidedMoveError, match=r"the move of accounts there from .*/data is not decided; finish or"):
        moving.move_to_postgres(other)
    spend(replace(other, accounts_url=""), 1)
    assert moving.move_to_postgres(postgres_config).outcome == "moved"


def test_the_accounts_of_a_node_on_a_copy_are_not_moved(postgres_config: Config) -> None:
    with pytest.raises(UsageError, match="a node with the role api has no accounts of its own"):
        moving.move_to_postgres(replace(postgres_config, role="api"))


def test_accounts_that_were_not_moved_are_not_begun_anew(config: Config, postgres_config: Config) -> None:
    with pytest.raises(UsageError, match="accounts are in the data directory"), open_app(postgres_config):
        pass
    with pytest.raises(UsageError, match="accounts are in the data directory already"):
        moving.move_to_file(postgres_config)
    with pytest.raises(UsageError, match="accounts are in the data directory already"):
        moving.move_to_file(config)


# ---- moves that are killed


class Boundaries:
    """Counts the boundaries of statements in this process, of both databases and of file names.

    At each it calls ``look``, and at the one numbered ``last`` the process ends.
    """

    def __init__(self, last: int, look: Callable[[int], None] = lambda number: None) -> None:
        self.last = last
        self.look = look
        self.count = 0
        self.is_looking = False

    def cross(self) -> None:
        if self.is_looking:
            return
        self.count += 1
        if self.count == self.last:
            os._exit(KILLED)
        self.is_looking = True
        self.look(self.count)
        self.is_looking = False

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function with a boundary before and behind it."""

        def call_at_boundary(*values: Any, **options: Any) -> Any:
            self.cross()
            result = function(*values, **options)
            self.cross()
            return result

        return call_at_boundary

    def patch(self) -> None:
        """Put boundaries around everything that a move does to either place."""
        psycopg.Connection.wait = self.around(psycopg.Connection.wait)
        for name in ("execute", "executemany"):
            setattr(LockedConnection, name, self.around(getattr(LockedConnection, name)))
        for name in ("replace", "unlink", "fsync"):
            setattr(os, name, self.around(getattr(os, name)))


def in_child(work: Callable[[], object]) -> tuple[int, Any]:
    """Run ``work`` in a process of its own. Return its exit status, and the value that ``work`` returned."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writing, pickle.dumps(work()))
            status = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), pickle.loads(data) if data else None


def watch_move(config: Config, move: Callable[[Config], object]) -> dict[Situation, list[int]]:
    """Make a move; in which situation a kill at each boundary would have left both places."""

    def work() -> dict[Situation, list[int]]:
        situations: dict[Situation, list[int]] = {}
        connection = psycopg.connect(config.accounts_url, autocommit=True)
        last = look_at(config, connection)

        def look(number: int) -> None:
            nonlocal last
            # While a transaction has tables to itself, it is not committed, and nothing has changed.
            if not query(connection, EXCLUSIVE):
                last = look_at(config, connection)
            situations.setdefault(last, []).append(number)

        Boundaries(0, look).patch()
        move(config)
        return situations

    status, situations = in_child(work)
    assert status == 0
    return situations  # type: ignore[no-any-return]


def kill_at(config: Config, move: Callable[[Config], object], last: int) -> None:
    """Make a move in a process that ends at a boundary."""

    def work() -> None:
        Boundaries(last).patch()
        move(config)

    assert in_child(work)[0] == KILLED


def kill_after(config: Config, move: Callable[[Config], object], state: str) -> None:
    """Kill a move once its mark in PostgreSQL says ``state``, or once it is recorded in the data directory."""

    def work() -> None:
        def then_die(function: Callable[..., Any]) -> Callable[..., Any]:
            def call_at_boundary(*values: Any) -> None:
                function(*values)
                recorded = state == "recorded" and (config.data_dir / MOVING).exists()
                if recorded or find_mark(config.accounts_url) == state:
                    os._exit(KILLED)

            return call_at_boundary

        for owner, name in (
            (postgres.Postgres, "set_mark"),
            (postgres.Postgres, "copy_from_file"),
            (account_moves, "begin_move"),
        ):
            setattr(owner, name, then_die(getattr(owner, name)))
        move(config)

    assert in_child(work)[0] == KILLED


Books = tuple[tuple[Any, ...], ...]

EXCLUSIVE = (
    "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND locktype = 'relation' AND database ="
    " (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1"
)
LEDGER = "SELECT user_id, delta, reason, open FROM ledger ORDER BY id"
BALANCES = "SELECT user_id, total_limit_api - reach_limit_api FROM userplans ORDER BY user_id"


def books_of_file(config: Config) -> Books:
    """Return the ledger and the balances in the file, whether they are in force or not."""
    with closing(db.Database(config.data_dir / "finapi.db", reads_only=True)) as file, file.read() as tx:
        return tuple(tuple(row) for books in (LEDGER, BALANCES) for row in run_sql(tx, books))


def books_of_postgres(database: Any) -> Books:
    """Return the ledger and the balances in PostgreSQL, whether they are in force or not."""
    if not query(database, "SELECT 1 FROM pg_tables WHERE tablename = 'finapi_schema'"):
        return ()
    return tuple(row for books in (LEDGER, BALANCES) for row in query(database, books))


@dataclass(frozen=True)
class Situation:
    """The state of both places after a kill, without ids and times."""

    is_recorded: bool
    has_marker: bool
    has_row: bool
    mark: str | None
    file: Books
    postgres: Books


def look_at(config: Config, connection: Any = None) -> Situation:
    """Return the situation of both places; by a connection to PostgreSQL that is there already, if one is."""
    database = connection or config.accounts_url
    with closing(db.Database(config.data_dir / "finapi.db", reads_only=True)) as file:
        row = account_moves.find_recorded_database(file)
    return Situation(
        (config.data_dir / MOVING).exists(),
        (config.data_dir / MOVED).exists(),
        row is not None,
        find_mark(database),
        books_of_file(config),
        books_of_postgres(database),
    )


def open_somewhere(config: Config) -> set[str]:
    """Return the places whose accounts a process can open: in the file, or on any host in PostgreSQL."""
    places = set()
    with suppress(UsageError), open_app(replace(config, accounts_url="")):
        places.add("file")
    with suppress(UsageError), closing(postgres.Postgres(config.accounts_url)) as store:
        places |= {"postgresql"} if apps.has_accounts(store) else set()
    return places


@dataclass
class Places:
    """A data directory and a database, of which each test of a kill gets a copy."""

    cluster: Cluster
    config: Config
    copies: Path
    number: int = 0

    @contextmanager
    def copy(self, config: Config | None = None) -> Iterator[Config]:
        """Copy both places, those of ``config`` or those at first, until the block ends."""
        self.number += 1
        source = config or self.config
        data_dir = self.copies / str(self.number) / "data"
        shutil.copytree(source.data_dir, data_dir, ignore=shutil.ignore_patterns("*.sock"))
        url = self.cluster.create_database(source.accounts_url)
        try:
            # The record of a move says where the other end is.
            if (data_dir / MOVING).exists():
                record = json.loads((data_dir / MOVING).read_text())
                record["database"] = name_of(url)
                (data_dir / MOVING).write_text(json.dumps(record))
            # So does the mark.
            if find_mark(url) is not None:
                query(url, f"UPDATE finapi_schema SET move_place = '{account_moves.describe_place(data_dir)}'")
            yield replace(source, data_dir=data_dir, accounts_url=url)
        finally:
            self.cluster.drop_database(url)
            shutil.rmtree(data_dir)


@pytest.fixture
def places(cluster: Cluster, postgres_config: Config, tmp_path: Path) -> Places:
    """Return accounts in the file, with a debit that a crash left open, and an empty PostgreSQL."""
    leave_open_debit(replace(postgres_config, accounts_url=""))
    return Places(cluster, postgres_config, tmp_path / "copies")


def leave_open_debit(config: Config) -> None:
    """Charge a call, and let the process die before its answer."""

    def work() -> None:
        with open_app(config) as app:
            billing.charge(app, 2, "GET /x", 25, "cut off")
            os._exit(KILLED)

    assert in_child(work)[0] == KILLED


@pytest.mark.parametrize("target", ["postgresql", "file"])
def test_a_kill_at_any_statement_leaves_one_ledger(places: Places, run: Run, target: str) -> None:
    move, undo, source = moving.move_to_postgres, moving.move_to_file, "file"
    if target == "file":
        moving.move_to_postgres(places.config)
        spend(places.config, 75)
        leave_open_debit(places.config)
        move, undo, source = undo, move, "postgresql"
    with places.copy() as clean:
        before = look_at(clean)
        situations = watch_move(clean, move)
        after = look_at(clean)
    books = after.postgres if target == "postgresql" else after.file
    refunds = [row for row in books if "crash_refund" in row]
    assert len(refunds) == (1 if target == "postgresql" else 2)
    numbers = [number for boundaries in situations.values() for number in boundaries]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len(numbers) > 500
    assert {before, after} <= situations.keys()
    spaced = range(1, len(numbers), max(1, len(numbers) // KILLS))
    for situation, boundaries in situations.items():
        for number in sorted({boundaries[0], boundaries[-1], *(set(boundaries) & set(spaced))}):
            with places.copy() as killed:
                kill_at(killed, move, number)
                assert look_at(killed) == situation
        with places.copy() as killed:
            kill_at(killed, move, boundaries[0])
            is_undecided = check_nothing_undecided_is_opened(killed, situation, target, run)
            with places.copy(killed) as finished:
                if situation == after:
                    continue
                assert move(finished).outcome == "moved"
                check_in_force(finished, target, books, run)
            with places.copy(killed) as undone:
                if not is_undecided:
                    continue
                if is_decided(situation, target):
                    with pytest.raises(UndecidedMoveError, match=r"already.*; finish the move first: finapi move --to"):
                        undo(undone)
                else:
                    assert undo(undone).outcome == "undone"
                    check_in_force(undone, source, books, run)
                assert move(undone).outcome == "moved"
                check_in_force(undone, target, books, run)


def is_decided(situation: Situation, target: str) -> bool:
    """Return True if a kill came so late that the move can only be finished."""
    return situation.mark == "left" if target == "file" else situation.mark is None and situation.has_marker


def check_nothing_undecided_is_opened(config: Config, situation: Situation, target: str, run: Run) -> bool:
    """Check which places can be opened after a kill, and that ``check`` says why; whether the move has to be ended."""
    is_undecided = situation.is_recorded or situation.mark in ("arriving", "leaving")
    opened_places = open_somewhere(config)
    if not is_undecided:
        assert opened_places == {
            target if is_decided(situation, target) else "file" if target != "file" else "postgresql"
        }
        return False
    assert opened_places == ({"postgresql"} if target == "postgresql" and is_decided(situation, target) else set())
    verbs: list[tuple[str, ...]] = [("user", "list"), ("invite", "create"), ("ingest", __file__), ("serve",)]
    for verb in [*verbs, *([("restore", __file__)] if situation.is_recorded else [])]:
        status, out, err = run(config, *verb)
        assert (status, out) == (2, "")
        assert "is not decided; finish" in err
    status, _, err = run(config, "check")
    assert status == 1
    assert "is not decided; finish" in err
    findings = [finding for finding in doctor.list_findings(config, SystemClock()) if finding["check"] == "accounts"]
    assert [finding["state"] for finding in findings] == ["wrong"]
    assert "is not decided; finish" in findings[0]["found"]
    return True


def check_in_force(config: Config, location: str, books: Books, run: Run) -> None:
    """Check that one place is in force, with these books, and that ``check`` proves it."""
    assert open_somewhere(config) == {location}
    postgres_config = look_at(config)
    assert (postgres_config.file if location == "file" else postgres_config.postgres) == books
    assert not postgres_config.is_recorded
    in_force = replace(config, accounts_url="" if location == "file" else config.accounts_url)
    status, out, err = run(in_force, "check")
    assert (status, err) == (0, "")
    assert out.startswith("all is well: 2 accounts")


# ---- moves that are resolved in another way


def leave_undecided(postgres_config: Config, target: str, state: str) -> None:
    """Kill a move to a target in a state of it."""
    if target == "file":
        moving.move_to_postgres(postgres_config)
        kill_after(postgres_config, moving.move_to_file, state)
    else:
        kill_after(postgres_config, moving.move_to_postgres, state)


def test_another_database_does_not_finish_a_move(config: Config, postgres_config: Config, cluster: Cluster) -> None:
    kill_after(postgres_config, moving.move_to_postgres, "arriving")
    other = replace(postgres_config, accounts_url=cluster.create_database())
    for move in (moving.move_to_postgres, moving.move_to_file):
        with pytest.raises(UndecidedMoveError, match=r"accounts\d+\?.* is not the database of the unfinished move; "):
            move(other)
    assert not query(other.accounts_url, "SELECT 1 FROM users")
    with pytest.raises(UndecidedMoveError):
        spend(config, 1)
    assert moving.move_to_postgres(postgres_config).tokens == 501_975


def test_a_move_is_undone_without_the_database_that_it_went_to(config: Config, postgres_config: Config) -> None:
    leave_undecided(postgres_config, "postgresql", "arriving")
    assert moving.move_to_file(config) == MoveResult("undone", None, accounts=2, ledger_rows=3, tokens=501_975)
    spend(config, 5)
    # What arrived is opened by no process, and overwritten by the next move.
    with pytest.raises(UndecidedMoveError, match="the move of accounts there from"):
        postgres.Postgres(postgres_config.accounts_url)
    assert moving.move_to_postgres(postgres_config).tokens == 501_970


def test_a_move_that_may_be_decided_is_not_undone_unseen(config: Config, postgres_config: Config) -> None:
    leave_undecided(postgres_config, "postgresql", "arriving")
    with closing(db.Database(config.data_dir / "finapi.db")) as file:
        account_moves.set_database(file, config.data_dir, name_of(postgres_config.accounts_url))
    with pytest.raises(UndecidedMoveError, match="set accounts_url to it to find out"):
        moving.move_to_file(config)
    assert moving.move_to_file(postgres_config).outcome == "undone"
    spend(config, 5)


def test_a_move_from_postgresql_asks_for_its_url(config: Config, postgres_config: Config) -> None:
    leave_undecided(postgres_config, "file", "leaving")
    with pytest.raises(UsageError, match=r"^accounts are in postgresql:///accounts.*: set accounts_url to it$"):
        moving.move_to_file(config)
    (config.data_dir / MOVED).unlink()
    kill_after(postgres_config, moving.move_to_file, "recorded")
    with pytest.raises(UndecidedMoveError, match="; set accounts_url to the PostgreSQL database of this move"):
        moving.move_to_file(config)
    assert moving.move_to_file(postgres_config).outcome == "moved"


DAMAGED = [b"", b'{"id": "1', b"[]", b"\xff\xfe", b'{"id": "1", "target": "mars", "database": "x", "started_at": ""}']


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_record_keeps_accounts_closed(config: Config, postgres_config: Config, run: Run, text: bytes) -> None:
    (config.data_dir / MOVING).write_bytes(text)
    for verb in (("user", "list"), ("serve",), ("check",)):
        status, _, err = run(config, *verb)
        assert status == (1 if verb == ("check",) else 2)
        assert "the file accounts-moving in the data directory is damaged, so a move of accounts is not decided" in err
    with pytest.raises(UndecidedMoveError, match="set accounts_url to the PostgreSQL database of this move"):
        moving.move_to_file(config)
    assert moving.move_to_postgres(postgres_config).tokens == 501_975
    spend(postgres_config, 1)


# Target, state of the mark when it was killed, and what each answer comes to.
STATES = [
    ("postgresql", "recorded", {"postgresql": "moved", "file": "undone"}),
    ("postgresql", "arriving", {"postgresql": "moved", "file": "undone"}),
    ("file", "leaving", {"file": "moved", "postgresql": "undone"}),
    ("file", "recorded", {"file": "moved", "postgresql": "undone"}),
    ("file", "left", {"file": "moved", "postgresql": None}),
]


@pytest.mark.parametrize("answer", ["postgresql", "file"])
@pytest.mark.parametrize(("target", "state", "outcomes"), STATES)
def test_a_damaged_record_is_inferred_from_both_places(
    config: Config, postgres_config: Config, target: str, state: str, outcomes: dict[str, str | None], answer: str
) -> None:
    leave_undecided(postgres_config, target, state)
    (config.data_dir / MOVING).write_bytes(b"")
    move = moving.move_to_postgres if answer == "postgresql" else moving.move_to_file
    if outcomes[answer] is None:
        with pytest.raises(UndecidedMoveError, match="the accounts are in the data directory already; finish"):
            move(postgres_config)
        answer, move = "file", moving.move_to_file
    assert move(postgres_config).outcome == outcomes[answer]
    assert open_somewhere(postgres_config) == {answer}
    spend(postgres_config if answer == "postgresql" else config, 25)
    assert look_at(postgres_config).is_recorded is False


def test_two_sets_of_accounts_are_left_to_the_operator(
    config: Config, postgres_config: Config, node: Callable[..., App]
) -> None:
    app = node()
    users.create(app, "eve@example.com", "pro", NOW)
    app.db.close()
    (config.data_dir / MOVING).write_bytes(b"")
    for move in (moving.move_to_postgres, moving.move_to_file):
        with pytest.raises(UsageError, match="both places contain accounts, and finapi cannot know which"):
            move(postgres_config)
    assert (config.data_dir / MOVING).exists()


def test_a_record_that_was_lost_overwrites_no_accounts_in_force(config: Config, postgres_config: Config) -> None:
    leave_undecided(postgres_config, "postgresql", "arriving")
    (config.data_dir / MOVING).unlink()
    spend(config, 25)
    with pytest.raises(UndecidedMoveError, match="the move of accounts there from"):
        moving.move_to_file(postgres_config)
    assert moving.move_to_postgres(postgres_config).tokens == 501_950


def test_a_failure_in_a_move_says_how_to_go_on(
    config: Config, postgres_config: Config, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*values: Any) -> None:
        raise postgres.PostgresUnreachableError("server closed the connection unexpectedly")

    with monkeypatch.context() as patched:
        patched.setattr(postgres.Postgres, "copy_from_file", fail)
        status, out, err = run(config, "move", "--to", postgres_config.accounts_url)
    assert (status, out) == (1, "")
    assert "closed the connection unexpectedly; the move of accounts to postgresql:///accounts" in err
    assert "is not decided; finish it: finapi move --to postgresql://... (of postgresql:///accounts" in err
    assert "; undo it: finapi move --to file" in err
    assert run(config, "move", "--to", "file")[0] == 0
    spend(config, 1)


# ---- backups


def test_a_backup_while_a_move_is_undecided_says_so(
    config: Config, postgres_config: Config, run: Run, tmp_path: Path
) -> None:
    leave_undecided(postgres_config, "postgresql", "recorded")
    status, _, err = run(config, "backup", tmp_path / "copy-without-secrets.db")
    assert status == 0
    assert "the copy has the accounts that the file holds now, but the move of accounts to postgresql:///" in err


def test_a_backup_says_that_accounts_are_elsewhere(
    config: Config, postgres_config: Config, run: Run, tmp_path: Path
) -> None:
    moving.move_to_postgres(postgres_config)
    for number, settings in enumerate((postgres_config, config)):
        status, out, err = run(settings, "backup", tmp_path / f"copy{number}-without-secrets.db")
        assert status == 0
        assert "accounts are in PostgreSQL: pg_dump --format custom copies them" in err
        assert "without-secrets.db" in out


def test_a_restore_waits_for_the_decision(config: Config, postgres_config: Config, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "copy-without-secrets.db"
    assert run(config, "backup", file)[0] == 0
    leave_undecided(postgres_config, "postgresql", "arriving")
    status, _, err = run(config, "restore", file)
    assert status == 2
    assert "is not decided; finish it" in err
    moving.move_to_postgres(postgres_config)
    assert run(config, "restore", file)[0] == 0
    # Accounts stay in PostgreSQL, though the backup is of before.
    with pytest.raises(UsageError, match="accounts are in postgresql:///"):
        spend(config, 1)
    spend(postgres_config, 1)


def test_a_copy_of_a_file_without_its_accounts_is_not_served(
    config: Config, postgres_config: Config, run: Run, tmp_path: Path
) -> None:
    moving.move_to_postgres(postgres_config)
    spend(postgres_config, 75)
    file = tmp_path / "copy-with-secrets.db"
    assert run(postgres_config, "backup", file, "--with-secrets")[0] == 0
    other = replace(config, data_dir=tmp_path / "other")
    assert run(other, "restore", file)[0] == 0
    # Its accounts are those of before the move: served, they would be a second ledger.
    with pytest.raises(UsageError, match=r"accounts are in postgresql:///accounts.*: set accounts_url"):
        spend(other, 1)
    spend(replace(postgres_config, data_dir=other.data_dir), 1)


def test_a_backup_with_old_accounts_replaces_none_in_force(
    config: Config, postgres_config: Config, run: Run, tmp_path: Path
) -> None:
    moving.move_to_postgres(postgres_config)
    spend(postgres_config, 75)
    file = tmp_path / "copy-without-secrets.db"
    assert run(postgres_config, "backup", file)[0] == 0
    moving.move_to_file(postgres_config)
    status, _, err = run(config, "restore", file)
    assert status == 2
    assert "the backup was made while accounts were in postgresql:///accounts" in err
    assert "would be lost; nothing has changed" in err
    assert [row for row in books_of_file(config) if -75 in row] == [(2, -75, "debit", 0)]


# ---- processes that run


def test_a_node_answers_503_while_its_accounts_are_elsewhere(postgres_config: Config, node: Callable[..., App]) -> None:
    moving.move_to_postgres(postgres_config)
    api = node()
    with api.accounts.read() as tx:
        assert tx.find_value("any_user_or_invite") == 1
    # Its connections break, and the operator takes it for stopped.
    api.accounts._idle_connections.pop().close()  # type: ignore[attr-defined]
    kill_after(postgres_config, moving.move_to_file, "leaving")
    # PostgreSQL releases the lock of a killed process a moment later.
    in_use = (
        f"SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = {postgres.USE_LOCK} AND database ="
        " (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    eventually(lambda: query(postgres_config.accounts_url, in_use) == [])
    with (
        pytest.raises(postgres.PostgresUnreachableError, match=r"accounts from there to .* is not decided"),
        api.accounts.read(),
    ):
        pass
    moving.move_to_postgres(postgres_config)
    with api.accounts.read() as tx:
        assert tx.find_value("any_user_or_invite") == 1


# ---- what is said


def test_the_verb_names_no_password(
    config: Config, postgres_config: Config, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_config.accounts_url.replace("postgresql:///", "postgresql://postgres:hunter2@/")
    name = name_of(postgres_config.accounts_url)
    counts = "2 accounts with 3 rows of the ledger and 501,975 tokens"
    line = f"{name} has {counts}, verified; set FINAPI_ACCOUNTS_URL to its URL\n"
    assert run(config, "move", "--to", url) == (0, line, "")
    status, out, _ = run(replace(config, accounts_url=url), "move", "--to", "file", "--json")
    assert status == 0
    summary = {"accounts": 2, "ledger_rows": 3, "outcome": "moved", "to": str(config.data_dir), "tokens": 501_975}
    assert json.loads(out) == summary
    kill_after(replace(postgres_config, accounts_url=url), moving.move_to_postgres, "arriving")
    written = config.data_dir / MOVING
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert "hunter2" not in written.read_text() + "".join(
        map(str, query(postgres_config.accounts_url, "TABLE finapi_schema"))
    )
    for verb in (("check",), ("user", "list"), ("doctor",)):
        assert "hunter2" not in "".join(map(str, run(replace(config, accounts_url=url), *verb)))
    status, out, _ = run(config, "move", "--to", "file")
    assert out == f"the move is undone: {config.data_dir} has {counts}, verified; unset FINAPI_ACCOUNTS_URL\n"


NAMES = {
    "postgresql://ann:hunter2@db.example.com:6432/finapi?sslmode=require": "postgresql://db.example.com:6432/finapi",
    "postgres://ann:hunter2@db.example.com/finapi": "postgresql://db.example.com/finapi",
    "postgresql://ann:hunter2@a,b:6432/finapi": "postgresql://a,b:6432/finapi",
    "postgresql://ann@/?host=/run/pg&port=6432&password=hunter2": "postgresql:///ann?host=/run/pg&port=6432",
    "postgresql://%2Frun%2Fpg/finapi?user=ann&password=hunter2": "postgresql:///finapi?host=/run/pg",
    "postgresql://[2001:db8::1]:6432/finapi": "postgresql://[2001:db8::1]:6432/finapi",
}


@pytest.mark.parametrize("url", NAMES)
def test_a_database_is_named_without_user_and_password(url: str) -> None:
    assert name_of(url) == NAMES[url]


@pytest.mark.parametrize("password", ["hun/ter2", "hun@ter2", "hun%ter2", "hun?ter2", "hun#ter2", "[hunter2"])
def test_a_password_with_special_characters_is_not_repeated(config: Config, run: Run, password: str) -> None:
    url = f"postgresql://ann:{password}@nowhere.invalid/finapi"
    for settings, words in ((config, ("move", "--to", url)), (replace(config, accounts_url=url), ("user", "list"))):
        status, out, err = run(settings, *words)
        assert (status, out) == (2, "")
        assert not {"hun", "ter2"} & set(re.findall(r"hun|ter2", err)), err
    assert not (config.data_dir / MOVING).exists()


@pytest.mark.parametrize("target", ["", "postgres", "mysql://ann:hunter2@h/d", "FILE"])
def test_a_place_that_accounts_cannot_move_to_is_refused(config: Config, run: Run, target: str) -> None:
    assert run(config, "move", "--to", target) == (2, "", "finapi: --to: must be file, or begin with postgresql://\n")


def test_doctor_says_where_accounts_are(config: Config, postgres_config: Config) -> None:
    def look(settings: Config) -> tuple[str, str]:
        (finding,) = [row for row in doctor.list_findings(settings, SystemClock()) if row["check"] == "accounts"]
        return finding["state"], finding["found"]

    name = name_of(postgres_config.accounts_url)
    assert look(config) == ("ok", "they are in the data directory")
    assert look(postgres_config) == ("ok", f"{name} answers, and contains no accounts yet")
    moving.move_to_postgres(postgres_config)
    assert look(postgres_config) == ("ok", f"they are in {name}, which answers")
    assert look(config) == ("wrong", f"they are in {name}, and accounts_url is not set")
    moving.move_to_file(postgres_config)
    state, detail = look(postgres_config)
    assert state == "wrong"
    moved = f"accounts were moved from there to {account_moves.describe_place(config.data_dir)}"
    assert detail == f"{name}: {moved}; without accounts_url, finapi uses them there"
    state, detail = look(replace(config, accounts_url="postgresql:///x?host=/nowhere"))
    assert state == "wrong"
    assert detail.startswith("postgresql:///x?host=/nowhere cannot be used: ")
