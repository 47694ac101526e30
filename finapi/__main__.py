"""The command ``finapi``, which can also be run as ``python -m finapi``."""

import gc
import sys


def main() -> int:
    """Run the command line. Return its exit status."""
    # The same as core.memory.exempt_from_gc, which is not used here because its import would take time.
    gc.disable()
    from finapi.cli import main as run

    gc.freeze()
    gc.enable()
    return run()


if __name__ == "__main__":
    sys.exit(main())
