"""Mail: three transports, and the queue of mails that are still to be sent.

This module knows templates by name only. The queue contains no addresses, links or keys: it has the name of a template
and the id of a row, and ``render`` builds the letter when it is sent.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from finapi.core import stopping
from finapi.core.clock import Clock, iso
from finapi.core.errors import UsageError
from finapi.core.files import sync_directory, write_new_file
from finapi.core.temporary import sweep
from finapi.net.letters import Letter, MailError, MailStoppedError, parse_mailbox
from finapi.store.db import Database, Row, Transaction

# At run time these are imported with the first mail, because most commands send none.
if TYPE_CHECKING:
    from email.message import EmailMessage

log = logging.getLogger("finapi.mail")

# Delays after each failed attempt: long enough for a restart of the mail server, then for greylisting (minutes), then
# for an outage. Their sum is far below the 24 h after which a reset link expires.
RETRY_SECONDS = (60, 300, 1800, 7200)
MAX_ATTEMPTS = len(RETRY_SECONDS) + 1

# An attempt without a recorded result, because of a crash, is repeated after this time.
LEASE = timedelta(seconds=60)

# The maximum number of mails of one step, and the seconds after which a step begins no further mail. With a slow server
# a step would otherwise be endless.
BATCH, PASS_SECONDS = 20, 5.0

# The maximum number of old rows or old mail files that are deleted in one batch.
MAX_PRUNED = 1_000

# The interval between two searches for old files.
PRUNE_INTERVAL = timedelta(hours=1)

# The messages that a MemoryTransport stores at most: more than any test sends, and only a few MB.
MAX_MEMORY_MESSAGES = 1000

_FILE_NAME = r"[0-9]{8}T[0-9]{9}Z-[0-9]{6,}\.eml"


# ---------------------------------------------------------------------------------------------- transports


class Transport(Protocol):
    """A way to send mail."""

    def send(self, message: EmailMessage, seconds: float) -> None:
        """Send a message within ``seconds`` of real time. Raise MailError if that fails."""
        ...

    def close(self) -> None:
        """Interrupt a mail being sent and refuse later ones with a MailError. Return without waiting."""
        ...

    def prune(self, before: datetime) -> int:
        """Delete a batch of stored mails that were sent before a time. Return their number, 0 if there are no more."""
        ...


def create_transport(text: str, clock: Clock) -> Transport:
    """Return the transport of a setting: ``smtp://...``, ``smtps://...``, ``dir:PATH`` or ``memory:``.

    Raise UsageError for any other text, without repeating it, because it may contain a password.
    """
    kind, _, path = text.partition(":")
    if kind in ("smtp", "smtps"):
        from finapi.net.smtp import SmtpTransport

        return SmtpTransport(text)
    if kind == "dir" and path:
        return DirectoryTransport(Path(path), clock)
    if text == "memory:":
        return MemoryTransport()
    raise UsageError("the mail URL must be smtp://HOST, smtps://HOST, dir:PATH or memory:")


class MemoryTransport:
    """Stores the newest ``limit`` messages, for tests and the fixture."""

    def __init__(self, limit: int = MAX_MEMORY_MESSAGES) -> None:
        self._messages: deque[EmailMessage] = deque(maxlen=limit)
        self._lock = threading.Lock()

    def send(self, message: EmailMessage, seconds: float) -> None:
        """Store the message."""
        with self._lock:
            self._messages.append(message)

    def messages(self) -> list[EmailMessage]:
        """Return the stored messages, oldest first."""
        with self._lock:
            return list(self._messages)

    def clear(self) -> None:
        """Delete every message."""
        with self._lock:
            self._messages.clear()

    def close(self) -> None:
        """Do nothing: a message is stored immediately."""

    def prune(self, before: datetime) -> int:
        """Return 0: the number of messages is limited, not their age."""
        return 0


class DirectoryTransport:
    """Writes each message to a file ``TIME-NUMBER.eml`` (mode 0600) with CRLF line ends, as SMTP sends it.

    The directory is created (mode 0700) if it is missing. An existing one is closed to other users. UsageError is
    raised if that is not possible. A file is written completely or not at all and never overwritten. Names sort by
    sending time.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        if path.is_dir():
            _make_private(path)
        self._path = path
        self._clock = clock
        self._pruned_before = datetime.min.replace(tzinfo=UTC)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def send(self, message: EmailMessage, seconds: float) -> None:
        """Write the message to the disk. Raise MailError if the file cannot be written."""
        data = message.as_bytes()
        try:
            with self._lock:
                name = self._write(data)
        except OSError as error:
            raise MailError(f"cannot write to the mail directory: {error.strerror}") from None
        log.info("a mail was written to %s", self._path / name)

    def close(self) -> None:
        """Do nothing: a message is stored immediately."""

    def prune(self, before: datetime) -> int:
        """Delete a batch of mail files that were written before a time. Return their number.

        Temporary files of killed processes are removed too. Files with other names are not touched. The directory is
        read at most once an hour, except that a call which left old files is followed by another read.
        """
        with self._lock:
            if before - self._pruned_before < PRUNE_INTERVAL:
                return 0
            sweep(self._path)
            stamp = _format_stamp(before)
            names = os.listdir(self._path) if self._path.is_dir() else []
            old_names = (name for name in names if name < stamp and re.fullmatch(_FILE_NAME, name))
            old_files = list(itertools.islice(old_names, MAX_PRUNED))
            for name in old_files:
                (self._path / name).unlink(missing_ok=True)
            if len(old_files) < MAX_PRUNED:
                self._pruned_before = before
        return len(old_files)

    def _write(self, data: bytes) -> str:
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        stamp = _format_stamp(self._clock.now())
        while True:
            name = f"{stamp}-{next(self._numbers):06}.eml"
            with suppress(FileExistsError):
                write_new_file(self._path / name, data, "mail")
                break
        sync_directory(self._path)
        return name


def _format_stamp(moment: datetime) -> str:
    """Return the time as it is written in file names, ``20260131T120000000Z``."""
    return re.sub(r"[-:.]", "", iso(moment))


def _make_private(path: Path) -> None:
    """Remove a directory's permissions for everyone but its owner. Raise UsageError if it belongs to someone else."""
    status = path.stat()
    if not status.st_mode & 0o077:
        return
    if status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX:
        raise UsageError(f"{path} is readable by others; mails contain keys, so name a private directory")
    path.chmod(0o700)
    log.warning("%s was readable by others; its mode is 0700 now, because mails contain links and keys", path)


# ------------------------------------------------------------------------------------------------ sending


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MailSettings:
    """The transport and the sender of all mail."""

    transport: Transport
    sender: str
    # Real time for one mail, from the look-up of the server's name to the server's last answer.
    timeout_seconds: float = 10.0
    # Days after which the row of a sent, dropped or abandoned mail is deleted.
    record_days: int = 30

    def __post_init__(self) -> None:
        try:
            parse_mailbox(self.sender)
        except MailError:
            raise UsageError("the sender of mail must be name@domain or Display Name <name@domain>") from None


# Builds the letter for (template, row id). Returns None if the mail is no longer needed.
Render = Callable[[str, int], Letter | None]

# Called for an abandoned mail in the transaction that records it: (transaction, template, row id).
GiveUpHandler = Callable[[Transaction, str, int], None]


def send_now(settings: MailSettings, letter: Letter, now: datetime, unique: str) -> None:
    """Send a letter within ``settings.timeout_seconds``, while the caller waits. Raise MailError if that fails."""
    from finapi.net.messages import build_message

    settings.transport.send(build_message(letter, settings.sender, now, unique), settings.timeout_seconds)


def enqueue(tx: Transaction, template: str, subject_id: int, now: datetime) -> int:
    """Add a mail to the queue, due immediately, and return its row id."""
    return tx.insert_row("insert_mail", template=template, subject_id=subject_id, now=iso(now))


def send_due(
    db: Database, settings: MailSettings, now: datetime, *, render: Render, on_give_up: GiveUpHandler
) -> float | None:
    """Send the mails that are due, at most ``BATCH``. Return the seconds until the next one is due, or None.

    Each attempt is recorded before it is made: after a crash a mail may be sent twice (with the same Message-ID), but
    none is lost. The step ends at a temporary failure, and after the current mail if finapi is stopping.
    """
    until = time.monotonic() + PASS_SECONDS
    with db.read() as tx:
        # A due time later than this was written before the clock was set back.
        latest = now + timedelta(seconds=RETRY_SECONDS[-1])
        due = tx.list_rows("due_mails", now=iso(now), latest=iso(latest), limit=BATCH)
    for row in due:
        if stopping.is_requested() or time.monotonic() > until:
            break
        with db.write() as tx:
            if not tx.run("claim_mail", id=row["id"], attempts=row["attempts"], due_at=iso(now + LEASE)):
                continue  # Another process has claimed it.
        outcome = _attempt(settings, row, render)
        due_at = None if outcome.retry_seconds is None else iso(now + timedelta(seconds=outcome.retry_seconds))
        with db.write() as tx:
            tx.run("forget_mails", before=iso(now - timedelta(days=settings.record_days)), limit=MAX_PRUNED)
            state = outcome.state
            changed = tx.run(
                "record_mail", id=row["id"], state=state, reason=outcome.reason, due_at=due_at, now=iso(now)
            )
            if changed and state == "given_up":
                on_give_up(tx, row["template"], row["subject_id"])
        _log_outcome(row, outcome)
        if outcome.state == "queued":
            break
    with db.read() as tx:
        next_due = tx.find_value("next_mail_due")
    return None if next_due is None else max(0.0, (datetime.fromisoformat(next_due) - now).total_seconds())


class _Outcome(NamedTuple):
    """The result of an attempt: the state of the mail, the reason of a failure, and the seconds until a retry."""

    state: str
    reason: str | None = None
    retry_seconds: int | None = None


def _log_outcome(row: Row, outcome: _Outcome) -> None:
    attempt = row["attempts"] + 1
    if outcome.state == "given_up":
        log.error("mail %d (%s) given up at attempt %d: %s", row["id"], row["template"], attempt, outcome.reason)
    elif outcome.retry_seconds is not None:
        message = "mail %d (%s) failed at attempt %d: %s; next in %d s"
        log.warning(message, row["id"], row["template"], attempt, outcome.reason, outcome.retry_seconds)


def _attempt(settings: MailSettings, row: Row, render: Render) -> _Outcome:
    """Try to send a mail once and return the outcome."""
    try:
        letter = render(row["template"], row["subject_id"])
        if letter is None:
            return _Outcome("dropped")
        # Every attempt has the Date and Message-ID of the first one: it is the same message.
        created_at = datetime.fromisoformat(row["created_at"])
        send_now(settings, letter, created_at, f"{row['id']}.{re.sub('[^0-9]', '', row['created_at'])}")
        return _Outcome("sent")
    except MailStoppedError:
        return _Outcome("queued")
    except MailError as error:
        reason = error.reason
        permanent = error.permanent
    except Exception as error:
        # An error in a template must not stop the later mails in the queue.
        log.exception("mail %d (%s) cannot be built", row["id"], row["template"])
        reason = f"cannot be built: {type(error).__name__}"
        permanent = False
    attempt = row["attempts"] + 1
    if permanent or attempt >= MAX_ATTEMPTS:
        return _Outcome("given_up", reason)
    return _Outcome("queued", reason, RETRY_SECONDS[attempt - 1])
