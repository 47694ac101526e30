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
    """Return the interpreters of this machine by version, without the current one."""
    homes = (Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python")
    paths = [str(path) for home in homes if home.is_dir() for path in sorted(home.glob("*/bin/python3"))]
    paths += [path for minor in range(OLDEST[1], 30) if (path := shutil.which(f"python3.{minor}"))]
    versions: dict[Version, str] = {}
    for path in paths:
        # A shim of pyenv may stand for an interpreter that is not there.
        version_query = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True
        )
        if version_query.returncode == 0:
            major, minor = map(int, version_query.stdout.split())
            versions.setdefault((major, minor), path)
    return {version: versions[version] for version in sorted(versions) if OLDEST <= version != sys.version_info[:2]}


def passes(python: str, *, full_suite: bool) -> bool:
    """Return True if the suite, or its short part, passes under an interpreter."""
    with tempfile.TemporaryDirectory(prefix="finapi-version-") as directory:
        subprocess.run([python, "-m", "venv", directory], check=True)
        installed = f"{directory}/bin/python"
        needs = ["-e", f"{ROOT}[test]"] if full_suite else ["-e", str(ROOT), *SHORT_NEEDS]
        subprocess.run([installed, "-m", "pip", "install", "-q", *needs], check=True)
        command = [installed, "-m", "pytest", "-p", "no:cacheprovider", *(() if full_suite else SHORT)]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(command, cwd=ROOT, env=clean).returncode == 0


def main(names: list[str]) -> int:
    """Run the requested interpreters. Return the exit status."""
    interpreters_by_version = interpreters()
    if not interpreters_by_version:
        print(f"no interpreter from {'.'.join(map(str, OLDEST))} on is here beside the one that runs this")
        return 0
    failed = []
    for version, python in reversed(interpreters_by_version.items()):
        name = ".".join(map(str, version))
        full_suite = "all" in names or name in names or ("newest" in names and version == max(interpreters_by_version))
        if full_suite or {"newest", "short"} & {*names}:
            print(f"{name} ({python}): {'all tests' if full_suite else 'start, ingest, serve, stop'}", flush=True)
            if not passes(python, full_suite=full_suite):
                failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "every interpreter passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["newest"]))
