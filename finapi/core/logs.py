"""Log lines on stderr, for people (text) or for programs (JSON, one object a line).

A record may have ``fields``, a dict that is written after its message. No key or token may be logged: callers log paths
without their queries, and users by their UUID.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any, TextIO

from finapi.core.clock import Clock, SystemClock, iso


class LogFormatter(logging.Formatter):
    """Formats a record as a JSON object (kind "json"), or as time, level, logger, message and fields ("text")."""

    def __init__(self, kind: str, clock: Clock) -> None:
        super().__init__()
        self._kind = kind
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record. In a text, control characters are escaped and a traceback follows, indented."""
        time = iso(self._clock.now())
        level = record.levelname.lower()
        fields: dict[str, Any] = getattr(record, "fields", {})
        traceback = self.formatException(record.exc_info) if record.exc_info else None
        if self._kind == "json":
            members = {"time": time, "level": level, "logger": record.name, "message": record.getMessage(), **fields}
            if traceback:
                members["error"] = traceback
            return json.dumps(members, default=str)
        head = f"{time} {level:7} {record.name}: {record.getMessage()}"
        line = " ".join([head, *(f"{name}={_format_field(value)}" for name, value in fields.items())])
        if not line.isprintable():
            # A message with a line break must not look like a second record.
            line = line.encode("unicode_escape").decode("ascii")
        # The traceback is indented, so that none of its lines looks like a record.
        return "\n  ".join([line, *traceback.splitlines()]) if traceback else line


MAX_QUEUED_LINES = 4_000
MAX_LINE_LENGTH = 16_384  # Characters. Long enough for most tracebacks.
MAX_BATCH_LINES = 100  # The maximum number of lines in one write.
DRAIN_SECONDS = 1.0  # How long an exit waits until the queued lines are written.


class BackgroundHandler(logging.Handler):
    """Writes lines to a file descriptor in its own thread, so that no call waits for the reader of the log.

    A pipe that is not read is full after 64 KB. While ``MAX_QUEUED_LINES`` lines are queued, further lines are dropped
    and counted in ``dropped_lines``. Their number is logged when there is room again.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.dropped_lines = 0
        self._reported_lines = 0  # The number of dropped lines that has been logged.
        self._descriptor = descriptor
        # Lines, and events to set when all earlier lines have been written.
        self._queue: SimpleQueue[str | threading.Event] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="finapi-log", daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the line of a record, or drop it."""
        if self._queue.qsize() >= MAX_QUEUED_LINES:
            self.dropped_lines += 1
            return
        try:
            self._queue.put(self.format(record)[:MAX_LINE_LENGTH])
        except Exception:
            self.handleError(record)
            return
        if self._thread.ident is None:
            with self.lock or threading.Lock():
                if self._thread.ident is None:
                    self._thread.start()

    def drain(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Wait until all queued lines are written. Return False if that took more than ``seconds``."""
        if self._thread.ident is None:
            return True
        lines_are_written = threading.Event()
        self._queue.put(lines_are_written)
        return lines_are_written.wait(seconds)

    def _run(self) -> None:
        while True:
            batch = self._take_batch()
            lines = [line for line in batch if isinstance(line, str)]
            lines += self._report_dropped_lines()
            self._write(lines)
            for event in batch:
                if isinstance(event, threading.Event):
                    event.set()

    def _take_batch(self) -> list[str | threading.Event]:
        """Wait for a queued entry. Return it with the entries that follow, at most ``MAX_BATCH_LINES``."""
        batch = [self._queue.get()]
        try:
            while len(batch) < MAX_BATCH_LINES:
                batch.append(self._queue.get_nowait())
        except Empty:
            pass
        return batch

    def _report_dropped_lines(self) -> list[str]:
        """Return a line with the number of lines that were dropped since the last report, if there are any."""
        dropped_lines = self.dropped_lines
        count = dropped_lines - self._reported_lines
        if count == 0:
            return []
        self._reported_lines = dropped_lines
        message = "%d lines were dropped"
        return [self.format(logging.LogRecord("finapi.logs", logging.WARNING, "", 0, message, (count,), None))]

    def _write(self, lines: list[str]) -> None:
        unwritten = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
        try:
            # sys.stderr is not used: its lock would be held while the pipe is full, and an exit would wait for the
            # lock.
            while unwritten:
                unwritten = unwritten[os.write(self._descriptor, unwritten) :]
        except OSError:
            self.dropped_lines += len(lines)  # This cannot be logged, because stderr is closed.


_handler: BackgroundHandler | None = None


def count_dropped_lines() -> int:
    """Return the number of lines that were dropped since the start."""
    return _handler.dropped_lines if _handler is not None else 0


def configure(format: str, level: str, stream: TextIO | None = None, clock: Clock | None = None) -> None:
    """Write the records of finapi and waitress to ``stream`` (by default stderr) as "text" or "json"."""
    handler: logging.Handler = logging.StreamHandler(stream) if stream is not None else _get_stderr_handler()
    handler.setFormatter(LogFormatter(format, clock or SystemClock()))
    for name in ("finapi", "waitress"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())


def _get_stderr_handler() -> logging.Handler:
    """Return the handler that writes to stderr in the background, or directly if stderr has no file descriptor."""
    global _handler
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return logging.StreamHandler(sys.stderr)
    if _handler is None:
        _handler = BackgroundHandler(descriptor)
        atexit.register(_handler.drain)
    return _handler


def _format_field(value: Any) -> str:
    text = "-" if value is None else str(value)
    return json.dumps(text, ensure_ascii=False) if " " in text or "=" in text or '"' in text else text
