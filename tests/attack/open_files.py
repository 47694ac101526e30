"""Files that another user of the machine can open: secrets, the data directory, mails with live links."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

from tests.attack.target import Outcome, Target
from tests.process import finapi, serve


def attack(target: Target) -> Outcome:
    """Return the number of starts with such files that succeeded, and of files a server left open."""
    successes = 0
    with tempfile.TemporaryDirectory(prefix="finapi-attack-") as directory:
        data = Path(directory) / "data"
        with serve(data, "--log-level", "error") as server:
            finapi("user", "add", "ann@example.com", "--data-dir", data)
            finapi("user", "rotate-key", "ann@example.com", "--data-dir", data)
            server.stop()
        for path in (data, *data.rglob("*")):
            successes += bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
        opened = {data: (0o755, 0o777, 0o770, 0o701), data / "secrets": (0o644, 0o640, 0o666)}
        for path, modes in opened.items():
            right = path.stat().st_mode
            for mode in modes:
                path.chmod(mode)
                successes += finapi("user", "show", "ann@example.com", "--data-dir", data).status == 0
            path.chmod(right)
        (data / "secrets").write_text("0" * 64)
        successes += finapi("user", "show", "ann@example.com", "--data-dir", data).status == 0
    return Outcome(successes, 0.0, "starts with open files or a secret of zeros, and files left open")
