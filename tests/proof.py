"""``python -m tests.proof [NAME ...] [--all] [--out FILE]``: the complete examination of finapi, as one table.

Each part is a command that ends with exit status 0 if finapi keeps its promises. The table has the result of each part,
the line with its figures and its duration, under the date and the commit. Parts that take more than half an hour run
with ``--all`` or by name only; docs/RELIABILITY.md has their last results. The exit status is 1 if a part fails. Parts
run one after the other, because several of them measure or kill.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PYTEST = "python -m pytest"
# No part takes this long.
MAX_SECONDS = 6 * 3600
MAX_FIGURE_LENGTH = 120


class Part(NamedTuple):
    """An examination: its name, its command, and the pattern of the output line with its figures."""

    name: str
    command: str
    figure_pattern: str
    takes_long: bool = False


_TEST_COUNT = r"\d+ (?:passed|failed|error).* in .*"
PARTS = (
    Part("promises: the fast suite", PYTEST, _TEST_COUNT),
    Part("style", "ruff check .", ".*"),
    Part("format", "ruff format --check .", ".*"),
    Part("types", "mypy", ".*"),
    Part("promises: the slow suite", f'{PYTEST} -m "slow and not alone and not long"', _TEST_COUNT),
    Part("promises: random examples", f'{PYTEST} -m "hypothesis and not slow"', _TEST_COUNT),
    Part("crashes, faults and pages", f'{PYTEST} -n 0 -m "alone and not long" tests/real', _TEST_COUNT),
    Part("generated and existing clients", f"{PYTEST} -m slow tests/test_generated_clients.py", _TEST_COUNT),
    Part("pages in a browser", f"{PYTEST} -n 0 -m alone tests/real/test_pages.py", _TEST_COUNT),
    Part("conformance", f"{PYTEST} tests/testing -k conformance", _TEST_COUNT),
    Part("attacks", "python -m tests.attack", ".*"),
    Part("damaged input", "python -m tests.fuzz all 20", ".*"),
    Part("accuracy of figures", "python -m tests.measure ../shared/edgar --truth ../shared/truth/figures.tsv", ".*"),
    Part("every Python of this machine", "python -m tests.versions all", ".*", takes_long=True),
    Part("changes that no test notices", "python -m tests.mutation --count 10", ".*", takes_long=True),
    Part("load", "python -m tests.bench.load", ".*", takes_long=True),
    Part("large databases and long runs", f"{PYTEST} -m long", _TEST_COUNT, takes_long=True),
)


class Result(NamedTuple):
    """What a part printed about its figures, its duration and whether it succeeded."""

    part: Part
    has_passed: bool
    figures: str
    seconds: float


def run_part(part: Part) -> Result:
    """Run a part and return its result. Print its output if it fails."""
    started = time.monotonic()
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    process = subprocess.run(
        ["bash", "-c", part.command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=MAX_SECONDS,
    )
    has_passed = process.returncode == 0
    if not has_passed:
        print(process.stdout)
    return Result(part, has_passed, find_figures(process.stdout, part.figure_pattern), time.monotonic() - started)


def find_figures(output: str, pattern: str) -> str:
    """Return the last line of an output that matches a pattern, or "" if none does."""
    lines = [line.strip("= ") for line in output.splitlines() if line.strip("= ")]
    matching_lines = [line for line in lines if re.search(pattern, line)]
    return matching_lines[-1][:MAX_FIGURE_LENGTH] if matching_lines else ""


def render_table(results: Iterable[Result], date: str, commit: str) -> str:
    """Return the results as a Markdown table under the date and the commit."""
    lines = [f"{date}, commit {commit}", "", "| part | result | figures | minutes |", "|---|---|---|---|"]
    for result in results:
        outcome = "passed" if result.has_passed else "FAILED"
        figures = result.figures.replace("|", "\\|")
        lines.append(f"| {result.part.name} | {outcome} | {figures} | {result.seconds / 60:.1f} |")
    return "\n".join(lines) + "\n"


def select_parts(names: list[str], *, with_long: bool) -> list[Part]:
    """Return the parts whose names contain one of these words, or all that do not take long.

    Exit with the names of all parts if a word selects none.
    """
    for name in names:
        if not any(name in part.name for part in PARTS):
            sys.exit(f"no part is called {name}; the parts are {', '.join(part.name for part in PARTS)}")
    if names:
        return [part for part in PARTS if any(name in part.name for name in names)]
    return [part for part in PARTS if with_long or not part.takes_long]


def main() -> int:
    """Run the parts, print the table, and return 1 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="words of the names of parts")
    parser.add_argument("--all", action="store_true", help="also the parts that take more than half an hour")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    args = parser.parse_args()
    results = []
    for part in select_parts(args.names, with_long=args.all):
        print(f"{part.name}: {part.command}", flush=True)
        results.append(run_part(part))
    log = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    table = render_table(results, datetime.date.today().isoformat(), log.stdout.strip())
    print(table, end="")
    if args.out:
        args.out.write_text(table)
    return int(not all(result.has_passed for result in results))


if __name__ == "__main__":
    sys.exit(main())
