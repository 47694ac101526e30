"""The verbs that store receipts of claims and check them: intact files, damaged ones, and files that cannot be read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from finapi import cli
from finapi.core import receipts
from finapi.verbs import claims_verb, receipts_verb

CLAIMS = "ticker,metric,period,value\nAAPL,revenue,FY2022,394.3 billion\nAAPL,revenue,FY2023,1\n"


def write_chain(path: Path, length: int) -> list[bytes]:
    """Write receipts that follow one another to a file. Return its lines."""
    lines: list[bytes] = []
    previous_sha256 = None
    for number in range(1, length + 1):
        content: dict[str, Any] = {
            "format": receipts.FORMAT,
            "account": "ann",
            "epoch": 1,
            "number": number,
            "previous_sha256": previous_sha256,
            "issued_at": "2026-01-31T12:00:00.000Z",
            "results": [{}] * number,
        }
        previous_sha256 = receipts.compute_sha256(content)
        seals = {"sha256": previous_sha256, "signature": "0" * 64}
        lines.append(receipts.canonicalise({**content, **seals}) + b"\n")
    path.write_bytes(b"".join(lines))
    return lines


def verify(capsys: pytest.CaptureFixture[str], *names: object) -> tuple[int, list[str]]:
    """Return the exit status and the lines of output of the check of some files."""
    status = cli.main(["receipts", "verify", *map(str, names)])
    return status, capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("environ")
def test_receipts_of_a_file_of_claims_are_appended_and_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims_verb, "MAX_CALL_CLAIMS", 1)
    claims = tmp_path / "claims.csv"
    claims.write_text(CLAIMS)
    file = tmp_path / "receipts.jsonl"
    for _ in range(2):
        assert cli.main(["claims", str(claims), "--receipt", str(file)]) == 6
    capsys.readouterr()
    stored = [json.loads(line) for line in file.read_text().splitlines()]
    assert [receipt["results"][0]["verdict"] for receipt in stored] == ["matches", "contradicted"] * 2
    assert [receipt["number"] - stored[0]["number"] for receipt in stored] == [0, 1, 2, 3]
    status, lines = verify(capsys, file)
    account, first = stored[0]["account"], stored[0]["number"]
    assert status == 0
    assert [line.split(": ", 1)[1].replace(account, "ACCOUNT") for line in lines[1:]] == [
        f"number {first + index} of account ACCOUNT, {stored[index]['issued_at']}, 1 claim: intact: "
        f"follows number {first + index - 1}"
        for index in (1, 2, 3)
    ]
    # A digit of a verdict's figure is changed.
    file.write_text(file.read_text().replace("394328000000", "394329000000", 1))
    status, lines = verify(capsys, file)
    assert status == 1
    assert lines[0].startswith(f"{file}:1: not intact: was changed: its SHA-256 is ")
    assert lines[1].endswith(f"intact: follows number {first}, which is not among the intact receipts before it")


@pytest.mark.usefixtures("environ")
def test_a_receipt_file_that_cannot_be_written_prevents_the_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claims = tmp_path / "claims.csv"
    claims.write_text(CLAIMS)
    assert cli.main(["claims", str(claims), "--receipt", str(tmp_path)]) == 2
    output = capsys.readouterr()
    assert (output.out, "Is a directory" in output.err) == ("", True)


def test_missing_repeated_and_reordered_receipts_end_with_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "receipts.jsonl"
    first, second, third = write_chain(file, 3)
    one = "number 1 of account ann, 2026-01-31T12:00:00.000Z, 1 claim"
    three = "number 3 of account ann, 2026-01-31T12:00:00.000Z, 3 claims"
    assert verify(capsys, file)[0] == 0
    file.write_bytes(first + third)
    assert verify(capsys, file) == (
        1,
        [
            f"{file}:1: {one}: intact: is the first",
            f"{file}:2: {three}: not intact: does not follow number 1: number 2 is missing",
        ],
    )
    file.write_bytes(first + first)
    assert verify(capsys, file)[1][1] == f"{file}:2: {one}: not intact: is a duplicate of number 1"
    file.write_bytes(third + second)
    assert verify(capsys, file)[1][1].endswith("not intact: is not in order: number 2 comes after number 3")
    file.write_bytes(first + b"\n" + second)
    assert verify(capsys, file)[0] == 1


def test_a_chain_continues_in_the_next_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, other = tmp_path / "a.json", tmp_path / "b.json"
    first, second = write_chain(file, 2)
    file.write_bytes(first.rstrip(b"\n"))
    other.write_bytes(second)
    assert verify(capsys, file, other) == (
        0,
        [
            f"{file}:1: number 1 of account ann, 2026-01-31T12:00:00.000Z, 1 claim: intact: is the first",
            f"{other}:1: number 2 of account ann, 2026-01-31T12:00:00.000Z, 2 claims: intact: follows number 1",
        ],
    )
    assert verify(capsys, other, file)[0] == 1


def test_the_check_prints_one_json_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = write_chain(tmp_path / "receipts.jsonl", 2)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(first + b"{}")))
    assert cli.main(["receipts", "verify", "-", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "receipts": [
            {
                "file": "-",
                "line": 1,
                "account": "ann",
                "number": 1,
                "issued_at": "2026-01-31T12:00:00.000Z",
                "claims": 1,
                "is_intact": True,
                "message": "is the first",
            },
            {
                "file": "-",
                "line": 2,
                "account": None,
                "number": None,
                "issued_at": None,
                "claims": None,
                "is_intact": False,
                "message": "is not a receipt: it has no format finapi-receipt-1",
            },
        ],
        "is_intact": False,
    }


def test_files_that_cannot_be_read_end_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts_verb, "MAX_LINE_BYTES", 100)
    empty, long = tmp_path / "empty", tmp_path / "long"
    empty.write_bytes(b"")
    long.write_bytes(b" " * 101)
    for file, message in (
        (tmp_path / "none", "No such file or directory"),
        (empty, "has no receipts"),
        (long, "line 1 has more than 100 bytes"),
    ):
        assert cli.main(["receipts", "verify", str(file)]) == 2
        assert f"{file}: {message}" in capsys.readouterr().err
