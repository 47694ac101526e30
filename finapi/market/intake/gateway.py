"""EDGAR, asked politely: so many requests a second, with a name, only for what is new, and no more when told off.

What the SEC answers instead of data: 403 or 429 with a page when the rate was exceeded, 503 when it is busy,
sometimes a page with 200; 404, or 403 with a few lines of XML from its storage, for what does not exist
(DECISIONS 14, ``edgar/http_errors``). Nothing is asked before the time that follows from it has passed, however
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
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from finapi.app import App
from finapi.core import metrics, stopping
from finapi.core.clock import iso
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.files import read_bounded
from finapi.edgar import document_kinds
from finapi.market.documents.sources import MAX_DOCUMENT_BYTES
from finapi.net.outbound import (
    Outbound,
    OutboundError,
    OutboundRequest,
    ReachPolicy,
    Reply,
    ReplyTooLongError,
    RequestStoppedError,
)
from finapi.store import heartbeats
from finapi.store.db import Transaction

Host = Literal["www", "data"]
HOSTS: dict[Host, str] = {"www": "https://www.sec.gov", "data": "https://data.sec.gov"}

# How long nothing is asked after an answer, in seconds, doubled each time that it comes again in a row. The SEC
# says that whoever exceeds its rate is let in again when that has fallen below the threshold for ten minutes.
BACK_OFF_SECONDS = {403: 600, 429: 600, 500: 60, 502: 60, 503: 60, 504: 60}
ERROR_PAGE_BACK_OFF_SECONDS = 600  # a page with 200 in place of data
NETWORK_BACK_OFF_SECONDS = 30  # no answer at all
MAX_BACK_OFF_SECONDS = 3600
MAX_RETRY_AFTER_SECONDS = 86_400

BEAT_INTERVAL = timedelta(seconds=10)  # between two notes that EDGAR answers
_BLOCK = ("blocked_until", "blocked_times", "blocked_reason")

MAX_ERROR_PAGE_BYTES = 64 * 1024  # bytes that an answer which is no data may have
REQUEST_SECONDS = 120.0  # for one document, the largest of 100 MB included

_SPAN = re.compile(r"bytes [0-9]{1,15}-[0-9]{1,15}/([0-9]{1,15})")

# What the SEC asks for: a name and an address to write to.
_CONTACT = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")


class BackOffError(Exception):
    """EDGAR is not to be asked before ``until``; ``asked`` when it said so to this very question."""

    def __init__(self, until: datetime, reason: str, *, from_reply: bool = True) -> None:
        super().__init__(f"EDGAR is not asked before {iso(until)}: {reason}")
        self.until = until
        self.reason = reason
        self.from_reply = from_reply


@dataclass(frozen=True, slots=True)
class FetchResult:
    """An answer: ``found`` with its body, ``unchanged`` since it was last stored, or ``missing``.

    ``too_long`` is a document beyond any that is read. To a question that allowed for it, ``busy`` is a 503 and
    ``failed`` any other trouble of this one path, for ``reason``, that is not to be asked again within ``again`` s.
    """

    kind: Literal["found", "unchanged", "missing", "too_long", "busy", "failed"]
    url: str
    body: bytes = b""
    reason: str = ""
    retry_seconds: float = 0.0
    etag: str | None = None
    last_modified: str | None = None
    # Of a part: how long the whole is.
    total_bytes: int = 0

    def store_validators(self, tx: Transaction) -> None:
        """Remember that the body has been stored: it is not sent again while it stands."""
        if self.etag or self.last_modified:
            tx.run("upsert_validator", url=self.url, etag=self.etag, last_modified=self.last_modified)


class Gateway:
    """Where questions to EDGAR, a mirror or an archive directory go through, one at a time."""

    def __init__(self, app: App, *, wait: Callable[[float], bool] | None = None) -> None:
        self._app = app
        self._stop = threading.Event()
        # Returns True when finapi stops meanwhile.
        self._wait = wait or self._stop.wait
        self._directory = find_archive_directory(app.config.base_url)
        self._agent = app.config.user_agent
        check_config(app.config)
        self._outbound = Outbound(ReachPolicy(allows_any_address=True))
        # Whether EDGAR refused before, this process or another, and when it was last noted that it answers.
        self._refused = True
        self._noted_at: datetime | None = None

    def close(self) -> None:
        """Break off what is being asked and refuse what comes later; returns at once."""
        self._stop.set()
        self._outbound.close()

    def find_local_file(self, path: str) -> Path | None:
        """The file that stands at a path of an archive directory; None where questions go over the net."""
        return None if self._directory is None else self._directory / path.lstrip("/")

    def get_range(self, host: Host, path: str, start: int, size: int, same: str | None) -> FetchResult:
        """``size`` bytes of a file from ``start`` on, of the version ``same`` (an ETag, or when it was changed).

        ``too_long`` is a long file that is another one now, or of which its host gives no parts; it may fail.
        """
        span = {"Range": f"bytes={start}-{start + size - 1}", "Accept-Encoding": "identity"}
        headers = {**span, "If-Range": same} if same else span
        return self._ask(host, path, headers, max(size, MAX_ERROR_PAGE_BYTES), may_fail=True)

    def get(self, host: Host, path: str, *, conditional: bool = False, may_fail: bool = False) -> FetchResult:
        """What stands at a path. BackOff when EDGAR is not to be asked now; RequestStoppedError when finapi stops.

        With ``may_fail`` an answer that is no data is this path's trouble, and no other path has to wait for it:
        all but what the SEC says to whoever asks too often, and no connection at all.
        """
        if stopping.is_requested():
            raise RequestStoppedError
        if self._directory is not None:
            return self._counted(self._read(self._directory, path))
        headers = {"Accept-Encoding": "gzip"}
        if conditional:
            with self._app.db.read() as tx:
                row = tx.find_row("validator", url=self._url(host, path))
            known = {"If-None-Match": row["etag"], "If-Modified-Since": row["last_modified"]} if row else {}
            headers.update((name, text) for name, text in known.items() if text)
        return self._ask(host, path, headers, MAX_DOCUMENT_BYTES, may_fail)

    def _url(self, host: Host, path: str) -> str:
        return (self._app.config.base_url.rstrip("/") or HOSTS[host]) + path

    def _ask(self, host: Host, path: str, headers: dict[str, str], most: int, may_fail: bool) -> FetchResult:
        with self._app.db.read() as tx:
            until = tx.find_value("poll_state", name="blocked_until")
            reason = tx.find_value("poll_state", name="blocked_reason")
        now = self._app.clock.now()
        # Beyond the longest that anybody asks for: the clock was put back.
        if until is not None and iso(now) < until <= iso(now + timedelta(seconds=MAX_RETRY_AFTER_SECONDS)):
            raise BackOffError(datetime.fromisoformat(until), reason or "it said so", from_reply=False)
        url, headers = self._url(host, path), {"User-Agent": self._agent, **headers}
        # This request's place: no more than so many a second, evenly.
        pause = self._app.edgar_pacer.reserve(self._app.config.edgar_per_second, time.monotonic())
        if pause > 0 and self._wait(pause):
            raise RequestStoppedError
        started = time.monotonic()
        try:
            request = OutboundRequest(
                url, headers=headers, timeout_seconds=REQUEST_SECONDS, max_body_bytes=most, require_complete=True
            )
            reply = self._outbound.send(request)
        except RequestStoppedError:
            raise
        except ReplyTooLongError:
            self._worked(started)
            return self._counted(FetchResult("too_long", url))
        except OutboundError as error:
            if may_fail and error.connected:
                return self._counted(self._failed(url, error.reason, None, started))
            raise self._told_off(error.reason, NETWORK_BACK_OFF_SECONDS, None, started) from None
        return self._counted(self._judged(url, reply, started, may_fail))

    def _counted(self, fetched: FetchResult) -> FetchResult:
        self._app.metrics.count(metrics.EDGAR_REQUESTS, fetched.kind)
        return fetched

    def _judged(self, url: str, reply: Reply, started: float, may_fail: bool) -> FetchResult:
        if reply.status == 304:
            self._worked(started)
            return FetchResult("unchanged", url)
        body = _unpacked(reply)
        # The SEC's storage says with a 403 that there is nothing at a path.
        front = (body or b"")[:1000]
        nothing = any(code in front for code in (b"<Code>AccessDenied</Code>", b"<Code>NoSuchKey</Code>"))
        if body is not None and (reply.status == 404 or (reply.status == 403 and nothing)):
            self._worked(started)
            return FetchResult("missing", url)
        retry_after = reply.headers.get("retry-after")
        if reply.status == 503 and may_fail and retry_after is None:
            self._worked(started)
            return FetchResult("busy", url, reason="answered 503")
        span = _SPAN.fullmatch(reply.headers.get("content-range", ""))
        if reply.status == 206 and span is not None:
            self._worked(started)
            return FetchResult(
                "found",
                url,
                reply.body,
                etag=reply.headers.get("etag"),
                last_modified=reply.headers.get("last-modified"),
                total_bytes=int(span[1]),
            )
        seconds, reason = BACK_OFF_SECONDS.get(reply.status, ERROR_PAGE_BACK_OFF_SECONDS), f"it answered {reply.status}"
        refused = reply.status in (403, 429)
        if reply.status == 200:
            kind = "" if body is None else document_kinds.detect_kind(body[: document_kinds.MAX_PREFIX_BYTES], "")
            if body is not None and kind != "sec-error-page":
                self._worked(started)
                return FetchResult(
                    "found", url, body, etag=reply.headers.get("etag"), last_modified=reply.headers.get("last-modified")
                )
            reason = "it answered with an error page" if kind else "an answer that is no gzip, or too large"
            seconds, refused = (
                (ERROR_PAGE_BACK_OFF_SECONDS if kind else NETWORK_BACK_OFF_SECONDS),
                document_kinds.is_access_refusal(body or b""),
            )
        if may_fail and not refused:
            return self._failed(url, reason, retry_after, started)
        raise self._told_off(reason, seconds, retry_after, started)

    def _failed(self, url: str, reason: str, retry_after: str | None, started: float) -> FetchResult:
        """The trouble of one path; EDGAR itself answers."""
        self._worked(started)
        again = _retry_after(retry_after, self._app.clock.now()) or 0.0
        return FetchResult("failed", url, reason=reason.removeprefix("it "), retry_seconds=again)

    def _read(self, directory: Path, path: str) -> FetchResult:
        file = directory / path.partition("?")[0].lstrip("/")
        try:
            # A pipe that lies there would be waited for, and keep the service from stopping.
            with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as opened:
                status = os.fstat(opened.fileno())
                is_file = stat.S_ISREG(status.st_mode)
                body: bytes | None = read_bounded(opened, MAX_DOCUMENT_BYTES, status.st_size) if is_file else None
        except OSError:
            body = None
        reachable = body is not None or directory.is_dir()
        failure = None if reachable else "the archive directory is not there"
        now = self._app.clock.now()
        with self._app.db.write() as tx:
            heartbeats.record_beat(tx, "sec_gateway", now, failure=failure)
        if failure is not None:
            self._app.metrics.count(metrics.EDGAR_REQUESTS, "failed")
            raise BackOffError(now + timedelta(seconds=NETWORK_BACK_OFF_SECONDS), failure)
        return FetchResult("missing", str(file)) if body is None else FetchResult("found", str(file), body)

    def _worked(self, started: float) -> None:
        """Note that EDGAR answered: at once after a refusal, else now and then, as each note is a commit."""
        now = self._app.clock.now()
        if not self._refused and self._noted_at is not None and abs(now - self._noted_at) < BEAT_INTERVAL:
            return
        with self._app.db.write() as tx:
            for name in _BLOCK:
                tx.run("delete_poll_state", name=name)
            took = round((time.monotonic() - started) * 1000)
            heartbeats.record_beat(tx, "sec_gateway", now, took_ms=took)
        self._refused, self._noted_at = False, now

    def _told_off(self, reason: str, seconds: float, retry_after: str | None, started: float) -> BackOffError:
        """Remember that nothing is to be asked for a time; the error to raise."""
        self._refused = True
        now = self._app.clock.now()
        told = _retry_after(retry_after, now)
        with self._app.db.write() as tx:
            times = int(tx.find_value("poll_state", name="blocked_times") or 0)
            wait = min(seconds * 2 ** min(times, 10), MAX_BACK_OFF_SECONDS) if told is None else told
            until = now + timedelta(seconds=wait)
            tx.run("upsert_poll_state", name="blocked_until", value=iso(until))
            tx.run("upsert_poll_state", name="blocked_times", value=str(times + 1))
            tx.run("upsert_poll_state", name="blocked_reason", value=reason)
            took = round((time.monotonic() - started) * 1000)
            heartbeats.record_beat(tx, "sec_gateway", now, took_ms=took, failure=reason)
        self._app.metrics.count(metrics.EDGAR_REQUESTS, "failed")
        return BackOffError(until, reason)


def check_config(config: Config) -> None:
    """UsageError for settings with which EDGAR cannot be asked."""
    if find_archive_directory(config.base_url) is None and not _CONTACT.search(config.user_agent):
        raise UsageError("EDGAR asks for a contact address: --user-agent 'Your Name name@example.com'")
    if not re.fullmatch(r"[\x20-\x7e]*", config.user_agent):
        raise UsageError("--user-agent: must be ASCII, because it is sent in a header")


def find_archive_directory(base_url: str) -> Path | None:
    """The archive directory that a base URL names, as ``file:///path`` or a path; None for anything else."""
    if base_url and "://" not in base_url:
        return Path(base_url)
    parts = urlsplit(base_url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _unpacked(reply: Reply) -> bytes | None:
    """The body without its gzip; None when it is none, is cut off, or unpacks to more than any document."""
    if reply.headers.get("content-encoding", "identity").lower() == "identity":
        return reply.body
    if reply.headers["content-encoding"].lower() != "gzip":
        return None
    unpacking = zlib.decompressobj(wbits=31)
    try:
        body = unpacking.decompress(reply.body, MAX_DOCUMENT_BYTES)
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
        from email.utils import parsedate_to_datetime

        try:
            seconds = (parsedate_to_datetime(text) - now).total_seconds()
        except (TypeError, ValueError):
            return None
    return min(max(seconds, 1.0), MAX_RETRY_AFTER_SECONDS)
