#!/usr/bin/env python3
"""``python run.py VERB``: finapi from a checkout. Without a verb: ``demo``."""

import sys

from finapi.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
