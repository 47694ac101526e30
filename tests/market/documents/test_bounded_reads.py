"""Reads take memory for the bytes that exist, not for the allowed maximum; a lack of memory prints one line."""

from __future__ import annotations

import ast
import importlib
import io
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from finapi import cli
from finapi.app import App
from finapi.core import files
from finapi.core.config import Config
from finapi.market.documents import families, sources
from finapi.market.documents.identification import IngestOptions
from finapi.market.documents.outcomes import Outcome
from finapi.market.documents.sources import TOO_LITTLE_MEMORY, Entry, Unreadable
from finapi.market.intake import gateway, ingest
from finapi.market.intake.gateway import Gateway
from finapi.net.outbound import Outbound, OutboundRequest, ReachPolicy
from finapi.ops.app_opening import open_app
from finapi.store.datadir import Command
from tests import process
from tests.receiver import receiver, status
from tests.support import ownership_xml
from tests.support.case_tables import run_each_case
from tests.test_architecture import FILES, nodes_of

MAX_READ_BYTES = 4 * 1024 * 1024  # Bytes that any code may request from a stream with one read.


class Counting(io.BytesIO):
    """A stream that records the sizes of the reads."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.read_sizes: list[int] = []

    def read(self, size: int | None = -1) -> bytes:
        self.read_sizes.append(-1 if size is None else size)
        return super().read(size)


# ---- sizes of reads


def test_short_stream_is_read_in_small_pieces() -> None:
    stream = Counting(b"x" * 4_000)
    assert files.read_bounded(stream, 256 * 1024 * 1024, 4_000) == b"x" * 4_000
    assert stream.read_sizes == [files.CHUNK_BYTES] * 2


def test_a_stream_of_a_known_length_is_read_in_one_piece() -> None:
    stream = Counting(bytes(1_000_000))
    assert len(files.read_bounded(stream, 256 * 1024 * 1024, 1_000_000)) == 1_000_000
    assert stream.read_sizes == [1_000_000, files.CHUNK_BYTES]


@run_each_case("expected", [0, 10, 1_000_000])
@run_each_case("length", [0, 1, 199_999, 200_000, 200_001])
def test_a_stream_is_read_up_to_its_bound(expected: int, length: int) -> None:
    stream = Counting(bytes(length))
    assert len(files.read_bounded(stream, 200_000, expected)) == min(length, 200_000)
    assert max(stream.read_sizes) <= 200_000


def test_document_is_read_up_to_its_declared_size() -> None:
    stream = Counting(b"x" * 4_000)
    entry = Entry("x", "x", lambda: stream, 4_000)
    assert entry.read() == b"x" * 4_000
    assert max(stream.read_sizes) <= files.CHUNK_BYTES


def test_archive_file_is_read_up_to_its_length(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[tuple[int, int]] = []

    def note(stream: IO[bytes], max_bytes: int, expected_bytes: int = 0) -> bytes:
        reads.append((max_bytes, expected_bytes))
        return files.read_bounded(stream, max_bytes, expected_bytes)

    monkeypatch.setattr(gateway, "read_bounded", note)
    (tmp_path / "x").write_bytes(b"x" * 4_000)
    app = replace(app, config=replace(app.config, base_url=str(tmp_path)))
    assert Gateway(app).get("www", "/x").body == b"x" * 4_000
    assert reads == [(sources.MAX_DOCUMENT_BYTES, 4_000)]


def test_reply_is_read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from http.client import HTTPResponse

    read_sizes: list[int] = []
    read1 = HTTPResponse.read1

    def note(response: HTTPResponse, n: int = -1) -> bytes:
        read_sizes.append(n)
        return read1(response, n)

    monkeypatch.setattr(HTTPResponse, "read1", note)
    with receiver(status(200, body=bytes(300_000))) as server:
        request = OutboundRequest(server.url, max_body_bytes=256 * 1024 * 1024)
        assert len(Outbound(ReachPolicy(allows_any_address=True)).send(request).body) == 300_000
    assert read_sizes
    assert max(read_sizes) <= files.CHUNK_BYTES


@pytest.mark.slow
def test_no_code_reads_a_stream_up_to_its_maximum() -> None:
    """``read(n)`` of a file takes n bytes before it reads one."""
    sizes_by_line = {}
    for file in FILES:
        module = ".".join(file.relative_to(process.ROOT).with_suffix("").parts)
        for node in nodes_of(file):
            is_read = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if not is_read or node.func.attr not in ("read", "read1", "recv"):  # type: ignore[attr-defined]
                continue
            for name in [name for argument in node.args for name in ast.walk(argument)]:  # type: ignore[attr-defined]
                if isinstance(name, ast.Name) and name.id.isupper():
                    sizes_by_line[f"{module}:{node.lineno}"] = getattr(importlib.import_module(module), name.id)
    sizes_by_line = {line: size for line, size in sizes_by_line.items() if isinstance(size, int)}
    assert len(sizes_by_line) > 3
    assert {line: size for line, size in sizes_by_line.items() if size > MAX_READ_BYTES} == {}


# ---- too little memory


def out_of_memory(*arguments: Any, **options: Any) -> Any:
    raise MemoryError


def ingest_one(app: App, folder: Path) -> Outcome:
    outcomes: list[Outcome] = []
    ingest.run(app, [folder], IngestOptions(), outcomes.append)
    (outcome,) = outcomes
    return outcome


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a Form 4."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "form4.xml").write_bytes(ownership_xml.form(ownership_xml.transaction()))
    return folder


def test_document_larger_than_memory_is_refused(
    app: App, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sources, "read_bounded", out_of_memory)
    outcome = ingest_one(app, folder)
    assert (outcome.outcome, outcome.reason) == ("refused", TOO_LITTLE_MEMORY)
    assert caplog.text == ""


@pytest.mark.parametrize("step", ["read_content", "store", "group_documents"])
def test_memory_error_refuses_one_document_only(
    step: str, app: App, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = families.load_family

    def family(form: Any) -> Any:
        return replace(real(form), **{step: out_of_memory})

    with monkeypatch.context() as patch:
        patch.setattr(families, "load_family", family)
        outcome = ingest_one(app, folder)
    assert (outcome.outcome, outcome.reason) == ("refused", TOO_LITTLE_MEMORY)
    assert caplog.text == ""
    assert ingest_one(app, folder).outcome == "ingested"


def test_zip_directory_larger_than_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.txt", "x")
    monkeypatch.setattr(zipfile, "ZipFile", out_of_memory)
    assert list(sources.iter_groups([file])) == [Unreadable(str(file), TOO_LITTLE_MEMORY)]


def test_memory_error_in_verb_prints_one_line(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ingest, "run", out_of_memory)
    assert cli.main(["ingest", str(folder), "--data-dir", str(tmp_path / "data")]) == 1
    assert capsys.readouterr().err == f"finapi: {cli.TOO_LITTLE_MEMORY}\n"


def test_memory_error_in_forwarded_verb_prints_one_line(
    app: App, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "run", out_of_memory)
    lines: list[tuple[str, str]] = []
    say: Callable[[str, str], None] = lambda stream, text: lines.append((stream, text))  # noqa: E731
    assert cli.perform(app, Command(["ingest", str(folder)], str(folder), "", "root"), say) == 1
    assert lines == [("err", f"finapi: {cli.TOO_LITTLE_MEMORY}")]


def ingest_within(kilobytes: int, folder: Path, data_dir: Path) -> subprocess.CompletedProcess[str]:
    script = f'ulimit -v {kilobytes}; exec "$0" "$@"'
    command = ["bash", "-c", script, *process.COMMAND, "ingest", str(folder), "--data-dir", str(data_dir)]
    return subprocess.run(
        command, cwd=process.ROOT, env=process.environment(), capture_output=True, text=True, timeout=process.SECONDS
    )


@pytest.mark.slow
def test_a_form_is_ingested_within_300_mb(tmp_path: Path, folder: Path) -> None:
    done = ingest_within(300_000, folder, tmp_path / "data")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("ingested  ")


def test_memory_error_prints_one_line_per_file(tmp_path: Path, folder: Path) -> None:
    with open_app(Config(data_dir=tmp_path / "data")):
        pass
    # Of a kind that is read completely, and with a hole, so that it costs no disk.
    with (folder / "large.txt").open("wb") as file:
        file.write(b"<SEC-DOCUMENT>x\n<SEC-HEADER>\nACCESSION NUMBER: 0000000001-26-000001\n")
        file.truncate(190_000_000)
    done = ingest_within(200_000, folder, tmp_path / "data")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (refused,) = [line for line in done.stderr.splitlines() if line.startswith("refused")]
    assert refused.endswith(TOO_LITTLE_MEMORY)
    assert "ingested  " in done.stdout
