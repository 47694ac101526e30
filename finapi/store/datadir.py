"""The data directory: one process writes it, and other verbs hand their work to that process.

SQLite before 3.51.3 can corrupt a WAL when two connections write at once (DECISIONS 15): its one writer locks the
directory. Beside a running server a verb sends its words over a Unix socket, and the server does the work.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from finapi.core.errors import UsageError

log = logging.getLogger("finapi.datadir")

LOCK = "lock"
DATABASE = "finapi.db"
SOCKET = "control.sock"
LOCK_LOOK = 0.1  # seconds between two tries for a lock that is waited for
OPEN = 0o027  # the bits of a mode that a data directory must not have: its group may look, and no more
MAX_REQUEST = 1 << 20  # bytes of one handed-over command
CONNECT_SECONDS = 5.0
STOP_SECONDS = 5.0  # that a running command is given to end when the server stops

Stream = Literal["out", "err", "progress"]
Say = Callable[[Stream, str], None]

# (words of the command, directory it was typed in, what came on its standard input, where to write) -> exit status
Perform = Callable[[list[str], str, str, Say], int]


class DirectoryBusyError(Exception):
    """Another process holds the directory."""


class CommandInterruptedError(Exception):
    """The process that did the work went away before it was done."""


@contextmanager
def lock_directory(directory: Path, patience: float = 0.0) -> Iterator[None]:
    """Hold the directory as its one writer; it is made (mode 0700) when it is not there. Busy when taken, for longer
    than ``patience`` (seconds).

    UsageError for one that everybody can look into or that others can write.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_permissions(directory)
        handle = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(f"cannot use {directory} as data directory: {error.strerror}") from None
    until = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(handle)
                raise DirectoryBusyError(str(directory)) from None
            threading.Event().wait(LOCK_LOOK)
    try:
        yield
    finally:
        # The kernel frees the lock with the handle, and with the process when it is killed.
        os.close(handle)


def check_permissions(directory: Path) -> None:
    """UsageError, with the command that mends it, for a directory that is open to everybody or written by others."""
    if directory.stat().st_mode & OPEN:
        raise UsageError(f"{directory} is open to others; restrict it with: chmod 700 {shlex.quote(str(directory))}")


def hand_over(directory: Path, words: list[str], say: Say, stdin: str = "") -> int:
    """Let the process that holds the directory perform a command; its exit status."""
    with _address(directory) as address, socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect(address)
        except OSError:
            raise UsageError(f"{directory} is in use by another process that does not accept commands") from None
        connection.settimeout(None)  # an ingest takes as long as it takes
        request = json.dumps({"words": words, "cwd": os.getcwd(), "stdin": stdin}).encode() + b"\n"
        for message in _messages(connection, request):
            if "exit" in message:
                return int(message["exit"])
            for stream, text in message.items():
                say(stream, text)
    raise CommandInterruptedError("the server stopped before the command was done; it is safe to try again")


def _messages(connection: socket.socket, request: bytes) -> Iterator[dict[Any, Any]]:
    """What is said to a request, until the connection ends, however it does.

    A pipe that breaks where the messages are written is no end of the connection.
    """
    with suppress(ConnectionError):
        connection.sendall(request)
        with connection.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


class CommandSocket:
    """The socket of a data directory, in a thread of its own; one command at a time."""

    def __init__(self, directory: Path, perform: Perform) -> None:
        self._directory = directory
        self._perform = perform
        self._socket = socket.socket(socket.AF_UNIX)
        self._stopping = False
        self._current: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, name="finapi-door", daemon=True)

    def __enter__(self) -> CommandSocket:
        try:
            with _address(self._directory) as address:
                (self._directory / SOCKET).unlink(missing_ok=True)
                self._socket.bind(address)
            # Between bind and listen nobody can connect: the mode is set in time.
            (self._directory / SOCKET).chmod(0o600)
            self._socket.listen()
        except OSError as error:
            self._socket.close()
            raise UsageError(f"cannot accept commands in {self._directory}: {error.strerror}") from None
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        # The directory may be read-only by now, or away: that is no reason not to stop.
        with suppress(OSError):
            (self._directory / SOCKET).unlink()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes accept()
        # A command that was cut off says what it has done. One that hangs is left behind: its thread ends with the
        # process.
        self._thread.join(STOP_SECONDS / 2)
        current = self._current
        if current is not None:
            with suppress(OSError):
                current.shutdown(socket.SHUT_RDWR)
        self._thread.join(STOP_SECONDS / 2)
        self._socket.close()

    def _serve(self) -> None:
        while not self._stopping:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # shut down by __exit__
            with connection:
                self._current = connection
                # A client that goes away mid-command costs only its own output.
                with suppress(OSError):
                    self._answer(connection)
                self._current = None

    def _answer(self, connection: socket.socket) -> None:
        told = False

        def say(stream: Stream, text: str) -> None:
            nonlocal told
            if self._stopping and not told:
                told = True
                raise ConnectionAbortedError("the server is stopping")
            connection.sendall(json.dumps({stream: text}).encode() + b"\n")

        connection.settimeout(CONNECT_SECONDS)
        with connection.makefile("rb") as stream:
            command = _command(stream.readline(MAX_REQUEST))
        connection.settimeout(None)
        status = 2
        if command is None:
            say("err", "finapi: the server did not understand the command")
        else:
            try:
                status = self._perform(*command, say)
            except OSError:
                raise
            except Exception:
                if self._stopping:
                    return  # what it read was taken away: the client is told that it was cut off
                log.exception("a command that was handed over failed")
                say("err", "finapi: the command failed in the server; its log says why")
                status = 1
        connection.sendall(json.dumps({"exit": status}).encode() + b"\n")


def _command(line: bytes) -> tuple[list[str], str, str] | None:
    """The words of a command, the directory that it was typed in and its input; None for anything else."""
    try:
        request = json.loads(line)
        words, directory, stdin = request["words"], request["cwd"], request.get("stdin", "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    texts = [directory, stdin, *words] if isinstance(words, list) else [None]
    if not words or not all(isinstance(text, str) and "\0" not in text for text in texts):
        return None
    return words, directory, stdin


@contextmanager
def _address(directory: Path) -> Iterator[str]:
    """The socket's address through a handle of its directory: a path of over 107 bytes cannot be bound."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)
