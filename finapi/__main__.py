"""``python -m finapi VERB``, which is also the command ``finapi``."""

import gc
import sys


def main() -> int:
    """Run the command line; its exit status."""
    # As core.memory.imports does, which is not imported yet.
    gc.disable()
    from finapi.cli import main as run

    gc.freeze()
    gc.enable()
    return run()


if __name__ == "__main__":
    sys.exit(main())
