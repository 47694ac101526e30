"""``python -m tests.golden [--demo | --edgar]``: rewrite the golden files; the package's docstring says when to.

Refuses, and changes nothing, if a data set is requested whose documents are missing.
"""

from __future__ import annotations

import argparse
import sys

from tests.golden import answers, world


def main() -> int:
    """Write the files of the requested data sets, or of all; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    for name in answers.DATA_SETS:
        parser.add_argument(f"--{name}", action="store_true", help=f"only the data set {name}")
    options = vars(parser.parse_args())
    requested = [name for name in answers.DATA_SETS if options[name]] or list(answers.DATA_SETS)
    if "edgar" in requested and not world.EDGAR.is_dir():
        print(f"The data set edgar needs the SEC documents in {world.EDGAR}, which is missing.", file=sys.stderr)
        return 2
    for name in requested:
        written = answers.write(name)
        print(f"{name}: {len(written.requests)} requests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
