"""The queries by name: each compiles, is used, is given what it names, and is found in a zip too."""

from __future__ import annotations

import ast
import functools
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from finapi import db

ROOT = Path(__file__).parents[1]
QUERIES = db.named_queries()
METHODS = {"all", "one", "value", "run", "insert", "many"}

# Every row of a report, or of the store, is what these are asked for.
READS_ALL = {
    "ticker_count",
    "insider_count",
    "coverage_of_all",
    "held",
    "filings_of_all",
    "companies_like",
    "pack_reports",
    "book_companies",
    "data_version",
    "any_user_or_invite",
    "invites",
    "heartbeats",
    "arrivals",
    # Scans of an index that holds nothing but what is asked for.
    "due_lanes",
    "broken_off_attempts",
    "topic_users",
    "unequal_balances",
    "unequal_wallets",
    # Every form without a day, which is what its index holds.
    "undated_insider_forms",
    "insider_forms_to_pack",
    "issuers_to_pack",
    "pack_holdings_reports",
    # Marks that are taken off again at once.
    "redated_holdings_reports",
    # The first rows in the order of an index.
    "funds_by_value",
    "followed",
}

# What these scan is a subquery, which is searched by an index.
READS_FOUND = {"insider_forms_linked", "roles_of_insider", "trades_found"}

# Tables of one row, which have no index to be searched by.
OF_ONE_ROW = {"SCAN CONSTANT ROW", "SCAN data_version", "SCAN filing_bodies_size"}


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:", isolation_level=None)
    db.migrate(opened)
    yield opened
    opened.close()


def names_in(query: str) -> set[str]:
    """The ``:names`` of a query."""
    text = re.sub(r"'[^']*'|--[^\n]*", "", query)
    return set(re.findall(r":([a-z_]\w*)", text))


def explained(connection: sqlite3.Connection, query: str, how: str) -> list[tuple[object, ...]]:
    """What EXPLAIN says of a query, with None for every value."""
    values: object = [None] * query.count("?")
    if "?" not in query:
        values = defaultdict(lambda: None)
    return connection.execute(f"{how} {query}", values).fetchall()  # type: ignore[arg-type]


@functools.cache
def modules() -> list[tuple[Path, ast.Module]]:
    files = sorted((ROOT / "finapi").rglob("*.py"))
    return [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in files]


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call ``tx.METHOD(...)`` in finapi, with its place."""
    for file, tree in modules():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in METHODS
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "tx"
            ):
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node


def names_called() -> dict[str, str]:
    """The query names that finapi calls, each with a place; composed names are spelled out."""
    tables = [
        node.args[1].value
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("ids", "factsets.ids")
        and isinstance(node.args[1], ast.Constant)
    ]
    called: dict[str, str] = {}
    for place, call in calls():
        name = call.args[0]
        if isinstance(name, ast.Constant):
            called[str(name.value)] = place
        else:
            assert isinstance(name, ast.JoinedStr), f"{place}: the query's name is neither text nor f-string"
            for table in tables:
                parts = [part.value if isinstance(part, ast.Constant) else table for part in name.values]
                called["".join(map(str, parts))] = place
    return called


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_query_compiles(connection: sqlite3.Connection, name: str) -> None:
    assert explained(connection, QUERIES[name], "EXPLAIN")


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_query_is_one_statement(name: str) -> None:
    assert ";" not in re.sub(r"'[^']*'|--[^\n]*", "", QUERIES[name])


@pytest.mark.parametrize("name", sorted(set(QUERIES) - READS_ALL - READS_FOUND))
def test_query_searches_by_index(connection: sqlite3.Connection, name: str) -> None:
    plan = [str(row[3]) for row in explained(connection, QUERIES[name], "EXPLAIN QUERY PLAN")]
    # What a query itself has found is gone through: how it was found stands in the plan too.
    found = {step.split()[1] for step in plan if step.startswith(("CO-ROUTINE ", "MATERIALIZE "))}
    scans = [step for step in plan if step.startswith("SCAN") and "VIRTUAL TABLE" not in step]
    assert [scan for scan in scans if scan not in OF_ONE_ROW and scan.split()[1] not in found] == []


@pytest.mark.parametrize("name", sorted(READS_FOUND))
def test_query_searches_every_table_by_index(connection: sqlite3.Connection, name: str) -> None:
    tables = {
        str(row[0]) for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    }
    plan = [str(row[3]) for row in explained(connection, QUERIES[name], "EXPLAIN QUERY PLAN")]
    scanned = {step.split()[1] for step in plan if step.startswith("SCAN")}
    assert scanned & tables == set()
    assert scanned <= {"near", "latest", "found", "json_each", "CONSTANT", "(subquery-4)", "(subquery-3)"}


# The lists of insiders walk their index in its order: a first page costs what it shows, however much there is.
WALKED = {
    "trades_latest": "insider_transactions_by_day",
    "trades_of_type": "insider_transactions_by_type",
    "trades_of_sector": "insider_transactions_by_sector",
    "trades_of_industry": "insider_transactions_by_industry",
    "trades_of_issuer": "insider_transactions_by_issuer",
    "trades_top": "insider_transactions_by_value",
    "trades_top_of_sector": "insider_transactions_by_sector_value",
    "trades_top_of_industry": "insider_transactions_by_industry_value",
    "trades_of_insider": "PRIMARY KEY",
    "insider_filings_latest": "insider_forms_by_day",
    "insider_filings_of_type": "insider_forms_by_type",
    "insider_filings_of_sector": "insider_forms_by_sector",
    "insider_filings_of_industry": "insider_forms_by_industry",
    "insider_filings_of_issuer": "insider_forms_by_issuer",
    "query_of_all": "insider_forms_by_day",
}


@pytest.mark.parametrize(("name", "index"), sorted(WALKED.items()))
def test_a_list_is_walked_and_not_sorted(connection: sqlite3.Connection, name: str, index: str) -> None:
    plan = [str(row[3]) for row in explained(connection, QUERIES[name], "EXPLAIN QUERY PLAN")]
    assert f" {index} (" in plan[0]
    assert [step for step in plan if "TEMP B-TREE" in step] == []


def test_every_query_is_called() -> None:
    assert set(QUERIES) - set(names_called()) == set()


def test_every_name_called_is_a_query() -> None:
    assert {name: place for name, place in names_called().items() if name not in QUERIES} == {}


def test_every_call_gives_the_values_that_its_query_names() -> None:
    wrong = {}
    for place, call in calls():
        if isinstance(call.args[0], ast.Constant) and isinstance(call.func, ast.Attribute):
            query = QUERIES[str(call.args[0].value)]
            given = {keyword.arg for keyword in call.keywords}
            if call.func.attr == "many":
                if "?" not in query:
                    wrong[place] = "many() gives values by position"
            elif given != names_in(query):
                wrong[place] = f"gives {given}, the query names {names_in(query)}"
    assert wrong == {}


def test_every_file_of_queries_is_named_after_a_module() -> None:
    stems = {file.stem for file, _ in modules()}
    assert {file.name for file in (ROOT / "sql" / "queries").iterdir() if file.stem not in stems} == set()


def test_every_migration_makes_strict_tables() -> None:
    for script in db.migrations():
        for statement in re.sub(r"--[^\n]*", "", script).split(";"):
            if statement.strip().startswith("CREATE TABLE"):
                assert re.search(r"\) STRICT(, WITHOUT ROWID)?$", statement.strip()), statement


def built(target: Path) -> Path:
    """The package as setup.cfg builds it: ``sql`` inside ``finapi``, no bytecode."""
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(ROOT / "finapi", target / "finapi", ignore=unwanted)
    shutil.copytree(ROOT / "sql", target / "finapi" / "sql", ignore=unwanted)
    return target


SHOW = """
import finapi.db as db
database = db.Database(None)
print(db.__file__)
print(len(db.migrations()), len(db.named_queries()))
database.close()
"""


def shown_by(place: Path) -> list[str]:
    """What a fresh interpreter that has only ``place`` on its path says of the queries."""
    code = f"import sys; sys.path.insert(0, {str(place)!r})\n{SHOW}"
    run = subprocess.run(
        [sys.executable, "-I", "-B", "-c", code], capture_output=True, text=True, cwd=place.parent, check=True
    )
    return run.stdout.split("\n")


def test_queries_are_found_in_a_built_package(tmp_path: Path) -> None:
    tree = built(tmp_path / "built")
    assert shown_by(tree)[:2] == [
        f"{tree}/finapi/db.py",
        f"{len(db.migrations())} {len(QUERIES)}",
    ]


def test_queries_are_found_in_a_zip(tmp_path: Path) -> None:
    tree = built(tmp_path / "built")
    archive = tmp_path / "finapi.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(tree.rglob("*")):
            if file.is_file():  # a wheel has no entries for folders
                packed.write(file, file.relative_to(tree))
    shutil.rmtree(tree)
    assert shown_by(archive)[:2] == [
        f"{archive}/finapi/db.py",
        f"{len(db.migrations())} {len(QUERIES)}",
    ]


def test_setup_cfg_packs_every_folder_of_code_and_queries() -> None:
    text = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    listed = set(re.findall(r"^    (finapi[\w.]*)$", text, flags=re.MULTILINE))
    packages = {
        ".".join(file.parent.relative_to(ROOT).parts) for file in (ROOT / "finapi").rglob("__init__.py")
    }
    assert listed == packages | {"finapi.sql", "finapi.sql.migrations", "finapi.sql.queries"}
