"""The part of an answer that its client has not read yet.

A short one stays in the queue of its connection, a longer one goes to a temporary file. Both kinds are counted in a
budget of the server. If it is used up, the address or account that holds the most loses its oldest answers.
"""

from __future__ import annotations

from collections import deque

from waitress.buffers import TempfileBasedBuffer

from finapi.httpd.shares import Allowance, Reservation

UNCOUNTED_BYTES = 65_536  # The size up to which an unsent answer is not counted in the budget.
MAX_BYTES_IN_MEMORY = 1_048_576  # A longer unsent answer is stored in a file.
READ_BYTES = 131_072  # The size of a read from that file.


class UnsentAnswer:
    """The stored part of an answer whose client is slow, and the time that the client may take for it."""

    def __init__(self, allowance: Allowance, memory: Reservation, disk: Reservation) -> None:
        self.allowance = allowance
        self.owners = memory.owners
        self._memory = memory
        self._disk = disk
        self._file: TempfileBasedBuffer | None = None

    @property
    def is_in_file(self) -> bool:
        """Return True if a file contains the part after the queue, so that further parts have to be appended to it."""
        return self._file is not None

    def store(self, queue: deque[bytes | memoryview], *, displaces: bool) -> bool:
        """Reserve room for the queue. If there is none, return False, with the queue unchanged and not counted.

        With ``displaces``, for an answer that cannot be continued later, answers of others are dropped if necessary.
        """
        byte_count = sum(map(len, queue))
        uncounted = byte_count - UNCOUNTED_BYTES - self._memory.held_bytes
        if uncounted <= 0:
            return True
        if byte_count <= MAX_BYTES_IN_MEMORY and self._memory.add_displacing(uncounted):
            return True
        return self.move_to_file(queue, displaces=displaces)

    def move_to_file(self, queue: deque[bytes | memoryview], *, displaces: bool) -> bool:
        """Move the queue to a file. Return False if there is no room for it."""
        if not self._reserve(sum(map(len, queue)), displaces=displaces):
            return False
        self._file = TempfileBasedBuffer()
        while queue:
            self._file.append(queue.popleft())
        self._memory.release()
        queue.append(self.read())
        return True

    def append(self, chunk: bytes, *, displaces: bool) -> bool:
        """Append the next part of the answer to the file. Return False if there is no room for it."""
        assert self._file is not None
        if not self._reserve(len(chunk), displaces=displaces):
            return False
        self._file.append(chunk)
        return True

    def read(self) -> bytes:
        """Return the next part of the file. At its end, delete it and return b""."""
        if self._file is None:
            return b""
        chunk: bytes = self._file.get(READ_BYTES, skip=True)
        if not chunk:
            self._delete_file()
        return chunk

    def release(self) -> None:
        """Delete the file, and release the reservations."""
        self._delete_file()
        self._memory.release()

    def _reserve(self, byte_count: int, *, displaces: bool) -> bool:
        return self._disk.add_displacing(byte_count) if displaces else self._disk.add(byte_count)

    def _delete_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._disk.release()
