"""``python -m tests.measure PATH [--truth FILE] [--printed] [--json]``: how right figures made of documents are."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.measure.report import ENOUGH, lines, measured, printed_alone, printed_text


def main() -> int:
    """Print the report; exit status 1 when figures or statements are wrong beyond :data:`ENOUGH`."""
    parser = argparse.ArgumentParser(prog="python -m tests.measure", description=__doc__)
    parser.add_argument("path", type=Path, help="folder of documents to read into a store of its own")
    parser.add_argument("--truth", type=Path, help="table of expected figures (../truth/figures.tsv beside PATH)")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON document")
    parser.add_argument("--printed", action="store_true", help="only the lines that data sets print, by their labels")
    args = parser.parse_args()

    def tell(path: str) -> None:
        print(path, end="\x1b[K\r", file=sys.stderr)

    if args.printed:
        found = printed_alone(args.path, tell)
        print(json.dumps(found) if args.json else "\n".join(printed_text(found)))
        return int(any(not one["why"] for one in found["misses"]))
    report = measured(args.path, args.truth, tell)
    print(json.dumps(report) if args.json else "\n".join(lines(report)))
    wrong = any(one["misses"] for one in report["statements"].values())
    return 0 if report["figures"]["total"]["accuracy_pct"] >= ENOUGH and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
