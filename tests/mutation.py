"""A mutation check: change the code in one place at a time and run its tests.

    python -m tests.mutation [MODULE ...] [--count 10] [--seed 1] [--list]

A change inverts a comparison, ``and``/``or``, ``+``/``-`` or ``not``, or adds one to a number. The tests run in a copy
of the repository: first those of the module, then those of the rooms that use it. A change is noticed if they fail, or
take ten times as long. Survivors are printed with their line; the exit status is 1 if fewer than 95 % of the changes
were noticed. Bounds of a thousand or more are left out: no test makes so many rows to notice one more.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = 0.95
LARGE_BOUND = 1_000
SLOWEST = 10  # times the seconds of the unchanged code: an endless loop

ACCOUNT, METERING = "tests/web/accounts/test_account_api.py", "tests/web/test_metering.py"
USER = "tests/web/accounts/test_user_api.py"
ACCOUNTS, DELIVERY = "tests/accounts", "tests/delivery"
PLANS = f"{ACCOUNTS}/test_plans.py {ACCOUNTS}/test_own_accounts.py {ACCOUNT}"
HOLDINGS = "tests/market/holdings"
FINANCIALS = "tests/market/financials"
SERIES = (
    f"{FINANCIALS}/test_metric_series.py {FINANCIALS}/test_derived_figures.py tests/web/financials/test_timeseries.py"
)

# The tests that must notice changes, by module.
TESTS = {
    "core/limits": "tests/core/test_limits.py",
    "core/lockout": "tests/core/test_lockout.py",
    "accounts/billing": f"{ACCOUNTS}/test_billing.py {PLANS} {METERING}",
    "accounts/plans": PLANS,
    "delivery/sniper": "tests/delivery/test_sniper.py tests/web/accounts/test_sniper_api.py",
    "delivery/webhooks": f"{DELIVERY}/test_webhooks.py {DELIVERY}/test_receivers.py {USER} {ACCOUNT}",
    "market/financials/periods": f"{FINANCIALS}/test_periods.py {SERIES}",
    "market/financials/fact_book": f"{FINANCIALS}/test_fact_book.py {FINANCIALS}/test_faces.py {SERIES} "
    f"{FINANCIALS}/test_currencies.py {FINANCIALS}/test_share_classes.py",
    "market/holdings/value_units": f"{HOLDINGS}/test_value_units.py {HOLDINGS}/test_holdings_store.py",
    "market/holdings/fund_positions": f"{HOLDINGS}/test_fund_positions.py {HOLDINGS}/test_holdings_store.py "
    "tests/web/holdings/test_form13f_api.py",
    "market/insiders/form_positions": "tests/market/insiders/test_rules.py tests/web/insiders/test_insiders_api.py",
    "edgar/thirteenf": "tests/edgar/test_thirteenf.py",
    "edgar/ownership_forms": "tests/edgar/test_ownership_forms.py",
    "edgar/sgml": "tests/edgar/test_sgml.py",
    "edgar/form_indexes": "tests/edgar/test_form_indexes.py",
    "edgar/submissions": "tests/edgar/test_submissions.py",
    "edgar/tickers": "tests/edgar/test_tickers.py tests/edgar/test_document_kinds.py",
    "edgar/getcurrent": "tests/edgar/test_getcurrent.py",
    "edgar/companyfacts": "tests/edgar/test_companyfacts.py",
    "edgar/schedules": "tests/edgar/test_schedules.py tests/market/ownership/test_schedule_store.py",
    "edgar/sale_notices": "tests/market/ownership/test_sale_notice_store.py",
    "edgar/index_documents": "tests/edgar/test_index_documents.py",
    "edgar/insider_sets": "tests/edgar/test_insider_sets.py",
    "edgar/cusip": "tests/edgar/test_cusip.py",
    "edgar/cusip_lists": "tests/edgar/test_cusip_lists.py",
}

# The tests that run if those of the module notice nothing, by the first folder of the module.
WIDER_TESTS = {
    "core": "tests/core tests/accounts tests/web",
    "accounts": "tests/accounts tests/web tests/ops",
    "delivery": "tests/delivery tests/web/accounts tests/testing",
    "market": "tests/market tests/web",
    "edgar": "tests/edgar tests/filings tests/market",
}

_COMPARED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_TURNED = {ast.And: ("and", "or"), ast.Or: ("or", "and"), ast.Add: ("+", "-"), ast.Sub: ("-", "+")}


@dataclass(frozen=True)
class Change:
    """A place of a module: its line, and the text from ``start`` to ``end`` with its replacement."""

    line: int
    start: int
    end: int
    was: str
    now: str


def list_changes(source: str) -> list[Change]:
    """Return every possible change, in order."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def get_offset(line: int, column: int) -> int:
        text = source[starts[line - 1] : starts[line]]
        return starts[line - 1] + len(text.encode()[:column].decode())

    def iter_operator_changes(
        left_operand: ast.AST, right_operand: ast.AST, pair: tuple[str, str], line: int
    ) -> Iterator[Change]:
        start = get_offset(left_operand.end_lineno, left_operand.end_col_offset)  # type: ignore[attr-defined]
        end = get_offset(right_operand.lineno, right_operand.col_offset)  # type: ignore[attr-defined]
        offset = source[start:end].find(pair[0])
        if offset >= 0:
            yield Change(line, start + offset, start + offset + len(pair[0]), *pair)

    def iter_changes_of(node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.Compare):
            for left_operand, op, right_operand in zip(
                [node.left, *node.comparators], node.ops, node.comparators, strict=False
            ):
                yield from iter_operator_changes(left_operand, right_operand, _COMPARED[type(op)], node.lineno)
        elif isinstance(node, ast.BoolOp):
            for left_operand, right_operand in zip(node.values, node.values[1:], strict=False):
                yield from iter_operator_changes(left_operand, right_operand, _TURNED[type(node.op)], node.lineno)
        elif isinstance(node, ast.BinOp) and type(node.op) in _TURNED:
            yield from iter_operator_changes(node.left, node.right, _TURNED[type(node.op)], node.lineno)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            start = get_offset(node.lineno, node.col_offset)
            yield Change(node.lineno, start, start + 3, "not", "")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            start, end = get_offset(node.lineno, node.col_offset), get_offset(node.lineno, node.end_col_offset or 0)
            yield Change(node.lineno, start, end, source[start:end], str(node.value + 1))

    tree = ast.parse(source)
    # Annotations, the slices that shorten wrong texts in messages, the sizes of caches, and large bounds.
    left_out = {
        id(inner)
        for node in ast.walk(tree)
        for part in (
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            _shortened(node),
            _sized(node),
            _large_bound(node),
        )
        if part is not None
        for inner in ast.walk(part)
    }
    all_changes = {change for node in ast.walk(tree) if id(node) not in left_out for change in iter_changes_of(node)}
    return sorted(all_changes, key=lambda change: change.start)


def _shortened(node: ast.AST) -> ast.AST | None:
    """Return the slice that shortens a text in an f-string, or None."""
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Subscript):
        return node.value.slice
    return None


def _sized(node: ast.AST) -> ast.AST | None:
    """Return the size of a cache, which changes no result, or None."""
    return node.value if isinstance(node, ast.keyword) and node.arg == "maxsize" else None


def _large_bound(node: ast.AST) -> ast.AST | None:
    """Return the value of a constant such as ``MAX_ROWS = 20_000``, or None."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return None
    numbers = [inner.value for inner in ast.walk(node.value) if isinstance(inner, ast.Constant)]
    is_number = bool(numbers) and all(type(number) is int for number in numbers)
    return node.value if node.targets[0].id.isupper() and is_number and max(numbers) >= LARGE_BOUND else None


def is_noticed(checkout: Path, tests: str, seconds: float | None = None, process_count: int = 0) -> bool:
    """Return True if the tests fail on the code in ``checkout``, or do not end within ``seconds``."""
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-p", "no:schemathesis", "-p", "no:cacheprovider"]
    try:
        done = subprocess.run(
            [*command, "-m", "not slow", "-x", "-q", "-n", str(process_count), *tests.split()],
            cwd=checkout,
            capture_output=True,
            timeout=seconds,
            env={"PYTHONPATH": str(checkout), "PATH": "/usr/bin:/bin"},
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def count_noticed(checkout: Path, module: str, count: int, chance: random.Random) -> tuple[int, int]:
    """Make ``count`` changes of a module, one at a time. Return the noticed number and the total."""
    file, tests = checkout / "finapi" / f"{module}.py", TESTS[module]
    wider_tests = WIDER_TESTS[module.split("/")[0]]
    source = file.read_text("utf-8")
    started = time.monotonic()
    if is_noticed(checkout, tests):
        raise SystemExit(f"{module}: the tests fail before any change")
    limit = SLOWEST * (time.monotonic() - started)
    every = list_changes(source)
    chosen = sorted(chance.sample(every, min(count, len(every))), key=lambda change: change.start)
    noticed_count = 0
    for change in chosen:
        file.write_text(source[: change.start] + change.now + source[change.end :], "utf-8")
        if is_noticed(checkout, tests, limit) or is_noticed(checkout, wider_tests, process_count=os.cpu_count() or 1):
            noticed_count += 1
        else:
            line = source.splitlines()[change.line - 1].strip()
            print(f"  {module}.py:{change.line}: {change.was!r} -> {change.now!r}: {line}", flush=True)
    file.write_text(source, "utf-8")
    print(f"{module}: {noticed_count} of {len(chosen)} changes noticed", flush=True)
    return noticed_count, len(chosen)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Which changes no test notices.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="such as core/limits; by default all of them")
    parser.add_argument("--count", type=int, default=10, help="changes of each module (10)")
    parser.add_argument("--seed", type=int, default=1, help="another one chooses other changes (1)")
    parser.add_argument("--list", action="store_true", help="the modules, and how many places each has")
    args = parser.parse_args()
    if unknown := [name for name in args.modules if name not in TESTS]:
        parser.error(f"unknown: {', '.join(unknown)}; try --list")
    modules = args.modules or list(TESTS)
    if args.list:
        for module in modules:
            print(module, len(list_changes((ROOT / "finapi" / f"{module}.py").read_text("utf-8"))))
        return 0
    with tempfile.TemporaryDirectory(prefix="finapi-mutation-") as name:
        checkout = Path(name) / "main"
        shutil.copytree(ROOT, checkout, symlinks=True, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        if (shared := ROOT.parent / "shared").is_dir():
            (checkout.parent / "shared").symlink_to(shared)
        results = [
            count_noticed(checkout, module, args.count, random.Random(f"{args.seed} {module}")) for module in modules
        ]
    noticed_count, change_count = (sum(column) for column in zip(*results, strict=True))
    print(f"{noticed_count} of {change_count} changes noticed: {noticed_count / change_count:.0%}")
    return 0 if noticed_count >= NEEDED * change_count else 1


if __name__ == "__main__":
    sys.exit(main())
