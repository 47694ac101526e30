"""Log lines on stderr, for people (text) or for machines (JSON, an object a line).

A record may carry ``fields``, a dict that is written beside its message. Nothing here ever sees a key or a
token: the callers log paths without queries and users by their uuid.
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
    """A record as a line: a JSON object ("json"), or time, level, message and its fields ("text")."""

    def __init__(self, kind: str, clock: Clock) -> None:
        super().__init__()
        self._kind = kind
        self._clock = clock

    def format(self, record: logging.LogRecord) -> str:
        """The record's line; in a text control characters are escaped, and a traceback stands below it."""
        parts: dict[str, Any] = {
            "time": iso(self._clock.now()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        error = self.formatException(record.exc_info) if record.exc_info else None
        if self._kind == "json":
            return json.dumps({**parts, "error": error} if error else parts, default=str)
        head = f"{parts.pop('time')} {parts.pop('level'):7} {parts.pop('logger')}: {parts.pop('message')}"
        line = " ".join([head, *(f"{name}={_shown(value)}" for name, value in parts.items())])
        # A message with a line break in it must not look like a second record.
        line = line.encode("unicode_escape").decode("ascii") if not line.isprintable() else line
        # Indented, so that no line of it can pass for a record.
        return "\n  ".join([line, *error.splitlines()]) if error else line


# Lines that wait for whoever reads them, and characters of one: a traceback fits many times over.
MAX_QUEUED_LINES = 4_000
MAX_LINE_LENGTH = 16_384
MAX_BATCH_LINES = 100  # lines of one write
DRAIN_SECONDS = 1.0  # that an exit gives to what is still waiting


class BackgroundHandler(logging.Handler):
    """Writes lines to a file descriptor from a thread of its own: a call never waits for whoever reads them.

    A pipe that nobody reads is full after 64 KB. What comes when LINES are waiting is dropped, counted in ``dropped``,
    and said so when there is room again.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.dropped_lines = 0
        self._said = 0
        self._descriptor = descriptor
        # Among the lines whoever waits until those before are written.
        self._lines: SimpleQueue[str | threading.Event] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="finapi-log", daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Put the record's line into the queue, or drop it."""
        if self._lines.qsize() >= MAX_QUEUED_LINES:
            self.dropped_lines += 1
            return
        try:
            self._lines.put(self.format(record)[:MAX_LINE_LENGTH])
        except Exception:
            self.handleError(record)
            return
        if self._thread.ident is None:
            with self.lock or threading.Lock():
                if self._thread.ident is None:
                    self._thread.start()

    def drain(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Wait until every line is written; whether that came within ``seconds``."""
        if self._thread.ident is None:
            return True
        written = threading.Event()
        self._lines.put(written)
        return written.wait(seconds)

    def _run(self) -> None:
        while True:
            found = [self._lines.get()]
            try:
                while len(found) < MAX_BATCH_LINES:
                    found.append(self._lines.get_nowait())
            except Empty:
                pass
            lines = [one for one in found if isinstance(one, str)]
            if self.dropped_lines > self._said:
                self._said, number = self.dropped_lines, self.dropped_lines - self._said
                why = logging.LogRecord("finapi.logs", logging.WARNING, "", 0, "%d lines were dropped", (number,), None)
                lines.append(self.format(why))
            data = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
            try:
                # Not through sys.stderr: its lock would be held for as long as nobody reads, and the exit waits for it.
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                self.dropped_lines += len(lines)  # there is nobody to tell
            for one in found:
                if isinstance(one, threading.Event):
                    one.set()


_handler: BackgroundHandler | None = None


def count_dropped_lines() -> int:
    """How many lines were dropped since the start."""
    return _handler.dropped_lines if _handler is not None else 0


def configure(format: str, level: str, stream: TextIO | None = None, clock: Clock | None = None) -> None:
    """Send the records of finapi and waitress to ``stream`` (stderr) in ``format`` ("text" or "json")."""
    handler: logging.Handler = logging.StreamHandler(stream) if stream is not None else _background()
    handler.setFormatter(LogFormatter(format, clock or SystemClock()))
    for name in ("finapi", "waitress"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())


def _background() -> logging.Handler:
    """The handler that writes to the process's stderr; one that has no descriptor is written to at once."""
    global _handler
    try:
        descriptor = sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return logging.StreamHandler(sys.stderr)
    if _handler is None:
        _handler = BackgroundHandler(descriptor)
        atexit.register(_handler.drain)
    return _handler


def _shown(value: Any) -> str:
    text = "-" if value is None else str(value)
    return json.dumps(text, ensure_ascii=False) if " " in text or "=" in text or '"' in text else text
