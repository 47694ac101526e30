"""Nodes of one service, as an operator runs them: PostgreSQL, two workers, nodes on copies, and nginx in front."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import postgres_cluster
from tests.process import ROOT, Finished, Running, child, environment, eventually, finapi, find_free_port, get, serve

API_NODES, WORKERS = 3, 2


@dataclass
class Nodes:
    """What runs in ``directory``: nodes and workers by number, their ports, and the address of the proxy."""

    directory: Path
    url: str
    stack: ExitStack
    variables: dict[str, str] = field(default_factory=dict)
    of_workers: dict[str, str] = field(default_factory=dict)
    api: dict[int, Running] = field(default_factory=dict)
    workers: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    proxy: tuple[str, int] = ("", 0)

    @property
    def home(self) -> Path:
        """The data directory of whoever works."""
        return self.directory / "worker"

    def environment(self) -> dict[str, str]:
        """What a node is told of the others."""
        return environment(FINAPI_ACCOUNTS_URL=self.url, **self.variables)

    def query_accounts(self, query: str, *values: object) -> list[Any]:
        """The rows of a statement over accounts."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(query, values)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    def run(self, *words: object, data_dir: Path | None = None) -> Finished:
        """A command on the worker's data directory, or on another."""
        return finapi(*words, "--data-dir", data_dir or self.home, env=self.environment())

    def user(self, email: str, plan: str = "pro") -> str:
        """A new account's key."""
        done = self.run("user", "add", email, "--json", "--plan", plan)
        assert done.status == 0, done
        return str(done.json["api_key"])

    def get_data_dir(self, number: int) -> Path:
        """The data directory of a node, with the worker's secrets."""
        data_dir = self.directory / f"api{number}"
        if not data_dir.exists():
            data_dir.mkdir(mode=0o700)
            shutil.copy(self.home / "secrets", data_dir)
        return data_dir

    def copy_backups(self) -> None:
        """Give every node a copy of the market data as they are now, by renaming."""
        for number in range(API_NODES):
            backup = self.directory / f"without-secrets-{number}.db"
            done = self.run("backup", backup)
            assert done.status == 0, done
            backup.replace(self.get_data_dir(number) / "finapi.db")

    def start_api(self, number: int) -> None:
        """Start a node, again too."""
        port = self.ports.setdefault(f"api{number}", find_free_port())
        words = ("--role", "api", "--trusted-proxies", "127.0.0.1", "--port", port)
        self.api[number] = self.stack.enter_context(serve(self.get_data_dir(number), *words, env=self.environment()))

    def start_worker(self, number: int) -> None:
        """Start a worker, again too: one that waits says nothing until it works."""
        port = self.ports.setdefault(f"worker{number}", find_free_port())
        words = ("serve", "--role", "worker", "--trusted-proxies", "127.0.0.1", "--port", port, "--data-dir", self.home)
        log = (self.directory / f"worker{number}.log").open("ab")
        self.stack.callback(log.close)
        env = {**self.environment(), **self.of_workers}
        started = child(*words, env=env, stdout=subprocess.DEVNULL, stderr=log)
        self.workers[number] = self.stack.enter_context(started)

    def get_active_worker(self) -> int | None:
        """The number of the worker that answers."""
        return next((number for number in self.workers if answers(self.ports[f"worker{number}"])), None)


@contextmanager
def nodes_running(directory: Path, **settings: str) -> Iterator[Nodes]:
    """Everything, until the block ends; ``settings`` are everybody's."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("nginx is not here (apt-get install)")
    with postgres_cluster.running() as cluster, ExitStack() as stack:
        variables = {f"FINAPI_{name.upper()}": text for name, text in settings.items()}
        nodes = Nodes(directory, cluster.url(), stack, variables)
        nodes.start_worker(0)
        eventually(lambda: nodes.get_active_worker() == 0)
        nodes.start_worker(1)
        nodes.copy_backups()
        for number in range(API_NODES):
            nodes.start_api(number)
        stack.enter_context(_proxy(nodes, program))
        yield nodes


@contextmanager
def _proxy(nodes: Nodes, program: str) -> Iterator[None]:
    """The proxy of ``deploy`` on loopback."""
    directory, port = nodes.directory, find_free_port()
    text = (ROOT / "deploy" / "nginx-nodes.conf").read_text()
    for name in [f"api{number}" for number in range(API_NODES)] + [f"worker{number}" for number in range(WORKERS)]:
        old = f"10.0.{0 if name.startswith('api') else 1}.{int(name[-1]) + 1}:8000"
        assert text.count(old) == 1, old
        text = text.replace(old, f"127.0.0.1:{nodes.ports[name]}")
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port};").replace("fail_timeout=5s", "fail_timeout=1s")
    paths = "".join(
        f"{kind}_temp_path {directory}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    log = directory / "nginx.log"
    (directory / "nginx.conf").write_text(
        f"{user}pid {directory}/pid; daemon off;\nerror_log {log} error;\n"
        f"events {{ worker_connections 1024; }}\nhttp {{\naccess_log off;\n{paths}{text}}}\n"
    )
    process = subprocess.Popen([program, "-c", str(directory / "nginx.conf"), "-e", str(log)])
    try:
        eventually(lambda: listens(port) or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        nodes.proxy = ("127.0.0.1", port)
        yield
    finally:
        process.terminate()
        process.wait(20)


def listens(port: int) -> bool:
    """Whether anybody does on this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answers(port: int) -> bool:
    """Whether a finapi answers there: it takes commands too, then."""
    try:
        return get(("127.0.0.1", port), "/livez", seconds=2).status == 200
    except (OSError, http.client.HTTPException):
        return False
