"""``python -m tests.golden``: rewrite the golden files. The package's docstring says when to do that."""

from __future__ import annotations

import argparse

from tests.golden import collection

argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__).parse_args()
print(f"{len(collection.write_files().requests)} requests")
