"""Runs the attacks: ``python -m tests.attack [NAME ...]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable

from tests.attack import (
    batch,
    feeds,
    full_spool,
    leaked_secret,
    logins,
    open_files,
    pipelined,
    refunded,
    side_doors,
    slow_bodies,
    sql,
    unpaid,
    unread,
)
from tests.attack.target import MB, Outcome, Target
from tests.process import running

KEPT = 20 * MB  # that may be resident after all of them beyond what was before

# A line each: the name on the command line, and the attack.
ATTACKS: dict[str, Callable[[Target], Outcome]] = {
    "feeds": feeds.attack,
    "pipelined": pipelined.attack,
    "slow_bodies": slow_bodies.attack,
    "unread": unread.attack,
    "full_spool": full_spool.attack,
    "unpaid": unpaid.attack,
    "logins": logins.attack,
    "batch": batch.attack,
    "sql": sql.attack,
    "refunded": refunded.attack,
    "leaked_secret": leaked_secret.attack,
    "open_files": open_files.attack,
    "side_doors": side_doors.attack,
}


def run(names: list[str]) -> bool:
    """Run these attacks, say what each found; whether every bound was kept."""
    held = True
    with tempfile.TemporaryDirectory(prefix="finapi-attack-") as place:
        words = ("demo", "--port", 0, "--data-dir", f"{place}/data", "--log-level", "warning")
        with running(*words) as server:
            target = Target(server)
            target.warm()
            begun = before = target.settled_rss()
            print(f"{'attack':22} {'figure':>10} {'bound':>8}      {'RSS before':>10} {'after':>6}  of what")
            for name in names:
                since = time.monotonic()
                outcome = ATTACKS[name](target)
                after = target.settled_rss()
                held = held and outcome.held
                verdict, seconds = "ok" if outcome.held else "FAIL", time.monotonic() - since
                print(
                    f"{name:22} {outcome.figure:10.1f} {outcome.bound:8.0f} {verdict:4} "
                    f"{before / MB:10.1f} {after / MB:6.1f}  {outcome.what} ({seconds:.0f} s)",
                    flush=True,
                )
                before = after
            kept = Outcome((before - begun) / MB, KEPT / MB, "MB of memory kept after all of them")
            verdict = "ok" if kept.held else "FAIL"
            rss = f"{begun / MB:10.1f} {before / MB:6.1f}"
            print(f"{'all':22} {kept.figure:10.1f} {kept.bound:8.0f} {verdict:4} {rss}  {kept.what}")
            server.stop()
    return held and kept.held


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description="Attack a server on this machine.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="attacks to run, in this order; none: all")
    parser.add_argument("--list", action="store_true", help="only list them")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in ATTACKS]
    if unknown:
        parser.error(f"no attack is called {', '.join(unknown)}; there are {', '.join(ATTACKS)}")
    if args.list:
        for name, one in ATTACKS.items():
            print(f"{name:22} {(sys.modules[one.__module__].__doc__ or '').splitlines()[0]}")
        return 0
    return 0 if run(args.names or list(ATTACKS)) else 1


if __name__ == "__main__":
    sys.exit(main())
