"""Tests of the structure of the code, read from its syntax: the direction of imports, allowed imports, and names."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.case_tables import run_each_case

PACKAGE = Path(__file__).parents[1] / "finapi"
SQL = PACKAGE.parent / "sql"
FILES = sorted(PACKAGE.rglob("*.py"))

# The rooms in the order of their imports: a room imports from rooms further up this list only. A room is a package,
# of market and web each package inside, or a module at the top.
ROOMS = (
    "client",
    "mcp",
    "core",
    "store",
    "edgar",
    "httpd",
    "net",
    "app",
    "accounts",
    "delivery",
    "market.reference",
    "market.documents",
    "market.prices",
    "market.statements",
    "market.financials",
    "market.claims",
    "market.insiders",
    "market.holdings",
    "market.ownership",
    "market.funds",
    "market.filings",
    "market.intake",
    "market.demo",
    "ops",
    "web.http",
    "web.html",
    "web.accounts",
    "web.filings",
    "web.financials",
    "web.insiders",
    "web.holdings",
    "web.ownership",
    "web.funds",
    "web.pages",
    "web",
    "feeds",
    "listening",
    "server",
    "testing",
    "verbs",
    "cli",
    "__main__",
)

# Rooms that import nothing of finapi but these: pure, or for others to copy.
ONLY = {
    "core": set[str](),
    "edgar": {"core"},
    "httpd": set[str](),
    "store": {"core"},
    "client": set[str](),
    "mcp": {"client", "core"},
}

# Who alone imports a package from outside, or a module of the standard library that reaches outside.
ALONE = {
    "sqlite3": {
        "store.as_of",
        "store.checkpoints",
        "store.connections",
        "store.copies",
        "store.db",
        "store.layered",
        "store.schema",
        "store.sandbox",
        "store.backup",
        "store.postgres",
    },
    "psycopg": {"store.account_changes", "store.postgres"},
    "jwt": {"accounts.credentials"},
    "argon2": {"core.passwords"},
    "waitress": {"httpd"},
    "websockets": {"client.feeds", "feeds", "testing.conformance"},
    "smtplib": {"net.smtp"},
    "http.client": {"net.outbound", "client"},
    "urllib.request": {"client"},
    "ssl": {"net"},
    "socket": {"httpd", "net", "store.datadir", "store.postgres", "server", "feeds", "verbs", "testing.world_pool"},
    "ctypes": {"core.memory", "store.sandbox"},
    "hmac": {"accounts.credentials", "client.signatures", "testing.gate", "web.pages.session_cookie", "web.service"},
    "random": {"client", "testing"},
    "subprocess": set[str](),
    "pickle": set[str](),
    "multiprocessing": set[str](),
    "asyncio": {"client"},
}

STANDARD_BUT_NOT_FOR_EDGAR = {
    "os",
    "io",
    "pathlib",
    "socket",
    "time",
    "tempfile",
    "shutil",
    "zipfile",
    "threading",
    "logging",
    "zoneinfo",
    "urllib.request",
    "random",
    "secrets",
}

FORBIDDEN_NAMES = {"utils", "util", "helpers", "services", "models", "managers", "repositories", "middleware", "common"}


# Modules with functions that build regular expressions, and what they build them from.
BUILDERS = {
    "edgar.sgml": "constants",
    "edgar.thirteenf": "names of elements, with the namespace prefix of the filing",
    "market.documents.text_index": "words of a search, escaped",
    "market.financials.metric_mapping": "the mapping of the package, or of an operator's file",
    "store.sandbox": "table names of the schema, constants",
    "verbs.api_verbs": "paths of routes",
    "web.html.sanitizer": "names of elements",
    "web.http.params": "patterns of the route table",
}


def name_of(file: Path) -> str:
    """Return the module name, such as ``finapi.web.http``, without ``__init__``."""
    parts = [*file.relative_to(PACKAGE.parent).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in FILES}


def room_of(module: str) -> str:
    """Return the room of a module: ``web.http`` for ``finapi.web.http.call``, empty for ``finapi``."""
    names = module.split(".")[1:]
    if not names:
        return ""
    inner = ".".join(names[:2])
    return inner if inner in ROOMS else names[0]


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


@cache
def nodes_of(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree_of(file)))


@cache
def imports(file: Path, *, at_start_only: bool = False) -> list[tuple[str, int]]:
    """Return the full names of the modules that a file imports, with the line, by default also inside functions."""
    imported: list[tuple[str, int]] = []
    nodes = iter(executed_at_import(tree_of(file))) if at_start_only else nodes_of(file)
    for node in nodes:
        if isinstance(node, ast.Import):
            imported.extend((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                imported.append((inner if inner in MODULES else str(node.module), node.lineno))
        elif isinstance(node, ast.Call) and is_named(node.func, "LazyModule") and not at_start_only:
            imported.append((ast.literal_eval(node.args[0]), node.lineno))
    return imported


def is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def executed_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run when the module is imported: no function bodies, nothing for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and is_named(node.test, "TYPE_CHECKING"):
            continue
        yield node
        yield from executed_at_import(node)


@cache
def calls(file: Path) -> list[tuple[str, int]]:
    """Return the calls of a file, as they are written, with the line."""
    return [(ast.unparse(node.func), node.lineno) for node in nodes_of(file) if isinstance(node, ast.Call)]


def is_constant_pattern(node: ast.AST) -> bool:
    """Return True for a literal, a constant by its name, an escaped text, or a text put together from these."""
    if isinstance(node, ast.JoinedStr):
        return all(is_constant_pattern(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return is_constant_pattern(node.value)
    if isinstance(node, ast.BinOp):
        return is_constant_pattern(node.left) and is_constant_pattern(node.right)
    if isinstance(node, ast.Attribute):
        return node.attr.isupper()
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "re.escape"
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def where(file: Path, line: int) -> str:
    return f"{file.relative_to(PACKAGE.parent)}:{line}"


# ---- imports


@run_each_case("file", FILES)
def test_imports_point_one_way(file: Path) -> None:
    own_room, order = room_of(name_of(file)), [*ROOMS]
    wrong = []
    for module, line in imports(file):
        imported_room = room_of(module)
        if not module.startswith("finapi") or imported_room in ("", own_room):
            continue
        # What bears a room's name alone is the room's own docstring.
        allowed = (
            imported_room in ONLY[own_room] if own_room in ONLY else order.index(imported_room) < order.index(own_room)
        )
        if not allowed:
            wrong.append(f"{where(file, line)} imports {module}")
    assert wrong == []


def test_every_module_stands_in_a_room() -> None:
    assert {room_of(module) for module in MODULES} - {"", "market"} == set(ROOMS)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        module: {other for other, _ in imports(file) if other in MODULES and other != module}
        for module, file in MODULES.items()
    }
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) == len(MODULES)


@run_each_case("package", sorted(ALONE))
def test_only_these_import(package: str) -> None:
    locations = [
        where(file, line)
        for file in FILES
        for module, line in imports(file)
        if module == package or module.startswith(package + ".")
        if not any(f"{name_of(file)}.".startswith(f"finapi.{part}.") for part in ALONE[package])
    ]
    assert locations == []


@pytest.mark.parametrize("package", ["jwt", "argon2", "websockets"])
def test_slow_packages_are_imported_where_they_are_first_needed(package: str) -> None:
    at_start = [
        where(file, line)
        for file in FILES
        for module, line in imports(file, at_start_only=True)
        if module.split(".")[0] == package
    ]
    assert at_start == []


# ---- who may do what


def test_only_config_reads_the_environment() -> None:
    names = ("environ", "environb", "getenv")
    locations = []
    for file in FILES:
        for node in nodes_of(file):
            if isinstance(node, ast.Attribute) and node.attr in names and is_named(node.value, "os"):
                locations.append(where(file, node.lineno))
            if isinstance(node, ast.ImportFrom) and node.module == "os":
                locations.extend(where(file, node.lineno) for alias in node.names if "env" in alias.name)
    assert {location.partition(":")[0] for location in locations} == {"finapi/core/config.py"}


def test_edgar_opens_no_file_socket_or_clock() -> None:
    wrong = []
    for file in (PACKAGE / "edgar").rglob("*.py"):
        wrong += [where(file, line) for module, line in imports(file) if module in STANDARD_BUT_NOT_FOR_EDGAR]
        for called, line in calls(file):
            if called in ("open", "print", "input", "exec", "eval") or re.search(r"\.(now|utcnow|today)$", called):
                wrong.append(f"{where(file, line)} {called}")
    assert wrong == []


def test_only_the_clock_reads_the_time() -> None:
    readers = re.compile(r"(datetime\.(now|utcnow|today)|date\.today|time\.(time|time_ns))")
    locations = [where(file, line) for file in FILES for called, line in calls(file) if readers.fullmatch(called)]
    # Answers are dated (RFC 9110 6.6.1) as no test or fixture moves them; files are by the machine; a client compares
    # a Retry-After without a Date, and the time of a webhook, with its own clock.
    allowed_files = {
        "finapi/client/errors.py",
        "finapi/client/signatures.py",
        "finapi/core/clock.py",
        "finapi/httpd/response_heads.py",
        "finapi/store/copies.py",
    }
    assert {location.partition(":")[0] for location in locations} == allowed_files


def test_only_the_database_executes_sql() -> None:
    methods = ("execute", "executemany", "executescript")
    locations = [
        where(file, node.lineno)
        for file in FILES
        for node in nodes_of(file)
        # waitress calls the running of a task execute(), without arguments.
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in methods
        and node.args
    ]
    rooms = {
        *(
            "account_changes",
            "as_of",
            "backup",
            "checkpoints",
            "connections",
            "copies",
            "db",
            "layered",
            "postgres",
            "sandbox",
        ),
        "schema",
    }
    assert {location.partition(":")[0] for location in locations} == {f"finapi/store/{name}.py" for name in rooms}


def test_handlers_hold_no_sql() -> None:
    methods = re.compile(r"tx\.(all|one|run|insert|many)")
    locations = [
        where(file, line)
        for file in (PACKAGE / "web").rglob("*.py")
        for called, line in calls(file)
        if methods.fullmatch(called) or called.endswith("db.write")
    ]
    assert locations == []


def test_only_the_command_line_prints() -> None:
    locations = [where(file, line) for file in FILES for called, line in calls(file) if called == "print"]
    assert {location.partition(":")[0] for location in locations} <= {"finapi/cli.py"}


def test_no_code_is_made_of_text() -> None:
    locations = [
        f"{where(file, line)} {called}"
        for file in FILES
        for called, line in calls(file)
        if called in ("eval", "exec", "compile", "__import__", "os.system", "pickle.loads", "marshal.loads")
    ]
    assert locations == []


def test_only_these_build_regular_expressions() -> None:
    """In all other functions patterns are constants or escaped. None of these patterns comes from a request."""
    functions = {
        f"re.{name}" for name in ("compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub")
    }
    builders = {
        name_of(file).removeprefix("finapi.")
        for file in FILES
        for node in set(nodes_of(file)) - set(executed_at_import(tree_of(file)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in functions and not is_constant_pattern(node.args[0])
    }
    assert builders == set(BUILDERS)


def test_no_error_is_swallowed_whole() -> None:
    wrong = []
    for file in FILES:
        for node in nodes_of(file):
            if isinstance(node, ast.ExceptHandler):
                kinds = ast.unparse(node.type) if node.type else ""
                silent = all(isinstance(step, ast.Pass | ast.Continue) for step in node.body)
                if node.type is None or (silent and kinds in ("Exception", "BaseException")):
                    wrong.append(where(file, node.lineno))
            is_suppress = isinstance(node, ast.Call) and is_named(node.func, "suppress")
            if is_suppress and ast.unparse(node) in ("suppress(Exception)", "suppress(BaseException)"):
                wrong.append(where(file, node.lineno))
    assert wrong == []


def test_no_timer_hides_in_a_sleep() -> None:
    assert [where(file, line) for file in FILES for called, line in calls(file) if called == "time.sleep"] == []


# ---- names


def test_every_module_is_named_after_what_it_holds() -> None:
    assert [module for module in MODULES if set(module.split(".")) & FORBIDDEN_NAMES] == []


@run_each_case("file", FILES)
def test_a_module_has_a_docstring(file: Path) -> None:
    assert ast.get_docstring(tree_of(file))


def test_queries_stand_in_the_room_of_the_module_that_calls_them() -> None:
    homes = {file.relative_to(SQL / "queries").with_suffix(".py") for file in (SQL / "queries").rglob("*.sql")}
    assert {str(home) for home in homes if not (PACKAGE / home).is_file()} == set()


def test_the_top_of_the_house_stays_small() -> None:
    """``client``, ``testing`` and ``mcp`` are not part of the twelve packages."""
    packages = {file.parent.name for file in PACKAGE.glob("*/__init__.py")} - {"client", "testing", "mcp"}
    assert len(packages) <= 12
    assert len([*PACKAGE.glob("*.py")]) <= 6


def test_class_names_are_unique() -> None:
    places: dict[str, list[str]] = {}
    for file in FILES:
        for node in nodes_of(file):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(where(file, node.lineno))
    assert {name: locations for name, locations in places.items() if len(locations) > 1} == {}


def test_every_public_function_and_class_says_what_it_is() -> None:
    silent = []
    for file in FILES:
        for node in tree_of(file).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                inner = node.body if isinstance(node, ast.ClassDef) else []
                methods = [
                    definition
                    for definition in inner
                    if isinstance(definition, ast.FunctionDef) and not definition.name.startswith("_")
                ]
                silent += [
                    where(file, definition.lineno)
                    for definition in [node, *methods]
                    if not ast.get_docstring(definition)
                ]
    assert silent == []
