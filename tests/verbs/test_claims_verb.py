"""The verb claims: the figures of a CSV file with their verdicts, and files that are refused."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from finapi import cli
from finapi.testing import FinapiServer
from finapi.verbs import claims_verb
from finapi.web.financials import claims

HEADER = "sentence,ticker,metric,period,value\n"


pytestmark = pytest.mark.usefixtures("environ")


def test_rows_of_a_file_get_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims_verb, "MAX_CALL_CLAIMS", 2)
    file = tmp_path / "claims.csv"
    file.write_text(
        HEADER
        + '"Revenue was $394.3 billion, a record",AAPL,revenue,FY2022,394.3 billion\n'
        + '=HYPERLINK("x"),AAPL,revenue,FY2022,383.3 billion\n'
        + "Loss per share,AAPL,eps_diluted,FY2022,-6.11\n"
        + "Goodwill,AAPL,goodwill,FY2022,(5)\n",
        encoding="utf-8-sig",
    )
    assert cli.main(["claims", str(file)]) == 6
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["sentence"] for row in rows] == [
        "Revenue was $394.3 billion, a record",
        '\'=HYPERLINK("x")',
        "Loss per share",
        "Goodwill",
    ]
    found = [
        (row["verdict"], row["reason_code"], row["filed_value"], row["filed_period"], row["agreeing_period"])
        for row in rows
    ]
    assert found == [
        ("matches", "", "394328000000", "FY 2022", ""),
        ("wrong_period", "", "394328000000", "FY 2022", "FY 2023"),
        ("wrong_sign", "", "6.11", "FY 2022", ""),
        ("not_on_file", "figure_not_on_file", "", "", ""),
    ]
    assert (rows[1]["agreeing_value"], rows[2]["value"], rows[2]["filed_unit"]) == (
        "383285000000",
        "-6.11",
        "USD/shares",
    )
    assert rows[0]["link"].startswith("https://www.sec.gov/")


def test_a_call_with_too_many_past_days_is_split(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: FinapiServer
) -> None:
    monkeypatch.setattr(claims, "MAX_PAST_BOOKS", 1)
    file = tmp_path / "claims.csv"
    days = ("2023-12-31", "2025-06-30", "2025-12-31")
    rows = [f"AAPL,revenue,FY2022,394.3 billion,{day}\n" for day in days]
    file.write_text("ticker,metric,period,value,as_of\n" + "".join(rows))
    assert cli.main(["claims", str(file)]) == 0
    results = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["as_of"], row["verdict"]) for row in results] == [(day, "matches") for day in days]
    file.write_text("ticker,metric,period,value,as_of\n" + "".join(rows) + "AAPL,revenue,FY2022,1,soon\n")
    assert cli.main(["claims", str(file)]) == 2
    assert "It is in line 5." in capsys.readouterr().err


def test_true_claims_from_standard_input_end_with_status_0(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "cik,concept,period,value,unit,tolerance\n320193,us-gaap:Assets,2022-09-24,352755,USD million,0\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert cli.main(["claims", "-", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["verdict"], result["cell"]["value"]) == ("matches", 352_755_000_000)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has no column period; the first line names the columns"),
        (b"period\nFY2022\n", "has no column value; the first line names the columns"),
        (HEADER.encode(), "has no claims after the first line"),
        (HEADER.encode() + b"a,AAPL,revenue,,1\n", "line 2 has no period"),
        (HEADER.encode() + b"a,AAPL,revenue,FY2022\n", "line 2 has no value"),
        (HEADER.encode() + b"a,AAPL,revenue,FY2022,1,2\n", "line 2 has more fields than the first line"),
        (HEADER.encode() + b"\xff,AAPL,revenue,FY2022,1\n", "is not CSV in UTF-8"),
        (b"period,value,tolerance\nFY2022,1,much\n", "line 2: tolerance must be a number such as 0.01, not 'much'"),
        (HEADER.encode() + b"a,AAPL,revenue,FY2022,1\nb,no ticker!,revenue,FY2022,1\n", "It is in line 3."),
    ],
)
def test_a_file_that_is_not_understood_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, message: str
) -> None:
    file = tmp_path / "claims.csv"
    file.write_bytes(data)
    assert cli.main(["claims", str(file)]) == 2
    output = capsys.readouterr()
    assert (output.out, message in output.err) == ("", True), output.err


def test_a_missing_file_and_a_large_one_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["claims", str(tmp_path / "none.csv")]) == 2
    assert "No such file" in capsys.readouterr().err
    monkeypatch.setattr(claims_verb, "MAX_FILE_BYTES", 10)
    file = tmp_path / "claims.csv"
    file.write_text(HEADER)
    assert cli.main(["claims", str(file)]) == 2
    assert "has more than 10 bytes" in capsys.readouterr().err


def test_a_refused_key_ends_with_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "claims.csv"
    file.write_text(HEADER + "a,AAPL,revenue,FY2022,1\n")
    assert cli.main(["claims", str(file), "--key", "0" * 32]) == 3
    output: Any = capsys.readouterr()
    assert (output.out, "line" in output.err) == ("", False)
