"""Mail: three ways for letters to leave, and the queue that they wait in.

A mechanism: it knows templates by name only, and neither users nor HTTP. The queue holds no address, no link
and no key; ``render`` makes a letter of its row when it is sent.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import stat
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from finapi.core.clock import Clock, iso
from finapi.core.errors import UsageError
from finapi.core.files import sync_directory, write_new
from finapi.core.temporary import sweep
from finapi.net.letters import Letter, MailError, MailStopped, mailbox
from finapi.store.db import Database, Row, Transaction

# Loaded with the first mail: most commands send none.
if TYPE_CHECKING:
    import ssl
    from email.message import EmailMessage

log = logging.getLogger("finapi.mail")

# How long an attempt's failure is waited out, in seconds: first a restart of the server, then greylisting
# (minutes), then an outage that somebody has to notice. A reset link lives 24 h and must not arrive dead.
RETRY_SECONDS = (60, 300, 1800, 7200)
ATTEMPTS = len(RETRY_SECONDS) + 1

# When an attempt of which no result was recorded is made again: surely over, and a restart is not noticed.
LEASE = timedelta(seconds=60)

# Mails that one pass of the queue sends at most, so that a slow server cannot make a pass endless.
BATCH = 20

# How often files are looked for that are too old.
PRUNE_EVERY = timedelta(hours=1)

# Messages that a Memory keeps: more than any test sends, a few MB at most.
MEMORY_LIMIT = 1000

# The names of the files that we write.
_WRITTEN = r"[0-9]{8}T[0-9]{9}Z-[0-9]{6,}\.eml"


# ---------------------------------------------------------------------------------------------- transports


class Transport(Protocol):
    """A way for mail to leave."""

    def send(self, message: EmailMessage, seconds: float) -> None:
        """Hand the message over within ``seconds`` of real time, or raise a MailError."""
        ...

    def close(self) -> None:
        """Break off what is being sent and refuse what comes later, with a MailError; returns at once."""
        ...

    def prune(self, before: datetime) -> int:
        """Remove what was kept of mails sent before a time; how many those were."""
        ...


def transport(text: str, clock: Clock, *, context: ssl.SSLContext | None = None) -> Transport:
    """The transport that a setting names: ``smtp://...``, ``smtps://...``, ``dir:PATH`` or ``memory:``.

    Anything else is a UsageError, which never repeats the text: a password may stand in it.
    """
    kind, _, rest = text.partition(":")
    if kind in ("smtp", "smtps"):
        from finapi.net.smtp import Smtp

        return Smtp(text, context=context)
    if kind == "dir" and rest:
        return Directory(Path(rest), clock)
    if text == "memory:":
        return Memory()
    raise UsageError("mail goes to smtp://HOST, smtps://HOST, dir:PATH or memory:")


class Memory:
    """Keeps the newest ``limit`` messages, for tests and the fixture."""

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self._messages: deque[EmailMessage] = deque(maxlen=limit)
        self._lock = threading.Lock()

    def send(self, message: EmailMessage, seconds: float) -> None:
        """Keep the message."""
        with self._lock:
            self._messages.append(message)

    def messages(self) -> list[EmailMessage]:
        """What was sent, oldest first."""
        with self._lock:
            return list(self._messages)

    def clear(self) -> None:
        """Forget every message."""
        with self._lock:
            self._messages.clear()

    def close(self) -> None:
        """Nothing to break off."""

    def prune(self, before: datetime) -> int:
        """Nothing to remove: it keeps a number of messages, whatever their age."""
        return 0


class Directory:
    """Writes each message to a file ``TIME-NUMBER.eml``: CRLF lines as SMTP would carry them, mode 0600.

    The directory is made (mode 0700) when it is not there, and closed to others when it is; UsageError when it is
    not ours to close. A file appears whole or not at all, none is overwritten, and their names sort in the order of
    sending.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        if path.is_dir():
            _close(path)
        self._path = path
        self._clock = clock
        self._pruned_before = datetime.min.replace(tzinfo=UTC)
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def send(self, message: EmailMessage, seconds: float) -> None:
        """Write the message to the disk. A file that cannot be written is a MailError."""
        data = message.as_bytes()
        try:
            with self._lock:
                name = self._write(data)
        except OSError as error:
            raise MailError(f"cannot write to the mail directory: {error.strerror}") from None
        log.info("a mail was written to %s", self._path / name)

    def close(self) -> None:
        """Nothing to break off."""

    def prune(self, before: datetime) -> int:
        """Remove the files of mails that were written before a time. Return their number.

        What killed processes left is removed too. Files with other names are not touched. The directory is read once an
        hour at most.
        """
        with self._lock:
            if before - self._pruned_before < PRUNE_EVERY:
                return 0
            self._pruned_before = before
            sweep(self._path)
            stamp = _stamp(before)
            old = [one for one in self._path.glob("*.eml") if re.fullmatch(_WRITTEN, one.name) and one.name < stamp]
            for one in old:
                one.unlink(missing_ok=True)
        return len(old)

    def _write(self, data: bytes) -> str:
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        stamp = _stamp(self._clock.now())
        while True:
            name = f"{stamp}-{next(self._numbers):06}.eml"
            with suppress(FileExistsError):
                write_new(self._path / name, data, "mail")
                break
        sync_directory(self._path)
        return name


def _stamp(moment: datetime) -> str:
    """A time as the names of files begin with it: ``20260131T120000000Z``."""
    return re.sub(r"[-:.]", "", iso(moment))


def _close(path: Path) -> None:
    """Take a directory's permissions from everybody but its owner."""
    status = path.stat()
    if not status.st_mode & 0o077:
        return
    if status.st_uid != os.geteuid() or status.st_mode & stat.S_ISVTX:
        raise UsageError(f"{path} is readable by others; mails contain keys, so name a private directory")
    path.chmod(0o700)
    log.warning("%s was open to others; it is closed now, as mails hold links and keys", path)


# ------------------------------------------------------------------------------------------------ sending


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Post:
    """How mail leaves: by which transport, from which mailbox, within how many seconds each."""

    transport: Transport
    sender: str
    # From the look-up of the server's name to its last answer, in real time.
    seconds: float = 10.0
    # How long the record of a mail that is sent, dropped or given up is kept.
    record_days: int = 30

    def __post_init__(self) -> None:
        try:
            mailbox(self.sender)
        except MailError:
            raise UsageError("the sender of mail must be name@domain or Shown Name <name@domain>") from None


# Makes the letter that (template, row id) stands for, or None when it is no longer wanted.
Render = Callable[[str, int], Letter | None]

# Told of a mail given up, in the transaction that records it: (transaction, template, row id).
GivenUp = Callable[[Transaction, str, int], None]


def send_now(post: Post, letter: Letter, now: datetime, unique: str) -> None:
    """Send the letter while the caller waits, at most ``post.seconds``; a MailError when it did not leave."""
    from finapi.net.messages import compose

    post.transport.send(compose(letter, post.sender, now, unique), post.seconds)


def enqueue(tx: Transaction, template: str, subject_id: int, now: datetime) -> int:
    """Put a mail into the queue, due at once; its row id."""
    return tx.insert_row("insert_mail", template=template, subject_id=subject_id, now=iso(now))


def send_due(db: Database, post: Post, now: datetime, *, render: Render, given_up: GivenUp) -> float | None:
    """Send what is due: one pass; seconds until the next mail is due, None when the queue is empty.

    Each attempt is recorded before it is made, so that a crash may send a mail twice (with the same Message-ID) and
    never loses one. A failure that may pass also ends the pass, so that a stop need not wait for the others.
    """
    with db.read() as tx:
        # Later than any schedule says: the clock was put back.
        latest = now + timedelta(seconds=RETRY_SECONDS[-1])
        due = tx.list_rows("due_mails", now=iso(now), latest=iso(latest), limit=BATCH)
    for row in due:
        with db.write() as tx:
            if not tx.run("claim_mail", id=row["id"], attempts=row["attempts"], due_at=iso(now + LEASE)):
                continue  # another pass has it
        state, reason, again = _attempt(post, row, render)
        due_at = None if again is None else iso(now + timedelta(seconds=again))
        with db.write() as tx:
            tx.run("forget_mails", before=iso(now - timedelta(days=post.record_days)))
            changed = tx.run("record_mail", id=row["id"], state=state, reason=reason, due_at=due_at, now=iso(now))
            if changed and state == "given_up":
                given_up(tx, row["template"], row["subject_id"])
        what = (row["id"], row["template"], row["attempts"] + 1, reason)
        if state == "given_up":
            log.error("mail %d (%s) given up at attempt %d: %s", *what)
        elif again is not None:
            log.warning("mail %d (%s) failed at attempt %d: %s; next in %d s", *what, again)
        if state == "queued":
            break
    with db.read() as tx:
        next_due = tx.find_value("next_mail_due")
    return None if next_due is None else max(0.0, (datetime.fromisoformat(next_due) - now).total_seconds())


def _attempt(post: Post, row: Row, render: Render) -> tuple[str, str | None, int | None]:
    """What came of an attempt: the state of the mail, why, and in how many seconds it is due again."""
    try:
        letter = render(row["template"], row["subject_id"])
        if letter is None:
            return "dropped", None, None
        # Every attempt carries the first one's Date and Message-ID: it is the same message.
        created_at = datetime.fromisoformat(row["created_at"])
        send_now(post, letter, created_at, f"{row['id']}.{re.sub('[^0-9]', '', row['created_at'])}")
        return "sent", None, None
    except MailStopped:
        return "queued", None, None
    except MailError as error:
        reason, permanent = error.reason, error.permanent
    except Exception as error:
        # A mistake in a template must not hold up the others behind it.
        log.exception("mail %d (%s) cannot be made", row["id"], row["template"])
        reason, permanent = f"cannot be made: {type(error).__name__}", False
    attempt = row["attempts"] + 1
    if permanent or attempt >= ATTEMPTS:
        return "given_up", reason, None
    return "queued", reason, RETRY_SECONDS[attempt - 1]
