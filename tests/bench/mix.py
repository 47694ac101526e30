"""A realistic mix of billed calls, next to the least code that keeps the same promises: the yardstick of a call.

    python -m tests.bench.mix [--seconds 5] [--rounds 3] [--connections 16] [--companies 600]

60 % of the calls ask a question that was never asked before, 30 % repeat a recent one, and 10 % are errors: an unknown
company (404), a bad parameter (400) and an unknown key (401). The questions are pages of daily
prices of 600 companies. Every service gets the same calls in the same order over 16 connections:

- ``finapi``: ``finapi serve`` with its limits lifted,
- ``bare``: a WSGI callable on waitress that keeps the same promises (:class:`PriceService`),
- ``Flask``: the same service behind a Flask route, where Flask is installed.

They take turns, forth and back, for several rounds. The table shows medians. The ratios compare runs of the same round
and are the only figures that mean something on another machine. If other programs are running, only those of CPU do.
The services run on core 0 and the client on core 1. The defaults take about a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import logging
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from finapi import app as apps
from finapi.accounts import users
from finapi.core.config import Config
from finapi.market.documents.identification import IngestOptions
from finapi.market.intake import ingest
from tests.bench.metered import ROOT, UNLIMITED, cpu_of, installed
from tests.bench.standins import HEADERS, KEY, THREADS, Metered

PRICES_PATH = "/api/v1/prices/"
COST = 5
FIRST_DAY = date(2025, 1, 1)
PRICE_DAYS = 120
MAX_LIMIT = 60
RECENT_QUESTIONS = 100  # A repeated question is one of this many asked last.
CACHED_ANSWER_BYTES = 16 << 20  # As Bounds.answer_bytes.
SERVICES = ("finapi", "bare", "flask")
CLIENT_CORE, SERVER_CORE = 1, 0


# ---- the calls


@dataclass(frozen=True)
class BenchCall:
    """A call and the status that it must get."""

    target: str
    status: int
    has_key: bool = True


def iter_calls(companies: int, seed: int) -> Iterator[BenchCall]:
    """Yield the mix without end: the same calls for the same seed."""
    rng = random.Random(seed)
    recent: list[str] = []
    while True:
        share = rng.random()
        if share < 0.1:
            yield _build_error(rng, companies)
        elif share < 0.4 and recent:
            yield BenchCall(rng.choice(recent), 200)
        else:
            target = _build_question(rng, companies)
            recent = [*recent[1 - RECENT_QUESTIONS :], target]
            yield BenchCall(target, 200)


def _build_question(rng: random.Random, companies: int) -> str:
    """Return one of four million questions, so that hardly any comes twice by chance."""
    first_day = FIRST_DAY + timedelta(days=rng.randrange(PRICE_DAYS // 2))
    limit = rng.randrange(1, MAX_LIMIT + 1)
    unused = rng.randrange(2_000)  # Makes the question another one, not its answer longer.
    last_day = FIRST_DAY + timedelta(days=PRICE_DAYS + unused)
    return f"{PRICES_PATH}{ticker_of(rng.randrange(companies))}?from={first_day}&to={last_day}&limit={limit}"


def _build_error(rng: random.Random, companies: int) -> BenchCall:
    kind = rng.randrange(3)
    if kind == 0:
        return BenchCall(f"{PRICES_PATH}NONE{rng.randrange(10_000)}?limit=20", 404)
    question = _build_question(rng, companies)
    if kind == 1:
        return BenchCall(question.replace("limit=", "limit=x"), 400)
    return BenchCall(question, 401, has_key=False)


def ticker_of(number: int) -> str:
    """Return the ticker of a company by its number."""
    return f"T{number:04}"


def iter_price_rows(number: int) -> Iterator[tuple[str, str, str, str, str, int]]:
    """Yield date, open, high, low, close and volume of each day of a company."""
    rng = random.Random(number)
    for day in range(PRICE_DAYS):
        cents = rng.randrange(1_000, 30_000)
        prices = (f"{(cents + change) / 100:.2f}" for change in (0, 90, -80, 35))
        opened, high, low, closed = prices
        yield (FIRST_DAY + timedelta(days=day)).isoformat(), opened, high, low, closed, rng.randrange(10_000_000)


# ---- a service that keeps the same promises


class CallError(Exception):
    """A refusal with its status."""

    def __init__(self, status: str, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class PriceService:
    """The least that keeps finapi's promises for ``GET /api/v1/prices/{ticker}``.

    A call is authenticated by the hash of its key, limited, compared with ``If-None-Match`` before any work, charged in
    a durable transaction that waiting calls share, answered from the database or from memory, and refunded if it
    fails. The debit is settled by the next transaction. A bad parameter and an unknown company are answered without a
    charge, if the balance would cover it.
    """

    def __init__(self, directory: Path, companies: int) -> None:
        self.metered = Metered(directory, "FULL", grouped=True, remembers=True)
        writer = self.metered.writer
        writer.execute(
            "CREATE TABLE prices (ticker TEXT, date TEXT, open TEXT, high TEXT, low TEXT, close TEXT, volume INTEGER,"
            " PRIMARY KEY (ticker, date)) WITHOUT ROWID"
        )
        writer.execute("BEGIN")
        for number in range(companies):
            rows = ((ticker_of(number), *row) for row in iter_price_rows(number))
            writer.executemany("INSERT INTO prices VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        writer.execute("COMMIT")
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._answer_bytes = 0
        self._answers_lock = threading.Lock()

    def handle(self, key: str, path: str, query: str, if_none_match: str) -> tuple[str, list[tuple[str, str]], bytes]:
        """Return status line, headers and body of a call."""
        request_id = str(uuid.uuid4())
        headers = [("X-Request-ID", request_id)]
        charged = 0
        try:
            user_id = self._authenticate(key)
            headers += self._take_limit(user_id)
            question, error = _read_question(path, query)
            etag = f'"{hashlib.sha256(f"1 {question}".encode()).hexdigest()[:32]}"'
            if if_none_match == etag:
                return "304 Not Modified", [*HEADERS, *headers, ("ETag", etag)], b""
            error = error or self._find_company_error(question["ticker"])
            if error is not None:
                self._check_balance(user_id)
                raise error
            debit_id = self.metered.share(lambda: self._debit(user_id))
            try:
                body = self._find_answer(etag, question)
            except CallError:
                self.metered.share(lambda: self._refund(user_id, debit_id))
                raise
            self.metered.kept.append(debit_id)
            charged = COST
            status = "200 OK"
            headers.append(("ETag", etag))
            body += f',"request_id":"{request_id}","timestamp":"{time.time():.3f}"}}'.encode()
        except CallError as refusal:
            status = refusal.status
            body = json.dumps({"status": "error", "code": refusal.code, "request_id": request_id}).encode()
        headers += [("X-Tokens-Charged", str(charged)), ("Content-Length", str(len(body)))]
        return status, [*HEADERS, *headers], body

    def _authenticate(self, key: str) -> int:
        fingerprint = hashlib.sha256(key.encode()).digest()
        known_user = self.metered.known.get(fingerprint)
        if known_user is not None:
            return known_user
        sql = "SELECT user_id FROM keys WHERE fingerprint = ?"
        row = self.metered.reader().execute(sql, (fingerprint,)).fetchone()
        if row is None:
            raise CallError("401 Unauthorized", "UNAUTHORIZED")
        self.metered.known[fingerprint] = row[0]
        return int(row[0])

    def _take_limit(self, user_id: int) -> list[tuple[str, str]]:
        if not self.metered.take(user_id):
            raise CallError("429 Too Many Requests", "RATE_LIMIT_EXCEEDED")
        tokens_left = int(1e9 - self.metered.buckets[user_id][0])
        return [
            ("X-RateLimit-Limit", "1000000000"),
            ("X-RateLimit-Remaining", str(tokens_left)),
            ("X-RateLimit-Reset", str(int(time.time()) + 60)),
        ]

    def _find_company_error(self, ticker: str) -> CallError | None:
        sql = "SELECT EXISTS (SELECT 1 FROM prices WHERE ticker = ?)"
        is_known = self.metered.reader().execute(sql, (ticker,)).fetchone()[0]
        return None if is_known else CallError("404 Not Found", "UNKNOWN_TICKER")

    def _check_balance(self, user_id: int) -> None:
        row = self.metered.reader().execute("SELECT total - spent FROM plans WHERE user_id = ?", (user_id,)).fetchone()
        if row[0] < COST:
            raise CallError("402 Payment Required", "insufficient_tokens")

    def _debit(self, user_id: int) -> int:
        run = self.metered.writer.execute
        sql = "UPDATE plans SET spent = spent + ? WHERE user_id = ? AND total - spent >= ?"
        if not run(sql, (COST, user_id, COST)).rowcount:
            raise CallError("402 Payment Required", "insufficient_tokens")
        sql = (
            "INSERT INTO ledger (user_id, delta, endpoint, request_id, open, created_at)"
            " VALUES (?, ?, 'GET /api/v1/prices/{ticker}', ?, 1, '2026-01-31T12:00:00.000Z')"
        )
        return int(run(sql, (user_id, -COST, str(uuid.uuid4()))).lastrowid or 0)

    def _refund(self, user_id: int, debit_id: int) -> int:
        run = self.metered.writer.execute
        run("UPDATE ledger SET open = 0 WHERE id = ?", (debit_id,))
        run("UPDATE plans SET spent = spent - ? WHERE user_id = ?", (COST, user_id))
        sql = "INSERT INTO ledger (user_id, delta, open, created_at) VALUES (?, ?, 0, '2026-01-31T12:00:00.000Z')"
        return int(run(sql, (user_id, COST)).lastrowid or 0)

    def _find_answer(self, etag: str, question: Mapping[str, Any]) -> bytes:
        with self._answers_lock:
            cached = self._answers.get(etag)
            if cached is not None:
                self._answers.move_to_end(etag)
                return cached
        body = self._build_answer(question)
        with self._answers_lock:
            self._answers[etag] = body
            self._answer_bytes += len(body)
            while self._answer_bytes > CACHED_ANSWER_BYTES:
                self._answer_bytes -= len(self._answers.popitem(last=False)[1])
        return body

    def _build_answer(self, question: Mapping[str, Any]) -> bytes:
        sql = (
            "SELECT date, open, high, low, close, volume FROM prices"
            " WHERE ticker = :ticker AND date >= :from AND date <= :to ORDER BY date DESC LIMIT :limit + 1"
        )
        rows = self.metered.reader().execute(sql, question).fetchall()
        if not rows:
            raise CallError("404 Not Found", "NOT_COVERED")
        limit = question["limit"]
        data = [
            {
                "date": day,
                "open": float(opened),
                "high": float(high),
                "low": float(low),
                "close": float(closed),
                "volume": volume,
                "adj_close": None,
                "adj_close_reason": "no_dividends_or_splits_held",
                "split_factor": None,
                "dividend": None,
            }
            for day, opened, high, low, closed, volume in rows[:limit]
        ]
        has_more = len(rows) > limit
        meta = {
            **question,
            "source": "csv",
            "count": len(data),
            "has_more": has_more,
            "next_cursor": data[-1]["date"] if has_more else None,
        }
        return json.dumps({"status": "success", "data": data, "meta": meta}, separators=(",", ":"))[:-1].encode()


def _read_question(path: str, query: str) -> tuple[dict[str, Any], CallError | None]:
    """Return the parameters of a call, and the error if one is invalid: a balance that is too low comes first."""
    values = {name: texts[-1] for name, texts in parse_qs(query).items()}
    question: dict[str, Any] = {"ticker": path.removeprefix(PRICES_PATH).upper(), "from": "", "to": "9", **values}
    try:
        question["limit"] = int(values.get("limit", "500"))
        for name in ("from", "to"):
            if name in values:
                date.fromisoformat(values[name])
    except ValueError:
        return question, CallError("400 Bad Request", "INVALID_PARAM")
    return question, None


def build_bare(service: PriceService) -> Callable[..., Iterable[bytes]]:
    """Return the service as a WSGI callable."""

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        status, headers, body = service.handle(
            environ.get("HTTP_X_API_KEY", ""),
            environ["PATH_INFO"],
            environ["QUERY_STRING"],
            environ.get("HTTP_IF_NONE_MATCH", ""),
        )
        start_response(status, headers)
        return [body]

    return application


def build_flask(service: PriceService) -> Any:
    """Return the service behind a Flask route."""
    from flask import Flask, Response, request

    application = Flask("mix")

    @application.get(PRICES_PATH + "<ticker>")
    def prices(ticker: str) -> Response:
        status, headers, body = service.handle(
            request.headers.get("X-API-Key", ""),
            request.path,
            request.query_string.decode(),
            request.headers.get("If-None-Match", ""),
        )
        return Response(body, status, headers)

    return application


def serve(kind: str, directory: str, port: int, companies: int) -> None:
    """Serve a stand-in until killed."""
    import waitress

    logging.getLogger("waitress").setLevel(logging.ERROR)
    service = PriceService(Path(directory), companies)
    application = build_flask(service) if kind == "flask" else build_bare(service)
    waitress.serve(application, port=port, host="127.0.0.1", threads=THREADS, _quiet=True, connection_limit=1000)


# ---- the servers


@dataclass(frozen=True)
class Service:
    """A running service."""

    pid: int
    port: int
    key: str


def _store_prices(directory: Path, companies: int) -> str:
    """Fill a data directory of finapi. Return the key of an account."""
    sources = directory.with_name("csv")
    sources.mkdir()
    for number in range(companies):
        ticker = ticker_of(number)
        lines = (",".join([ticker, *map(str, row)]) for row in iter_price_rows(number))
        text = "\n".join(["ticker,date,open,high,low,close,volume", *lines, ""])
        (sources / f"{ticker}.csv").write_text(text)
    app = apps.open_on_disk(Config(data_dir=directory, pro_tokens=10**9))
    ingest.run(app, [sources], IngestOptions(), lambda outcome: None)
    key = users.create(app, "bench@example.com", "pro", app.clock.now()).api_key
    app.db.close()
    return key


def _start(kind: str, directory: Path, companies: int) -> tuple[subprocess.Popen[str], Service]:
    prefix = ["taskset", "-c", str(SERVER_CORE), sys.executable]
    if kind == "finapi":
        key = _store_prices(directory, companies)
        command = ["run.py", "serve", "--ready", "json", "--port", "0", "--data-dir", str(directory)]
        environment = {**os.environ, **UNLIMITED}
        process = subprocess.Popen(prefix + command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, Service(process.pid, json.loads(process.stdout.readline())["port"], key)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ["-m", "tests.bench.mix", "--serve", kind, str(directory), str(port), "--companies", str(companies)]
    process = subprocess.Popen(prefix + command, cwd=ROOT, text=True)
    return process, Service(process.pid, port, KEY)


def _await(service: Service) -> None:
    """Return when the service answers."""
    url = f"http://127.0.0.1:{service.port}{PRICES_PATH}{ticker_of(0)}?limit=1"
    request = urllib.request.Request(url, headers={"X-API-Key": service.key})
    for _ in range(400):
        try:
            with urllib.request.urlopen(request) as answer:
                answer.read()
                return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{url} does not answer")


@contextmanager
def running(kinds: Iterable[str], companies: int) -> Iterator[dict[str, Service]]:
    """Start every service; the ones that are not measured are idle."""
    processes: list[subprocess.Popen[str]] = []
    services: dict[str, Service] = {}
    with tempfile.TemporaryDirectory(prefix="finapi-mix-") as temporary_dir:
        try:
            for kind in kinds:
                directory = Path(temporary_dir, kind)
                directory.mkdir(mode=0o700)
                process, services[kind] = _start(kind, directory, companies)
                processes.append(process)
            for service in services.values():
                _await(service)
            yield services
        finally:
            for process in processes:
                process.terminate()
                process.wait()
                if process.stdout is not None:
                    process.stdout.close()


# ---- the client


@dataclass
class Run:
    """The calls of one service in one round."""

    seconds_of_calls: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def cpu_us(self) -> float:
        """Microseconds of the service's CPU a call."""
        return self.cpu_seconds / len(self.seconds_of_calls) * 1e6

    @property
    def rate(self) -> float:
        """Calls a second."""
        return len(self.seconds_of_calls) / self.seconds


async def _send_calls(service: Service, calls: Iterator[BenchCall], until: float, run: Run) -> None:
    """Send calls over one connection, one after the other, until the time is over."""
    loop = asyncio.get_running_loop()
    reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
    while (sent_at := loop.time()) < until:
        call = next(calls)
        key = service.key if call.has_key else "0" * 32
        writer.write(f"GET {call.target} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = head.partition("\r\ncontent-length: ")[2].partition("\r\n")[0]
        await reader.readexactly(int(length))
        run.seconds_of_calls.append(loop.time() - sent_at)
        if int(head[9:12]) != call.status:
            run.wrong.append(f"{head[9:12]} in place of {call.status} for {call.target}")
    writer.close()


async def _measure(service: Service, calls: Iterator[BenchCall], connections: int, seconds: float) -> Run:
    run = Run()
    cpu_before, started_at = cpu_of(service.pid), time.monotonic()
    until = asyncio.get_running_loop().time() + seconds
    await asyncio.gather(*(_send_calls(service, calls, until, run) for _ in range(connections)))
    run.seconds, run.cpu_seconds = time.monotonic() - started_at, cpu_of(service.pid) - cpu_before
    if run.wrong:
        raise SystemExit(f"{len(run.wrong)} wrong answers, the first: {run.wrong[0]}")
    return run


def measure_rounds(services: Mapping[str, Service], args: argparse.Namespace) -> dict[str, list[Run]]:
    """Return the runs of each service, one a round."""
    runs: dict[str, list[Run]] = {kind: [] for kind in services}
    for number in range(args.rounds):
        kinds = list(services)
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            calls = iter_calls(args.companies, seed=number)
            runs[kind].append(asyncio.run(_measure(services[kind], calls, args.connections, args.seconds)))
    return runs


def render_table(runs: Mapping[str, list[Run]]) -> Iterator[str]:
    """Yield a line for each service: medians, and finapi's CPU and calls a second compared with it."""
    yield f"{'':8} {'CPU us':>8} {'calls/s':>8} {'p50 ms':>8} {'p99 ms':>8}     finapi: CPU, calls/s"
    for kind, kind_runs in runs.items():
        rounds = list(zip(runs["finapi"], kind_runs, strict=True))
        cpu_ratio = statistics.median(finapi.cpu_us / other.cpu_us for finapi, other in rounds)
        rate_ratio = statistics.median(finapi.rate / other.rate for finapi, other in rounds)
        percentiles = [statistics.quantiles(run.seconds_of_calls, n=100) for run in kind_runs]
        p50, p99 = (1000 * statistics.median(cuts[percentile] for cuts in percentiles) for percentile in (49, 98))
        cpu_us = statistics.median(run.cpu_us for run in kind_runs)
        rate = statistics.median(run.rate for run in kind_runs)
        medians = f"{cpu_us:8.0f} {rate:8.0f} {p50:8.2f} {p99:8.2f}"
        yield f"{kind:8} {medians} {cpu_ratio:15.2f} {rate_ratio:8.2f}"


def main() -> None:
    """Measure the services and print the table."""
    parser = argparse.ArgumentParser(description="Measure a realistic mix of billed calls.")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--companies", type=int, default=600)
    parser.add_argument("--only", choices=SERVICES, action="append", help="a service next to finapi; may be repeated")
    parser.add_argument("--serve", nargs=3, metavar=("KIND", "DIRECTORY", "PORT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args.serve[0], args.serve[1], int(args.serve[2]), args.companies)
        return
    kinds = [kind for kind in SERVICES if kind == "finapi" or not args.only or kind in args.only]
    kinds = [kind for kind in kinds if installed(kind)]
    os.sched_setaffinity(0, {CLIENT_CORE})
    with running(kinds, args.companies) as services:
        for line in render_table(measure_rounds(services, args)):
            print(line)


if __name__ == "__main__":
    main()
