"""The Autobahn test suite against the WebSocket of the feeds; slow, and only where its ``wstest`` is installed.

It is a program for Python 2.7: ``python2.7 -m virtualenv place`` and ``place/bin/pip install autobahntestsuite``,
then ``PATH=place/bin:$PATH`` for this test. Its cases are also in ``test_websocket.py``, as bytes.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process import ROOT, child, next_line

pytestmark = pytest.mark.slow

# Speed with messages of megabytes, which the feeds refuse, and compression, which they do not support.
LEFT_OUT = ["9.*", "12.*", "13.*"]
GOOD = {"OK", "NON-STRICT", "INFORMATIONAL"}

# Binary messages are closed with 1003, as the feeds only accept text. A close in the middle of a message is answered
# with 1002 by the websockets package, where the suite expects the client's own code.
EXPECTED = {*(f"1.2.{number}" for number in range(1, 9)), "7.1.5"}


def test_the_autobahn_cases_pass(tmp_path: Path) -> None:
    wstest = shutil.which("wstest")
    if wstest is None:
        pytest.skip("wstest is not installed")
    with child(command=[sys.executable, "-m", "tests.feeds.echo"], stderr=None) as echo:
        specification = {
            "outdir": str(tmp_path / "reports"),
            "servers": [{"agent": "finapi", "url": f"ws://127.0.0.1:{int(next_line(echo))}"}],
            "cases": ["*"],
            "exclude-cases": LEFT_OUT,
        }
        spec = tmp_path / "spec.json"
        spec.write_text(json.dumps(specification))
        command = [wstest, "-m", "fuzzingclient", "-s", spec]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=300)
    results = json.loads((tmp_path / "reports" / "index.json").read_text())["finapi"]
    assert len(results) == 247
    failed = set()
    for case, outcome in results.items():
        if outcome["behavior"] not in GOOD or outcome["behaviorClose"] not in GOOD:
            failed.add(case)
    assert failed == EXPECTED
