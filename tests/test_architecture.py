"""The shape of the code, read from its syntax: which way imports point, who may import what, and sizes."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "finapi"
FILES = sorted(PACKAGE.rglob("*.py"))

# DESIGN "Layout": a part (a module or a package of finapi) imports from the layers above its own only.
LAYERS: list[set[str]] = [
    {"errors", "clock", "config"},
    {
        "db",
        "sandbox",
        "limits",
        "lockout",
        "credentials",
        "passwords",
        "mail",
        "smtp",
        "addresses",
        "exact",
        "dial",
        "outbound",
        "background",
        "logs",
        "datadir",
        "wire",
        "pool",
        "handover",
        "ready",
        "channel",
        "listen",
        "heartbeats",
        "cache",
        "metrics",
        "watch",
        "edgar",
    },
    {"app"},
    {
        "accounts",
        "billing",
        "events",
        "idempotency",
        "invites",
        "letters",
        "market",
        "plans",
        "recovery",
        "sessions",
        "sniper",
        "status",
        "watchdog",
        "parts",
        "webhooks",
        "dispatch",
    },
    {"feeds", "web", "demo"},
    {"testing", "server"},
    {"verbs"},
    {"cli"},
    {"__main__"},
]

# Within a layer: (importer, imported).
BESIDE = {
    ("config", "errors"),
    ("channel", "handover"),
    ("channel", "wire"),
    ("listen", "channel"),
    ("listen", "ready"),
    ("listen", "handover"),
    ("listen", "pool"),
    ("listen", "wire"),
    ("heartbeats", "db"),
    ("status", "watchdog"),
    ("parts", "status"),
    ("parts", "market"),
    ("status", "market"),
    ("mail", "db"),
    ("sandbox", "db"),
    ("mail", "smtp"),
    ("smtp", "dial"),
    ("outbound", "dial"),
    ("outbound", "addresses"),
    ("accounts", "billing"),
    ("feeds", "web"),
    ("market", "events"),
    ("market", "sniper"),
    ("market", "webhooks"),
    ("accounts", "plans"),
    ("plans", "billing"),
    ("recovery", "accounts"),
    ("recovery", "letters"),
    ("sessions", "accounts"),
    ("dispatch", "webhooks"),
    ("sniper", "webhooks"),
    ("sessions", "invites"),
    ("sessions", "recovery"),
}

# Nothing of finapi but these: pure, or for others to copy.
ONLY = {
    "edgar": {"errors"},
    "wire": set(),
    "pool": set(),
    "handover": set(),
    "channel": {"handover", "wire"},
    "ready": set(),
    "listen": {"channel", "handover", "pool", "ready", "wire"},
    "client": set(),
}

# Who alone imports a package from outside, or a module of the standard library that reaches outside.
ALONE = {
    "sqlite3": {"db", "sandbox"},
    "jwt": {"credentials"},
    "argon2": {"passwords"},
    "waitress": {"channel", "listen", "pool", "ready", "wire", "server", "feeds"},
    "websockets": {"feeds"},
    "smtplib": {"smtp"},
    "http.client": {"outbound", "client"},
    "urllib.request": {"client"},
    "ssl": {"outbound", "mail", "smtp"},
    "socket": {
        "handover",
        "channel",
        "dial",
        "outbound",
        "smtp",
        "listen",
        "datadir",
        "server",
        "feeds",
        "verbs",
    },
    "subprocess": set(),
    "pickle": set(),
    "multiprocessing": set(),
    "asyncio": set(),
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

FORBIDDEN_NAMES = {
    "utils",
    "util",
    "helpers",
    "services",
    "models",
    "managers",
    "repositories",
    "middleware",
    "common",
}

MODULE_LINES = 500
FUNCTION_LINES = 60


def name_of(file: Path) -> str:
    """``finapi.web.http``, without ``__init__``."""
    parts = [*file.relative_to(PACKAGE.parent).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in FILES}


def part_of(module: str) -> str:
    """The part of finapi that a module belongs to: ``web`` of ``finapi.web.http``; empty for ``finapi``."""
    return [*module.split("."), ""][1]


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), str(file))


def imports(file: Path, *, at_start_only: bool = False) -> Iterator[tuple[str, int]]:
    """The modules that a file imports, in full, with the line; those inside functions too unless told."""
    nodes = iter(executed_at_import(tree_of(file))) if at_start_only else ast.walk(tree_of(file))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner if inner in MODULES else str(node.module)), node.lineno


def executed_at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported: no function bodies, nothing for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from executed_at_import(node)


def layer_of(part: str) -> int | None:
    return next((number for number, layer in enumerate(LAYERS) if part in layer), None)


def calls(file: Path) -> Iterator[tuple[str, int]]:
    """What a file calls, as it is written, with the line."""
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def where(file: Path, line: int) -> str:
    return f"{file.relative_to(PACKAGE.parent)}:{line}"


# ---- imports


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_imports_point_one_way(file: Path) -> None:
    mine = part_of(name_of(file))
    wrong = []
    for module, line in imports(file):
        theirs = part_of(module)
        if not module.startswith("finapi") or theirs in ("", mine):
            continue
        if mine in ONLY:
            allowed = theirs in ONLY[mine]
        else:
            here, there = layer_of(mine), layer_of(theirs)
            assert here is not None, f"{mine} stands in no layer: say where it belongs"
            assert there is not None, f"{theirs} stands in no layer: say where it belongs"
            allowed = there < here or (mine, theirs) in BESIDE
        if not allowed:
            wrong.append(f"{where(file, line)} imports {module}")
    assert wrong == []


def test_every_part_stands_in_one_layer() -> None:
    parts = {part_of(module) for module in MODULES} - {"", "client"}
    standing = [part for layer in LAYERS for part in layer]
    assert len(standing) == len(set(standing))
    assert parts - set(standing) == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {
        module: {
            other for other, _ in imports(file, at_start_only=True) if other in MODULES and other != module
        }
        for module, file in MODULES.items()
    }
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) == len(MODULES)


@pytest.mark.parametrize("package", sorted(ALONE))
def test_only_these_import(package: str) -> None:
    found = {
        part_of(name_of(file)): where(file, line)
        for file in FILES
        for module, line in imports(file)
        if module == package or module.startswith(package + ".")
    }
    # web/wsgi.py takes the reason phrases of http.client, and opens nothing.
    if package == "http.client":
        found = {part: place for part, place in found.items() if not place.startswith("finapi/web/wsgi.py")}
    assert {part: place for part, place in found.items() if part not in ALONE[package]} == {}


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
    found = []
    for file in FILES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in (
                "os.environ",
                "os.environb",
                "os.getenv",
            ):
                found.append(where(file, node.lineno))
            if isinstance(node, ast.ImportFrom) and node.module == "os":
                found.extend(where(file, node.lineno) for alias in node.names if "env" in alias.name)
    assert {place.partition(":")[0] for place in found} == {"finapi/config.py"}


def test_edgar_opens_no_file_socket_or_clock() -> None:
    wrong = []
    for file in (PACKAGE / "edgar").rglob("*.py"):
        wrong += [where(file, line) for module, line in imports(file) if module in STANDARD_BUT_NOT_FOR_EDGAR]
        for called, line in calls(file):
            if called in ("open", "print", "input", "exec", "eval") or re.search(
                r"\.(now|utcnow|today)$", called
            ):
                wrong.append(f"{where(file, line)} {called}")
    assert wrong == []


def test_only_the_clock_reads_the_time() -> None:
    readers = re.compile(r"(datetime\.(now|utcnow|today)|date\.today|time\.(time|time_ns))")
    found = [where(file, line) for file in FILES for called, line in calls(file) if readers.fullmatch(called)]
    # These two date the answers that they send (RFC 9110 6.6.1), which no test or fixture moves.
    dating = {"finapi/channel.py", "finapi/listen.py"}
    assert {place.partition(":")[0] for place in found} == {"finapi/clock.py"} | dating


def test_only_the_database_executes_sql() -> None:
    sql = re.compile(r".*\.(execute|executemany|executescript)")
    found = [
        where(file, node.lineno)
        for file in FILES
        for node in ast.walk(tree_of(file))
        # waitress calls the running of a task execute(), without arguments.
        if isinstance(node, ast.Call) and sql.fullmatch(ast.unparse(node.func)) and node.args
    ]
    assert {place.partition(":")[0] for place in found} == {"finapi/db.py", "finapi/sandbox.py"}


def test_handlers_hold_no_sql() -> None:
    methods = re.compile(r"tx\.(all|one|run|insert|many)")
    found = [
        where(file, line)
        for file in (PACKAGE / "web").rglob("*.py")
        for called, line in calls(file)
        if methods.fullmatch(called) or called.endswith("db.write")
    ]
    assert found == []


def test_only_the_command_line_prints() -> None:
    found = [where(file, line) for file in FILES for called, line in calls(file) if called == "print"]
    assert {place.partition(":")[0] for place in found} <= {"finapi/cli.py"}


def test_no_code_is_made_of_text() -> None:
    found = [
        f"{where(file, line)} {called}"
        for file in FILES
        for called, line in calls(file)
        if called in ("eval", "exec", "compile", "__import__", "os.system", "pickle.loads", "marshal.loads")
    ]
    assert found == []


def test_no_error_is_swallowed_whole() -> None:
    wrong = []
    for file in FILES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.ExceptHandler):
                kinds = ast.unparse(node.type) if node.type else ""
                silent = all(isinstance(step, ast.Pass | ast.Continue) for step in node.body)
                if node.type is None or (silent and kinds in ("Exception", "BaseException")):
                    wrong.append(where(file, node.lineno))
            if isinstance(node, ast.Call) and ast.unparse(node) in (
                "suppress(Exception)",
                "suppress(BaseException)",
            ):
                wrong.append(where(file, node.lineno))
    assert wrong == []


def test_no_timer_hides_in_a_sleep() -> None:
    assert [
        where(file, line) for file in FILES for called, line in calls(file) if called == "time.sleep"
    ] == []


# ---- names and sizes


def test_every_module_is_named_after_what_it_holds() -> None:
    assert [module for module in MODULES if set(module.split(".")) & FORBIDDEN_NAMES] == []


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_module_says_what_it_is_and_is_not_too_long(file: Path) -> None:
    assert ast.get_docstring(tree_of(file))
    assert len(file.read_text(encoding="utf-8").splitlines()) <= MODULE_LINES


def test_no_function_is_too_long() -> None:
    long = {}
    for file in FILES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                documented = ast.get_docstring(node) is not None and len(node.body) > 1
                first = node.body[1] if documented else node.body[0]
                length = (node.end_lineno or 0) - first.lineno + 1
                if length > FUNCTION_LINES:
                    long[f"{where(file, node.lineno)} {node.name}"] = length
    assert long == {}


def test_every_public_function_and_class_says_what_it_is() -> None:
    silent = []
    for file in FILES:
        for node in tree_of(file).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                inner = node.body if isinstance(node, ast.ClassDef) else []
                methods = [
                    one for one in inner if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")
                ]
                silent += [where(file, one.lineno) for one in [node, *methods] if not ast.get_docstring(one)]
    assert silent == []
