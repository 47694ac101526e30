"""Log lines on stderr, for people (text) or for machines (JSON, an object a line).

A record may carry ``fields``, a dict that is written beside its message. Nothing here ever sees a key or a
token: the callers log paths without queries and users by their uuid.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, TextIO

from finapi.clock import Clock, SystemClock, iso


class _Formatter(logging.Formatter):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def _parts(self, record: logging.LogRecord) -> dict[str, Any]:
        parts: dict[str, Any] = {
            "time": iso(self._clock.now()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        parts.update(getattr(record, "fields", {}))
        if record.exc_info:
            parts["error"] = self.formatException(record.exc_info)
        return parts


class JsonFormatter(_Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON text without a line break."""
        return json.dumps(self._parts(record), default=str)


class TextFormatter(_Formatter):
    """Time, level, message, then ``name=value`` for each field; control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line, with a traceback below it where there is one."""
        parts = self._parts(record)
        error = parts.pop("error", None)
        head = f"{parts.pop('time')} {parts.pop('level'):7} {parts.pop('logger')}: {parts.pop('message')}"
        line = " ".join([head, *(f"{name}={_shown(value)}" for name, value in parts.items())])
        # A message with a line break in it must not look like a second record.
        line = line.encode("unicode_escape").decode("ascii") if not line.isprintable() else line
        # Indented, so that no line of it can pass for a record.
        return "\n  ".join([line, *error.splitlines()]) if error else line


def configure(format: str, level: str, stream: TextIO | None = None, clock: Clock | None = None) -> None:
    """Send the records of finapi and waitress to ``stream`` (stderr) in ``format`` ("text" or "json")."""
    formatter = JsonFormatter if format == "json" else TextFormatter
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter(clock or SystemClock()))
    for name in ("finapi", "waitress"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())


def _shown(value: Any) -> str:
    text = "-" if value is None else str(value)
    return json.dumps(text, ensure_ascii=False) if " " in text or "=" in text or '"' in text else text
