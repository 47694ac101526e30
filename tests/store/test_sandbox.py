"""Tests of callers' SQL queries: the tables they may read, and the resources they may use."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finapi.core.clock import FixedClock
from finapi.core.cpu_allowance import CpuAllowance
from finapi.core.errors import ApiError
from finapi.market.reference.sql_views import VIEWS
from finapi.store import db as database
from finapi.store import sandbox as sandboxes
from finapi.store.sandbox import CPU_USED, FUNCTIONS, MAX_TEXT, Budget, QueryResult, Sandbox
from tests.conftest import NOW
from tests.support.case_tables import run_each_case
from tests.support.random_examples import examples
from tests.support.raw_sql import get_writer

ALLOWED = frozenset(VIEWS)
FEW = Budget(seconds=0.3, rows=100, size=100_000)

SEED = """
INSERT INTO users (uuid, email, created_at, updated_at) VALUES ('u', 'secret@example.com', '', '');
INSERT INTO companies (cik, name, name_rank, name_as_of, sic) VALUES (1750, 'Lamp Corp', 0, '', 3640), (1751, 'River', 0, '', NULL);
INSERT INTO tickers (ticker, cik, source, position) VALUES ('LMP', 1750, 2, 0);
INSERT INTO filings (accession, cik, form, filed_at) VALUES ('0000001750-25-000001', 1750, '10-K', '2025-02-01'),
    ('unfiled-00', 1750, '10-Q', NULL);
INSERT INTO price_series (id, ticker, synthetic) VALUES (1, 'LMP', 0);
INSERT INTO insiders VALUES (101, 'Lamp Ann', 0, 0, 0);
INSERT INTO insider_forms (id, accession, content, source, body, issuer_cik, symbol, form, base, is_amendment, period, filed_at, filed_day,
    as_of, roles, stored_at, owner_count, nonderiv_trans, nonderiv_holdings, deriv_trans, deriv_holdings, footnote_count)
VALUES (175025000002, '0000001750-25-000002', x'00', 1, x'00', 1750, 'LMP', '4', '4', 0, '2025-03-03', '2025-03-05', 20152, '2025-03-03', 2, '', 1, 2, 0, 0, 0, 0);
INSERT INTO insider_transactions (id, form_id, seq, filed_day, issuer_cik, owner_cik, roles, derivative, date, code, standard_type, direction,
    shares, price, value, rule_10b5_1, plan_source, is_cashless, is_sell_to_cover, trade, superseded_by)
VALUES (1, 175025000002, 0, 20152, 1750, 101, 2, 0, '2025-03-03', 'P', 'purchase', 1, '100.5', '10.00', 1005, 0, 'none', 0, 0, 1, NULL),
    (2, 175025000002, 1, 20152, 1750, 101, 2, 0, '2025-03-03', 'P', 'purchase', 1, '7', '10.00', 70, 0, 'none', 0, 0, 2, 175025000009);
INSERT INTO funds VALUES (1751, 'River', '', 1, '2025-03-31', '2025-05-01', 99);
INSERT INTO holdings_reports (id, filing_id, cik, accession, filed_at, sha256, form, period, amendment_number, name, confidential_omitted,
    row_count, row_value, value_unit, total_unit, value_unit_rule, corrected, documents)
VALUES (1, 1, 1751, '0000001751-25-000001', '2025-05-01', x'00', '13F-HR', '2025-03-31', 0, 'River', 0, 2, 99, 1, 1, 'x', 0, 1);
INSERT INTO securities (id, cusip, issuer, title, seen, issuer_key, security_group, ticker, cik) VALUES (1, '037833100', 'LAMP CORP', 'COM', '', 'LAMP', 'common', 'LMP', 1750);
INSERT INTO holding_names VALUES (1, 'LAMP CORP', 'COM');
INSERT INTO positions (cik, period, kind, security_id, report_id, name_id, row_count, shares, value, status)
VALUES (1751, '2025-03-31', 0, 1, 1, 1, 1, 5, 90, 1), (1751, '2025-03-31', 3, 1, 1, 1, 1, 2, 9, 0);
INSERT INTO fund_quarters (cik, period, report_id, reports, complete, compared, value, positions, options) VALUES (1751, '2025-03-31', 1, 1, 1, 0, 99, 2, 1);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO prices (series_id, date, close, volume, vintage)
SELECT 1, date('2000-01-01', '+' || i || ' days'), '1.5', 10, '' FROM n;
"""  # noqa: E501


def seed_store(path: Path | None) -> database.Database:
    opened = database.Database(path, synchronous="NORMAL")
    get_writer(opened).executescript(f"BEGIN; {SEED} COMMIT;")
    return opened


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[database.Database]:
    """Yield a store that the tests of this module only read."""
    opened = seed_store(tmp_path_factory.mktemp("sandbox") / "finapi.db")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ask(store: database.Database) -> Callable[..., QueryResult]:
    sandbox = Sandbox(store, FEW, time.monotonic)
    return lambda sql, *values: sandbox.query(sql, ALLOWED, values=values)


def find_refusal(ask: Callable[..., QueryResult], sql: str, *values: Any) -> str:
    """Return the reason why a query is refused."""
    with pytest.raises(ApiError) as error:
        ask(sql, *values)
    assert (error.value.status, error.value.code) == (400, "INVALID_PARAM")
    assert error.value.details == {"param": "query", "expected": "one SELECT over the documented views"}
    prefix, _, reason = error.value.message.partition(": ")
    assert prefix == "The query is refused"
    return reason.rstrip(".")


ONLY_VIEWS = f"only these can be read: {', '.join(sorted(VIEWS))}"
ONLY_FUNCTIONS = f"only these functions are supported: {', '.join(sorted(FUNCTIONS))}"


# ---- what is served


def test_a_query_over_the_views_is_answered_with_its_columns(ask: Any) -> None:
    answer = ask(
        "SELECT t.symbol, c.name, count(*) AS days, round(avg(p.close), 2) AS mean FROM company c "
        "JOIN ticker t USING (cik) JOIN price p ON p.symbol = t.symbol GROUP BY 1, 2"
    )
    assert answer == QueryResult(["symbol", "name", "days", "mean"], [["LMP", "Lamp Corp", 2000, 1.5]], False)


@run_each_case("view", sorted(VIEWS))
def test_every_view_is_as_it_is_documented(ask: Any, view: str) -> None:
    assert ", ".join(ask(f"SELECT * FROM {view} LIMIT 1").columns) == VIEWS[view][0]


def test_the_views_of_the_schema_are_the_documented_ones(store: database.Database) -> None:
    names = {row[0] for row in get_writer(store).execute("SELECT name FROM sqlite_master WHERE type = 'view'")}
    internal_views = {"insider_repeats", "companies_with_ticker", "fund_filings", "share_tickers", "split_quarters"}
    internal_views |= {"security_splits", "filed_split_quarters"}
    assert names - internal_views == set(VIEWS)


@run_each_case(
    "sql, rows",
    [
        ("select 1", [[1]]),
        ("SELECT name FROM company ORDER BY name DESC LIMIT 1;", [["River"]]),
        ("SELECT max(close) FROM (SELECT close FROM price WHERE date < '2000-02-01')", [[1.5]]),
        ("SELECT name FROM company WHERE cik IN (SELECT cik FROM ticker)", [["Lamp Corp"]]),
        ("SELECT name, row_number() OVER (ORDER BY cik) FROM company", [["Lamp Corp", 1], ["River", 2]]),
        ("SELECT substr(filed_at, 1, 4), form_type FROM filing", [["2025", "10-K"]]),
        ("SELECT cik FROM company UNION ALL SELECT cik FROM ticker ORDER BY 1", [[1750], [1750], [1751]]),
        ("SELECT 9e999, -9e999, NULL", [[None, None, None]]),
        ("SELECT x'00ff', CAST(x'ff41' AS TEXT)", [["00ff", "\ufffdA"]]),
        ("SELECT 'it''s'", [["it's"]]),
        ("WITH a AS (SELECT cik FROM ticker), b (x) AS (SELECT cik + 1 FROM a) SELECT x FROM b", [[1751]]),
        ("WITH a AS MATERIALIZED (SELECT cik FROM company) SELECT count(*) FROM a", [[2]]),
        ("SELECT group_concat(name, '; ') FROM (SELECT name FROM company ORDER BY name)", [["Lamp Corp; River"]]),
        # Not the transaction that an amendment restates.
        (
            "SELECT insider_name, shares, price, value FROM insider_transaction WHERE issuer_cik = 1750",
            [["Lamp Ann", 100.5, 10.0, 1005]],
        ),
        (
            "SELECT f.name, h.symbol, h.kind, h.value, h.status FROM holding h JOIN fund f ON f.cik = h.fund_cik "
            "WHERE h.cusip = '037833100' ORDER BY h.value DESC",
            [["River", "LMP", "shares", 90, "new"], ["River", "LMP", "put", 9, None]],
        ),
        ("SELECT accession_number, position_count FROM fund_quarter", [["0000001751-25-000001", 2]]),
        ("SELECT symbol FROM security WHERE cik = 1750", [["LMP"]]),
    ],
)
def test_what_a_select_can_say(ask: Any, sql: str, rows: list[list[Any]]) -> None:
    assert ask(sql).rows == rows


def test_names_that_repeat_are_told_apart(ask: Any) -> None:
    assert ask("SELECT 1 AS a, 2 AS a, 3 AS a_2").columns == ["a", "a_2", "a_2_2"]


def test_rows_beyond_the_cap_are_cut_off_and_said_so(ask: Any) -> None:
    answer = ask("SELECT date FROM price ORDER BY date")
    assert (len(answer.rows), answer.truncated) == (100, True)
    assert not ask("SELECT date FROM price LIMIT 100").truncated


def test_bytes_beyond_the_cap_are_cut_off(store: database.Database) -> None:
    sandbox = Sandbox(store, Budget(1.0, 100, 95), time.monotonic)
    answer = sandbox.query("SELECT date FROM price", ALLOWED)
    assert (len(answer.rows), answer.truncated) == (9, True)


@pytest.mark.parametrize("name", [None, "finapi.db"])
def test_what_is_committed_later_is_seen_by_the_next_query(tmp_path: Path, name: str | None) -> None:
    store = seed_store(tmp_path / name if name else None)
    sandbox = Sandbox(store, FEW, time.monotonic)
    assert sandbox.query("SELECT count(*) FROM company", ALLOWED).rows == [[2]]
    get_writer(store).execute("INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (2, 'New', 0, '')")
    assert sandbox.query("SELECT count(*) FROM company", ALLOWED).rows == [[3]]
    store.close()


# ---- what is not read

SECRETS = ("users", "api_keys", "ledger", "userplans", "mails", "sessions", "invites", "resets", "idempotency")


TABLES = [*SECRETS, "companies", "filings", "prices", "nothing_of_the_kind"]
OF_A_TABLE = [
    "SELECT * FROM {}",
    "SELECT count(*) FROM {}",
    "SELECT rowid FROM {}",
    "SELECT 1 FROM {} LIMIT 1",
    "SELECT * FROM main.{}",
    "SELECT * FROM '{}'",
    "SELECT (SELECT count(*) FROM {})",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM {})",
    "SELECT name FROM company WHERE cik IN (SELECT id FROM {})",
    "SELECT name FROM company WHERE cik IN {}",
    "SELECT name FROM company UNION SELECT 1 FROM {}",
    "SELECT name FROM company JOIN {}",
    "SELECT * FROM (SELECT * FROM {}) AS company",
    "SELECT * FROM {} AS company",
    "SELECT company.* FROM {} company",
    "SELECT name FROM company ORDER BY (SELECT count(*) FROM {})",
    "SELECT * FROM {} INDEXED BY x",
]


@run_each_case("sql, table", [(sql, table) for sql in OF_A_TABLE for table in TABLES])
def test_no_other_table_is_read_or_told_of(ask: Any, sql: str, table: str) -> None:
    reason = find_refusal(ask, sql.format(table))
    columns = f"; company has {VIEWS['company'][0]}"
    refusals = (f"no such column: {table}{columns}", f"no such column: id{columns}")
    assert reason in (ONLY_VIEWS, f"no such column: {table}", "no such column: id", "it cannot be run", *refusals)
    if reason == "it cannot be run":
        # An index that is not there: said before the table is looked at, and of every table alike.
        assert "INDEXED" in sql


@run_each_case(
    "source",
    [
        "sqlite_master",
        "sqlite_schema",
        "sqlite_temp_master",
        "main.sqlite_master",
        "sqlite_sequence",
        "pragma_table_info('users')",
        "pragma_database_list",
        "pragma_function_list",
        "pragma_table_list",
        "json_each('1')",
        "json_tree('1')",
        "generate_series(1, 5)",
        "dbstat",
        "sqlite_stmt",
        "bytecode('x')",
        "tables_used('x')",
        "fts5vocab",
        "sqlite_dbpage",
    ],
)
def test_neither_the_schema_nor_a_table_that_is_a_function(ask: Any, source: str) -> None:
    assert find_refusal(ask, f"SELECT * FROM {source}") in (ONLY_VIEWS, "it cannot be run")


@run_each_case(
    "call",
    [
        "zeroblob(1000)",
        "randomblob(9)",
        "printf('%1000s', 1)",
        "format('%d', 1)",
        "replace('a', 'a', 'bb')",
        "hex('a')",
        "quote('a')",
        "char(65)",
        "load_extension('x')",
        "readfile('/etc/passwd')",
        "writefile('x', 'y')",
        "edit('x')",
        "sqlite_version()",
        "sqlite_source_id()",
        "random()",
        "json('1')",
        "json_object('a', 1)",
        "instr('a', 'a')",
        "trim('a', 'a')",
        "unicode('a')",
        "sqlite_compileoption_get(1)",
        "last_insert_rowid()",
        "changes()",
        "sqlite_offset(1)",
        "fts5(1)",
        "likelihood(1, 0.5)",
        "nosuch(1)",
    ],
)
def test_no_function_beyond_the_list(ask: Any, call: str) -> None:
    assert find_refusal(ask, f"SELECT {call}") in (ONLY_FUNCTIONS, "it cannot be run")


@run_each_case("function", sorted(FUNCTIONS))
def test_every_function_of_the_list_is_there(ask: Any, function: str) -> None:
    arguments = {"ntile": "1", "nth_value": "1, 1", "count": "*", "iif": "1, 1, 1", "strftime": "'%Y', 1"}
    two = {"coalesce", "ifnull", "nullif", "glob", "like", "substr", "substring"}
    none = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist"}
    argument_text = arguments.get(function, "" if function in none else "'1', 1" if function in two else "1")
    over = {*none, "lag", "lead", "first_value", "last_value", "nth_value", "ntile"}
    assert len(ask(f"SELECT {function}({argument_text}){' OVER ()' if function in over else ''}").rows) == 1


@run_each_case(
    "sql",
    [
        "INSERT INTO company VALUES (1)",
        "UPDATE companies SET name = 'x'",
        "DELETE FROM users",
        "DROP TABLE users",
        "CREATE TABLE t (x)",
        "CREATE TEMP TABLE t AS SELECT 1",
        "ALTER TABLE users RENAME TO x",
        "VACUUM",
        "VACUUM INTO '/tmp/x'",
        "ATTACH '/etc/passwd' AS x",
        "DETACH main",
        "PRAGMA query_only=OFF",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT x",
        "REINDEX",
        "ANALYZE",
        "EXPLAIN SELECT 1",
        "EXPLAIN QUERY PLAN SELECT 1",
        "VALUES (1)",
        "REPLACE INTO users VALUES (1)",
        "",
        " ",
        ";",
        "SELECTED",
        "(SELECT 1)",
        "\ufeffSELECT 1",
    ],
)
def test_nothing_but_a_select_is_looked_at(ask: Any, sql: str) -> None:
    assert find_refusal(ask, sql) == "it begins with neither SELECT nor WITH"


@run_each_case(
    "sql, reason",
    [
        ("SELECT 1; SELECT 2", "it is more than one statement"),
        ("SELECT 1; DELETE FROM users", "it is more than one statement"),
        ("SELECT 1 -- users", "comments are not supported"),
        ("SELECT /* x */ 1", "comments are not supported"),
        ('SELECT * FROM "users"', "identifiers are written without quotes, strings in single quotes"),
        ("SELECT * FROM [users]", "identifiers are written without quotes, strings in single quotes"),
        ("SELECT * FROM `users`", "identifiers are written without quotes, strings in single quotes"),
        ("SELECT 1\0", "it contains a NUL character"),
        ("WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a", "recursion is not supported"),
        ("SELECT ?", "the number of its question marks differs from the number of values in params"),
        ("SELECT :a", "the number of its question marks differs from the number of values in params"),
        ("SELECT", "incomplete input"),
        ("SELECT 'a", "it cannot be run"),
        ("SELECT FROM company", 'near "FROM": syntax error'),
        (
            "SELECT nope FROM company, ticker",
            f"no such column: nope; company has {VIEWS['company'][0]}; ticker has {VIEWS['ticker'][0]}",
        ),
        ("SELECT nope", "no such column: nope"),
        ("SELECT cik FROM company, ticker", "ambiguous column name: cik"),
        (
            "SELECT sum(9223372036854775807) + sum(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1)",
            "it cannot be run",
        ),
        ("SELECT abs(-9223372036854775808)", "it cannot be run"),
    ],
)
def test_what_is_wrong_is_told_in_words_of_ours_or_of_the_query(ask: Any, sql: str, reason: str) -> None:
    assert find_refusal(ask, sql) == reason


def test_a_view_reads_only_its_own_columns(ask: Any) -> None:
    # name_rank is a column of companies that the view does not show.
    assert find_refusal(ask, "SELECT name_rank FROM company").startswith(
        "no such column: name_rank; company has cik, name"
    )
    assert find_refusal(ask, "WITH company AS (SELECT name_rank FROM companies) SELECT * FROM company") == ONLY_VIEWS


def test_values_stand_in_the_places_of_question_marks(ask: Any) -> None:
    sql = "SELECT name FROM company WHERE cik = ? AND name LIKE ?"
    assert ask(sql, 1750, "Lamp%").rows == [["Lamp Corp"]]
    assert ask("SELECT ?, ?", None, "'; DROP TABLE users").rows == [[None, "'; DROP TABLE users"]]
    assert (
        find_refusal(ask, sql, 1750) == "the number of its question marks differs from the number of values in params"
    )
    assert (
        find_refusal(ask, "SELECT ?", "x" * (MAX_TEXT + 1)) == f"it builds a value or row of more than {MAX_TEXT} bytes"
    )
    assert find_refusal(ask, f"SELECT {'+'.join('?' * 51)}", *range(51)) == "it cannot be run"


def test_medians_and_deviations_leave_out_what_is_no_number(ask: Any) -> None:
    values = "SELECT 4 AS x UNION ALL SELECT 1 UNION ALL SELECT 'a' UNION ALL SELECT NULL UNION ALL SELECT 2.5"
    assert ask(f"SELECT median(x), stddev(x) FROM ({values})").rows == [[2.5, 1.5]]
    assert ask("SELECT median(x) FROM (SELECT 1 AS x UNION ALL SELECT 2)").rows == [[1.5]]
    assert ask("SELECT median(1), stddev(1), median(NULL), stddev('a')").rows == [[1.0, None, None, None]]
    assert ask("SELECT median(close), stddev(close) FROM price WHERE close < 0").rows == [[None, None]]


def test_what_medians_hold_is_bounded_over_all_of_a_query(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxes, "MAX_MEDIAN_NUMBERS", 3_999)
    assert find_refusal(ask, "SELECT median(close), median(volume) FROM price") == "it took too much memory"
    # What one group held is free for the next.
    assert len(ask("SELECT substr(date, 1, 7), median(close), median(volume) FROM price GROUP BY 1").rows) == 66
    assert find_refusal(ask, "SELECT group_concat(date || date) FROM price").startswith(
        "it builds a value or row of more"
    )


@run_each_case(
    "sql",
    [
        "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT * FROM n",
        "WITH n (i) AS (VALUES (1) UNION SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH company AS (SELECT * FROM company) SELECT * FROM company",
        "WITH company AS (SELECT id FROM users) SELECT * FROM company",
        "SELECT (SELECT count(*) FROM users) FROM (WITH users AS (SELECT 1) SELECT 1)",
        "SELECT (SELECT count(*) FROM dbstat) FROM (WITH dbstat AS (SELECT 1) SELECT 1)",
        "SELECT (SELECT count(*) FROM json_each) FROM (WITH json_each AS (SELECT 1) SELECT 1)",
        "SELECT (SELECT count(*) FROM pragma_table_list) FROM (WITH pragma_table_list AS (SELECT 1) SELECT 1)",
        "SELECT (SELECT count(*) FROM sqlite_master) FROM (WITH sqlite_master AS (SELECT 1) SELECT 1)",
    ],
)
def test_with_neither_recurs_nor_opens_what_bears_its_name(ask: Any, sql: str) -> None:
    assert find_refusal(ask, sql) in (ONLY_VIEWS, "it cannot be run")


@run_each_case("steps, wide", [(3, 4), (5, 3), (7, 2), (20, 2), (6, 12)])
def test_steps_of_with_that_would_explode_are_refused_before(ask: Any, steps: int, wide: int) -> None:
    sql = "WITH a0 AS (SELECT cik AS x FROM company)"
    for step in range(steps):
        sources = ", ".join(f"a{step} t{number}" for number in range(wide))
        sql += f", a{step + 1} AS NOT MATERIALIZED (SELECT t0.x FROM {sources})"
    assert (
        find_refusal(ask, f"{sql} SELECT count(*) FROM a{steps}")
        == "it is too complex; shorten it or nest fewer queries"
    )


def test_a_report_without_a_filing_is_in_no_view(ask: Any) -> None:
    assert ask("SELECT accession_number FROM filing").rows == [["0000001750-25-000001"]]


def test_a_store_in_memory_is_guarded_alike() -> None:
    store = seed_store(None)
    sandbox = Sandbox(store, FEW, time.monotonic)

    def ask(sql: str) -> QueryResult:
        return sandbox.query(sql, ALLOWED)

    assert ask("SELECT name FROM company WHERE cik = 1750").rows == [["Lamp Corp"]]
    for table in SECRETS:
        assert find_refusal(ask, f"SELECT * FROM {table}") == ONLY_VIEWS
    assert find_refusal(ask, "SELECT random()") == ONLY_FUNCTIONS
    store.close()


# ---- what no query can take


LONG = "'" + "a" * 9_000 + "'"


def test_no_value_is_longer_than_it_may_be(ask: Any) -> None:
    sql = "SELECT x || x FROM (SELECT y || y AS x FROM (SELECT name || " + LONG + " AS y FROM company))"
    assert find_refusal(ask, sql) == f"it builds a value or row of more than {MAX_TEXT} bytes"


ENDLESS = (
    "SELECT count(*) FROM price a, price b, price c",
    "SELECT count(*) FROM price a JOIN price b ON a.close + b.close > 0 JOIN price c ON b.close + c.close < 0",
    "SELECT a.date FROM price a, price b, price c WHERE a.close + b.close + c.close < 0",
    "SELECT sum(a.close * b.close) OVER (PARTITION BY c.date) FROM price a, price b, price c",
)


@run_each_case("sql", ENDLESS)
def test_a_query_without_end_is_ended_in_its_time(ask: Any, sql: str) -> None:
    started = time.perf_counter()
    assert find_refusal(ask, sql) in ("it took longer than 0.3 s", "it took too much memory")
    assert time.perf_counter() - started < 4  # 0.3 s, on a machine that does other things too
    assert ask("SELECT 1").rows == [[1]]


@pytest.mark.parametrize(
    "sql",
    [
        # Every row of a sort is as long as a value may be: gigabytes, were it let.
        f"SELECT x FROM (SELECT a.date || b.date || '{'a' * 8000}' AS x FROM price a, price b) ORDER BY x DESC",
        f"SELECT DISTINCT a.date || b.date || '{'a' * 8000}' FROM price a, price b LIMIT 1 OFFSET 3000000",
        f"SELECT a.date || b.date || '{'a' * 8000}' AS x, count(*) FROM price a, price b GROUP BY x",
    ],
)
def test_a_query_that_hoards_is_ended_before_it_holds_much(ask: Any, sql: str) -> None:
    before = resident()
    peak = [before]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert find_refusal(ask, sql) in ("it took too much memory", "it took longer than 0.3 s")
    finally:
        done.set()
        watcher.join()
    assert peak[0] - before < 160 * 1024 * 1024


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def nested(levels: int, width: int) -> str:
    """Return a query whose compiled form has ``width ** levels`` parts."""
    sql = "SELECT cik AS x FROM company"
    for _ in range(levels):
        sql = f"SELECT {'+'.join(['x'] * width)} AS x FROM ({sql})"
    return sql


@run_each_case("levels, width", [(2, 300), (3, 60), (4, 25), (6, 8), (9, 2), (12, 2), (40, 1)])
def test_a_query_too_large_to_compile_is_refused(ask: Any, levels: int, width: int) -> None:
    started = time.perf_counter()
    assert find_refusal(ask, nested(levels, width)) == "it is too complex; shorten it or nest fewer queries"
    assert time.perf_counter() - started < 0.5


def test_an_alias_that_would_explode_is_refused_before(ask: Any) -> None:
    sql = f"SELECT {'+'.join(['cik'] * 1500)} AS a FROM company WHERE {'+'.join(['a'] * 1500)} > 0"
    assert find_refusal(ask, sql) == "it is too complex; shorten it or nest fewer queries"


@pytest.mark.parametrize(("levels", "width"), [(1, 40), (2, 20), (3, 9)])
def test_nested_queries_of_a_human_size_are_served(ask: Any, levels: int, width: int) -> None:
    assert len(ask(nested(levels, width)).rows) == 2


def test_the_largest_query_that_is_let_through_compiles_soon(ask: Any) -> None:
    started = time.perf_counter()
    ask(f"SELECT {'+'.join(['cik'] * 45)} AS a FROM company WHERE {'+'.join(['a'] * 45)} > 0")
    assert time.perf_counter() - started < 2


@run_each_case(
    "sql",
    [
        "SELECT " + "(" * 200 + "1" + ")" * 200,
        "SELECT " + "-" * 0 + "+".join(["1"] * 900),
        "SELECT " + "NOT " * 400 + "1",
        "SELECT 1 " + "UNION SELECT 1 " * 20,
        "SELECT " + ",".join(["1"] * 200),
        "SELECT " + "*," * 90 + "* FROM fact",
        "SELECT 1 FROM " + ",".join(["company"] * 80),
        "SELECT " + "x.* FROM fact x, fact y, fact z, fact a, fact b, fact c, fact d, fact e, fact f, fact g",
        "SELECT 1 WHERE 'a' LIKE '" + "%a" * 100 + "'",
        "SELECT coalesce(" + ",".join(["1"] * 60) + ")",
        "SELECT " + "CASE 1 WHEN 1 THEN " * 60 + "1" + " END" * 60,
        "SELECT " + "(1 BETWEEN " * 60 + "1 AND 1)" * 60,
        "SELECT 1 WHERE " + " OR ".join(["(1=1 AND 2=2)"] * 400),
    ],
)
def test_what_is_deep_or_wide_is_answered_or_refused_soon(ask: Any, sql: str) -> None:
    started = time.perf_counter()
    with contextlib.suppress(ApiError):
        ask(sql)
    assert time.perf_counter() - started < 2


def test_queries_beyond_the_concurrency_limit_are_refused(store: database.Database) -> None:
    sandbox = Sandbox(store, Budget(5.0, 10, 1_000), time.monotonic)
    stop = threading.Event()
    # Two queries that run until they are told to end: from then on their clock leaps at every look.
    leaps = itertools.count(1)
    slow = Sandbox(store, Budget(5.0, 10, 1_000), lambda: next(leaps) * 10.0 if stop.is_set() else 0.0)
    reasons: list[str] = []

    def run(account: int) -> None:
        reasons.append(find_refusal(lambda sql: slow.query(sql, ALLOWED, account), ENDLESS[0]))

    threads = [threading.Thread(target=run, args=(account,)) for account in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5_000):
            if slow.turns._running_count == 2:
                break
            stop.wait(0.001)
        with pytest.raises(ApiError) as error:
            slow.query("SELECT 1", ALLOWED, 2)
        assert (error.value.status, error.value.code, error.value.headers) == (503, "UNAVAILABLE", {"Retry-After": "1"})
        # Others go on: the store is read and written.
        assert sandbox.query("SELECT 1", ALLOWED).rows == [[1]]
        with store.write() as tx:
            assert tx.run("bump_data_version") == 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert reasons == ["it took longer than 5 s"] * 2
    assert slow.query("SELECT 1", ALLOWED).rows == [[1]]


# ---- what an account may take


def test_an_account_runs_one_query_at_a_time(store: database.Database) -> None:
    sandbox = Sandbox(store, FEW, time.monotonic)
    with sandbox.turns.enter("ann"):
        with pytest.raises(ApiError) as error:
            sandbox.query("SELECT 1", ALLOWED, "ann")
        assert (error.value.code, error.value.headers) == ("UNAVAILABLE", {"Retry-After": "1"})
        assert sandbox.query("SELECT 1", ALLOWED, "bob").rows == [[1]]
    assert sandbox.query("SELECT 1", ALLOWED, "ann").rows == [[1]]


def test_an_account_has_seconds_of_cpu_for_all_its_queries(store: database.Database) -> None:
    clock, used = FixedClock(NOW), itertools.count(0, 6)
    allowance = CpuAllowance(10.0, clock.monotonic, refusal=CPU_USED, cpu_seconds=lambda: float(next(used)))
    sandbox = Sandbox(store, FEW, time.monotonic, allowance=allowance)
    assert sandbox.query("SELECT 1", ALLOWED, "ann").rows == [[1]]
    with pytest.raises(ApiError):  # A query that fails takes its six seconds too.
        sandbox.query("SELECT nope FROM company", ALLOWED, "ann")
    with pytest.raises(ApiError) as error:
        sandbox.query("SELECT 1", ALLOWED, "ann")
    assert (error.value.status, error.value.code, error.value.headers, error.value.message) == (
        429,
        "RATE_LIMIT_EXCEEDED",
        {"Retry-After": "12"},
        "The SQL queries of this account have used their seconds of CPU. Try again later.",
    )
    assert sandbox.query("SELECT 1", ALLOWED, "bob").rows == [[1]]
    clock.advance(12.0)
    assert sandbox.query("SELECT 1", ALLOWED, "ann").rows == [[1]]


SORTED = "SELECT a.date, b.date FROM price a, price b, price c ORDER BY a.close + b.close + c.close, a.date"


@pytest.mark.skipif(sandboxes._load_library() is None, reason="SQLite's functions cannot be called here")
def test_the_bound_of_memory_does_not_move_with_what_was_freed(
    store: database.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandboxes, "MAX_GROWTH", 2 * 1024 * 1024)
    sandbox = Sandbox(store, Budget(30.0, 10, 1_000), time.monotonic)
    library = sandboxes._load_library()
    before = library.sqlite3_memory_used()
    for _ in range(3):
        with pytest.raises(ApiError, match="it took too much memory"):
            sandbox.query(SORTED, ALLOWED)
        # The connection is closed, and what it held given back.
        assert (sandbox._idle, library.sqlite3_memory_used() < before + 200_000) == ([], True)
        assert library.sqlite3_hard_heap_limit64(-1) == 0
    assert sandbox.query("SELECT 1", ALLOWED).rows == [[1]]


def test_queries_that_follow_each_other_share_one_bound_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    used_bytes = 1_000
    monkeypatch.setattr(sandboxes, "_load_library", lambda: None)
    monkeypatch.setattr(sandboxes, "_measure_memory", lambda: used_bytes)
    monkeypatch.setattr(sandboxes, "MAX_GROWTH", 100)
    limits = sandboxes._HeapLimits()
    first, second, third, fourth = (limits.limit() for _ in range(4))
    assert first.__enter__() == 1_100
    used_bytes = 1_090
    assert second.__enter__() == 1_190
    first.__exit__(None, None, None)
    used_bytes = 1_180
    assert third.__enter__() == 1_200  # And not 1,280: all of this is the second query's.
    second.__exit__(None, None, None)
    limits.count_median_numbers("third", 2)
    used_bytes = 1_010
    assert (limits.measure(), fourth.__enter__()) == (1_090, 1_190)
    third.__exit__(None, None, None)
    fourth.__exit__(None, None, None)
    limits.count_median_numbers("third", 0)
    used_bytes = 1_300
    with limits.limit() as max_bytes:
        assert max_bytes == 1_400


@pytest.mark.skipif(sandboxes._load_library() is None, reason="SQLite's functions cannot be called here")
def test_one_step_takes_no_more_than_the_heap_either(store: database.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody looks in between: SQLite itself refuses.
    monkeypatch.setattr(sandboxes, "CHECK_STEPS", 1_000_000_000)
    monkeypatch.setattr(sandboxes, "MAX_HEAP", 0)
    monkeypatch.setattr(sandboxes, "MAX_GROWTH", 1024 * 1024)
    sandbox = Sandbox(store, Budget(30.0, 10, 1_000), time.monotonic)
    with pytest.raises(ApiError, match="it took too much memory"):
        sandbox.query(SORTED, ALLOWED)
    assert sandbox.query("SELECT 1", ALLOWED).rows == [[1]]
    with store.write() as tx:
        assert tx.run("bump_data_version") == 1


WORDS = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "company",
        "price",
        "users",
        "sqlite_master",
        "(",
        ")",
        ",",
        "*",
        "'a'",
        "1",
        "AS",
        "x",
        "cik",
        "JOIN",
        "UNION",
        "ALL",
        "GROUP BY",
        "ORDER BY",
        "count(*)",
        "name",
        "email",
        "=",
        "IN",
        "EXISTS",
        "NOT",
        "LIMIT",
        "OVER",
        ";",
        "LEFT",
        "USING (cik)",
        "CASE WHEN",
        "THEN",
        "END",
        "||",
        "-",
        "IS NULL",
    ]
)


@pytest.mark.slow
@given(st.lists(WORDS, max_size=25))
@settings(max_examples=examples(250), deadline=None)
def test_no_words_do_more_than_be_refused(words: list[str]) -> None:
    with_secret(f"SELECT {' '.join(words)}")


@pytest.mark.slow
@given(st.text(max_size=200))
@settings(max_examples=examples(100), deadline=None)
def test_no_text_does_more_than_be_refused(text: str) -> None:
    with_secret(f"SELECT {text}")


def with_secret(sql: str) -> None:
    """Run it, where it may; the secret is in no answer and no message."""
    global _SHARED
    if _SHARED is None:
        _SHARED = Sandbox(seed_store(None), Budget(0.2, 20, 10_000), time.monotonic)
    try:
        output = repr(_SHARED.query(sql, ALLOWED))
    except ApiError as error:
        output = f"{error.status} {error.message}"
    assert output.startswith(("400 The query is refused: ", "QueryResult("))
    assert "secret@" not in output


_SHARED: Sandbox | None = None


@pytest.fixture(autouse=True, scope="module")
def closed() -> Iterator[None]:
    yield
    if _SHARED is not None:
        _SHARED._db.close()


@pytest.mark.slow
def test_the_connection_is_read_only_though_everything_were_let(tmp_path: Path) -> None:
    store = database.Database(tmp_path / "finapi.db")
    connection = store.open_separate_reader()
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("INSERT INTO companies (cik, name, name_rank, name_as_of) VALUES (9, 'x', 0, '')")
    store.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
