"""``python -m tests.measure PATH [--truth FILE] [--printed] [--json]``: accuracy of figures built from documents."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.measure.report import MIN_ACCURACY, build_printed_report, build_report, render_lines, render_printed_lines


def main() -> int:
    """Print the report; exit status 1 when figures or statements are wrong beyond :data:`ENOUGH`."""
    parser = argparse.ArgumentParser(prog="python -m tests.measure", description=__doc__)
    parser.add_argument("path", type=Path, help="folder of documents to read into a store of its own")
    parser.add_argument("--truth", type=Path, help="table of expected figures (../truth/figures.tsv beside PATH)")
    parser.add_argument("--json", action="store_true", help="print the report as one JSON document")
    parser.add_argument("--printed", action="store_true", help="only the lines that data sets print, by their labels")
    args = parser.parse_args()

    def show_progress(path: str) -> None:
        print(path, end="\x1b[K\r", file=sys.stderr)

    if args.printed:
        printed_report = build_printed_report(args.path, show_progress)
        print(json.dumps(printed_report) if args.json else "\n".join(render_printed_lines(printed_report)))
        return int(any(not miss["why"] for miss in printed_report["misses"]))
    report = build_report(args.path, args.truth, show_progress)
    print(json.dumps(report) if args.json else "\n".join(render_lines(report)))
    wrong = any(miss["misses"] for miss in report["statements"].values())
    return 0 if report["figures"]["total"]["accuracy_pct"] >= MIN_ACCURACY and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
