"""A PostgreSQL cluster for tests, in a temporary directory and reached over a Unix socket."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

# What Debian calls the directory of one version's programs.
_PROGRAM_DIRS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
SETTINGS = "-c listen_addresses='' -c max_connections=300"
QUICK = " -c fsync=off -c full_page_writes=off"


@cache
def programs() -> Path | None:
    """Return the directory of ``initdb`` and ``pg_ctl``, or None if PostgreSQL is not installed."""
    initdb = shutil.which("initdb")
    return Path(initdb).parent if initdb and not _PROGRAM_DIRS else next(iter(reversed(_PROGRAM_DIRS)), None)


class Cluster:
    """A PostgreSQL cluster."""

    def __init__(self, directory: Path, settings: str) -> None:
        self.directory, self.settings = directory, settings

    def url(self, database: str = "postgres") -> str:
        """Return the URL of one of its databases."""
        return f"postgresql:///{database}?host={self.directory}&user=postgres"

    def create_database(self, template_url: str = "") -> str:
        """Create a database, empty or copied from another one. Return its URL."""
        name = f"accounts{time.monotonic_ns()}"
        template = f" TEMPLATE {urlsplit(template_url).path[1:]}" if template_url else ""
        self._execute(f"CREATE DATABASE {name}{template}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database and end its connections."""
        self._execute(f"DROP DATABASE {urlsplit(url).path[1:]} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)

    def ctl(self, *words: str) -> None:
        """Run ``pg_ctl`` as the user who owns the cluster."""
        program_dir = programs()
        assert program_dir is not None
        log = self.directory / "log"
        run(str(program_dir / "pg_ctl"), "-D", str(self.directory / "data"), "-l", str(log), "-w", *words)

    def start(self) -> None:
        """Start or restart the cluster."""
        self.ctl("-o", f"{self.settings} -c unix_socket_directories={self.directory}", "start")

    def stop(self) -> None:
        """Stop the cluster immediately."""
        self.ctl("-m", "immediate", "stop")


def run(*words: str) -> None:
    """Run a program, as user postgres if the caller is root, because root may not run a cluster."""
    as_user = ("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups") if os.geteuid() == 0 else ()
    subprocess.run([*as_user, *words], check=True, cwd="/", stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


@contextmanager
def running(*, durable: bool = False) -> Iterator[Cluster]:
    """Yield a new cluster until the block ends; its commits survive a power cut only if ``durable``."""
    program_dir = programs()
    assert program_dir is not None
    # Not below pytest's own directory, which another user may not enter.
    directory = Path(tempfile.mkdtemp(prefix="finapi-pg-", dir="/tmp"))
    cluster = Cluster(directory, SETTINGS if durable else SETTINGS + QUICK)
    try:
        if os.geteuid() == 0:
            shutil.chown(directory, "postgres", "postgres")
        run(
            str(program_dir / "initdb"),
            "-D",
            str(directory / "data"),
            "-A",
            "trust",
            "-U",
            "postgres",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
        )
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
