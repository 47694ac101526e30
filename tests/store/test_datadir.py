"""Tests of the data directory: one process writes, and the others hand their commands over to it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from finapi import server
from finapi.cli import perform
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.store import datadir
from finapi.store.datadir import CommandSocket, DirectoryBusyError, hand_over, lock_directory
from tests import process
from tests.process import CIK, Running, eventually, figures, filing, finapi, write

STATEMENTS = f"/api/v1/xbrl/companies/{CIK}/statements"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextlib.contextmanager
def client_of(data_dir: Path) -> Iterator[socket.socket]:
    """Yield a raw connection to the server's socket."""
    folder = os.open(data_dir, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(process.SECONDS)
            client.connect(f"/proc/self/fd/{folder}/{datadir.SOCKET}")
            yield client
    finally:
        os.close(folder)


def said_to(client: socket.socket) -> bytes:
    """Return all bytes until the end of the connection."""
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


def heard(directory: Path, *words: str) -> tuple[int, list[tuple[str, str]]]:
    """Return the exit status and output of a command that is handed over from this process."""
    output_lines: list[tuple[str, str]] = []
    return hand_over(directory, list(words), lambda *line: output_lines.append(line)), output_lines


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Running]]:
    """Yield a server and its data directory, which no test stops."""
    data_dir = tmp_path_factory.mktemp("running") / "data"
    with process.serve(data_dir) as running:
        yield data_dir, running


def make(data_dir: Path) -> Path:
    data_dir.mkdir()
    return data_dir


def works(data_dir: Path) -> bool:
    """Return True if the server still accepts commands; a complaint about the words is an answer."""
    with client_of(data_dir) as client:
        client.settimeout(1.5)
        client.sendall(b'{"words": ["user", "add", "nonsense"], "cwd": "/"}\n')
        try:
            return said_to(client).endswith(b'{"exit": 2}\n')
        except TimeoutError:
            return False


# ---- The lock


def test_the_directory_and_its_parents_are_created_private(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b"
    with lock_directory(directory):
        assert mode(directory) == 0o700
        assert mode(directory / "lock") == 0o600


def test_a_second_holder_is_busy_until_the_first_lets_go(tmp_path: Path) -> None:
    with lock_directory(tmp_path):
        for _ in range(2):
            with pytest.raises(DirectoryBusyError, match=str(tmp_path)), lock_directory(tmp_path):
                raise AssertionError
    with lock_directory(tmp_path):
        pass


def test_the_lock_is_let_go_when_the_block_raises(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock_directory(tmp_path):
        raise KeyError
    with lock_directory(tmp_path):
        pass


def test_the_lock_keeps_no_file_open(tmp_path: Path) -> None:
    with lock_directory(tmp_path), pytest.raises(DirectoryBusyError), lock_directory(tmp_path):
        raise AssertionError
    assert process.list_open_files(tmp_path) == []


def test_a_file_instead_of_the_directory_prints_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    done = finapi("ingest", tmp_path, "--data-dir", tmp_path / "data")
    assert done.status == 2
    assert done.complaint == f"cannot use {tmp_path / 'data'} as data directory: File exists"
    below = finapi("ingest", tmp_path, "--data-dir", tmp_path / "data" / "below")
    assert below.status == 2
    assert below.complaint == f"cannot use {tmp_path / 'data' / 'below'} as data directory: Not a directory"


@pytest.mark.skipif(os.geteuid() == 0, reason="root ignores modes")
def test_a_directory_that_may_not_be_written_prints_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = finapi("user", "add", "ann@example.com", "--data-dir", tmp_path)
    assert done.status == 2
    assert done.complaint == f"cannot use {tmp_path} as data directory: Permission denied"


def test_everything_that_a_server_makes_is_the_owners_alone(running: tuple[Path, Running]) -> None:
    data_dir, _ = running
    assert mode(data_dir) == 0o700
    assert {name: oct(mode(data_dir / name)) for name in os.listdir(data_dir)} == dict.fromkeys(
        ("control.sock", "finapi.db", "finapi.db-shm", "finapi.db-wal", "lock", "secrets"), "0o600"
    )


def test_an_umask_of_0_opens_nothing(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with server.run_server(Config(port=0, data_dir=tmp_path / "data"), perform):
            assert mode(tmp_path / "data") == 0o700
            assert {mode(path) for path in (tmp_path / "data").iterdir()} == {0o600}
    finally:
        os.umask(before)


# ---- Work done by the server


@pytest.mark.slow
def test_an_ingest_beside_a_server_is_served_at_once(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    folder = write(tmp_path / process.accession(1), filing())
    with process.serve(data_dir) as running:
        key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", data_dir).json["api_key"]
        before = running.get(STATEMENTS, key)
        assert (before.status, before.json["code"]) == (404, "UNKNOWN_TICKER")
        done = finapi("ingest", folder, "--filed", "2025-02-14", "--data-dir", data_dir)
        assert (done.status, done.err) == (0, "")
        assert done.out == (
            "".join(f"ingested  {path} ({kind}) {process.accession(1)}\n" for path, kind in process.kinds(folder))
            + "5 ingested, 0 unchanged, 0 skipped, 0 refused\n"
        )
        after = running.get(STATEMENTS, key)
        assert figures(after) == {"Net sales": ["1000"], "Cost of sales": ["400"], "Gross margin": ["600"]}
        assert after.json["meta"]["filed_at"] == "2025-02-14"
        assert running.get("/readyz").json["data_version"] == 1
        assert running.stop() == 0
        assert running.rest == b"", "the server printed what belongs to the command"


@pytest.mark.slow
def test_output_and_status_are_those_of_the_verb_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", {**filing(), "note.txt": b"hello"})
    words = ("ingest", folder, "--accession", process.accession(7))
    alone = finapi(*words, "--data-dir", tmp_path / "alone")
    with process.serve(tmp_path / "data"):
        forwarded = finapi(*words, "--data-dir", tmp_path / "data")
        again = finapi(*words, "--json", "--data-dir", tmp_path / "data")
    assert alone == forwarded
    assert alone.status == 1
    assert alone.err.startswith(f"refused   {folder / 'note.txt'} (unknown): ")
    assert again.json["counts"] == {"ingested": 0, "unchanged": 5, "skipped": 0, "refused": 1}


def test_a_failed_command_next_to_a_server_prints_one_line(running: tuple[Path, Running]) -> None:
    data_dir, _ = running
    assert finapi("user", "add", "twice@example.com", "--data-dir", data_dir).status == 0
    twice = finapi("user", "add", "twice@example.com", "--data-dir", data_dir)
    assert twice.status == 1
    assert twice.complaint == "A user with the email twice@example.com exists already."
    wrong = finapi("ingest", "x", "--filed", "yesterday", "--data-dir", data_dir)
    assert wrong.status == 2
    assert wrong.complaint == "--filed: 'yesterday' is not a date (YYYY-MM-DD)"


def test_paths_are_relative_to_the_callers_directory(
    running: tuple[Path, Running], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir, _ = running
    write(tmp_path / "in", {"note.txt": b"hello"})
    monkeypatch.chdir(tmp_path)
    status, output = heard(data_dir, "ingest", "--json", "in/../in/note.txt")
    assert status == 1
    assert [stream for stream, _ in output if stream != "progress"] == ["out"]
    report = json.loads(output[-1][1])
    assert [file["path"] for file in report["files"]] == [str(tmp_path / "in" / "note.txt")]


def test_a_name_that_is_not_utf8_goes_through(running: tuple[Path, Running], tmp_path: Path) -> None:
    data_dir, _ = running
    name = os.fsdecode(b"caf\xe9.txt")
    write(tmp_path, {name: b"hello"})
    status, output = heard(data_dir, "ingest", "--json", str(tmp_path / name))
    assert status == 1
    # As a text that any reader of JSON takes.
    assert json.loads(output[-1][1])["files"][0]["path"] == str(tmp_path / "caf\\xe9.txt")


def test_two_commands_at_once_are_done_one_after_the_other(running: tuple[Path, Running]) -> None:
    data_dir, _ = running
    statuses = []
    words = [("user", "add", f"at-once-{number}@example.com") for number in range(6)]
    threads = [threading.Thread(target=lambda w=w: statuses.append(heard(data_dir, *w)[0])) for w in words]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 6


def test_a_verb_that_serves_is_not_handed_over(running: tuple[Path, Running]) -> None:
    data_dir, _ = running
    assert heard(data_dir, "serve") == (2, [("err", "finapi: serve cannot be run through a server")])


@pytest.mark.parametrize("words", [("serve", "--help"), ("user", "-h"), ("--version",)])
def test_help_and_version_are_not_handed_over(running: tuple[Path, Running], words: tuple[str, ...]) -> None:
    data_dir, _ = running
    refused = "finapi: --help and --version cannot be run through a server"
    assert heard(data_dir, *words) == (2, [("err", refused)])


def test_a_setting_is_accepted_if_it_equals_the_servers(running: tuple[Path, Running]) -> None:
    data_dir, _ = running
    assert heard(data_dir, "follow", "list", "--follow-days", "400")[0] == 0
    refused = (
        "finapi: the running server executes this command with its own settings: leave out --follow-days, or stop the "
        "server, or start it with --follow-days"
    )
    assert heard(data_dir, "follow", "list", "--follow-days", "9") == (2, [("err", refused)])


def test_a_command_socket_closes_without_its_directory(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with datadir.CommandSocket(tmp_path / "data", lambda *arguments: 0):
        shutil.rmtree(tmp_path / "data")
        (tmp_path / "data").write_bytes(b"a file in its place")


def test_a_system_without_proc_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "proc"
    monkeypatch.setattr(datadir, "DESCRIPTORS", str(missing))
    line = f"{missing} is missing: finapi needs /proc; mount it with: mount -t proc proc /proc"
    with pytest.raises(UsageError) as at_start, datadir.CommandSocket(tmp_path, lambda *arguments: 0):
        pass
    with pytest.raises(UsageError) as at_command:
        heard(tmp_path, "user", "list")
    assert (str(at_start.value), str(at_command.value)) == (line, line)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_path_longer_than_a_socket_address_may_be(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 30) / ("longer" * 20) / "data"
    assert len(str(data_dir)) > 108
    with process.serve(data_dir) as running:
        assert mode(data_dir / "control.sock") == 0o600
        assert finapi("user", "add", "ann@example.com", "--data-dir", data_dir).status == 0
        assert running.stop() == 0
    assert not (data_dir / "control.sock").exists()


def test_a_data_directory_behind_a_symbolic_link_is_the_same_one(running: tuple[Path, Running], tmp_path: Path) -> None:
    data_dir, _ = running
    (tmp_path / "link").symlink_to(data_dir)
    assert finapi("user", "add", "link@example.com", "--data-dir", tmp_path / "link").status == 0


# ---- What a crash leaves


@pytest.mark.slow
def test_a_socket_left_by_kill_9_does_not_prevent_a_start(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with process.serve(data_dir) as running:
        running.stop(signal.SIGKILL)
    assert (data_dir / "control.sock").exists()
    assert finapi("user", "add", "ann@example.com", "--data-dir", data_dir).status == 0
    with process.serve(data_dir) as running:
        assert running.get("/livez").status == 200
        assert finapi("user", "add", "bob@example.com", "--data-dir", data_dir).status == 0
        assert running.stop() == 0
    assert not (data_dir / "control.sock").exists()


def test_a_holder_that_takes_no_commands_is_reported_in_one_line(tmp_path: Path) -> None:
    with lock_directory(tmp_path / "data"):
        (tmp_path / "data" / "finapi.db").touch()
        done = finapi("user", "add", "ann@example.com", "--data-dir", tmp_path / "data")
    assert done.status == 2
    assert done.complaint == f"{tmp_path / 'data'} is in use by another process that does not accept commands"


# ---- Clients that mean harm, or nothing


GARBAGE = {
    "nothing": b"",
    "no line": b"hello",
    "not JSON": b"hello\n",
    "not UTF-8": b"\xff\xfe\n",
    "a list": b"[]\n",
    "null": b"null\n",
    "no words": b"{}\n",
    "no directory": b'{"words": ["user", "add", "x@example.com"]}\n',
    "words of no length": b'{"words": 1, "cwd": "/"}\n',
    "words that are numbers": b'{"words": [1], "cwd": "/"}\n',
    "no word": b'{"words": [], "cwd": "/"}\n',
    "an unknown verb": b'{"words": ["fly"], "cwd": "/"}\n',
    "a call for help": b'{"words": ["ingest", "--help"], "cwd": "/"}\n',
    "a question for the version": b'{"words": ["--version"], "cwd": "/"}\n',
    "a NUL in the directory": b'{"words": ["ingest", "x"], "cwd": "\\u0000"}\n',
    "a long line": b"x" * (2 << 20) + b"\n",
    "a deep line": b"[" * 200_000 + b"\n",
    "half a surrogate pair": b'{"words": ["ingest", "\\ud800"], "cwd": "/"}\n',
}


def test_garbage_on_the_socket_does_no_harm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with server.run_server(Config(port=0, data_dir=tmp_path / "data"), perform) as serving:
        for case, message in GARBAGE.items():
            with client_of(tmp_path / "data") as client, contextlib.suppress(ConnectionError):
                client.sendall(message)
                client.shutdown(socket.SHUT_WR)
                said_to(client)
            assert works(tmp_path / "data"), f"the server takes no more commands after {case}"
            assert process.get(("127.0.0.1", serving.port), "/livez").status == 200, case
    assert capsys.readouterr() == ("", "")


def test_a_command_that_fails_is_not_taken_for_a_server_stop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> int:
        raise RuntimeError("a mistake in a verb")

    with CommandSocket(make(tmp_path / "data"), broken):
        status, output = heard(tmp_path / "data", "ingest", "x")
    assert status == 1
    assert [stream for stream, _ in output] == ["err"]
    assert "a mistake in a verb" not in output[0][1], "what goes wrong inside is for the log"
    assert "a mistake in a verb" in caplog.text


def test_a_silent_client_delays_the_others_for_five_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert datadir.CONNECT_SECONDS == 5.0
    monkeypatch.setattr(datadir, "CONNECT_SECONDS", 0.2)
    with (
        CommandSocket(make(tmp_path / "data"), lambda command, say: 0),
        client_of(tmp_path / "data") as silent,
    ):
        assert heard(tmp_path / "data", "user") == (0, [])
        assert said_to(silent) == b""


def test_a_client_that_hangs_up_costs_only_its_own_command(tmp_path: Path) -> None:
    reached: list[str] = []
    hung_up = threading.Event()

    def chatty(command: datadir.Command, say: datadir.Say) -> int:
        say("out", command.words[0])
        assert hung_up.wait(process.SECONDS)
        for _ in range(100):
            say("out", "x" * 10_000)
        reached.append(command.words[0])
        return 0

    with CommandSocket(make(tmp_path / "data"), chatty):
        with client_of(tmp_path / "data") as client:
            client.sendall(b'{"words": ["first"], "cwd": "/"}\n')
            assert client.recv(100) == b'{"out": "first"}\n'
        hung_up.set()
        status, output = heard(tmp_path / "data", "second")
    assert (status, len(output)) == (0, 101)
    assert reached == ["second"]


@pytest.mark.slow
def test_killing_an_ingest_client_leaves_complete_filings(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    for number in range(1, 61):
        write(tmp_path / "in" / process.accession(number), filing(year=1960 + number))
    with process.serve(data_dir) as running:
        key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", data_dir).json["api_key"]
        with process.child("ingest", tmp_path / "in", "--data-dir", data_dir) as client:
            assert process.next_line(client).startswith(b"ingested  ")
            client.kill()
        done = finapi("ingest", tmp_path / "in", "--json", "--data-dir", data_dir)
        assert done.status == 0
        counts = done.json["counts"]
        assert counts["unchanged"] >= 5, "the first filing was finished"
        assert counts["ingested"] + counts["unchanged"] == 300
        assert figures(running.get(f"{STATEMENTS}?year=1961", key))["Net sales"] == ["1000"]
        assert running.stop() == 0
        assert "Traceback" not in running.log


# ---- Stopping


@pytest.mark.slow
def test_a_command_cut_off_by_a_stop_can_be_repeated(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    for number in range(1, 151):
        write(tmp_path / "in" / process.accession(number), filing(cik=number, extra=50))
    with process.serve(data_dir) as running, process.child("ingest", tmp_path / "in", "--data-dir", data_dir) as client:
        assert process.next_line(client).startswith(b"ingested  ")
        assert running.stop(signal.SIGTERM, 10.0) == 0
        out, err = client.communicate(timeout=process.SECONDS)
        assert err == b"finapi: the server stopped before the command was done; it is safe to try again\n"
        assert client.returncode == 1, "not all was done, and the words were right"
        # The last line may be the summary, "cut off: 5 ingested, ...", which is not a file.
        finished = 1 + len(re.findall(rb"^ingested  ", out, re.MULTILINE))
        assert finished < 750
        assert "Traceback" not in running.log
    again = finapi("ingest", tmp_path / "in", "--json", "--data-dir", data_dir)
    assert again.status == 0
    assert again.json["counts"]["unchanged"] >= finished
    assert again.json["counts"]["ingested"] + again.json["counts"]["unchanged"] == 750


@pytest.mark.slow
def test_a_command_that_waits_its_turn_at_a_stop_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    connected = threading.Event()

    def directory() -> str:
        connected.set()  # asked for when the words are put together
        return "/"

    def wait_in_line() -> None:
        try:
            messages.append(str(heard(tmp_path / "data", "user")))
        except Exception as error:
            messages.append(f"{type(error).__name__}: {error}")

    monkeypatch.setattr(os, "getcwd", directory)
    waiting = threading.Thread(target=wait_in_line)
    with contextlib.ExitStack() as stack, CommandSocket(make(tmp_path / "data"), lambda command, say: 0):
        stack.enter_context(client_of(tmp_path / "data"))  # says nothing, and so has the door to itself
        waiting.start()
        assert connected.wait(process.SECONDS)
    waiting.join(process.SECONDS)
    assert len(messages) == 1
    assert "the server stopped before the command was done; it is safe to try again" in messages[0]


@pytest.mark.slow
def test_a_command_that_hangs_does_not_block_a_stop(tmp_path: Path) -> None:
    data_dir, pipe = tmp_path / "data", tmp_path / "pipe"
    os.mkfifo(pipe)
    opened: list[int] = []

    def has_begun() -> bool:
        """Return True if the server reads the pipe, which is then held open, or has answered that it does not."""
        with contextlib.suppress(OSError):
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened or select.select([client], [], [], 0)[0])

    with process.serve(data_dir) as running, client_of(data_dir) as client:
        words = {"words": ["pack", "load", str(pipe)], "cwd": "/"}
        client.sendall(json.dumps(words).encode() + b"\n")
        eventually(has_begun)
        try:
            assert running.stop(signal.SIGTERM, 10.0) == 0
        finally:
            for handle in opened:
                os.close(handle)


def test_a_closed_reader_is_not_taken_for_a_stopped_server(running: tuple[Path, Running]) -> None:
    def gone(stream: str, text: str) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        hand_over(running[0], ["user", "list"], gone)
