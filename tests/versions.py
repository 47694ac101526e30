"""The suite under the other interpreters of this machine, each in a fresh virtual environment.

    python -m tests.versions [all|newest|short|3.12 ...]

``newest`` (what CI asks for) runs the whole fast suite under the newest beside the one that runs this, and under the
rest the tests that start, ingest, serve and stop; ``short`` runs those under each; ``all`` runs the whole suite under
each; a version runs it there.
Interpreters are ``python3.N`` on the PATH, pyenv's and uv's, from 3.11 on. Exit status 1 if one of them fails; 0, and a
line that says so, where there is no other.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
OLDEST = (3, 11)
# A server started, a filing ingested beside it and served, signals and stops.
SHORT = ("tests/store/test_datadir.py", "tests/verbs/test_serving.py", "tests/net/test_outbound.py")
SHORT_NEEDS = ("pytest", "pytest-xdist", "standardwebhooks", "trustme")

Version = tuple[int, int]


def interpreters() -> dict[Version, str]:
    """The interpreters of this machine by version, without the one that runs this."""
    homes = (Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python")
    found = [str(one) for home in homes if home.is_dir() for one in sorted(home.glob("*/bin/python3"))]
    found += [one for minor in range(OLDEST[1], 30) if (one := shutil.which(f"python3.{minor}"))]
    versions: dict[Version, str] = {}
    for path in found:
        # A shim of pyenv may stand for an interpreter that is not there.
        asked = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
        if asked.returncode == 0:
            major, minor = map(int, asked.stdout.split())
            versions.setdefault((major, minor), path)
    return {version: versions[version] for version in sorted(versions) if OLDEST <= version != sys.version_info[:2]}


def passes(python: str, *, whole: bool) -> bool:
    """Whether the suite, or the short part of it, passes under an interpreter."""
    with tempfile.TemporaryDirectory(prefix="finapi-version-") as place:
        subprocess.run([python, "-m", "venv", place], check=True)
        installed = f"{place}/bin/python"
        needs = ["-e", f"{ROOT}[test]"] if whole else ["-e", str(ROOT), *SHORT_NEEDS]
        subprocess.run([installed, "-m", "pip", "install", "-q", *needs], check=True)
        command = [installed, "-m", "pytest", "-p", "no:cacheprovider", *(() if whole else SHORT)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(command, cwd=ROOT, env=clean).returncode == 0


def main(asked: list[str]) -> int:
    """Run what was asked for; the exit status."""
    others = interpreters()
    if not others:
        print(f"no interpreter from {'.'.join(map(str, OLDEST))} on is here beside the one that runs this")
        return 0
    failed = []
    for version, python in reversed(others.items()):
        name = ".".join(map(str, version))
        whole = "all" in asked or name in asked or ("newest" in asked and version == max(others))
        if whole or {"newest", "short"} & {*asked}:
            print(f"{name} ({python}): {'all tests' if whole else 'start, ingest, serve, stop'}", flush=True)
            if not passes(python, whole=whole):
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "every interpreter passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["newest"]))
