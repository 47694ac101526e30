"""The cost of a metered, limited, authenticated call, compared with stand-ins (``standins.py``).

    python -m tests.bench.metered [--seconds 2] [--rounds 5] [--connections 16,1,8,64] [--cores split|one]
        [--only KINDS] [--last FILE]

Needs ``wrk`` and ``taskset``; Flask and FastAPI take part where they are installed. The server runs on core 0, the
client on core 1 or, with ``--cores one``, beside it. Of the first number of connections every kind is measured, of the
others those of the goals: eight minutes in all. Every kind in turn, forth and back, several rounds; medians of
requests a second, percentiles of the time of an answer, CPU time of the server a request, and rate and CPU beside
``static`` in the same round, which alone mean something on another machine; beside other programs CPU alone does, as
a server of many threads is given more of a core than one of few. Below each table stand the goals: a kind beside
another in the same round. What moved by more than 8 % since the run in ``--last FILE`` is marked, and this run written
there. Steal is time that the host gave to others: with more than a few per cent of it measure again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.bench.standins import KEY

ROOT = Path(__file__).parents[2]
STATEMENTS = "/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income"
MANY = "1000000000"
UNLIMITED = {f"FINAPI_{zone}_PER_MINUTE": MANY for zone in ("XBRL", "APP", "PAGES", "FINANCIALS")} | {
    "FINAPI_APP_PER_HOUR": MANY,
    "FINAPI_PRO_TOKENS": MANY,
    "FINAPI_LOG_LEVEL": "warning",
}
SERIES = "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue,net_income"
PATHS = {
    "finapi-FULL": STATEMENTS,
    "finapi-NORMAL": STATEMENTS,
    "finapi gzip": STATEMENTS,
    "finapi 304": STATEMENTS,
    "finapi series": SERIES,
    "finapi filings": "/api/v1/sec/filings?ticker=AAPL&limit=20",
    "finapi 13F": "/api/v1/form-13f/funds?limit=20",
    "finapi screen": "/api/v1/xbrl/screen?roe_gt=0.1",
    "finapi 0 tokens": "/api/v1/stats",
    "finapi 401": "/api/v1/stats",
    "finapi policy": "/api/v1/policy",
    "finapi openapi": "/openapi.json",
    "finapi page": "/",
}
HEADERS = {"finapi gzip": ["Accept-Encoding: gzip"], "finapi page": ["Accept: text/html"]}
STANDINS = (
    *("static", "simple-NORMAL", "simple-FULL", "grouped-NORMAL", "grouped-FULL", "promised-NORMAL", "promised-FULL"),
    *("flask-FULL", "flask-NORMAL", "fastapi-FULL", "fastapi-NORMAL"),
)
# A kind, another, and what the first is to do of the second's calls a second.
GOALS = (
    ("finapi-FULL", "promised-FULL", 1.0),
    ("finapi-FULL", "simple-NORMAL", 1.0),
    ("finapi-FULL", "flask-FULL", 1.4),
    ("finapi-NORMAL", "flask-NORMAL", 1.4),
    ("finapi 0 tokens", "static", 0.6),
)
OF_GOALS = {name for kind, other_kind, _ in GOALS for name in (kind, other_kind)}
MOVED = 0.08
LAST = Path(__file__).with_name("metered.json")
FIELDS = ("rate", "p50", "p99", "cpu")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Target:
    """A running server and its request."""

    pid: int
    url: str
    key: str
    headers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """Requests per second, milliseconds at two percentiles, and microseconds of server CPU per request."""

    rate: float
    p50: float
    p99: float
    cpu: float


def finapi(directory: str, pin: bool, path: str, synchronous: str) -> tuple[subprocess.Popen[str], Target]:
    """Yield a demo without limits and balances."""
    command = [sys.executable, "run.py", "demo", "--ready", "json", "--port", "0"]
    command += ["--synchronous", synchronous, "--data-dir", directory]
    prefix = ["taskset", "-c", "0"] if pin else []
    process = subprocess.Popen(
        prefix + command, cwd=ROOT, env={**os.environ, **UNLIMITED}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    return process, Target(ready["pid"], ready["url"] + path, ready["api_key"])


def base(url: str) -> str:
    """Return the address of a server."""
    return "/".join(url.split("/", 3)[:3])


def standin(kind: str, directory: str, pin: bool) -> tuple[subprocess.Popen[str], Target]:
    """Yield a running stand-in."""
    prefix = ["taskset", "-c", "0"] if pin else []
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
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
    """Yield every kind of server; those that are not measured are idle."""
    processes, targets = [], {}
    with tempfile.TemporaryDirectory(prefix="finapi-bench-") as temporary_dir:
        try:
            for name, path in kinds.items():
                # Two servers are enough for all that is asked of finapi.
                synchronous = "NORMAL" if name.endswith("NORMAL") else "FULL"
                running = f"finapi-{synchronous}" if path else name
                if running not in targets:
                    directory = Path(temporary_dir, running)
                    directory.mkdir(mode=0o700)
                    server = (
                        finapi(str(directory), pin, "", synchronous) if path else standin(name, str(directory), pin)
                    )
                    processes.append(server[0])
                    targets[running] = server[1]
                targets[name] = replace(
                    targets[running], url=base(targets[running].url) + path if path else server[1].url
                )
            yield targets
        finally:
            for process in processes:
                process.terminate()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()


def asked(name: str, target: Target) -> Target:
    """Return the target with the headers of a kind, after a first answer."""
    headers = (f"X-API-Key: {target.key}", *HEADERS.get(name, ()))
    if name == "finapi 401":
        return replace(target, headers=(f"X-API-Key: {'0' * 32}",))
    sent_headers = dict(header.split(": ", 1) for header in headers)
    for _ in range(2):
        with urllib.request.urlopen(urllib.request.Request(target.url, headers=sent_headers)) as answer:
            answer.read()
    if name == "finapi 304":
        headers += (f"If-None-Match: {answer.headers['ETag']}",)
    return replace(target, headers=headers)


def measured(target: Target, seconds: float, connections: int, core: int, *, refused: bool = False) -> Run:
    """Return one run of wrk on a core."""
    before = cpu_of(target.pid)
    command = ["taskset", "-c", str(core), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency"]
    command += [word for header in target.headers for word in ("-H", header)] + [target.url]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    used = cpu_of(target.pid) - before
    if ("Non-2xx" in output) is not refused or " 0 requests in" in output:
        raise SystemExit(f"{target.url}: {output}")
    requests = int(re.findall(r"(\d+) requests in", output)[0])
    percentiles = {name: milliseconds(value) for name, value in re.findall(r"^ +(50|99)% +(\S+)", output, re.MULTILINE)}
    rate = float(re.findall(r"Requests/sec:\s+(\S+)", output)[0])
    return Run(rate, percentiles["50"], percentiles["99"], used / requests * 1e6)


def milliseconds(text: str) -> float:
    """Return ``850.00us``, ``1.25ms`` or ``2.00s`` in milliseconds."""
    number, unit = re.findall(r"([0-9.]+)(\w+)", text)[0]
    return float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def installed(kind: str) -> bool:
    """Return True if the packages of a stand-in are installed."""
    package = kind.partition("-")[0]
    if package not in ("flask", "fastapi"):
        return True
    return subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True).returncode == 0


def ticks() -> tuple[int, int]:
    """Return the stolen ticks of the machine since its start, and all ticks."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return fields[7], sum(fields)


def table(rows: Mapping[str, Mapping[str, float]], last: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Yield a line for each kind, with the changes since the last run."""
    yield f"{'':16} {'req/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'CPU us':>8} {'by CPU':>8} {'of static':>10}"
    for name, row in rows.items():
        before = last.get(name, {}).get("ratio")
        moved = row["ratio"] / before - 1 if before else 0.0
        mark = f"  {moved:+.0%} since {before:.3f}" if abs(moved) > MOVED else ""
        line = "{rate:8.0f} {p50:8.2f} {p99:8.2f} {cpu:8.0f} {by_cpu:8.3f} {ratio:10.3f}".format(**row)
        yield f"{name:16} {line}{mark}"


def main() -> None:
    """Measure every kind in turn, and print and save a table for each number of connections."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=lambda text: [*map(int, text.split(","))], default=[16, 1, 8, 64])
    parser.add_argument("--cores", choices=("split", "one"), default="split")
    parser.add_argument("--last", type=Path, default=LAST)
    parser.add_argument(
        "--only", type=lambda text: text.split(","), help="these kinds, with commas; static is always one"
    )
    args = parser.parse_args()
    kinds = dict.fromkeys((kind for kind in STANDINS if installed(kind)), "") | PATHS
    kinds = {kind: path for kind, path in kinds.items() if not args.only or kind in ("static", *args.only)}
    last_results = json.loads(args.last.read_text()) if args.last.exists() else {}
    with serving(kinds, True) as servers:
        targets = {name: asked(name, target) for name, target in servers.items()}
        for connections in args.connections:
            began = ticks()
            runs = compared(targets, args, connections)
            stolen, passed = (after - before for before, after in zip(began, ticks(), strict=True))
            rows, results_key = rows_of(runs), f"{args.cores} {connections}"
            print(f"\n{connections} connections, cores: {args.cores}, steal: {stolen / passed:.1%}")
            print("\n".join([*table(rows, last_results.get(results_key, {})), *goals(runs)]), flush=True)
            last_results[results_key] = {**last_results.get(results_key, {}), **rows}
            args.last.write_text(json.dumps(last_results, indent=1) + "\n")
            targets = {name: target for name, target in targets.items() if name in OF_GOALS or args.only}


def compared(targets: Mapping[str, Target], args: argparse.Namespace, connections: int) -> dict[str, list[Run]]:
    """Return the runs of each kind, one for each round."""
    runs: dict[str, list[Run]] = {name: [] for name in targets}
    for number in range(args.rounds):
        for name in list(targets)[:: 1 if number % 2 == 0 else -1]:
            core, refused = int(args.cores == "split"), name == "finapi 401"
            runs[name].append(measured(targets[name], args.seconds, connections, core, refused=refused))
    return runs


def rows_of(runs: Mapping[str, Sequence[Run]]) -> dict[str, dict[str, float]]:
    """Return the medians of each kind, compared with the bare server of the same round."""
    rows = {name: {field: middle(several, field) for field in FIELDS} for name, several in runs.items()}
    for name, several in runs.items():
        rows[name]["ratio"] = beside(several, runs["static"])
        by_cpu = [bare.cpu / run.cpu for run, bare in zip(several, runs["static"], strict=True)]
        rows[name]["by_cpu"] = round(statistics.median(by_cpu), 4)
    return rows


def beside(runs: Sequence[Run], other_runs: Sequence[Run]) -> float:
    """Return the median ratio of rates to others of the same round."""
    return round(statistics.median(run.rate / other.rate for run, other in zip(runs, other_runs, strict=True)), 4)


def goals(runs: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    """Yield a line for each goal."""
    for name, other, goal in GOALS:
        if name in runs and other in runs:
            ratio = beside(runs[name], runs[other])
            yield f"{name} of {other}: {ratio:.2f} (goal {goal}{'' if ratio >= goal else ', missed'})"


def middle(runs: Sequence[Run], field: str) -> float:
    """Return the median of a figure."""
    return round(statistics.median(getattr(run, field) for run in runs), 3)


if __name__ == "__main__":
    main()
