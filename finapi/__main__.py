"""``python -m finapi VERB``."""

import sys

from finapi.cli import main

if __name__ == "__main__":
    sys.exit(main())
