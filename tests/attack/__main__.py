"""The attacks' command line: ``python -m tests.attack [NAME ...]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable

from tests.attack import (
    batch,
    feeds,
    frames,
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
    "pings": frames.attack_with_pings,
    "fragments": frames.attack_with_fragments,
    "pipelined": pipelined.attack,
    "slow_bodies": slow_bodies.attack,
    "unread": unread.attack,
    "full_spool": full_spool.attack,
    "unpaid": unpaid.attack,
    "logins": logins.attack,
    "newcomers": logins.attack_newcomers,
    "batch": batch.attack,
    "sql": sql.attack,
    "refunded": refunded.attack,
    "leaked_secret": leaked_secret.attack,
    "open_files": open_files.attack,
    "side_doors": side_doors.attack,
}


def run(names: list[str]) -> bool:
    """Run the attacks and print their outcomes. Return True if every bound was kept."""
    all_held = True
    with tempfile.TemporaryDirectory(prefix="finapi-attack-") as directory:
        words = ("demo", "--port", 0, "--data-dir", f"{directory}/data", "--log-level", "warning")
        with running(*words) as server:
            target = Target(server)
            target.warm()
            initial_rss = before = target.settled_rss()
            print(f"{'attack':22} {'figure':>10} {'bound':>8}      {'RSS before':>10} {'after':>6}  of what")
            for name in names:
                since = time.monotonic()
                outcome = ATTACKS[name](target)
                after = target.settled_rss()
                all_held = all_held and outcome.held
                verdict, seconds = "ok" if outcome.held else "FAIL", time.monotonic() - since
                print(
                    f"{name:22} {outcome.figure:10.1f} {outcome.bound:8.0f} {verdict:4} "
                    f"{before / MB:10.1f} {after / MB:6.1f}  {outcome.what} ({seconds:.0f} s)",
                    flush=True,
                )
                before = after
            memory_outcome = Outcome((before - initial_rss) / MB, KEPT / MB, "MB of memory kept after all of them")
            verdict = "ok" if memory_outcome.held else "FAIL"
            rss = f"{initial_rss / MB:10.1f} {before / MB:6.1f}"
            print(
                f"{'all':22} {memory_outcome.figure:10.1f} {memory_outcome.bound:8.0f} {verdict:4} {rss}  "
                f"{memory_outcome.what}"
            )
            server.stop()
    return all_held and memory_outcome.held


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description="Attack a server on this machine.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="attacks to run, in this order; none: all")
    parser.add_argument("--list", action="store_true", help="only list them")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in ATTACKS]
    if unknown:
        parser.error(f"no attack is called {', '.join(unknown)}; there are {', '.join(ATTACKS)}")
    if args.list:
        for name, attack in ATTACKS.items():
            print(f"{name:22} {(sys.modules[attack.__module__].__doc__ or '').splitlines()[0]}")
        return 0
    return 0 if run(args.names or list(ATTACKS)) else 1


if __name__ == "__main__":
    sys.exit(main())
