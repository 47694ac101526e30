"""What a process leaves of a temporary folder when it is killed."""

from __future__ import annotations

from pathlib import Path

from finapi.core.temporary import LOCK


def leave_folder(directory: Path, purpose: str, *, pid: int = 4_000_000, hidden: bool = True) -> Path:
    """Make the folder of a process that is gone, with a file that it had not finished. Return its path."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = directory / f"{'.' if hidden else ''}finapi-{purpose}-{pid}-0a1b2c3d"
    folder.mkdir(mode=0o700)
    (folder / LOCK).touch(mode=0o600)
    (folder / "file").write_bytes(b"half")
    return folder
