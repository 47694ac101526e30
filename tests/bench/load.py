"""Many clients at once for minutes: times, failures, tokens and memory.

    python -m tests.bench.load [--clients 200] [--minutes 10] [--share 0.8]

First as fast as it goes for ten seconds, which is the capacity; then ``share`` of it. The calls are mixed: statements,
series, lists, free documents, a refusal. One line a minute; exit status 1 when an answer was not as expected, or the
balance is not what the answers' ``X-Tokens-Charged`` say.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.metered import Target, cpu_of, finapi

# What is asked, and the status that it has.
CALLS = (
    ("/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income", 200),
    ("/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue,net_income", 200),
    ("/api/v1/sec/filings?ticker=AAPL&limit=20", 200),
    ("/api/v1/tickers/SNOW/overview", 200),
    ("/api/v1/tickers/autocomplete?q=AP", 200),
    ("/api/v1/policy", 200),
    ("/api/v1/account/limits", 200),
    ("/api/v1/xbrl/companies/NOSUCH/statements", 404),
)
CAPACITY_SECONDS = 10


@dataclass
class Seen:
    """Answers since the last line."""

    times: list[float] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    charged: int = 0


async def _client(address: tuple[str, int], key: str, number: int, pause: float, until: float, tally: Seen) -> None:
    """Send calls over one connection; each begins ``pause`` seconds after the start of the last one."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(pause * number / 200)
    reader, writer = await asyncio.open_connection(*address)
    turn = number
    while (started := loop.time()) < until:
        path, status = CALLS[turn % len(CALLS)]
        turn += 1
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {address[0]}\r\nX-API-Key: {key}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
        await reader.readexactly(int(fields["content-length"]))
        tally.times.append(loop.time() - started)
        tally.charged += int(fields.get("x-tokens-charged", 0))
        if int(head.split(" ", 2)[1]) != status:
            tally.wrong[f"{head.split(' ', 2)[1]} for {path}"] += 1
        await asyncio.sleep(max(0.0, started + pause - loop.time()))
    writer.close()


async def _asked(target: Target, clients: int, pause: float, seconds: float, tally: Seen) -> None:
    url = urlsplit(target.url)
    until = asyncio.get_running_loop().time() + seconds
    where = (url.hostname or "", url.port or 0)
    await asyncio.gather(*(_client(where, target.key, number, pause, until, tally) for number in range(clients)))


def balance(target: Target) -> int:
    """Return the account's remaining tokens."""
    parsed_url = urlsplit(target.url)
    url = f"http://{parsed_url.netloc}/api/v1/account/balance"
    with urllib.request.urlopen(urllib.request.Request(url, headers={"X-API-Key": target.key})) as answer:
        return int(json.load(answer)["current_balance"])


def resident(pid: int) -> float:
    """Return the resident megabytes of a process."""
    (line,) = [
        line_text for line_text in Path(f"/proc/{pid}/status").read_text().splitlines() if line_text.startswith("VmRSS")
    ]
    return int(line.split()[1]) / 1024


def run(target: Target, clients: int, minutes: int, share: float) -> bool:
    """Print the results. Return True if all are as expected."""
    before, charged, good = balance(target), 0, True
    fast = Seen()
    asyncio.run(_asked(target, clients, 0.0, CAPACITY_SECONDS, fast))
    capacity = len(fast.times) / CAPACITY_SECONDS
    print(f"capacity: {capacity:.0f} calls a second; {resident(target.pid):.0f} MB resident")
    charged += fast.charged
    for minute in range(minutes):
        tally, cpu, started = Seen(), cpu_of(target.pid), time.monotonic()
        asyncio.run(_asked(target, clients, clients / (share * capacity), 60, tally))
        rate, used = len(tally.times) / (time.monotonic() - started), cpu_of(target.pid) - cpu
        cut = statistics.quantiles(tally.times, n=1000)
        print(
            f"minute {minute + 1}: {rate:.0f} calls a second, p50 {cut[499] * 1e3:.1f} ms, p99 {cut[989] * 1e3:.1f}, "
            f"p99.9 {cut[998] * 1e3:.1f}; {used / len(tally.times) * 1e6:.0f} us of CPU a call; "
            f"{resident(target.pid):.0f} MB; wrong: {dict(tally.wrong) or 'none'}",
            flush=True,
        )
        charged += tally.charged
        good = good and not tally.wrong
    spent = before - balance(target)
    print(f"tokens: {charged} charged by the answers, {spent} spent by the account")
    return good and charged == spent and not fast.wrong


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.load", description="Many clients for minutes.")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.8, help="of the capacity (0.8)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="finapi-load-") as directory:
        process, target = finapi(f"{directory}/data", False, "/", "FULL")
        try:
            return 0 if run(target, args.clients, args.minutes, args.share) else 1
        finally:
            process.terminate()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
