"""What verbs have in common: progress and lists of companies."""

from __future__ import annotations

from pathlib import Path

import pytest

from finapi.core.errors import UsageError
from finapi.verbs.verb import Bar, lasting, listed_names


def test_progress_tells_how_far_how_fast_and_how_long_a_few_times_a_second() -> None:
    said: list[str] = []
    now = iter((0.0, 0.1, 2.0, 10.0, 10.0, 10.0))
    bar = Bar(lambda stream, text: said.append(text), lambda: next(now))
    bar.moved("num.txt", "bytes", 0, 400_000_000)
    bar.moved("num.txt", "bytes", 1_000_000, 400_000_000)  # too soon
    bar.moved("num.txt", "bytes", 40_000_000, 400_000_000)
    bar.moved("num.txt", "bytes", 400_000_000, 400_000_000)
    bar.moved("sub.txt", "filings", 3, 9)
    bar.moved("a\x1b[2J", "filings", 1, 0)
    assert said == [
        "num.txt: 0 of 400 MB",
        "num.txt: 40 of 400 MB, 20.0/s, 18 s left",
        "num.txt: 400 of 400 MB, 40.0/s, 0 s left",
        "sub.txt: 3 of 9 filings",
        "a\\x1b[2J: 1 filings",
    ]


def test_a_time_is_told_in_two_units() -> None:
    assert [lasting(seconds) for seconds in (0, 59.4, 60, 3599, 90_061)] == [
        "0 s", "59 s", "1 min 0 s", "59 min 59 s", "25 h 1 min",
    ]  # fmt: skip


def test_a_list_of_companies_is_read_as_people_write_it(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_bytes(b"\xef\xbb\xbfAAPL, MSFT # two\r\n# none\n320193\tGS,,\n")
    assert listed_names(str(tmp_path), "list") == ["AAPL", "MSFT", "320193", "GS"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"# none\n", "names no company"), (b"\xff", "is not UTF-8"), (b"A\n" * 600_000, "is too large to be a list")],
)
def test_a_file_that_is_no_list_of_companies_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "list").write_bytes(data)
    with pytest.raises(UsageError, match=reason):
        listed_names(str(tmp_path), "list")
