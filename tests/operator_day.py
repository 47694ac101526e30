"""A day of an operator with the built wheel: ``python -m tests.operator_day [--write]``.

finapi is installed, served (as root, by an account of its own), loaded from a stand-in for EDGAR, corrected, backed up
under load, upgraded, restored and examined. Every line that the commands print must be in ``operator-day.txt``, where
numbers that differ from day to day are replaced by words such as <time>. Read the lines before you write them again.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.build import TOOLS, build_archive
from tests.support.edgar_server import Page, fake_edgar, full_submission

TRANSCRIPT = Path(__file__).with_name("operator-day.txt")
APPLE = 320193
ACCESSION = "0000320193-26-000001"
AGENT = "Operator operator@example.com"
SERVICE_ACCOUNT = 65_534  # The user "nobody", which every system has.
PATIENCE_SECONDS = 60.0
# Parts of lines that differ from day to day, and the words for them.
VARIABLE_PARTS = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"\b[0-9a-f]{32}\b", "<key>"),
    (r"\b[0-9a-f]{16}\b", "<secret>"),
    (r"\b[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}\b", "<code>"),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?", "<time>"),
    (r"[0-9]{8}T[0-9]{6}Z", "<time>"),
    (r"127\.0\.0\.1:[0-9]+", "<address>"),
    (r"[0-9][0-9.,]* (bytes|MB|GB|KB|MiB|GiB|ms)\b", r"<number> \1"),
    (r"\b[0-9]+(\.[0-9]+)? s\b", "<number> s"),
    # The number of calls that the load had made.
    (r"\b[0-9]+ ledger rows?", "<number> ledger rows"),
    (r'("reach_limit_api": )[0-9]+', r"\1<number>"),
    (r"; [0-9]+ calls? that had not ended: [0-9,]+ tokens? refunded", ""),
    # The host.
    (r"[0-9]+ open files allowed, [0-9]+ wanted", "<number> open files allowed, <number> wanted"),
    (r"SQLite [0-9.]+", "SQLite <version>"),
    (r" {2,}", "  "),
    (r"\b\S+ in /home$", "<account> in /home"),
)
OPEN_DEBITS = re.compile("[0-9]+ debits? (is|are) open: ")


class Day:
    """The installed command, its environment, and the lines that it has printed."""

    def __init__(self, directory: Path, wheel: Path, edgar_url: str) -> None:
        self.directory = directory
        self.lines: list[str] = []
        self._wheel = wheel
        self._python = directory / "installed" / "bin" / "python"
        venv.create(directory / "installed", with_pip=True, symlinks=True)
        # The dependencies are those of this environment, so that no network is needed.
        site_packages = Path(sysconfig.get_path("purelib", vars={"base": str(directory / "installed")}))
        (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
        (directory / "home").mkdir()
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory / "home"),
            "FINAPI_DATA_DIR": str(directory / "home" / "data"),
            "FINAPI_BASE_URL": edgar_url,
            "FINAPI_USER_AGENT": AGENT,
            "FINAPI_PORT": "0",
            "FINAPI_APP_PER_MINUTE": "100000",
            "FINAPI_APP_PER_HOUR": "100000",
        }
        self.install()
        self._account = self._find_account()
        if self._account is not None:
            os.chown(directory / "home", self._account, self._account)

    def install(self) -> None:
        """Install the wheel, or install it again over the last one."""
        words = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", self._wheel)
        subprocess.run([self._python, *words], check=True)

    def run(self, *words: str, status: int = 0) -> str:
        """Run a command and record its lines. Return what it printed to stdout."""
        finished = subprocess.run(
            self._build_command(words),
            env=self._environment,
            cwd=self._environment["HOME"],
            capture_output=True,
            text=True,
            user=self._account,
        )
        self.record(f"$ finapi {' '.join(words)}", *finished.stdout.splitlines(), *finished.stderr.splitlines())
        if finished.returncode != status:
            raise SystemExit(f"exit status {finished.returncode} of finapi {' '.join(words)}: {finished.stderr}")
        return finished.stdout

    @contextmanager
    def serve(self) -> Iterator[str]:
        """Run ``finapi serve`` during the block, and record its lines after it. Yield its URL."""
        log = self.directory / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                self._build_command(("serve",)),
                env=self._environment,
                cwd=self._environment["HOME"],
                stdout=output,
                stderr=output,
                user=self._account,
            )
            try:
                yield self._wait_for_url(log, process)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(PATIENCE_SECONDS)
        lines = [line for line in log.read_text().splitlines() if " finapi.access: request " not in line]
        self.record("$ finapi serve", *lines)
        if process.returncode != 0:
            raise SystemExit(f"exit status {process.returncode} of finapi serve")

    def record(self, *lines: str) -> None:
        """Add lines to the transcript, without what differs from day to day."""
        for line in lines:
            if OPEN_DEBITS.match(line):  # It depends on the moment of the backup.
                continue
            line = line.replace(str(self.directory), "")
            for pattern, word in VARIABLE_PARTS:
                line = re.sub(pattern, word, line)
            self.lines.append(line.rstrip())

    def _find_account(self) -> int | None:
        """Return the account that commands run as: None for this one, which is not root or the only one that can."""
        if os.geteuid() != 0:
            return None
        self.directory.chmod(0o755)
        words = [str(self._python), "-c", "import waitress, finapi"]
        try:
            finished = subprocess.run(words, user=SERVICE_ACCOUNT, cwd="/", capture_output=True)
        except PermissionError:  # The interpreter is in a directory of root's.
            return None
        return SERVICE_ACCOUNT if finished.returncode == 0 else None

    def _build_command(self, words: tuple[str, ...]) -> list[str]:
        return [str(self._python.with_name("finapi")), *words]

    def _wait_for_url(self, log: Path, process: subprocess.Popen[bytes]) -> str:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until and process.poll() is None:
            ready = re.search(r"listens at (http://\S+)", log.read_text())
            if ready is not None:
                return ready[1]
            time.sleep(0.05)
        raise SystemExit(f"finapi serve is not ready: {log.read_text()}")


def spend_day(day: Day) -> None:
    """Do the work of a day."""
    with day.serve() as url:
        day.run("load", "AAPL", "--years", "1", status=1)  # One report is missing.
        key = day.run("user", "add", "ann@example.com", "--plan", "pro").split()[-1]
        day.run("user", "credit", "ann@example.com", "12.50")
        day.run("user", "credit", "ann@example.com", "-2.50", "--reason", "paid twice")
        day.run("user", "credit", "ann@example.com", "-12.50", "--reason", "too much", status=1)
        day.run("user", "show", "ann@example.com")
        with load(url, key):
            day.run("backup", str(day.directory / "home" / "day.db"))
        day.run("check")
    day.install()
    with day.serve() as url:
        day.run("user", "show", "ann@example.com")
        day.run("user", "credit", "ann@example.com", "99")
        day.run("doctor")
    day.run("restore", str(day.directory / "home" / "day.db"))
    with day.serve() as url:
        day.run("user", "show", "ann@example.com")
        day.run("documents", "list")
        day.run("audit")
    day.run("check")


def call(url: str, key: str, path: str) -> dict[str, object]:
    """Return the JSON of an answer."""
    request = urllib.request.Request(url + path, headers={"X-API-Key": key})
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        document: dict[str, object] = json.load(answer)
    return document


@contextmanager
def load(url: str, key: str) -> Iterator[None]:
    """Send calls that cost tokens during the block."""
    stopping = threading.Event()

    def send() -> None:
        while not stopping.wait(0.01):
            call(url, key, "/api/v1/sec/filings?limit=5")

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def build_pages() -> dict[str, Page]:
    """Return the pages of the stand-in for EDGAR: a company with one report that exists and one that is missing."""
    recent = {
        "accessionNumber": [ACCESSION, "0000320193-26-000002"],
        "filingDate": ["2026-01-30"] * 2,
        "reportDate": ["2025-12-31"] * 2,
        "acceptanceDateTime": ["2026-01-30T21:30:00.000Z"] * 2,
        "form": ["10-K", "10-Q"],
        **{name: [""] * 2 for name in ("primaryDocument", "primaryDocDescription", "items", "act")},
        **{name: [1] * 2 for name in ("size", "isXBRL", "isInlineXBRL")},
        **{name: ["1"] * 2 for name in ("fileNumber", "filmNumber")},
    }
    company = {"cik": str(APPLE), "name": "Apple Inc.", "tickers": ["AAPL"], "exchanges": ["Nasdaq"], "sic": "3571"}
    row = {"end": "2025-12-31", "val": 1, "accn": ACCESSION, "form": "10-K", "filed": "2026-01-30"}
    facts = {"cik": APPLE, "entityName": "Apple Inc.", "facts": {"us-gaap": {"Assets": {"units": {"USD": [row]}}}}}
    tickers = {"0": {"cik_str": APPLE, "ticker": "AAPL", "title": "Apple Inc."}}
    name = f"CIK{APPLE:010}.json"
    documents = {
        "/files/company_tickers.json": tickers,
        f"/submissions/{name}": {**company, "filings": {"recent": recent, "files": []}},
        f"/api/xbrl/companyfacts/{name}": facts,
    }
    pages = {path: Page(json.dumps(document).encode()) for path, document in documents.items()}
    pages[f"/Archives/edgar/data/{APPLE}/{ACCESSION}.txt"] = Page(full_submission(ACCESSION, form="10-K"))
    return pages


def build_wheel(directory: Path) -> Path:
    """Build the wheel of this checkout in a directory and return it."""
    venv.create(directory / "tools", with_pip=True)
    python = directory / "tools" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *TOOLS[:2]], check=True)  # setuptools and wheel
    (directory / "wheels").mkdir()
    return build_archive("wheel", directory / "wheels", python)


def main() -> int:
    """Spend a day, and compare its lines with the transcript. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the transcript by the lines of this day")
    parser.add_argument("--wheel", type=Path, help="a wheel that has been built already")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="finapi-day-") as directory_name, fake_edgar() as (edgar, server):
        directory = Path(directory_name)
        edgar.pages.update(build_pages())
        day = Day(directory, args.wheel or build_wheel(directory), f"http://127.0.0.1:{server.port}")
        spend_day(day)
    text = "".join(f"{line}\n" for line in day.lines)
    if args.write:
        TRANSCRIPT.write_text(text)
    differences = list(
        difflib.unified_diff(TRANSCRIPT.read_text().splitlines(), text.splitlines(), "expected", "today")
    )
    print("\n".join(differences) or f"the {len(day.lines)} lines of an operator's day are as expected")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
