"""finapi as its users run it: ``python run.py`` in a process of its own; and small filings to give it."""

from __future__ import annotations

import atexit
import http.client
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.ops.app_opening import open_app
from finapi.store import datadir

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "run.py"]
SECONDS = 30.0  # longer than anything here takes on a busy machine


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What was printed, which must be one JSON document on one line."""
        assert self.out.count("\n") == 1, self
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line on stderr, which must be all that was said."""
        assert self.out == "", self
        assert self.err.startswith("finapi: "), self
        assert self.err.endswith("\n"), self
        assert self.err.count("\n") == 1, self
        return self.err[len("finapi: ") : -1]


@dataclass(frozen=True)
class Answer:
    """A response; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def environment(**settings: str) -> dict[str, str]:
    """This process's environment without what it says of finapi and to the interpreter."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("FINAPI_", "PYTHON"))}
    return {**variables, **settings}


# A process that has imported all of finapi, and becomes a command by forking: it is spared the import and what is made
# once in a process, which is most of what a short command does. Its standard streams are the files that come with the
# words. What is told of it is its exit status, and the most memory that it held in KiB: "5" leaves its parent's out.
FORKING = """
import importlib, json, os, pkgutil, socket, sys, traceback
import argon2, jwt, finapi
from finapi.cli import main
from finapi.market.financials import metric_mapping
from finapi.store import schema
for found in pkgutil.walk_packages(finapi.__path__, "finapi."):
    # psycopg is not everywhere, and no command without accounts_url loads it.
    needs_psycopg = found.name in ("finapi.store.postgres", "finapi.store.account_changes")
    if not needs_psycopg and not found.name.startswith(("finapi.testing", "finapi.__main__")):
        importlib.import_module(found.name)
metric_mapping.get_mapping()
schema.get_empty_database()
door = socket.socket(fileno=int(sys.argv[1]))
while True:
    said, files, _, _ = socket.recv_fds(door, 100_000, 3)
    if not said:
        break
    child = os.fork()
    if child == 0:
        door.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
        try:
            with open("/proc/self/clear_refs", "w") as peak:
                peak.write("5")
            words, settings = json.loads(said)
            os.environ.update(settings)
            status = main(words)
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
            status = 1
        os._exit(status)
    for file in files:
        os.close(file)
    _, status, used = os.wait4(child, 0)
    door.send(b"%d %d" % (os.waitstatus_to_exitcode(status), used.ru_maxrss))
"""


class Forking:
    """That process, made when it is first wanted and ended with this one."""

    def __init__(self) -> None:
        self.busy = threading.Lock()
        self.door: socket.socket | None = None

    def begin(self) -> socket.socket:
        if self.door is None:
            self.door, child_door = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.door.settimeout(2 * SECONDS)
            command = [sys.executable, "-c", FORKING, str(child_door.fileno())]
            process = subprocess.Popen(command, cwd=ROOT, env=environment(), pass_fds=[child_door.fileno()])
            child_door.close()
            atexit.register(lambda door: (door.close(), process.wait()), self.door)
        return self.door

    def run(self, words: tuple[object, ...], stdin: bytes, settings: dict[str, str]) -> tuple[Finished, int]:
        """What a command said, and the most memory that it held, in bytes."""
        with tempfile.TemporaryFile() as stdin_file, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            stdin_file.write(stdin)
            stdin_file.seek(0)
            door = self.begin()
            request = json.dumps([[*map(str, words)], settings]).encode()
            socket.send_fds(door, [request], [stream.fileno() for stream in (stdin_file, out, err)])
            status, peak = map(int, door.recv(64).split())
            out.seek(0)
            err.seek(0)
            return Finished(status, os.fsdecode(out.read()), os.fsdecode(err.read())), peak * 1024


FORKED = Forking()


def made(words: tuple[object, ...]) -> None:
    """Make the database that a command wants to find, unless it is one that makes its own."""
    if "--data-dir" in words and words[0] in (
        "user",
        "invite",
        "secret",
        "follow",
        "poll",
        "documents",
        "outbox",
        "pack",
        "mail",
    ):
        data_dir = Path(str(words[words.index("--data-dir") + 1]))
        if not (data_dir / "finapi.db").exists() and not data_dir.is_file():
            with suppress(UsageError, datadir.DirectoryBusyError), open_app(Config(data_dir=data_dir)):
                pass


def finapi(
    *words: object, env: dict[str, str] | None = None, stdin: bytes = b"", make: bool = True, **options: Any
) -> Finished:
    """Run a command to its end, with ``stdin`` on its standard input; in a process of its own in every case.

    A data directory that it wants to find is made before, unless told not to.
    """
    if make and not options:
        made(words)
    variables = environment()
    settings = {name: value for name, value in (env or variables).items() if variables.get(name) != value}
    # What the interpreter or the C library reads at its start comes too late for a fork.
    if all(name.startswith("FINAPI_") for name in settings) and not options and FORKED.busy.acquire(blocking=False):
        try:
            return FORKED.run(words, stdin, settings)[0]
        finally:
            FORKED.busy.release()
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=ROOT,
        env=env or variables,
        input=stdin,
        capture_output=True,
        timeout=2 * SECONDS,
        **options,
    )
    return Finished(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))


def measured(*words: object) -> tuple[Finished, int]:
    """Run a command to its end; the most memory that it held, in bytes."""
    with FORKED.busy:
        return FORKED.run(words, b"", {})


class Running:
    """A server that has printed its ready line, which is ``ready``."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process = process
        self.pid = process.pid
        self._log = log
        line = next_line(process)
        assert line.endswith(b"\n"), f"no ready line but {line!r} and {self.log!r}"
        self.ready: Any = json.loads(line)
        self.url: str = self.ready["url"]
        self.address = ("127.0.0.1", int(self.ready["port"]))
        self.rest = b""

    @property
    def log(self) -> str:
        """What has been written to stderr so far."""
        return self._log.read_text()

    def get(self, path: str, key: str | None = None) -> Answer:
        """One call on a connection of its own."""
        return get(self.address, path, key)

    def call(self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None) -> Answer:
        """One call with a JSON body, on a connection of its own."""
        return call(self.address, method, path, body, headers)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, timeout=SECONDS)

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = SECONDS) -> int:
        """Its exit status, and whatever it printed behind the ready line in ``rest``."""
        assert self.process.stdout is not None
        status = self.process.wait(seconds)
        self.rest += self.process.stdout.read()
        return status

    def stop(self, number: int = signal.SIGTERM, seconds: float = 10.0) -> int:
        """Send a signal; the exit status, which must come within the time that the contract allows."""
        self.send(number)
        return self.wait(seconds)


@contextmanager
def child(
    *words: object,
    command: list[str] = COMMAND,
    env: dict[str, str] | None = None,
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
) -> Iterator[subprocess.Popen[bytes]]:
    """A command that runs meanwhile; killed at the end if it is still there."""
    with subprocess.Popen(
        [*command, *map(str, words)],
        cwd=ROOT,
        env=env or environment(),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        preexec_fn=_obey,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def _obey() -> None:
    """A shell starts what runs in the background deaf to these signals, and its children inherit that."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def next_line(process: subprocess.Popen[bytes]) -> bytes:
    """The next line of a process's stdout; what there is of one at the end, or after ``SECONDS``."""
    assert process.stdout is not None
    line = b""
    until = time.monotonic() + SECONDS
    while not line.endswith(b"\n"):
        seconds_left = max(until - time.monotonic(), 0.0)
        readable, _, _ = select.select([process.stdout], [], [], seconds_left)
        # Byte by byte, so that what stands behind the line stays in the pipe.
        byte = os.read(process.stdout.fileno(), 1) if readable else b""
        if not byte:
            break
        line += byte
    return line


@contextmanager
def running(*words: object, **options: Any) -> Iterator[Running]:
    """Start ``serve`` or ``demo`` and wait until it is ready; options as for :func:`start`."""
    with start(*words, **options) as started:
        yield Running(*started)


@contextmanager
def start(
    *words: object, env: dict[str, str] | None = None, command: list[str] = COMMAND
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start ``serve`` or ``demo``: the process and its log; killed at the end if it is still there."""
    with tempfile.TemporaryDirectory(prefix="finapi-test-log-") as log_dir:
        log = Path(log_dir) / "stderr"
        with (
            log.open("wb") as stderr,
            child(*words, "--ready", "json", command=command, env=env, stderr=stderr) as process,
        ):
            yield process, log


def serve(data_dir: Path, *words: object, **options: Any) -> AbstractContextManager[Running]:
    """``serve`` on a free port."""
    return running("serve", "--port", 0, "--data-dir", data_dir, *words, **options)


def get(address: tuple[str, int], path: str, key: str | None = None, *, seconds: float = SECONDS) -> Answer:
    """One call on a connection of its own."""
    return call(address, "GET", path, headers={"X-API-Key": key} if key else {}, seconds=seconds)


def call(
    address: tuple[str, int],
    method: str,
    path: str,
    body: object = None,
    headers: dict[str, str] | None = None,
    *,
    seconds: float = SECONDS,
) -> Answer:
    """One call on a connection of its own; a ``body`` is sent as JSON."""
    connection = http.client.HTTPConnection(*address, timeout=seconds)
    request_body = None if body is None else json.dumps(body)
    kind = {} if body is None else {"Content-Type": "application/json"}
    try:
        connection.request(method, path, request_body, {**kind, **(headers or {})})
        answer = connection.getresponse()
        fields = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, fields, answer.read())
    finally:
        connection.close()


def eventually(holds: Callable[[], object], seconds: float = SECONDS) -> None:
    """Return when ``holds()`` does."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, holds
        time.sleep(0.01)


def run_in_new_process(function: Callable[..., None], *arguments: str) -> None:
    """Run a function of a test module in a process that has no server of another test.

    Other servers start a thread when they need it, also while a test counts the threads that its own server left.
    """
    code = "import importlib, sys; getattr(importlib.import_module(sys.argv[1]), sys.argv[2])(*sys.argv[3:])"
    command = [sys.executable, "-c", code, function.__module__, function.__name__, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def list_open_files(directory: Path) -> list[str]:
    """Return the paths of the files below a directory that this process has open, one for each descriptor."""
    paths = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # Another thread has closed it.
            paths.append(os.readlink(descriptor))
    return [path for path in paths if Path(path).is_relative_to(directory)]


def find_free_port() -> int:
    """Return a port that nobody listens on.

    It is below the range of which the system gives ports to connections and to listeners on port 0. One from that range
    may be in use again before the caller listens on it.
    """
    first_given = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    random_numbers = random.SystemRandom()
    while True:
        port = random_numbers.randrange(10_000, max(first_given, 20_000))
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


# Filings, written by hand: the parts of a real one, with three lines of income.

CIK = 1_999_999
SCHEMA_OF = {
    "us-gaap": "http://xbrl.fasb.org/us-gaap/2024/elts/us-gaap-2024.xsd",
    "dei": "https://xbrl.sec.gov/dei/2024/dei-2024.xsd",
}
XBRL = (
    'xmlns:xbrli="http://www.xbrl.org/2003/instance" xmlns:link="http://www.xbrl.org/2003/linkbase" '
    'xmlns:xlink="http://www.w3.org/1999/xlink"'
)
ROLE = "http://tiny.example/role/STATEMENTSOFINCOME"
STANDARD = "http://www.xbrl.org/2003/role/label"
ARCROLES = "http://www.xbrl.org/2003/arcrole"
INCOME = {
    "us-gaap_IncomeStatementAbstract": "Income Statement [Abstract]",
    "us-gaap_Revenues": "Net sales",
    "us-gaap_CostOfRevenue": "Cost of sales",
    "us-gaap_GrossProfit": "Gross margin",
}


def filing(
    cik: int = CIK, year: int = 2024, revenue: int = 1_000, name: str = "Tiny Corp", extra: int = 0
) -> dict[str, bytes]:
    """The documents of a 10-K by file name: sales, their cost (400) and the margin of one year.

    ``extra`` facts in contexts of their own stand beside them.
    """
    stem = f"tiny{cik}-{year}1231"
    return {
        f"{stem}.xml": _instance(stem, cik, year, revenue, name, extra),
        f"{stem}.xsd": _schema(stem),
        f"{stem}_cal.xml": _linkbase("calculation", _calculation()),
        f"{stem}_lab.xml": _linkbase("label", _labels()),
        f"{stem}_pre.xml": _linkbase("presentation", _presentation()),
    }


def write(folder: Path, documents: dict[str, bytes]) -> Path:
    """Write documents into a folder, which is made; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in documents.items():
        (folder / name).write_bytes(data)
    return folder


def kinds(folder: Path) -> list[tuple[Path, str]]:
    """The documents of a written filing in the order of an ingest, and what each is recognised as."""
    endings = {
        ".xml": "xbrl-instance",
        ".xsd": "xbrl-schema",
        "_cal.xml": "xbrl-calculation",
        "_lab.xml": "xbrl-label",
        "_pre.xml": "xbrl-presentation",
    }
    (stem,) = (path.name.removesuffix(".xsd") for path in folder.glob("*.xsd"))
    return [(folder / f"{stem}{ending}", kind) for ending, kind in endings.items()]


def accession(number: int) -> str:
    """The accession number of the filing with this number."""
    return f"0001999999-25-{number:06}"


def figures(answer: Answer) -> dict[str, list[str]]:
    """The values of the income statement by label."""
    assert answer.status == 200, answer
    rows = answer.json["data"]["statements"]["income"]["rows"]
    return {row["label"]: row["values"] for row in rows if not row["abstract"]}


def _instance(stem: str, cik: int, year: int, revenue: int, name: str, extra: int) -> bytes:
    entity = f'<xbrli:entity><xbrli:identifier scheme="http://www.sec.gov/CIK">{cik:010}</xbrli:identifier>'
    cover = {
        "EntityRegistrantName": name,
        "EntityCentralIndexKey": f"{cik:010}",
        "DocumentType": "10-K",
        "DocumentPeriodEndDate": f"{year}-12-31",
        "DocumentFiscalYearFocus": str(year),
        "DocumentFiscalPeriodFocus": "FY",
    }
    money = {"Revenues": revenue, "CostOfRevenue": 400, "GrossProfit": revenue - 400}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<xbrli:xbrl {XBRL} xmlns:us-gaap="http://fasb.org/us-gaap/2024" '
        'xmlns:dei="http://xbrl.sec.gov/dei/2024" xmlns:iso4217="http://www.xbrl.org/2003/iso4217">',
        f'<link:schemaRef xlink:href="{stem}.xsd" xlink:type="simple"/>',
        f'<xbrli:context id="y">{entity}</xbrli:entity><xbrli:period><xbrli:startDate>{year}-01-01'
        f"</xbrli:startDate><xbrli:endDate>{year}-12-31</xbrli:endDate></xbrli:period></xbrli:context>",
        '<xbrli:unit id="usd"><xbrli:measure>iso4217:USD</xbrli:measure></xbrli:unit>',
        *(f'<dei:{tag} contextRef="y">{text}</dei:{tag}>' for tag, text in cover.items()),
        *(
            f'<us-gaap:{tag} contextRef="y" unitRef="usd" decimals="0">{value}</us-gaap:{tag}>'
            for tag, value in money.items()
        ),
    ]
    for number in range(extra):
        day = f"{1900 + number // 28}-01-{1 + number % 28:02}"
        lines.append(
            f'<xbrli:context id="x{number}">{entity}</xbrli:entity><xbrli:period><xbrli:instant>{day}'
            "</xbrli:instant></xbrli:period></xbrli:context>"
            f'<us-gaap:Assets contextRef="x{number}" unitRef="usd" decimals="0">{number}</us-gaap:Assets>'
        )
    return "\n".join([*lines, "</xbrli:xbrl>", ""]).encode()


def _schema(stem: str) -> bytes:
    return (
        f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" {XBRL} targetNamespace="http://tiny.example/'
        f'{stem}"><xs:annotation><xs:appinfo><link:roleType id="r" roleURI="{ROLE}"><link:definition>'
        "0000002 - Statement - STATEMENTS OF INCOME</link:definition>"
        "<link:usedOn>link:presentationLink</link:usedOn></link:roleType></xs:appinfo></xs:annotation></xs:schema>"
    ).encode()


def _linkbase(kind: str, parts: Iterable[str]) -> bytes:
    role = "http://www.xbrl.org/2003/role/link" if kind == "label" else ROLE
    opened = f'<link:{kind}Link xlink:type="extended" xlink:role="{role}">'
    lines = [f"<link:linkbase {XBRL}>", opened, *parts, f"</link:{kind}Link>", "</link:linkbase>", ""]
    return "\n".join(lines).encode()


def _locators(elements: Iterable[str]) -> list[str]:
    return [
        f'<link:loc xlink:type="locator" xlink:label="{element}" '
        f'xlink:href="{SCHEMA_OF[element.partition("_")[0]]}#{element}"/>'
        for element in elements
    ]


def _presentation() -> list[str]:
    top, *items = INCOME
    return _locators(INCOME) + [
        f'<link:presentationArc xlink:type="arc" xlink:arcrole="{ARCROLES}/parent-child" '
        f'xlink:from="{top}" xlink:to="{item}" order="{order}"/>'
        for order, item in enumerate(items, 1)
    ]


def _calculation() -> list[str]:
    _, revenue, cost, margin = INCOME
    return _locators([revenue, cost, margin]) + [
        f'<link:calculationArc xlink:type="arc" xlink:arcrole="{ARCROLES}/summation-item" '
        f'xlink:from="{margin}" xlink:to="{item}" order="{order}" weight="{weight}"/>'
        for order, (item, weight) in enumerate([(revenue, 1), (cost, -1)], 1)
    ]


def _labels() -> list[str]:
    lines = _locators(INCOME)
    for element, text in INCOME.items():
        lines += [
            f'<link:label xlink:type="resource" xlink:label="{element}_text" xlink:role="{STANDARD}" '
            f'xml:lang="en-US">{text}</link:label>',
            f'<link:labelArc xlink:type="arc" xlink:arcrole="{ARCROLES}/concept-label" '
            f'xlink:from="{element}" xlink:to="{element}_text"/>',
        ]
    return lines
