"""The effects of faults on one call: they replace its answer, or send it slowly or incompletely.

``CallEffects`` combines the faults that apply to a call. ``send_answer`` is the last step of the call: it starts the
response and returns the pieces of the body. According to the effects the body is truncated, slowed down, or ended by a
connection reset. In finapi's own server a slow answer does not occupy a thread (``finapi.pace``). On other WSGI servers
an exception is raised where the connection should break.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from finapi.testing.faults import ANSWER_EFFECTS, Fault
from finapi.web.application import StartResponse

DRIP_PIECES_PER_SECOND = 20
HANG_SECONDS = 86_400.0  # A client that waits longer than this for a hanging connection sees a reset.
EXCESS_BYTES = 7  # Bytes that a wrong Content-Length announces and that are never sent.

Environ = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CallEffects:
    """The effects of faults on one call. An attribute is None if no fault has this effect."""

    answer_fault: Fault | None = None  # The fault with a status or a redirect that replaces the answer.
    delay_seconds: float | None = None
    drip_bytes_per_second: float | None = None
    truncate_bytes: int | None = None
    has_wrong_length: bool = False
    has_reset: bool = False
    has_hang: bool = False
    stale: str | None = None  # The time (ISO 8601) as of which the data are answered.


def combine_faults(faults: Sequence[Fault]) -> CallEffects:
    """Combine the faults that apply to a call. If two have the same effect, the later one wins."""
    values = {fault.effect: fault.effect_value for fault in faults}
    answer_faults = [fault for fault in faults if fault.effect in ANSWER_EFFECTS]
    return CallEffects(
        answer_fault=answer_faults[-1] if answer_faults else None,
        delay_seconds=values.get("delay"),
        drip_bytes_per_second=values.get("drip"),
        truncate_bytes=values.get("truncate"),
        has_wrong_length="wrong_length" in values,
        has_reset="reset" in values,
        has_hang="hang" in values,
        stale=values.get("stale"),
    )


def send_answer(
    effects: CallEffects,
    status: str,
    headers: list[tuple[str, str]],
    body: bytes,
    environ: Environ,
    start_response: StartResponse,
    closing: threading.Event,
) -> Iterable[bytes]:
    """Start the response and return the pieces of its body. When ``closing`` is set, no piece is delayed any more."""
    reset: Callable[[], None] | None = environ.get("finapi.reset")
    hold_back: Callable[..., None] | None = environ.get("finapi.pace")
    if effects.has_hang:
        # Without finapi's own server there is nothing to wait for, so that the connection breaks immediately.
        if reset is None:
            raise ConnectionResetError("a fault keeps this call from being answered")
        if hold_back is None:
            reset()
        else:
            hold_back(HANG_SECONDS, inf, reset, None)
        start_response(status, headers)
        return [body]
    is_truncated = effects.truncate_bytes is not None
    is_finapi_server = reset is not None
    if effects.has_reset and not (is_finapi_server or is_truncated):
        raise ConnectionResetError("a fault resets this call")
    reset_before = reset if effects.has_reset and not is_truncated else None
    reset_after = reset if effects.has_reset and is_truncated else None
    drip_bytes_per_second = effects.drip_bytes_per_second
    if hold_back is not None and not (effects.delay_seconds is None and drip_bytes_per_second is None):
        hold_back(effects.delay_seconds or 0.0, drip_bytes_per_second or inf, reset_before, reset_after)
        reset_after = drip_bytes_per_second = None
    elif reset_before is not None:
        reset_before()
    if "finapi.short" in environ and (is_truncated or effects.has_wrong_length):
        environ["finapi.short"]()

    length = _find_content_length(headers)
    if is_truncated or effects.has_wrong_length:
        # An answer of unknown length gets a Content-Length too. If it were sent in chunks, it would look complete
        # although it is truncated.
        length = len(body) if length is None else length
        length += EXCESS_BYTES if effects.has_wrong_length else 0
        headers = [header for header in headers if header[0] != "Content-Length"] + [("Content-Length", str(length))]
    start_response(status, headers)
    body = body[: effects.truncate_bytes]
    pieces: Iterable[bytes] = [body] if length is not None else iter([body])
    if drip_bytes_per_second is not None:
        pieces = _iter_slowly(body, drip_bytes_per_second, closing)
    if reset_after is not None:
        return _reset_after(pieces, reset_after)
    is_short = environ["REQUEST_METHOD"] != "HEAD" and length is not None and len(body) < length
    if not is_finapi_server and (effects.has_reset or is_short):
        return _raise_after(pieces)
    return pieces


def _find_content_length(headers: Iterable[tuple[str, str]]) -> int | None:
    return next((int(text) for name, text in headers if name == "Content-Length"), None)


def _iter_slowly(body: bytes, bytes_per_second: float, closing: threading.Event) -> Iterator[bytes]:
    size = max(1, int(bytes_per_second / DRIP_PIECES_PER_SECOND))
    for start in range(0, len(body), size):
        yield body[start : start + size]
        if closing.wait(size / bytes_per_second):
            return


def _raise_after(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of an answer, then raise ConnectionResetError so that the server breaks the connection."""
    yield from pieces
    raise ConnectionResetError("a fault cuts this answer off")


def _reset_after(pieces: Iterable[bytes], reset: Callable[[], None]) -> Iterator[bytes]:
    """Yield the pieces of an answer, then reset its connection."""
    yield from pieces
    reset()
