"""The data directory: one process locks and writes it, and other commands are handed over to that process.

SQLite before 3.51.3 can damage a WAL when two connections write at the same time (DECISIONS 15). So the process that
writes holds a lock on the directory. While a server runs, a command of ``finapi`` is sent to it over a Unix socket in
the directory, and the server performs it.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import pwd
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from finapi.core import stopping
from finapi.core.errors import UsageError

log = logging.getLogger("finapi.datadir")

LOCK = "lock"
DATABASE = "finapi.db"
SOCKET = "control.sock"
DESCRIPTORS = "/proc/self/fd"  # The open files of this process.
LOCK_RETRY_SECONDS = 0.1
# Mode bits that a data directory must not have. The group may read it, and other users have no permissions.
FORBIDDEN_BITS = 0o027
MAX_REQUEST_BYTES = 1 << 20
CONNECT_SECONDS = 5.0
# At a stop, a running command has REPORT_SECONDS to report what it has done. Then its database queries are interrupted
# for BREAK_SECONDS. A command that still runs is abandoned; its thread ends with the process.
REPORT_SECONDS, BREAK_SECONDS = 1.5, 1.5
BREAK_INTERVAL_SECONDS = 0.01

Stream = Literal["out", "err", "progress"]
Say = Callable[[Stream, str], None]


class Command(NamedTuple):
    """A handed-over command: its arguments, its working directory, its standard input and the user who gave it."""

    words: list[str]
    directory: str
    stdin: str
    system_user: str


# Performs a command: (command, output function) -> exit status.
Perform = Callable[[Command, Say], int]


class DirectoryBusyError(Exception):
    """Another process has locked the directory."""


class CommandInterruptedError(Exception):
    """The process that performed a command ended before the command did."""


@contextmanager
def lock_directory(directory: Path, patience: float = 0.0) -> Iterator[None]:
    """Lock the directory for writing until the block ends. Create it (mode 0700) if it does not exist.

    Raise DirectoryBusyError if another process still has the lock after ``patience`` seconds, and UsageError if other
    users have access to it.
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
            threading.Event().wait(LOCK_RETRY_SECONDS)
    try:
        yield
    finally:
        # The kernel releases the lock when the handle is closed, and when the process is killed.
        os.close(handle)


def check_permissions(directory: Path) -> None:
    """Raise UsageError, with the command that repairs it, if a directory is open to others or group-writable."""
    if directory.stat().st_mode & FORBIDDEN_BITS:
        raise UsageError(f"{directory} is open to others; restrict it with: chmod 700 {shlex.quote(str(directory))}")


def get_system_user() -> str:
    """Return the name of the system's user who runs this process, or the number of a user without a name.

    With sudo the name of the user who logged in is added: ``root (ann)``.
    """
    user_id = os.getuid()
    try:
        name = pwd.getpwuid(user_id).pw_name
    except KeyError:
        name = str(user_id)
    try:
        login_name = os.getlogin()
    except OSError:  # The process has no terminal.
        return name
    return name if login_name == name else f"{name} ({login_name})"


def hand_over(directory: Path, words: list[str], say: Say, stdin: str = "") -> int:
    """Let the process that has locked the directory perform a command. Return its exit status."""
    with _open_address(directory) as address, socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(CONNECT_SECONDS)
        try:
            connection.connect(address)
        except OSError:
            raise UsageError(f"{directory} is in use by another process that does not accept commands") from None
        connection.settimeout(None)  # Commands such as an ingest have no time limit.
        fields = {"words": words, "cwd": os.getcwd(), "stdin": stdin, "user": get_system_user()}
        request = json.dumps(fields).encode() + b"\n"
        for message in _iter_messages(connection, request):
            if "exit" in message:
                return int(message["exit"])
            for stream, text in message.items():
                say(stream, text)
    raise CommandInterruptedError("the server stopped before the command was done; it is safe to try again")


def _iter_messages(connection: socket.socket, request: bytes) -> Iterator[dict[Any, Any]]:
    """Send a request and yield the messages of its response until the connection ends or fails.

    A broken pipe of the caller's own output is raised.
    """
    with suppress(ConnectionError):
        connection.sendall(request)
        with connection.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


class CommandSocket:
    """The socket of a data directory, and the thread that performs the commands, one at a time."""

    def __init__(
        self, directory: Path, perform: Perform, interrupt_thread: Callable[[int], None] = lambda thread_id: None
    ) -> None:
        """Prepare the thread. ``interrupt_thread`` interrupts the database query of the thread with an id."""
        self._directory = directory
        self._perform = perform
        self._interrupt_thread = interrupt_thread
        self._socket = socket.socket(socket.AF_UNIX)
        self._stop = threading.Event()
        self._current: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, name="finapi-commands", daemon=True)

    def __enter__(self) -> CommandSocket:
        try:
            with _open_address(self._directory) as address:
                (self._directory / SOCKET).unlink(missing_ok=True)
                self._socket.bind(address)
            # No process can connect between bind and listen, so the mode is set in time.
            (self._directory / SOCKET).chmod(0o600)
            self._socket.listen()
        except UsageError:
            self._socket.close()
            raise
        except OSError as error:
            self._socket.close()
            raise UsageError(f"cannot accept commands in {self._directory}: {error.strerror}") from None
        self._thread.start()
        return self

    def request_stop(self) -> None:
        """Request that a running command ends at its next step, and accept no other. Return immediately."""
        self._stop.set()
        # The directory may have become read-only or may be gone. That must not prevent the stop.
        with suppress(OSError):
            (self._directory / SOCKET).unlink()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # Ends accept().

    def __exit__(self, *_: object) -> None:
        self.request_stop()
        self._thread.join(REPORT_SECONDS)
        current = self._current
        if current is not None:
            with suppress(OSError):
                current.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + BREAK_SECONDS
        while self._thread.is_alive() and time.monotonic() < until:
            if self._thread.ident is not None:
                self._interrupt_thread(self._thread.ident)
            self._thread.join(BREAK_INTERVAL_SECONDS)
        self._socket.close()

    def _serve(self) -> None:
        while not self._stop.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # request_stop() has shut the socket down.
            with connection, stopping.watched_by(self._stop):
                self._current = connection
                # A client that disconnects loses only the output of its command. The client of a command that was
                # stopped sees the connection end without an exit status.
                with suppress(OSError, stopping.WorkStopped):
                    self._answer(connection)
                self._current = None

    def _answer(self, connection: socket.socket) -> None:
        """Read a command from a connection, perform it, and send its output and exit status."""

        def say(stream: Stream, text: str) -> None:
            # WorkStopped is raised only once, so that the stopped command can still report what it has done.
            stopping.check_unless_seen()
            connection.sendall(json.dumps({stream: text}).encode() + b"\n")

        connection.settimeout(CONNECT_SECONDS)
        with connection.makefile("rb") as stream:
            command = _parse_command(stream.readline(MAX_REQUEST_BYTES))
        connection.settimeout(None)
        if command is None:
            say("err", "finapi: the server did not understand the command")
            status = 2
        else:
            try:
                status = self._perform(command, say)
            except OSError:
                raise
            except Exception:
                if self._stop.is_set():
                    return  # The stop closed what the command used. The client reports that it was interrupted.
                log.exception("a command that was handed over failed")
                say("err", "finapi: the command failed in the server; its log says why")
                status = 1
        connection.sendall(json.dumps({"exit": status}).encode() + b"\n")


def _parse_command(line: bytes) -> Command | None:
    """Return the command of a request, or None if the request is not valid."""
    try:
        request = json.loads(line)
        words, directory = request["words"], request["cwd"]
        stdin, system_user = request.get("stdin", ""), request.get("user", "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    texts = [directory, stdin, system_user, *words] if isinstance(words, list) else [None]
    if not words or not all(isinstance(text, str) and "\0" not in text for text in texts):
        return None
    return Command(words, directory, stdin, system_user)


@contextmanager
def _open_address(directory: Path) -> Iterator[str]:
    """Yield an address of the socket that is short enough to bind: a path of more than 107 bytes cannot be bound.

    Raise UsageError on a system without ``/proc``, such as a bare chroot.
    """
    if not os.path.isdir(DESCRIPTORS):
        raise UsageError(f"{DESCRIPTORS} is missing: finapi needs /proc; mount it with: mount -t proc proc /proc")
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"{DESCRIPTORS}/{handle}/{SOCKET}"
    finally:
        os.close(handle)
