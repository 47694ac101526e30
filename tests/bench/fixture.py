"""The fixture compared with other test servers: start, stop, resets, memory, worlds and examples.

python -m tests.bench.fixture [DIRECTORY [ROUNDS [NAME ...]]]

Installs moto, localstripe (PyPI) and WireMock (npm, with Java) into DIRECTORY. One round after the other starts each
of them in turn, or those that are named and finapi, so that a machine that is slow for a while is slow for all. A start
ends with the first answer of data: a series of figures of finapi, and moto's list of buckets, not a probe of liveness,
before which neither has loaded what it answers with. CPU is that of the process up to that answer, which other work on
the machine changes less than the time.
"""

from __future__ import annotations

import http.client
import json
import os
import platform
import shlex
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ROUNDS, RESETS, WORLDS = 5, 500, 60
SECONDS = 60.0  # that a start may take
SERIES_PATH = "/api/v1/xbrl/timeseries?ticker=AAPL&metrics=revenue"

# In a process of its own, once for each round.
IN_PROCESS = """
import json, statistics, time
began = time.perf_counter()
from finapi.testing import FinapiServer
from finapi.testing import running
told = [time.perf_counter() - began]
starts, cpus, stops = [], [], []
for _ in range(6):
    before, used = time.perf_counter(), time.process_time()
    server = FinapiServer()
    server.__enter__()
    middle = time.perf_counter()
    cpus.append(time.process_time() - used)
    server.__exit__(None, None, None)
    starts.append(middle - before), stops.append(time.perf_counter() - middle)
told += [starts[0], cpus[0], statistics.median(starts[1:]), statistics.median(stops)]
print(json.dumps([1000 * one for one in told]))
"""

# Each example of docs/TESTING.md, over HTTP: a world of its own is made for each, and is no part of the time; nor is
# the import of the client that it begins with. Of twelve runs the first loads what no call before it needed.
EXAMPLES = """
import json, statistics, time
import pytest
from finapi.client import ApiFailure
from finapi.testing import FinapiServer
from tests.testing.test_fixture_docs import BLOCKS
told = {}
with FinapiServer() as server:
    for source, name in BLOCKS:
        space = {"pytest": pytest, "ApiFailure": ApiFailure}
        exec(source, space)
        times = []
        for _ in range(12):
            world = server.world("timed")
            world.client().get_account_balance()
            began = time.perf_counter()
            space[name](world)
            times.append(1000 * (time.perf_counter() - began))
            world.control.drop()
        told[name] = f"{statistics.median(times):.0f} ({min(times):.0f})"
print(json.dumps(told))
"""


@dataclass
class Contender:
    """A test server: its start, first answer and reset, and its measurements."""

    name: str
    command: Sequence[str]
    path: str
    method: str
    reset: str
    data_path: str = ""  # The path of the first answer of data, after the first answer of ``path``.
    start: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    stop: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    resets: list[float] = field(default_factory=list)
    worlds: list[float] = field(default_factory=list)
    world_memory: list[float] = field(default_factory=list)

    def forget(self) -> None:
        """Clear the measurements."""
        for measurements in (self.start, self.cpu, self.stop, self.memory, self.resets, self.worlds, self.world_memory):
            measurements.clear()


def installed(directory: Path) -> list[Contender]:
    """Return the servers, finapi first; missing packages are installed into ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    for package in ("moto[server]", "localstripe"):
        package_dir = directory / package.partition("[")[0]
        if not package_dir.is_dir():
            subprocess.run([sys.executable, "-m", "venv", package_dir], check=True)
            subprocess.run([package_dir / "bin" / "pip", "install", "-q", package], check=True)
    if not (directory / "node_modules").is_dir():
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "wiremock"], cwd=directory, check=True)
    jar = next((directory / "node_modules" / "wiremock").rglob("*.jar"))
    fixture = [sys.executable, "run.py", "fixture", "--seed", "1", "--ready", "json", "--port"]
    return [
        Contender("finapi fixture", fixture, "/livez", "POST", "/_control/reset", data_path=SERIES_PATH),
        Contender(
            "moto_server",
            [str(directory / "moto/bin/moto_server"), "-p"],
            "/moto-api/",
            "POST",
            "/moto-api/reset",
            data_path="/",
        ),
        Contender("WireMock", ["java", "-jar", str(jar), "--port"], "/__admin/mappings", "POST", "/__admin/reset"),
        Contender(
            "localstripe", [str(directory / "localstripe/bin/localstripe"), "--port"], "/", "DELETE", "/_config/data"
        ),
    ]


def free_port() -> int:
    """Return a free port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def answers(port: int, path: str) -> bool:
    """Return True if a server answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    with suppress(OSError):
        connection.request("GET", path)
        return connection.getresponse().status < 500
    return False


def read_data(contender: Contender, port: int, ready: Mapping[str, Any]) -> None:
    """Read the first answer of data. ``ready`` is the ready line of the fixture, or empty."""
    headers = {"X-API-Key": ready["accounts"]["pro"]["api_key"]} if ready else {}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    connection.request("GET", contender.data_path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 200, (contender.name, answer.status)


def resident(process: subprocess.Popen[bytes]) -> float:
    """Return the resident megabytes of a process."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line) / 1024


def used(process: subprocess.Popen[bytes]) -> float:
    """Return the CPU milliseconds of a process."""
    return 1000 * time.clock_gettime(~process.pid << 3 | 2)  # as clock_getcpuclockid(3) numbers its clock


def once(contender: Contender) -> None:
    """Start, use and stop a server."""
    port = free_port()
    env = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "FINAPI"))}
    began = time.perf_counter()
    with subprocess.Popen(
        [*contender.command, str(port)], cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            while not answers(port, contender.path):
                assert process.poll() is None, f"{contender.name} ended: {shlex.join(contender.command)}"
                assert time.perf_counter() < began + SECONDS, f"{contender.name} does not answer"
                time.sleep(0.002)
            ready: Mapping[str, Any] = {}
            if contender.name.startswith("finapi"):
                assert process.stdout is not None
                ready = json.loads(process.stdout.readline())
            if contender.data_path:
                read_data(contender, port, ready)
            contender.start.append(1000 * (time.perf_counter() - began))
            contender.cpu.append(used(process))
            contender.memory.append(resident(process))
            use(contender, port, process, ready)
            before = time.perf_counter()
            process.send_signal(signal.SIGTERM)
            process.wait(SECONDS)
            contender.stop.append(1000 * (time.perf_counter() - before))
        finally:
            process.kill()


def use(contender: Contender, port: int, process: subprocess.Popen[bytes], ready: Mapping[str, Any]) -> None:
    """Reset a server many times; for the fixture, create worlds too."""
    headers = {"X-Control-Token": ready["control_token"]} if ready else {}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)

    def call(method: str, path: str) -> float:
        before = time.perf_counter()
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, (contender.name, answer.status)
        return 1000 * (time.perf_counter() - before)

    contender.resets.append(1000 * RESETS / sum(call(contender.method, contender.reset) for _ in range(RESETS)))
    if headers:
        before = resident(process)
        contender.worlds += [call("GET", f"/_world/w{number}/_control/clock") for number in range(WORLDS)]
        contender.world_memory.append((resident(process) - before) / WORLDS)
    connection.close()


def told_by(code: str) -> Any:
    """Return the JSON that a program prints in its own process."""
    env = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPATH": "."}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, check=True)
    return json.loads(done.stdout)


def shown(times: list[float], digits: int = 0) -> str:
    """Return the median and the best of some times as text."""
    return f"{statistics.median(times):.{digits}f} ({min(times):.{digits}f})"


def main() -> None:
    """Measure and print the table."""
    directory = Path(sys.argv[1] if sys.argv[1:] else "/tmp/finapi-bench")
    rounds, names = int(sys.argv[2]) if sys.argv[2:] else ROUNDS, {*sys.argv[3:]}
    finapi, *competitors = installed(directory)
    contenders = [finapi, *(contender for contender in competitors if not names or contender.name in names)]
    for contender in contenders:
        once(contender)  # bytecode and pages of files are there from now on
        contender.forget()
    for _ in range(rounds):
        for contender in contenders:
            once(contender)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {rounds} rounds")
    print("| server | start ms (best) | CPU of a start ms | stop ms, after use | resets a second | RSS MB |", end="")
    print(" start to moto's | its CPU |\n|---|---|---|---|---|---|---|---|")
    middle: Callable[[list[float]], float] = statistics.median
    moto = next((contender for contender in contenders if contender.name == "moto_server"), finapi)
    for contender in contenders:
        print(
            f"| {contender.name} | {shown(contender.start)} | {middle(contender.cpu):.0f} "
            f"| {middle(contender.stop):.0f} | {middle(contender.resets):,.0f} | {middle(contender.memory):.0f} "
            f"| {middle(contender.start) / middle(moto.start):.2f} | {middle(contender.cpu) / middle(moto.cpu):.2f} |"
        )
    print(f"a world by its first call: {shown(finapi.worlds, 1)} ms, {middle(finapi.world_memory):.2f} MB")
    in_process_times = zip(*(told_by(IN_PROCESS) for _ in range(rounds)), strict=True)
    texts = (shown(list(times)) for times in in_process_times)
    print("in process: import {} ms, first start {}, its CPU {}, each after it {}, stop {}".format(*texts))
    for name, times in told_by(EXAMPLES).items():
        print(f"{name}: {times} ms over HTTP")


if __name__ == "__main__":
    main()
