"""The command ``finapi``, which can also be run as ``python -m finapi``."""

import gc
import sys


def main() -> int:
    """Run the command line. Return its exit status."""
    # As core.memory.exempt_from_gc does. Importing that would take time too.
    gc.disable()
    from finapi.cli import main as run

    gc.freeze()
    gc.enable()
    return run()


if __name__ == "__main__":
    sys.exit(main())
