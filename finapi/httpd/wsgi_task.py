"""A call of the application by WSGI (PEP 3333)."""

from __future__ import annotations

import logging

from waitress.task import WSGITask

from finapi.httpd.response_heads import build_head

SILENT_LOGGER = logging.Logger("silent", logging.CRITICAL)


class ClientDisconnectedError(Exception):
    """The connection accepts no more output, because it is closed or the server has sent another response."""


class RequestTask(WSGITask):  # type: ignore[misc]
    """A call of the application. The connection (``self.channel``) sends its response."""

    wrote_header: bool
    close_on_finish: bool
    chunked_response: bool

    def run(self, deadline: float) -> None:
        """Call the application and write its response.

        Raise ClientDisconnectedError if the connection takes no more output.
        """
        self.get_environment().update(
            {
                "SERVER_SOFTWARE": "finapi",
                "finapi.deadline": deadline,
                "finapi.reset": self.channel.reset,
                "finapi.abort_reason": lambda: self.channel.abort_reason,
                "finapi.when_sent": self.channel.call_when_sent,
                "finapi.pace": self.channel.pace_answer,
                "finapi.short": self.allow_short_body,
            }
        )
        # Not by service() of waitress, which takes an OSError for one of the client's and drops it. Here only the
        # application raises any.
        self.start()
        self.execute()
        self.finish()

    def allow_short_body(self) -> None:
        """Log no warning if the body is shorter than its declared length, because the application intends it."""
        self.logger = SILENT_LOGGER

    def build_response_header(self) -> bytes:
        """Return the head. The connection stays open after a 304; a stop or the client's "close" ends it."""
        if self.request.connection_close or self.channel.server.stopping:
            self.set_close_on_finish()
        if self.version == "1.1" and (self.content_length is not None or not self.has_body):
            return build_head(self.status, self.response_headers)
        head: bytes = super().build_response_header()
        return head

    def write(self, data: bytes) -> None:
        """Write a part of the body. For HEAD, nothing is written."""
        has_body = self.request.command != "HEAD"
        super().write(data if has_body else b"")
        # Otherwise finish() would write the last chunk.
        self.chunked_response = self.chunked_response and has_body
