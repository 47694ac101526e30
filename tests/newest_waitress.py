"""The tests of the HTTP server with the newest release of waitress that setup.cfg allows.

    python -m tests.newest_waitress

The lock has the release that everything else is tested with. An installation may have a newer one, such as the next fix
of a weakness, before the lock is written anew. Exit status 1 if a test fails; 0, and a line that says so, if the newest
release cannot be fetched.
"""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import tempfile

from packaging.requirements import Requirement

from tests.process import ROOT

# Requests over raw sockets, well and ill; what each override is checked by; and a server with everything in front.
TESTS = (
    "tests/httpd/test_overrides.py",
    "tests/httpd/test_listener.py",
    "tests/httpd/test_shares.py",
    "tests/httpd/test_pacing.py",
    "tests/verbs/test_serving.py",
)
FETCH_SECONDS = 120


def find_requirement() -> Requirement:
    """Return what setup.cfg requires of waitress."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options"]["install_requires"].splitlines()
    return next(Requirement(line) for line in lines if line.startswith("waitress"))


def main() -> int:
    """Fetch the release, run the tests with it in place of the installed one, and return the exit status."""
    with tempfile.TemporaryDirectory(prefix="finapi-waitress-") as directory:
        fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", directory, "--upgrade"]
        try:
            fetched = subprocess.run([*fetch, str(find_requirement())], timeout=FETCH_SECONDS).returncode == 0
        except subprocess.TimeoutExpired:
            fetched = False
        if not fetched:
            print("the newest waitress cannot be fetched")
            return 0
        environment = {**os.environ, "PYTHONPATH": directory}
        show = "import waitress, importlib.metadata as m; print('waitress', m.version('waitress'), waitress.__file__)"
        subprocess.run([sys.executable, "-c", show], env=environment, check=True)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "", *TESTS]
        return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
