"""The gateway to EDGAR: every request to the SEC, at the permitted rate, with back-off after refusals.

The gateway sends at most ``edgar_per_second`` requests a second, with a User-Agent that contains a contact address, and
with validators (ETag, Last-Modified) so that unchanged files are not sent again.

EDGAR has several replies that are not data (DECISIONS 14):

- 403 or 429 with a page if the rate was exceeded, 503 if it is busy, sometimes a page with status 200: nothing is
  requested for some time, which doubles each time the refusal is repeated. The end of that time is stored in
  ``poll_state``, so that a restart does not shorten it. Requests before it raise :class:`BackOffError`.
- 404, or 403 with a few lines of XML from its storage, for a path that does not exist: the result is ``missing``.

``base_url`` may name a mirror, or a directory with the same paths, from which files are read.
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

# Seconds without requests after a reply with this status, doubled for each repetition. After a client exceeded the
# rate, the SEC accepts its requests again when it has stayed below the threshold for ten minutes.
BACK_OFF_SECONDS = {403: 600, 429: 600, 500: 60, 502: 60, 503: 60, 504: 60}
ERROR_PAGE_BACK_OFF_SECONDS = 600  # After a page with status 200 in place of data.
NETWORK_BACK_OFF_SECONDS = 30  # After no reply at all.
MAX_BACK_OFF_SECONDS = 3600
MAX_RETRY_AFTER_SECONDS = 86_400

BEAT_INTERVAL = timedelta(seconds=10)  # Between two recorded beats while EDGAR replies, as each is a commit.
_BLOCK_STATES = ("blocked_until", "blocked_times", "blocked_reason")

MAX_ERROR_PAGE_BYTES = 64 * 1024
REQUEST_SECONDS = 120.0  # Timeout of one document, including the largest ones of 100 MB.

_CONTENT_RANGE = re.compile(r"bytes [0-9]{1,15}-[0-9]{1,15}/([0-9]{1,15})")

# The SEC requires an email address in the User-Agent.
_CONTACT = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")


class BackOffError(Exception):
    """EDGAR must not be requested before ``until``.

    ``from_reply`` is True if EDGAR refused this very request, False if an earlier refusal is still in force.
    """

    def __init__(self, until: datetime, reason: str, *, from_reply: bool = True) -> None:
        super().__init__(f"EDGAR must not be requested before {iso(until)}: {reason}")
        self.until = until
        self.reason = reason
        self.from_reply = from_reply


@dataclass(frozen=True, slots=True)
class FetchResult:
    """The result of a request.

    ``kind`` is ``found`` with the ``body``, ``unchanged`` since it was last stored, ``missing``, or ``too_long`` for a
    document longer than any that is read. If the caller passed ``may_fail``, it may also be ``busy`` for a 503, or
    ``failed`` for any other error of this one path; ``reason`` describes it, and the path must not be requested again
    for ``retry_seconds``. The ``reason`` of a missing path is the status of the reply, or empty in a directory.
    """

    kind: Literal["found", "unchanged", "missing", "too_long", "busy", "failed"]
    url: str
    body: bytes = b""
    reason: str = ""
    retry_seconds: float = 0.0
    etag: str | None = None
    last_modified: str | None = None
    # Of a byte range: the length of the complete file.
    total_bytes: int = 0

    def store_validators(self, tx: Transaction) -> None:
        """Record that the body has been stored, so that EDGAR does not send it again while it is unchanged."""
        if self.etag or self.last_modified:
            tx.run("upsert_validator", url=self.url, etag=self.etag, last_modified=self.last_modified)


class Gateway:
    """A client of EDGAR, a mirror or an archive directory that sends one request at a time.

    ``wait`` waits for a number of seconds, and returns True if finapi is stopping.
    """

    def __init__(self, app: App, *, wait: Callable[[float], bool] | None = None) -> None:
        self._app = app
        self._stop = threading.Event()
        self._wait = wait or self._stop.wait
        self._directory = find_archive_directory(app.config.base_url)
        self._user_agent = app.config.user_agent
        check_config(app.config)
        self._outbound = Outbound(ReachPolicy(allows_any_address=True))
        # True after a refusal, also by another process: the next success is recorded immediately.
        self._was_refused = True
        self._last_beat_at: datetime | None = None

    def close(self) -> None:
        """Abort the current request and refuse later ones. Return immediately."""
        self._stop.set()
        self._outbound.close()

    def find_local_file(self, path: str) -> Path | None:
        """Return the file of a path in the archive directory, or None if requests go over the network."""
        return None if self._directory is None else self._directory / path.lstrip("/")

    def get_range(self, host: Host, path: str, start: int, size: int, version: str | None) -> FetchResult:
        """Fetch ``size`` bytes of a file from ``start``, of the given version (its ETag or modification time).

        The result is ``too_long`` if a long file has another version now or its host does not serve ranges.
        """
        headers = {"Range": f"bytes={start}-{start + size - 1}", "Accept-Encoding": "identity"}
        if version:
            headers["If-Range"] = version
        return self._request(host, path, headers, max(size, MAX_ERROR_PAGE_BYTES), may_fail=True)

    def get(self, host: Host, path: str, *, conditional: bool = False, may_fail: bool = False) -> FetchResult:
        """Fetch a path; ``conditional`` returns ``unchanged`` for a file that was stored before.

        Raise BackOffError if EDGAR must not be requested now, RequestStoppedError if finapi stops. With ``may_fail``,
        a reply that is not data concerns only this path and is returned as ``busy`` or ``failed``. Refusals because of
        the rate, and connections that cannot be made, still raise BackOffError.
        """
        if stopping.is_requested():
            raise RequestStoppedError
        if self._directory is not None:
            return self._count(self._read_file(self._directory, path))
        headers = {"Accept-Encoding": "gzip"}
        if conditional:
            with self._app.db.read() as tx:
                row = tx.find_row("validator", url=self._build_url(host, path))
            if row and row["etag"]:
                headers["If-None-Match"] = row["etag"]
            if row and row["last_modified"]:
                headers["If-Modified-Since"] = row["last_modified"]
        return self._request(host, path, headers, MAX_DOCUMENT_BYTES, may_fail)

    def _build_url(self, host: Host, path: str) -> str:
        return (self._app.config.base_url.rstrip("/") or HOSTS[host]) + path

    def _request(self, host: Host, path: str, headers: dict[str, str], max_bytes: int, may_fail: bool) -> FetchResult:
        self._check_not_blocked()
        url = self._build_url(host, path)
        # The pacer spreads the permitted requests evenly over each second.
        pause = self._app.edgar_pacer.reserve(self._app.config.edgar_per_second, time.monotonic())
        if pause > 0 and self._wait(pause):
            raise RequestStoppedError
        started_at = time.monotonic()
        request = OutboundRequest(
            url,
            headers={"User-Agent": self._user_agent, **headers},
            timeout_seconds=REQUEST_SECONDS,
            max_body_bytes=max_bytes,
            require_complete=True,
        )
        try:
            reply = self._outbound.send(request)
        except RequestStoppedError:
            raise
        except ReplyTooLongError:
            self._record_success(started_at)
            return self._count(FetchResult("too_long", url))
        except OutboundError as error:
            if may_fail and error.connected:
                return self._count(self._build_failure(url, error.reason, None, started_at))
            raise self._record_refusal(error.reason, NETWORK_BACK_OFF_SECONDS, None, started_at) from None
        return self._count(self._interpret_reply(url, reply, started_at, may_fail))

    def _check_not_blocked(self) -> None:
        """Raise BackOffError while an earlier refusal is in force."""
        with self._app.db.read() as tx:
            until = tx.find_value("poll_state", name="blocked_until")
            reason = tx.find_value("poll_state", name="blocked_reason")
        now = self._app.clock.now()
        # A time later than any back-off means that the clock was set back.
        latest = iso(now + timedelta(seconds=MAX_RETRY_AFTER_SECONDS))
        if until is not None and iso(now) < until <= latest:
            raise BackOffError(
                datetime.fromisoformat(until), reason or "it refused an earlier request", from_reply=False
            )

    def _count(self, fetched: FetchResult) -> FetchResult:
        self._app.metrics.count(metrics.EDGAR_REQUESTS, fetched.kind)
        return fetched

    def _interpret_reply(self, url: str, reply: Reply, started_at: float, may_fail: bool) -> FetchResult:
        """Return the result of a reply. Raise BackOffError if it is a refusal."""
        if reply.status == 304:
            self._record_success(started_at)
            return FetchResult("unchanged", url)
        body = _decode_body(reply)
        if _is_missing(reply, body):
            self._record_success(started_at)
            return FetchResult("missing", url, reason=f"answered {reply.status}")
        retry_after = reply.headers.get("retry-after")
        if reply.status == 503 and may_fail and retry_after is None:
            self._record_success(started_at)
            return FetchResult("busy", url, reason="answered 503")
        etag = reply.headers.get("etag")
        last_modified = reply.headers.get("last-modified")
        content_range = _CONTENT_RANGE.fullmatch(reply.headers.get("content-range", ""))
        if reply.status == 206 and content_range is not None:
            self._record_success(started_at)
            total_bytes = int(content_range[1])
            return FetchResult(
                "found", url, reply.body, etag=etag, last_modified=last_modified, total_bytes=total_bytes
            )
        if reply.status != 200:
            seconds = BACK_OFF_SECONDS.get(reply.status, ERROR_PAGE_BACK_OFF_SECONDS)
            reason = f"it answered {reply.status}"
            is_refusal = reply.status in (403, 429)
        elif body is None:
            seconds = NETWORK_BACK_OFF_SECONDS
            reason = "a reply that is not valid gzip or too large"
            is_refusal = False
        elif document_kinds.detect_kind(body[: document_kinds.MAX_PREFIX_BYTES], "") == "sec-error-page":
            seconds = ERROR_PAGE_BACK_OFF_SECONDS
            reason = "it answered with an error page"
            is_refusal = document_kinds.is_access_refusal(body)
        else:
            self._record_success(started_at)
            return FetchResult("found", url, body, etag=etag, last_modified=last_modified)
        if may_fail and not is_refusal:
            return self._build_failure(url, reason, retry_after, started_at)
        raise self._record_refusal(reason, seconds, retry_after, started_at)

    def _build_failure(self, url: str, reason: str, retry_after: str | None, started_at: float) -> FetchResult:
        """Return the ``failed`` result for one path. EDGAR itself replied, so other paths may be requested."""
        self._record_success(started_at)
        retry_seconds = _parse_retry_after(retry_after, self._app.clock.now()) or 0.0
        return FetchResult("failed", url, reason=reason.removeprefix("it "), retry_seconds=retry_seconds)

    def _read_file(self, directory: Path, path: str) -> FetchResult:
        """Return the file of a path in the archive directory. Raise BackOffError if the directory does not exist."""
        file = directory / path.partition("?")[0].lstrip("/")
        body: bytes | None = None
        try:
            # Opening a pipe would block, and keep the service from stopping.
            with open(file, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as stream:
                status = os.fstat(stream.fileno())
                if stat.S_ISREG(status.st_mode):
                    body = read_bounded(stream, MAX_DOCUMENT_BYTES, status.st_size)
        except OSError:
            body = None
        is_reachable = body is not None or directory.is_dir()
        failure = None if is_reachable else "the archive directory does not exist"
        now = self._app.clock.now()
        with self._app.db.write() as tx:
            heartbeats.record_beat(tx, "sec_gateway", now, failure=failure)
        if failure is not None:
            self._app.metrics.count(metrics.EDGAR_REQUESTS, "failed")
            raise BackOffError(now + timedelta(seconds=NETWORK_BACK_OFF_SECONDS), failure)
        return FetchResult("missing", str(file)) if body is None else FetchResult("found", str(file), body)

    def _record_success(self, started_at: float) -> None:
        """Record that EDGAR replied: always after a refusal, otherwise once every :data:`BEAT_INTERVAL`."""
        now = self._app.clock.now()
        if not self._was_refused and self._last_beat_at is not None and abs(now - self._last_beat_at) < BEAT_INTERVAL:
            return
        with self._app.db.write() as tx:
            for name in _BLOCK_STATES:
                tx.run("delete_poll_state", name=name)
            duration_ms = round((time.monotonic() - started_at) * 1000)
            heartbeats.record_beat(tx, "sec_gateway", now, took_ms=duration_ms)
        self._was_refused = False
        self._last_beat_at = now

    def _record_refusal(self, reason: str, seconds: float, retry_after: str | None, started_at: float) -> BackOffError:
        """Record that EDGAR must not be requested for some time. Return the error to raise."""
        self._was_refused = True
        now = self._app.clock.now()
        wait_seconds = _parse_retry_after(retry_after, now)
        with self._app.db.write() as tx:
            repetitions = int(tx.find_value("poll_state", name="blocked_times") or 0)
            if wait_seconds is None:
                wait_seconds = min(seconds * 2 ** min(repetitions, 10), MAX_BACK_OFF_SECONDS)
            until = now + timedelta(seconds=wait_seconds)
            tx.run("upsert_poll_state", name="blocked_until", value=iso(until))
            tx.run("upsert_poll_state", name="blocked_times", value=str(repetitions + 1))
            tx.run("upsert_poll_state", name="blocked_reason", value=reason)
            duration_ms = round((time.monotonic() - started_at) * 1000)
            heartbeats.record_beat(tx, "sec_gateway", now, took_ms=duration_ms, failure=reason)
        self._app.metrics.count(metrics.EDGAR_REQUESTS, "failed")
        return BackOffError(until, reason)


def check_config(config: Config) -> None:
    """Raise UsageError if the settings do not allow requests to EDGAR."""
    if find_archive_directory(config.base_url) is None and not _CONTACT.search(config.user_agent):
        raise UsageError("EDGAR requires a contact address: --user-agent 'Your Name name@example.com'")
    if not re.fullmatch(r"[\x20-\x7e]*", config.user_agent):
        raise UsageError("--user-agent must be ASCII, because it is sent in a header")


def find_archive_directory(base_url: str) -> Path | None:
    """Return the directory that a base URL names, as ``file:///path`` or a path, or None for any other URL."""
    if base_url and "://" not in base_url:
        return Path(base_url)
    parts = urlsplit(base_url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def _is_missing(reply: Reply, body: bytes | None) -> bool:
    """Return True for a 404, and for the 403 with which the SEC's storage reports that a path does not exist."""
    if body is None:
        return False
    prefix = body[:1000]
    is_storage_error = b"<Code>AccessDenied</Code>" in prefix or b"<Code>NoSuchKey</Code>" in prefix
    return reply.status == 404 or (reply.status == 403 and is_storage_error)


def _decode_body(reply: Reply) -> bytes | None:
    """Return the body without its gzip encoding, or None if it is invalid, truncated or too long."""
    encoding = reply.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return reply.body
    if encoding != "gzip":
        return None
    decompressor = zlib.decompressobj(wbits=31)
    try:
        body = decompressor.decompress(reply.body, MAX_DOCUMENT_BYTES)
    except zlib.error:
        return None
    return body if decompressor.eof else None


def _parse_retry_after(text: str | None, now: datetime) -> float | None:
    """Return the seconds of a ``Retry-After`` header within bounds, or None if it is invalid (RFC 9110, 10.2.3)."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", text.strip()):
        seconds = float(text)
    else:
        try:
            seconds = (parsedate_to_datetime(text) - now).total_seconds()
        except (TypeError, ValueError):
            return None
    return min(max(seconds, 1.0), MAX_RETRY_AFTER_SECONDS)
