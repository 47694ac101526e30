"""What the server writes: the head of an answer, and what a call of the application gives (PEP 3333)."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus

from waitress.task import WSGITask
from waitress.utilities import build_http_date

Headers = Sequence[tuple[str, str]]

SILENT = logging.Logger("silent", logging.CRITICAL)


class ClientGone(Exception):
    """The connection is closed, or has been answered in the application's place."""


@lru_cache(maxsize=1)
def http_date(second: int) -> str:
    """A second since 1970 as ``Date`` tells it."""
    return str(build_http_date(second))


def head(status: str, headers: Headers, version: str = "1.1") -> bytes:
    """The head of an answer, dated unless it has a Date; ValueError for a header that would be two."""
    fields = "".join([f"{name}: {value}\r\n" for name, value in headers])
    dated = fields.startswith("Date: ") or "\nDate: " in fields
    date = "" if dated else f"Date: {http_date(int(time.time()))}\r\n"
    written = f"HTTP/{version} {status}\r\n{fields}{date}\r\n".encode("latin-1")
    if not written.count(b"\r") == written.count(b"\n") == len(headers) + 3 - dated:
        raise ValueError("a response header contains a line break")
    return written


def last_answer(status: int, headers: Headers, body: bytes) -> tuple[bytes, bytes]:
    """The head and the body of an answer that ends the connection."""
    headers = [*headers, ("Content-Length", str(len(body))), ("Connection", "close")]
    return head(f"{status} {HTTPStatus(status).phrase}", headers), body


class RequestTask(WSGITask):  # type: ignore[misc]
    """A call of the application, whose answer the connection sends."""

    wrote_header: bool
    close_on_finish: bool
    chunked_response: bool

    def run(self, deadline: float) -> None:
        """Call the application and write what it gives; ClientGone when nobody takes it."""
        # Not by waitress's service(), which swallows an OSError for the client's: here only the application raises any.
        own = {"SERVER_SOFTWARE": "finapi", "finapi.deadline": deadline, "finapi.reset": self.channel.reset}
        own["finapi.cut"] = lambda: self.channel.cut
        own["finapi.when_sent"] = self.channel.call_when_sent
        own["finapi.pace"] = self.channel.hold_back
        own["finapi.short"] = self.be_short
        self.get_environment().update(own)
        self.start()
        self.execute()
        self.finish()

    def be_short(self) -> None:
        """Warn of no answer that ends before its length: the application means it."""
        self.logger = SILENT

    def build_response_header(self) -> bytes:
        """The head; a 304 does not end the connection, and a stop or any "close" of the client's does."""
        if self.request.connection_close or self.channel.server.stopping:
            self.set_close_on_finish()
        if self.version == "1.1" and (self.content_length is not None or not self.has_body):
            return head(self.status, self.response_headers)
        written: bytes = super().build_response_header()
        return written

    def write(self, data: bytes) -> None:
        """Write a part of the body, or nothing of one for HEAD."""
        body = self.request.command != "HEAD"
        super().write(data if body else b"")
        self.chunked_response = self.chunked_response and body  # else finish() writes the last chunk
