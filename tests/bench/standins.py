"""Stand-ins for one metered call, each the least that keeps its promises: what finapi is measured against.

    python -m tests.bench.standins KIND DIRECTORY PORT

Every kind but ``static`` looks a key up by its hash, takes from a limit, debits a balance and writes a ledger
row in one transaction, reads an answer of 6 KB and closes the debit: ``simple`` in a second transaction,
``grouped`` with commits shared by waiting calls, of whom the first leads, and debits closed by a later one.
``promised`` is ``grouped`` that remembers keys and answers and sends the headers of finapi: its promises and no more.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import sys
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

KEY = "0123456789abcdef0123456789abcdef"
ANSWER = b'{"status":"success","data":"' + b"x" * 6_000 + b'"}'

# What finapi sends with every answer of data, beside what is each call's own.
HEADERS = [
    ("X-API-Version", "1.0.0"),
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
    ("Cache-Control", "private, no-cache"),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "X-API-Version, X-Request-ID, X-Tokens-Charged, X-RateLimit-Limit, ETag"),
    ("X-Tokens-Charged", "25"),
    ("Vary", "Accept, Accept-Encoding"),
    ("Content-Type", "application/json; charset=utf-8"),
]
THREADS = 16  # as finapi has

ETAG = f'"{hashlib.sha256(ANSWER).hexdigest()[:32]}"'

SCHEMA = """
CREATE TABLE keys (fingerprint BLOB PRIMARY KEY, user_id INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE plans (user_id INTEGER PRIMARY KEY, total INTEGER NOT NULL, spent INTEGER NOT NULL);
CREATE TABLE ledger (id INTEGER PRIMARY KEY, user_id INTEGER, delta INTEGER, endpoint TEXT, request_id TEXT,
    open INTEGER, created_at TEXT);
CREATE INDEX ledger_by_user ON ledger (user_id, id);
CREATE INDEX ledger_open ON ledger (open) WHERE open = 1;
CREATE TABLE answers (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
"""


class Metered:
    """The work of one call; ``pay`` and ``keep`` differ by kind."""

    def __init__(self, directory: Path, synchronous: str, *, grouped: bool, remembers: bool = False) -> None:
        self.path = directory / "standin.db"
        self.opened: list[sqlite3.Connection] = []
        self.writer = self._open()
        self.writer.execute("PRAGMA journal_mode=WAL")
        self.writer.execute(f"PRAGMA synchronous={synchronous}")
        self.writer.executescript(SCHEMA)
        self.writer.execute("INSERT INTO keys VALUES (?, 1)", (hashlib.sha256(KEY.encode()).digest(),))
        self.writer.execute("INSERT INTO plans VALUES (1, 1000000000, 0)")
        self.writer.execute("INSERT INTO answers VALUES (1, ?)", (ANSWER,))
        self.lock = threading.Lock()
        self.limit_lock = threading.Lock()
        self.buckets: dict[int, tuple[float, float]] = {}
        self.local = threading.local()
        self.grouped = grouped
        self.remembers = remembers
        self.known: dict[bytes, int] = {}
        self.waiting: deque[Piece] = deque()
        self.gate = threading.Lock()
        self.led = False
        self.kept: deque[int] = deque()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self.opened.append(connection)
        return connection

    def close(self) -> None:
        """Close the writer, and the readers of all threads: what a thread's end drops is closed by nobody."""
        for connection in self.opened:
            connection.close()

    def reader(self) -> sqlite3.Connection:
        if not hasattr(self.local, "connection"):
            self.local.connection = self._open()
        connection: sqlite3.Connection = self.local.connection
        return connection

    def call(self, key: str) -> bytes | None:
        """The answer of a call that was paid for; None for a key that is not one."""
        fingerprint = hashlib.sha256(key.encode()).digest()
        user_id = self.known.get(fingerprint)
        if user_id is None:
            row = self.reader().execute("SELECT user_id FROM keys WHERE fingerprint = ?", (fingerprint,)).fetchone()
            if row is None:
                return None
            user_id = row[0]
            if self.remembers:
                self.known[fingerprint] = user_id
        if not self.take(user_id):
            return None
        debit = self.share(lambda: self.debit(user_id)) if self.grouped else self.alone(user_id)
        body = ANSWER
        if not self.remembers:
            body = self.reader().execute("SELECT body FROM answers WHERE id = 1").fetchone()[0]
        if self.grouped:
            self.kept.append(debit)
        else:
            with self.lock:
                self.writer.execute("UPDATE ledger SET open = 0 WHERE id = ?", (debit,))
        return body

    def take(self, user_id: int) -> bool:
        now = time.monotonic()
        with self.limit_lock:
            excess, at = self.buckets.get(user_id, (0.0, now))
            excess = max(0.0, excess - 1e9 * (now - at))
            self.buckets[user_id] = (excess + 1, now)
        return excess < 1e9

    def debit(self, user_id: int) -> int:
        self.writer.execute("UPDATE plans SET spent = spent + 25 WHERE user_id = ? AND total - spent >= 25", (user_id,))
        return int(
            self.writer.execute(
                "INSERT INTO ledger (user_id, delta, endpoint, request_id, open, created_at)"
                " VALUES (?, -25, 'GET /x', ?, 1, '2026-01-31T12:00:00.000Z')",
                (user_id, str(uuid.uuid4())),
            ).lastrowid
            or 0
        )

    def alone(self, user_id: int) -> int:
        with self.lock:
            self.writer.execute("BEGIN IMMEDIATE")
            debit = self.debit(user_id)
            self.writer.execute("COMMIT")
        return debit

    def share(self, work: Callable[[], int]) -> int:
        """Run ``work`` in the next transaction. The first caller that finds none under way leads it."""
        piece = Piece(work)
        with self.gate:
            self.waiting.append(piece)
            piece.leads, self.led = not self.led, True
        if not piece.leads:
            piece.turn.acquire()
        if piece.leads:
            self.lead()
        return piece.result

    def lead(self) -> None:
        with self.lock:
            with self.gate:
                pieces = list(self.waiting)
                self.waiting.clear()
            self.writer.execute("BEGIN IMMEDIATE")
            closed = [(self.kept.popleft(),) for _ in range(len(self.kept))]
            self.writer.executemany("UPDATE ledger SET open = 0 WHERE id = ?", closed)
            for piece in pieces:
                piece.result = piece.work()
            self.writer.execute("COMMIT")
        with self.gate:
            self.led = bool(self.waiting)
            if self.led:
                self.waiting[0].leads = True
                self.waiting[0].turn.release()
        for piece in pieces:
            if not piece.leads:
                piece.turn.release()


class Piece:
    """Work that waits for its transaction."""

    def __init__(self, work: Callable[[], int]) -> None:
        self.work, self.result, self.leads = work, 0, False
        self.turn = threading.Lock()
        self.turn.acquire()


def bare(metered: Metered) -> Callable[..., Iterable[bytes]]:
    """The work as a WSGI callable and nothing else."""

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        body = metered.call(environ.get("HTTP_X_API_KEY", ""))
        status = "200 OK" if body is not None else "401 Unauthorized"
        body = body or b"{}"
        length = ("Content-Length", str(len(body)))
        if metered.remembers:
            tokens_left = int(1e9 - metered.buckets[1][0])
            limits = [("X-RateLimit-Limit", "1000000000"), ("X-RateLimit-Remaining", str(tokens_left))]
            headers = [
                ("X-Request-ID", str(uuid.uuid4())),
                ("X-RateLimit-Reset", str(int(time.time()) + 60)),
                ("ETag", ETAG),
            ]
            start_response(status, [*HEADERS, *headers, *limits, length])
        else:
            start_response(status, [("Content-Type", "application/json"), length])
        return [body]

    return application


def static(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The same bytes to everybody."""
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(ANSWER)))])
    return [ANSWER]


def flask_app(metered: Metered) -> Any:
    """The work behind a Flask route."""
    from flask import Flask, Response, request

    application = Flask("standin")

    @application.get("/call")
    def call() -> Response:
        body = metered.call(request.headers.get("X-API-Key", ""))
        return Response(body or b"{}", 200 if body else 401, mimetype="application/json")

    return application


def fastapi_app(metered: Metered) -> Any:
    """The work behind a FastAPI endpoint, a ``def`` that runs in its threads."""
    from fastapi import FastAPI, Header, Response

    application = FastAPI()

    @application.get("/call")
    def call(x_api_key: str = Header("")) -> Response:  # type: ignore[assignment,unused-ignore]
        body = metered.call(x_api_key)
        return Response(body or b"{}", 200 if body else 401, media_type="application/json")

    return application


def main(kind: str, directory: str, port: str) -> None:
    """Serve one kind until killed."""
    name, _, synchronous = kind.partition("-")
    grouped, remembers = name not in ("static", "simple"), name not in ("static", "simple", "grouped")
    metered = Metered(Path(directory), synchronous or "FULL", grouped=grouped, remembers=remembers)
    if name == "fastapi":
        import uvicorn

        uvicorn.run(fastapi_app(metered), port=int(port), log_level="error", access_log=False)
        return
    import waitress

    logging.getLogger("waitress").setLevel(logging.ERROR)
    application = {"static": static, "flask": None}.get(name) or (
        flask_app(metered) if name == "flask" else bare(metered)
    )
    waitress.serve(application, port=int(port), host="127.0.0.1", threads=THREADS, _quiet=True, connection_limit=1000)


if __name__ == "__main__":
    main(*sys.argv[1:])
