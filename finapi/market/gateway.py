"""EDGAR, asked politely: so many requests a second, with a name, only for what is new, and no more when told off.

What the SEC answers instead of data: 403 or 429 with a page when the rate was exceeded, 503 when it is busy,
sometimes a page with 200; 404, or 403 with a few lines of XML from its storage, for what does not exist
(EDGAR.md, ``edgar/http_errors``). Nothing is asked before the time that follows from it has passed, however
often finapi is restarted meanwhile.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from finapi import heartbeats, metrics
from finapi.app import App
from finapi.clock import iso
from finapi.db import Transaction
from finapi.edgar import recognise
from finapi.errors import UsageError
from finapi.market.sources import MAX_DOCUMENT
from finapi.outbound import Outbound, OutboundError, Reach, Reply, Request, Stopped, TooLong

Host = Literal["www", "data"]
HOSTS: dict[Host, str] = {"www": "https://www.sec.gov", "data": "https://data.sec.gov"}

# How long nothing is asked after an answer, in seconds, doubled each time that it comes again in a row. The SEC
# says that whoever exceeds its rate is let in again when that has fallen below the threshold for ten minutes.
BACK_OFF = {403: 600, 429: 600, 500: 60, 502: 60, 503: 60, 504: 60}
BACK_OFF_PAGE = 600  # a page with 200 in place of data
BACK_OFF_NETWORK = 30  # no answer at all
LONGEST_BACK_OFF = 3600
LONGEST_RETRY_AFTER = 86_400

REQUEST_SECONDS = 120.0  # for one document, the largest of 100 MB included

# What the SEC asks for: a name and an address to write to.
_CONTACT = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")


class BackOff(Exception):
    """EDGAR is not to be asked before ``until``."""

    def __init__(self, until: datetime, reason: str) -> None:
        super().__init__(f"EDGAR is not asked before {iso(until)}: {reason}")
        self.until = until
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer: ``found`` with its body, ``unchanged`` since it was last stored, or ``missing``.

    ``too_long`` is a document beyond any that is read, ``busy`` a 503 to a question that allowed for it.
    """

    kind: Literal["found", "unchanged", "missing", "too_long", "busy"]
    url: str
    body: bytes = b""
    etag: str | None = None
    last_modified: str | None = None

    def stored(self, tx: Transaction) -> None:
        """Remember that the body has been stored: it is not sent again while it stands."""
        if self.etag or self.last_modified:
            tx.run("put_validator", url=self.url, etag=self.etag, last_modified=self.last_modified)


class Gateway:
    """Where questions to EDGAR, a mirror or an archive directory go through, one at a time."""

    def __init__(self, app: App, *, wait: Callable[[float], bool] | None = None) -> None:
        self._app = app
        self._stop = threading.Event()
        # Returns True when finapi stops meanwhile.
        self._wait = wait or self._stop.wait
        self._directory = _directory(app.config.base_url)
        self._agent = app.config.user_agent
        if self._directory is None and not _CONTACT.search(self._agent):
            raise UsageError("EDGAR asks for a contact address: --user-agent 'Your Name name@example.com'")
        if not re.fullmatch(r"[\x20-\x7e]*", self._agent):
            raise UsageError("--user-agent: must be of ASCII characters, as it is sent in a header")
        self._outbound = Outbound(Reach(anything=True))

    def close(self) -> None:
        """Break off what is being asked and refuse what comes later; returns at once."""
        self._stop.set()
        self._outbound.close()

    def get(self, host: Host, path: str, *, conditional: bool = False, may_be_busy: bool = False) -> Fetched:
        """What stands at a path. BackOff when EDGAR is not to be asked now; Stopped when finapi stops."""
        if self._directory is not None:
            return self._counted(self._read(self._directory, path))
        self._check_blocked()
        url = (self._app.config.base_url.rstrip("/") or HOSTS[host]) + path
        headers = {"User-Agent": self._agent, "Accept-Encoding": "gzip"}
        if conditional:
            headers.update(self._validators(url))
        self._pace()
        started = time.monotonic()
        try:
            request = Request(
                url, headers=headers, seconds=REQUEST_SECONDS, body_bytes=MAX_DOCUMENT, whole=True
            )
            reply = self._outbound.send(request)
        except Stopped:
            raise
        except TooLong:
            self._worked(started)
            return self._counted(Fetched("too_long", url))
        except OutboundError as error:
            raise self._told_off(error.reason, BACK_OFF_NETWORK, None, started) from None
        return self._counted(self._judged(url, reply, started, may_be_busy))

    def _counted(self, fetched: Fetched) -> Fetched:
        self._app.metrics.count(metrics.EDGAR, fetched.kind)
        return fetched

    def _judged(self, url: str, reply: Reply, started: float, may_be_busy: bool) -> Fetched:
        if reply.status == 304:
            self._worked(started)
            return Fetched("unchanged", url)
        body = _unpacked(reply)
        if body is None:
            reason = "an answer that is no gzip, or too large"
            raise self._told_off(reason, BACK_OFF_NETWORK, None, started)
        if reply.status == 404 or (reply.status == 403 and _is_storage(body)):
            self._worked(started)
            return Fetched("missing", url)
        if reply.status == 503 and may_be_busy and "retry-after" not in reply.headers:
            self._worked(started)
            return Fetched("busy", url)
        if reply.status != 200:
            seconds = BACK_OFF.get(reply.status, BACK_OFF_PAGE)
            raise self._told_off(
                f"it answered {reply.status}", seconds, reply.headers.get("retry-after"), started
            )
        if recognise.kind(body[: recognise.ENOUGH], "") == "sec-error-page":
            raise self._told_off("it answered with an error page", BACK_OFF_PAGE, None, started)
        self._worked(started)
        return Fetched("found", url, body, reply.headers.get("etag"), reply.headers.get("last-modified"))

    def _read(self, directory: Path, path: str) -> Fetched:
        file = directory / path.partition("?")[0].lstrip("/")
        try:
            # A pipe that lies there would be waited for, and keep the service from stopping.
            with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as opened:
                regular = stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
                body: bytes | None = opened.read(MAX_DOCUMENT) if regular else None
        except OSError:
            body = None
        reachable = body is not None or directory.is_dir()
        failure = None if reachable else "the archive directory is not there"
        now = self._app.clock.now()
        with self._app.db.write() as tx:
            heartbeats.beat(tx, "sec_gateway", now, failure=failure)
        if failure is not None:
            self._app.metrics.count(metrics.EDGAR, "failed")
            raise BackOff(now + timedelta(seconds=BACK_OFF_NETWORK), failure)
        return Fetched("missing", str(file)) if body is None else Fetched("found", str(file), body)

    def _pace(self) -> None:
        """Wait for this request's place: no more than so many a second, evenly."""
        wait = self._app.edgar.wait(self._app.config.edgar_per_second, time.monotonic())
        if wait > 0 and self._wait(wait):
            raise Stopped

    def _validators(self, url: str) -> dict[str, str]:
        with self._app.db.read() as tx:
            row = tx.one("validator", url=url)
        if row is None:
            return {}
        told = {"If-None-Match": row["etag"], "If-Modified-Since": row["last_modified"]}
        return {name: text for name, text in told.items() if text}

    def _check_blocked(self) -> None:
        with self._app.db.read() as tx:
            until = tx.value("poll_state", name="blocked_until")
            reason = tx.value("poll_state", name="blocked_reason")
        if until is not None and until > iso(self._app.clock.now()):
            raise BackOff(datetime.fromisoformat(until), reason or "it said so")

    def _worked(self, started: float) -> None:
        with self._app.db.write() as tx:
            for name in ("blocked_until", "blocked_times", "blocked_reason"):
                tx.run("drop_poll_state", name=name)
            took = round((time.monotonic() - started) * 1000)
            heartbeats.beat(tx, "sec_gateway", self._app.clock.now(), took_ms=took)

    def _told_off(self, reason: str, seconds: float, retry_after: str | None, started: float) -> BackOff:
        """Remember that nothing is to be asked for a time; the error to raise."""
        now = self._app.clock.now()
        told = _retry_after(retry_after, now)
        with self._app.db.write() as tx:
            times = int(tx.value("poll_state", name="blocked_times") or 0)
            wait = min(seconds * 2 ** min(times, 10), LONGEST_BACK_OFF) if told is None else told
            until = now + timedelta(seconds=wait)
            tx.run("put_poll_state", name="blocked_until", value=iso(until))
            tx.run("put_poll_state", name="blocked_times", value=str(times + 1))
            tx.run("put_poll_state", name="blocked_reason", value=reason)
            took = round((time.monotonic() - started) * 1000)
            heartbeats.beat(tx, "sec_gateway", now, took_ms=took, failure=reason)
        self._app.metrics.count(metrics.EDGAR, "failed")
        return BackOff(until, reason)


def _directory(base_url: str) -> Path | None:
    """The archive directory that a base URL names, as ``file:///path`` or a path; None for anything else."""
    if base_url and "://" not in base_url:
        return Path(base_url)
    parts = urlsplit(base_url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _is_storage(body: bytes) -> bool:
    """Whether an answer is the SEC's storage saying that there is nothing at a path."""
    return b"<Code>AccessDenied</Code>" in body[:1000] or b"<Code>NoSuchKey</Code>" in body[:1000]


def _unpacked(reply: Reply) -> bytes | None:
    """The body without its gzip; None when it is none, is cut off, or unpacks to more than any document."""
    if reply.headers.get("content-encoding", "identity").lower() == "identity":
        return reply.body
    if reply.headers["content-encoding"].lower() != "gzip":
        return None
    unpacking = zlib.decompressobj(wbits=31)
    try:
        body = unpacking.decompress(reply.body, MAX_DOCUMENT)
    except zlib.error:
        return None
    return body if unpacking.eof else None


def _retry_after(text: str | None, now: datetime) -> float | None:
    """The seconds that ``Retry-After`` asks for (RFC 9110 10.2.3), within bounds; None when it says nothing."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", text.strip()):
        seconds = float(text)
    else:
        try:
            seconds = (parsedate_to_datetime(text) - now).total_seconds()
        except (TypeError, ValueError):
            return None
    return min(max(seconds, 1.0), LONGEST_RETRY_AFTER)
