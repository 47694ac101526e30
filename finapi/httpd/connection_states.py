"""The states of a connection, and the transitions that are permitted between them.

A connection is in exactly one state: the event that it waits for. It follows from the state whether the connection
reads, who may change it next, and what happens when its time is up. A short request, a request with a long body, and
the client's disconnect go through these states:

    IDLE -> READING_HEAD -> QUEUED -> CALLING -> IDLE
         -> READING_HEAD -> READING_BODY -> CHECKING_BODY -> READING_BODY -> QUEUED -> CALLING -> SENDING -> IDLE
         -> CLOSED

A client may send further requests before the first is answered (pipelining). They are parsed if they arrived together
with the first one, but they do not change the state: the state describes the first request until its answer has been
sent. A second request that is complete by then makes the connection QUEUED again; an incomplete one makes it
READING_HEAD or READING_BODY.

FINISHING ends a connection in good order: the last bytes are sent, then LINGERING waits for the client to close. A call
may still be running in its thread then; nothing of its answer is sent. CLOSED ends a connection immediately. Any state
may be followed by CLOSED, because a client may disconnect at any time.
"""

from __future__ import annotations

from enum import Enum


class ForbiddenTransitionError(Exception):
    """A transition that the table does not permit. It is a defect of the server, never a mistake of a client."""


class ConnectionState(Enum):
    """The state of a connection or of another socket in a loop."""

    __hash__ = object.__hash__  # Members are unique. The hash of Enum is slower, and every request changes the state.

    OPEN = "open"
    """A socket that does not speak HTTP: a feed's connection, or a listening socket."""

    IDLE = "idle"
    """Waiting for the first byte of a request."""

    READING_HEAD = "reading head"
    """Reading the request line and the header fields."""

    READING_BODY = "reading body"
    """Reading a body that did not arrive together with its head."""

    CHECKING_BODY = "checking body"
    """A thread asks the application whether it accepts the body. Nothing is read meanwhile."""

    QUEUED = "queued"
    """The request is complete and waits for a thread."""

    CALLING = "calling"
    """A thread calls the application and sends its answer."""

    PAUSED = "paused"
    """The thread of the call waits for the client to read, because there is no room for more of the answer."""

    PACING = "pacing"
    """The answer is complete. The loop holds it back and sends it piece by piece; no thread is occupied."""

    SENDING = "sending"
    """The call is over. The loop sends the part of the answer that the client has not read yet."""

    HANDING_OVER = "handing over"
    """The request belongs to the feeds. The socket leaves the server in the next round of the loop."""

    FINISHING = "finishing"
    """The last bytes are being sent. The connection takes no more requests and no more output."""

    LINGERING = "lingering"
    """Everything has been sent, and so has FIN. Waiting for the client to close; what it sends is dropped."""

    CLOSED = "closed"
    """The socket is closed, or belongs to somebody else."""


OPEN = ConnectionState.OPEN
IDLE = ConnectionState.IDLE
READING_HEAD = ConnectionState.READING_HEAD
READING_BODY = ConnectionState.READING_BODY
CHECKING_BODY = ConnectionState.CHECKING_BODY
QUEUED = ConnectionState.QUEUED
CALLING = ConnectionState.CALLING
PAUSED = ConnectionState.PAUSED
PACING = ConnectionState.PACING
SENDING = ConnectionState.SENDING
HANDING_OVER = ConnectionState.HANDING_OVER
FINISHING = ConnectionState.FINISHING
LINGERING = ConnectionState.LINGERING
CLOSED = ConnectionState.CLOSED

READING_STATES = frozenset({IDLE, READING_HEAD, READING_BODY})
ENDING_STATES = frozenset({FINISHING, LINGERING, CLOSED})

# The states after an answer of which every byte was produced: its rest is to be sent, or nothing is left to send and
# the connection returns to the next request, of which nothing, a part, or everything may have arrived.
_AFTER_ANSWER = {SENDING, IDLE, READING_HEAD, READING_BODY, QUEUED, HANDING_OVER, FINISHING, CLOSED}

PERMITTED_TRANSITIONS: dict[ConnectionState, frozenset[ConnectionState]] = {
    OPEN: frozenset({FINISHING, CLOSED}),
    IDLE: frozenset({READING_HEAD, CLOSED}),
    # From READING_HEAD to IDLE or SENDING: the answer was in memory, so that no call was needed.
    READING_HEAD: frozenset({READING_BODY, QUEUED, HANDING_OVER, IDLE, SENDING, FINISHING, CLOSED}),
    READING_BODY: frozenset({CHECKING_BODY, QUEUED, HANDING_OVER, FINISHING, CLOSED}),
    # To SENDING: the body was sent behind a request whose answer the client is still reading.
    CHECKING_BODY: frozenset({READING_BODY, SENDING, FINISHING, CLOSED}),
    QUEUED: frozenset({CALLING, FINISHING, CLOSED}),
    CALLING: frozenset({PAUSED, PACING, *_AFTER_ANSWER}),
    PAUSED: frozenset({CALLING, CLOSED}),
    PACING: frozenset(_AFTER_ANSWER),
    SENDING: frozenset({IDLE, READING_HEAD, READING_BODY, CHECKING_BODY, FINISHING, CLOSED}),
    HANDING_OVER: frozenset({FINISHING, CLOSED}),
    FINISHING: frozenset({LINGERING, CLOSED}),
    LINGERING: frozenset({CLOSED}),
    CLOSED: frozenset(),
}


def check_transition(old: ConnectionState, new: ConnectionState) -> None:
    """Raise ForbiddenTransitionError unless a connection may go from the old state to the new one."""
    if new not in PERMITTED_TRANSITIONS[old]:
        raise ForbiddenTransitionError(f"a connection cannot go from {old.value!r} to {new.value!r}")
