"""``python -m tests.golden [--demo | --edgar]``: write the golden files anew; see the package for when."""

from __future__ import annotations

import argparse

from tests.golden import answers


def main() -> None:
    """Write the files of the data sets that are named, or of all."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    for name in answers.DATA_SETS:
        parser.add_argument(f"--{name}", action="store_true", help=f"only the data set {name}")
    given = vars(parser.parse_args())
    for name in answers.DATA_SETS:
        if given[name] or not any(given.values()):
            found = answers.write(name)
            print(f"{name}: {len(found.asked)} requests")


main()
