"""What a metered, limited, authenticated call costs beside stand-ins that do the same work (``standins.py``).

    python -m tests.bench.metered [--seconds 3] [--rounds 5] [--connections 16] [--pin 1]

Needs ``wrk`` and ``taskset``; Flask and FastAPI take part where they are installed. The server runs on core 0
(with ``--pin 0`` on every core), the client on core 1, every kind in turn, several rounds; medians of requests
a second, percentiles of the time of an answer, CPU time of the server a request.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.standins import KEY

ROOT = Path(__file__).parents[2]
STATEMENTS = "/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income"
MANY = "1000000000"
UNLIMITED = {f"FINAPI_{zone}_PER_MINUTE": MANY for zone in ("XBRL", "APP")} | {
    "FINAPI_APP_PER_HOUR": MANY,
    "FINAPI_PRO_TOKENS": MANY,
    "FINAPI_LOG_LEVEL": "warning",
}
STANDINS = ("static", "simple-NORMAL", "simple-FULL", "grouped-NORMAL", "grouped-FULL", "flask", "fastapi")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Target:
    """A running server and what is asked of it."""

    pid: int
    url: str
    key: str


@dataclass(frozen=True)
class Run:
    """Requests a second, milliseconds at two percentiles, microseconds of the server's CPU a request."""

    rate: float
    p50: float
    p99: float
    cpu: float


def finapi(directory: str, pin: bool, path: str, synchronous: str) -> tuple[subprocess.Popen[str], Target]:
    """A demo with every limit and balance lifted."""
    command = [sys.executable, "run.py", "demo", "--ready", "json", "--port", "0"]
    command += ["--synchronous", synchronous, "--data-dir", directory]
    prefix = ["taskset", "-c", "0"] if pin else []
    process = subprocess.Popen(
        prefix + command, cwd=ROOT, env={**os.environ, **UNLIMITED}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    return process, Target(ready["pid"], ready["url"] + path, ready["api_key"])


def standin(kind: str, directory: str, pin: bool, port: int) -> tuple[subprocess.Popen[str], Target]:
    """A stand-in that answers."""
    prefix = ["taskset", "-c", "0"] if pin else []
    command = [sys.executable, "-m", "tests.bench.standins", kind, directory, str(port)]
    process = subprocess.Popen(prefix + command, cwd=ROOT, text=True)
    url = f"http://127.0.0.1:{port}/call"
    for _ in range(200):
        try:
            request = urllib.request.Request(url, headers={"X-API-Key": KEY})
            urllib.request.urlopen(request).read()
            break
        except OSError:
            time.sleep(0.05)
    return process, Target(process.pid, url, KEY)


@contextmanager
def serving(kinds: dict[str, str], pin: bool) -> Iterator[dict[str, Target]]:
    """Every kind at once; the ones that are not asked are idle."""
    processes, targets = [], {}
    with tempfile.TemporaryDirectory(prefix="finapi-bench-") as place:
        try:
            for number, (name, path) in enumerate(kinds.items()):
                directory = Path(place, str(number))
                directory.mkdir()
                if path:
                    made = finapi(str(directory), pin, path, "NORMAL" if name.endswith("NORMAL") else "FULL")
                else:
                    made = standin(name, str(directory), pin, 18_400 + number)
                processes.append(made[0])
                targets[name] = made[1]
            yield targets
        finally:
            for process in processes:
                process.terminate()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()


def measured(target: Target, seconds: int, connections: int) -> Run:
    """One run of wrk."""
    before = cpu_of(target.pid)
    command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    command += ["-H", f"X-API-Key: {target.key}", target.url]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    used = cpu_of(target.pid) - before
    if "Non-2xx" in said:
        raise SystemExit(f"{target.url}: {said}")
    requests = int(re.findall(r"(\d+) requests in", said)[0])
    percentiles = {name: milliseconds(value) for name, value in re.findall(r"^ +(50|99)% +(\S+)", said, re.MULTILINE)}
    rate = float(re.findall(r"Requests/sec:\s+(\S+)", said)[0])
    return Run(rate, percentiles["50"], percentiles["99"], used / requests * 1e6)


def milliseconds(text: str) -> float:
    """``850.00us``, ``1.25ms``, ``2.00s`` in milliseconds."""
    number, unit = re.findall(r"([0-9.]+)(\w+)", text)[0]
    return float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def installed(kind: str) -> bool:
    """Whether what a stand-in needs is here."""
    if kind not in ("flask", "fastapi"):
        return True
    return subprocess.run([sys.executable, "-c", f"import {kind}"], capture_output=True).returncode == 0


def main() -> None:
    """Measure every kind in turn and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--pin", type=int, default=1)
    args = parser.parse_args()
    kinds = dict.fromkeys((kind for kind in STANDINS if installed(kind)), "")
    kinds |= {"finapi-FULL": STATEMENTS, "finapi-NORMAL": STATEMENTS}
    kinds |= {"finapi policy": "/api/v1/policy", "finapi openapi": "/openapi.json"}
    runs: dict[str, list[Run]] = {name: [] for name in kinds}
    with serving(kinds, bool(args.pin)) as targets:
        for _ in range(args.rounds):
            for name, target in targets.items():
                runs[name].append(measured(target, args.seconds, args.connections))
    print(f"{'':16} {'req/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>8}")
    for name, several in runs.items():
        middle = [statistics.median(getattr(run, field) for run in several) for field in ("rate", "p50", "p99", "cpu")]
        print(f"{name:16} {middle[0]:8.0f} {middle[1]:8.2f} {middle[2]:8.2f} {middle[3]:8.0f}")


if __name__ == "__main__":
    main()
