"""The part of an answer that its client has not read yet.

A short one stays in the queue of its connection, a longer one goes to a temporary file. Both kinds are counted in a
budget of the server, where the address or account that holds the most makes room for others.
"""

from __future__ import annotations

from collections import deque

from waitress.buffers import TempfileBasedBuffer

from finapi.httpd.shares import Allowance, Reservation

UNCOUNTED_BYTES = 65_536  # of an unsent answer that every connection may have, whatever the others do
MAX_BYTES_IN_MEMORY = 1_048_576  # of an unsent answer in the queue; a longer one is stored in a file
READ_BYTES = 131_072  # of that file in one step


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
        """Return True if a file contains the part behind the queue, so that further parts have to go there too."""
        return self._file is not None

    def store(self, queue: deque[bytes | memoryview], *, displaces: bool) -> bool:
        """Find room for the queue. Return False if there is none; the queue is then unchanged and not counted.

        ``displaces`` is for an answer that cannot be continued later: others make room for it.
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
