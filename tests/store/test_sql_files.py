"""Tests of the named queries: each compiles, is called with its parameters, uses an index, and is read from a zip."""

from __future__ import annotations

import ast
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from finapi.store import as_of, db, schema, sql_files
from finapi.store.tables import ACCOUNTS
from tests.stores import build_null_values, stores_of_queries
from tests.support.case_tables import run_each_case
from tests.test_architecture import FILES, nodes_of

ROOT = Path(__file__).parents[2]
QUERIES = db.load_queries()
METHODS = {"list_rows", "iter_rows", "find_row", "find_value", "list_page", "run"}
METHODS |= {"insert_row", "insert_last", "insert_rows"}

# Every row of a report, or of the store, is what these are asked for.
READS_ALL = {
    # Of the demo's data, 62 events and 67 filings, in a store that has nothing else.
    "date_filings",
    "date_arrivals",
    "date_insider_forms",
    "date_carried",
    "date_events",
    # The removal of a master secret ends all open changes of email addresses.
    "end_all_email_changes",
    "spent_by_account",
    "user_rows",
    "total_counts",
    "total_coverage",
    "covered_companies",
    "stored_counts",
    "stored_filing_count",
    "matching_companies",
    "matching_companies_with_filings",
    "matching_companies_with_filings_as_of",
    "pack_reports",
    "book_companies",
    "latest_years",
    "latest_years_due",
    "count_latest_years_due",
    "data_version",
    "any_user_or_invite",
    "invites",
    "heartbeats",
    "poll_states",
    # The three feeds.
    "update_first_epoch",
    "update_epoch_seq",
    "arrivals",
    # Scans of an index that holds nothing but what is asked for.
    "due_lanes",
    "broken_off_attempts",
    "failed_documents",
    "failed_deliveries",
    "update_failed_documents_due",
    "topic_users",
    "credential_counts",
    "counts_of_accounts",
    "counts_of_market",
    "outbox_rows",
    "failed_outbox_rows",
    "count_outbox_aside",
    "reset_outbox_rows",
    "unequal_facts",
    "uncounted",
    "uneven_feeds",
    "unequal_balances",
    "unequal_usage",
    "carried_over",
    "ledger_archives",
    "unequal_wallets",
    # Every form without a day, which is what its index holds.
    "undated_insider_forms",
    "undated_schedules",
    "undated_sale_notices",
    "schedules_to_pack",
    "sale_notices_to_pack",
    "insider_forms_to_pack",
    "issuers_to_pack",
    "holdings_reports_to_pack",
    "undated_fund_reports",
    "fund_reports_to_pack",
    # After a leak all of them, once.
    "expire_verifications",
    # Counts of all reports, and one row for each fund.
    "count_of_reports",
    "ids_of_latest_reports",
    "screened_funds",
    "count_of_screened_funds",
    # Marks that are taken off again at once.
    "redated_holdings_reports",
    "resplit_securities",
    "next_uncounted_fund",
    "unpriced_securities",
    "uncompared_fund_quarters",
    "uncounted_series",
    # Four rows a year, and all series once a quarter.
    "returned_quarters",
    "due_quarter",
    "unsummed_quarter",
    "update_all_series_as_uncounted",
    # For a file of the SEC's, once.
    "unique_hyphenated_tickers",
    # The first rows in the order of an index.
    "funds_by_value",
    "all_schedules_greatest_first",
    "all_schedules_smallest_first",
    "followed",
    # Of a test's world, which holds a handful of accounts.
    "happenings",
    "newest_round",
    "count_hours_passed",
    "sum_days_passed",
    "credentials_of_world",
    "journal_of_world",
    "signers_of_world",
    "users_of_world",
}

# What these scan is a subquery, which is searched by an index.
READS_FOUND = {"connected_insider_forms", "roles_of_insider", "trades_of_any"}

# Tables of one row, which have no index to be searched by.
OF_ONE_ROW = {
    f"SCAN {name}"
    for name in (
        "CONSTANT ROW",
        "as_of_day",
        "data_version",
        "journal",
        "filing_bodies_size",
        "ledger_summed",
        "moved_accounts",
    )
}


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:", isolation_level=None)
    schema.create(opened)
    as_of.create_day_table(opened)
    yield opened
    opened.close()


def names_in(query: str) -> set[str]:
    """Return the ``:names`` of a query."""
    text = re.sub(r"'[^']*'|--[^\n]*", "", query)
    return set(re.findall(r":([a-z_]\w*)", text))


def explain_query(connection: sqlite3.Connection, query: str, how: str) -> list[tuple[object, ...]]:
    """Return the rows of EXPLAIN of a query, with None for every value."""
    return connection.execute(f"{how} {query}", build_null_values(query)).fetchall()


@cache
def calls() -> list[tuple[str, ast.Call]]:
    """Return every call ``tx.METHOD(...)`` in finapi, with its location."""
    tx_calls = []
    for file in FILES:
        for node in nodes_of(file):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in METHODS
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "tx"
            ):
                tx_calls.append((f"{file.relative_to(ROOT)}:{node.lineno}", node))
    return tx_calls


def texts() -> Iterator[tuple[str, str]]:
    """Yield every text in finapi's code with its location; an f-string as a pattern in which any word fits."""
    for file in FILES:
        for node in nodes_of(file):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield re.escape(node.value), f"{file.relative_to(ROOT)}:{node.lineno}"
            elif isinstance(node, ast.JoinedStr):
                parts = (
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"\w+" for part in node.values
                )
                yield "".join(parts), f"{file.relative_to(ROOT)}:{node.lineno}"


@run_each_case("name", sorted(QUERIES))
def test_query_compiles(connection: sqlite3.Connection, name: str) -> None:
    assert explain_query(connection, QUERIES[name], "EXPLAIN")


@run_each_case("name", sorted(QUERIES))
def test_query_is_one_statement(name: str) -> None:
    assert ";" not in re.sub(r"'[^']*'|--[^\n]*", "", QUERIES[name])


@run_each_case("name", sorted(set(QUERIES) - READS_ALL - READS_FOUND))
def test_query_searches_by_index(connection: sqlite3.Connection, name: str) -> None:
    plan = [str(row[3]) for row in explain_query(connection, QUERIES[name], "EXPLAIN QUERY PLAN")]
    # What a query itself has found is gone through: how it was found stands in the plan too.
    temporary_tables = {step.split()[1] for step in plan if step.startswith(("CO-ROUTINE ", "MATERIALIZE "))}
    scans = [step for step in plan if step.startswith("SCAN") and "VIRTUAL TABLE" not in step]
    assert [scan for scan in scans if scan not in OF_ONE_ROW and scan.split()[1] not in temporary_tables] == []


@pytest.mark.parametrize("name", sorted(READS_FOUND))
def test_query_searches_every_table_by_index(connection: sqlite3.Connection, name: str) -> None:
    tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    plan = [str(row[3]) for row in explain_query(connection, QUERIES[name], "EXPLAIN QUERY PLAN")]
    scanned = {step.split()[1] for step in plan if step.startswith("SCAN")}
    assert scanned & tables == set()
    scanned_tables = {name for name in scanned if not name.startswith("(subquery-")}
    assert scanned_tables <= {"near", "latest", "forms", "json_each", "CONSTANT"}


def test_no_query_names_tables_of_both_stores() -> None:
    assert {name: stores for name, stores in stores_of_queries().items() if len(stores) > 1} == {}


def test_no_table_refers_to_one_of_the_other_store(connection: sqlite3.Connection) -> None:
    tables = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert tables >= {*ACCOUNTS}
    referred = {(table, row[2]) for table in tables for row in connection.execute(f"PRAGMA foreign_key_list({table})")}
    assert {(name, other) for name, other in referred if (name in ACCOUNTS) != (other in ACCOUNTS)} == set()


# The lists of insiders walk their index in its order: a first page costs what it shows, however much there is.
WALKED = {
    "trades_of_all": "insider_transactions_by_day",
    "trades_of_type": "insider_transactions_by_type",
    "trades_of_sector": "insider_transactions_by_sector",
    "trades_of_industry": "insider_transactions_by_industry",
    "trades_of_issuer": "insider_transactions_by_issuer",
    "top_trades_of_all": "insider_transactions_by_value",
    "top_trades_of_sector": "insider_transactions_by_sector_value",
    "top_trades_of_industry": "insider_transactions_by_industry_value",
    "trades_of_insider": "PRIMARY KEY",
    "insider_filings_of_all": "insider_forms_by_day",
    "insider_filings_of_type": "insider_forms_by_type",
    "insider_filings_of_sector": "insider_forms_by_sector",
    "insider_filings_of_industry": "insider_forms_by_industry",
    "insider_filings_of_issuer": "insider_forms_by_issuer",
    "insider_filings_of_insider": "PRIMARY KEY",
}


@run_each_case("name, index", sorted(WALKED.items()))
def test_a_list_is_walked_and_not_sorted(connection: sqlite3.Connection, name: str, index: str) -> None:
    plan = [str(row[3]) for row in explain_query(connection, QUERIES[name], "EXPLAIN QUERY PLAN")]
    assert f" {index} (" in plan[0]
    assert [step for step in plan if "TEMP B-TREE" in step] == []


@pytest.mark.parametrize("name", ["fact_counts_by_end_day", "concept_facts"])
def test_the_facts_of_a_concept_are_read_from_an_index(connection: sqlite3.Connection, name: str) -> None:
    plan = [str(row[3]) for row in explain_query(connection, QUERIES[name], "EXPLAIN QUERY PLAN")]
    assert "SEARCH facts USING COVERING INDEX facts_by_concept (concept_id=?)" in plan


def test_usage_by_endpoint_is_added_up_by_index(connection: sqlite3.Connection) -> None:
    plan = [str(row[3]) for row in explain_query(connection, QUERIES["spent_by_endpoint"], "EXPLAIN QUERY PLAN")]
    search = "SEARCH ledger_days USING COVERING INDEX ledger_days_by_endpoint (user_id=?"
    reads = [step for step in plan if "ledger_days" in step]
    assert reads == [f"{search})", f"{search} AND endpoint>?)", *2 * [f"{search} AND endpoint=? AND day>?)"]]


@run_each_case(
    "name, table",
    [
        ("priced_days_of_forms", "insider_transactions"),
        ("priced_rows_of_forms", "insider_transactions"),
        ("forms_by_query", "trade"),
        ("forms_of_parties_by_query", "trade"),
    ],
)
def test_the_trades_of_forms_are_found_by_form(connection: sqlite3.Connection, name: str, table: str) -> None:
    plan = [str(row[3]) for row in explain_query(connection, QUERIES[name], "EXPLAIN QUERY PLAN")]
    reads = [step for step in plan if table in step.split()]
    assert reads == [f"SEARCH {table} USING INDEX sqlite_autoindex_insider_transactions_1 (form_id=?)"]


def test_every_market_index_is_used_by_a_query_or_trigger(connection: sqlite3.Connection) -> None:
    triggers = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND sql NOT LIKE '%RAISE%'")
    bodies = [sql[re.search(r"\bBEGIN\b", sql).end() : sql.rindex("END")] for (sql,) in triggers]
    inside = [re.sub(r"\b(?:NEW|OLD)\.", ":", statement.strip()) for body in bodies for statement in body.split(";\n")]
    plans = [
        explain_query(connection, query, "EXPLAIN QUERY PLAN") for query in (*QUERIES.values(), *filter(None, inside))
    ]
    used_indexes = {name for plan in plans for row in plan for name in re.findall(r"INDEX (\w+)", str(row[3]))}
    index_rows = connection.execute("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
    assert {name for name, table in index_rows if table not in ACCOUNTS} <= used_indexes


@pytest.mark.slow
def test_every_query_is_called() -> None:
    plain = {re.sub(r"\\(.)", r"\1", text) for text, _ in texts()}
    composed = [
        re.compile(text) for text, _ in texts() if text.count(r"\w+") == 1 and re.search(r"[a-z]{3}_|_[a-z]{3}", text)
    ]
    # The variant of a query for past days has the name of the query with a suffix, which the database appends.
    names = {name.removesuffix(as_of.VARIANT_SUFFIX) for name in QUERIES}
    assert {name for name in names if name not in plain and not any(text.fullmatch(name) for text in composed)} == set()


def test_every_name_called_is_a_query() -> None:
    query_names = {
        str(call.args[0].value): location for location, call in calls() if isinstance(call.args[0], ast.Constant)
    }
    assert {name: location for name, location in query_names.items() if name not in QUERIES} == {}


def test_a_value_that_is_not_given_is_an_error() -> None:
    database = db.Database(None)
    with database.read() as tx, pytest.raises(sqlite3.ProgrammingError, match="email"):
        tx.find_row("user_by_email", {"id": 1}, uuid="x")
    database.close()


def test_keyword_calls_pass_the_parameters_of_their_query() -> None:
    wrong = {}
    for location, call in calls():
        if isinstance(call.args[0], ast.Constant) and isinstance(call.func, ast.Attribute):
            query = QUERIES[str(call.args[0].value)]
            keyword_names = {keyword.arg for keyword in call.keywords}
            if call.func.attr == "insert_rows":
                if "?" not in query:
                    wrong[location] = "insert_rows() gives values by position"
            elif len(call.args) == 1 and None not in keyword_names and keyword_names != names_in(query):
                wrong[location] = f"gives {keyword_names}, the query names {names_in(query)}"
    assert wrong == {}


def test_every_table_is_strict(connection: sqlite3.Connection) -> None:
    rows = connection.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
    assert {name for name, strict in rows if not strict} == {"sqlite_schema", "sqlite_sequence"}


def test_every_table_and_view_of_the_schema_has_a_comment() -> None:
    blocks = [block.strip() for block in sql_files.read_text("schema.sql").split("\n\n")]
    created = [block for block in blocks if re.search(r"^CREATE (TABLE|VIEW)", block, flags=re.MULTILINE)]
    assert [block.splitlines()[0] for block in created if not block.startswith("-- ")] == []
    assert sum(block.count("CREATE TABLE ") + block.count("CREATE VIEW ") for block in created) == len(created)


def built(target: Path) -> Path:
    """Return the package as setup.cfg builds it: ``sql`` inside ``finapi``, no bytecode."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(ROOT / "finapi", target / "finapi", ignore=unwanted)
    shutil.copytree(ROOT / "sql", target / "finapi" / "sql", ignore=unwanted)
    return target


SHOW = """
import finapi.store.db as db
database = db.Database(None)
print(db.__file__)
print(db.schema.newest_version(), len(db.load_queries()))
database.close()
"""


def shown_by(folder: Path) -> list[str]:
    """Return the output of a fresh interpreter about the queries, with only ``folder`` on its path."""
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{SHOW}"
    run = subprocess.run(
        [sys.executable, "-I", "-B", "-c", code], capture_output=True, text=True, cwd=folder.parent, check=True
    )
    return run.stdout.split("\n")


def test_queries_are_found_in_a_built_package(tmp_path: Path) -> None:
    tree = built(tmp_path / "built")
    assert shown_by(tree)[:2] == [f"{tree}/finapi/store/db.py", f"{schema.newest_version()} {len(QUERIES)}"]


def test_queries_are_found_in_a_zip(tmp_path: Path) -> None:
    tree = built(tmp_path / "built")
    archive = tmp_path / "finapi.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(tree.rglob("*")):
            if file.is_file():  # a wheel has no entries for folders
                packed.write(file, file.relative_to(tree))
    shutil.rmtree(tree)
    assert shown_by(archive)[:2] == [f"{archive}/finapi/store/db.py", f"{schema.newest_version()} {len(QUERIES)}"]


def test_setup_cfg_packs_every_folder_of_code_and_queries() -> None:
    text = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    listed_packages = set(re.findall(r"^[ \t]+(finapi[\w.]*)$", text, flags=re.MULTILINE))
    packages = {".".join(file.parent.relative_to(ROOT).parts) for file in (ROOT / "finapi").rglob("__init__.py")}
    assert listed_packages == packages | {"finapi.sql"}
    assert "finapi.sql = **/*.sql" in text
