"""Tests of the verbs that query the API: tables of figures, documents, and exit statuses by the kind of failure."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from decimal import Decimal
from pathlib import Path

import pytest

from finapi import cli
from finapi.accounts import users
from finapi.core.config import Config
from finapi.ops.app_opening import open_app
from finapi.testing import FinapiServer
from finapi.verbs import terminal_tables
from finapi.web.financials import screen
from tests.conftest import NOW
from tests.support import fund_report_xml
from tests.support.case_tables import run_each_case
from tests.support.figures import build_companyfacts, store_companyfacts
from tests.web.financials.test_figures import year

pytestmark = pytest.mark.usefixtures("environ")


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert cli.main(words) == 0
    return capsys.readouterr().out.splitlines()


README, BOOK = ((Path(__file__).parents[2] / name).read_text("utf-8") for name in ("README.md", "docs/COOKBOOK.md"))


def test_commands_of_readme_and_cookbook_work_on_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    verbs = r"\bfinapi ((?:statements|timeseries|filings|insiders|fund|screen|get) (?:[^#,;\n]|,\S)*)"
    commands = [shlex.split(words) for words in re.findall(verbs, README)]
    assert [words[0] for words in commands] == [
        "statements",
        "timeseries",
        "filings",
        "insiders",
        "fund",
        "screen",
        "get",
    ]
    commands += [["get", path] for path in re.findall(r"^    GET (\S+)$", BOOK, flags=re.MULTILINE)]
    assert len(commands) == 24
    assert [words for words in commands if not lines(capsys, *words)] == []


def test_series_are_a_table_with_units_and_aligned_points(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, "timeseries", "AAPL", "revenue,net_income,eps_diluted", "-n", "2") == [
        "metric       unit                   2025 FY             2024 FY",
        "period_end                       2025-09-27          2024-09-28",
        "revenue      USD         416,161,000,000     391,035,000,000",
        "net_income   USD         112,010,000,000      93,736,000,000",
        "eps_diluted  USD/shares                7.46                6.08",
    ]


def test_a_series_that_is_too_wide_has_a_line_per_period(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [
        "period   period_end      revenue USD",
        "2025 FY  2025-09-27  416,161,000,000",
        "2024 FY  2024-09-28  391,035,000,000",
    ]
    output_lines = lines(capsys, "timeseries", "AAPL", "revenue")
    assert (output_lines[:3], len(output_lines)) == (expected, 8)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    assert lines(capsys, "timeseries", "AAPL", "revenue", "-n", "2") == expected
    assert lines(capsys, "timeseries", "AAPL", "revenue,eps_diluted,premiums_earned", "-n", "1", "--unit", "m") == [
        "metric           unit               2025 FY",
        "period_end                       2025-09-27",
        "revenue          USD m           416,161",
        "eps_diluted      USD/shares            7.46",
        "premiums_earned  USD m       not_applicable",
    ]


@pytest.mark.parametrize(
    ("unit", "revenue", "shares"),
    [("k", "416,161,000", "14,773,260"), ("m", "416,161", "14,773.3"), ("bn", "416.16", "14.77")],
)
def test_money_and_shares_are_shown_in_a_unit(
    capsys: pytest.CaptureFixture[str], unit: str, revenue: str, shares: str
) -> None:
    words = ("timeseries", "AAPL", "revenue,shares_outstanding,roe,eps_diluted", "-n", "1", "--unit", unit)
    rows = {row.split()[0]: row.split()[1:] for row in lines(capsys, *words)[2:]}
    assert rows["revenue"] == ["USD", unit, revenue]
    assert rows["shares_outstanding"] == ["shares", unit, shares]
    assert (rows["roe"], rows["eps_diluted"]) == (["ratio", "1.71422449745"], ["USD/shares", "7.46"])


def test_a_unit_is_refused_for_exact_figures(capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--csv", "--json"):
        assert cli.main(["timeseries", "AAPL", "revenue", "--unit", "m", flag]) == 2
        assert "only for tables and charts" in capsys.readouterr().err
    assert cli.main(["timeseries", "AAPL", "revenue", "--unit", "x"]) == 2
    assert "invalid choice: 'x'" in capsys.readouterr().err
    chart = lines(capsys, "timeseries", "AAPL", "revenue", "-n", "1", "--unit", "m", "--chart")
    assert chart[2].endswith(" 416,161")


def test_a_figure_that_is_missing_is_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    (*_, line) = lines(capsys, "timeseries", "AAPL", "premiums_earned", "-n", "1")
    assert line.split()[-1] in ("not_reported", "not_applicable", "not_in_filing"), line


def test_statements_show_the_filers_lines_with_their_signs(capsys: pytest.CaptureFixture[str]) -> None:
    table_lines = lines(capsys, "statements", "AAPL", "-p", "Q", "--statement", "income")
    assert table_lines[1].startswith("income: ")
    assert next(line.split() for line in table_lines if line.startswith("  Net sales"))[2:4] == [
        "USD",
        "95,359,000,000",
    ]
    cash = lines(capsys, "statements", "AAPL", "--statement", "cash-flow")
    (paid,) = [line for line in cash if "dividends and dividend equivalents" in line]
    assert paid.split()[-3].startswith("-")


def test_negative_figures_are_red_on_a_colour_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("timeseries", "UPXI", "revenue,net_income", "-n", "1")
    plain = lines(capsys, *words)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for name, value, coloured in (("TERM", "xterm", True), ("TERM", "dumb", False), ("NO_COLOR", "1", False)):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv(name, value)
        table_lines = lines(capsys, *words)
        assert [re.sub("\x1b.*?m", "", line) for line in table_lines] == plain
        assert [line for line in table_lines if "\x1b[31m" in line] == ([table_lines[3]] if coloured else [])


@run_each_case(
    "words, title, bars",
    [
        (("statements", "AAPL", "--statement", "income"), "income", 15),
        (("timeseries", "AAPL", "revenue", "-n", "2"), "revenue", 2),
        (("filings", "AAPL"), "filings", 28),
        (("insiders", "AAPL"), "transaction_value", 11),
        (("screen", "gross_margin>0.1"), "gross_margin", 4),
        (("fund", "1067983", "-n", "2"), "value_usd", 2),
    ],
)
def test_every_question_has_a_chart_a_table_and_documents(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], title: str, bars: int
) -> None:
    empty, chart_line, *rows = lines(capsys, *words, "--chart")
    assert (empty, chart_line, len(rows)) == ("", title, bars)
    assert any("#" * 40 in row or "-" * 40 in row for row in rows)
    assert json.loads(lines(capsys, *words, "--json")[0])["status"] == "success"
    assert "," in lines(capsys, *words, "--csv")[0]


def test_commands_answer_as_of_a_past_day(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, "filings", "AAPL", "--as-of", "2024-11-01")[1].split()[:2] == ["2024-11-01", "10-K"]
    assert lines(capsys, "timeseries", "AAPL", "revenue", "--as-of", "2024-10-31")[1].startswith("2023 FY")
    (screened,) = json.loads(lines(capsys, "screen", "roe>1", "--as-of", "2024-10-31", "--json")[0])["data"]
    assert (screened["ticker"], screened["period_end"]) == ("AAPL", "2023-09-30")


def test_shares_that_were_sold_are_a_bar_to_the_other_side(capsys: pytest.CaptureFixture[str]) -> None:
    (sold,) = (line for line in lines(capsys, "insiders", "AAPL", "--chart") if "-380,357" in line)
    assert "---  " in sold
    assert "#" not in sold


def test_more_rows_than_a_page_holds_are_read_page_after_page(capsys: pytest.CaptureFixture[str]) -> None:
    table_lines = lines(capsys, "insiders", "AAPL", "-n", "9")
    assert len(table_lines) == 10
    meta = json.loads(lines(capsys, "get", "/api/v1/sec/filings?limit=1&include_total=true")[0])["meta"]
    many = lines(capsys, "filings", "-n", "5000")
    assert len(many) - 1 == meta["pagination"]["total"] > 50


def test_lists_are_tables_json_or_csv(capsys: pytest.CaptureFixture[str]) -> None:
    head, first = lines(capsys, "filings", "AAPL", "-n", "1")
    assert head.split() == ["filed_date", "form_type", "ticker", "accession_number", "entity_name", "period_of_report"]
    assert first.split()[:4] == ["2026-06-17", "4", "AAPL", "0001140361-26-025622"]
    (document,) = lines(capsys, "filings", "AAPL", "-n", "1", "--json")
    assert json.loads(document)["data"][0]["accession_number"] == "0001140361-26-025622"
    rows = lines(capsys, "filings", "AAPL", "-n", "1", "--csv")
    assert rows[0].startswith("id,accession_number,")
    assert len(rows) == 2
    days = [line.split()[0] for line in lines(capsys, "insiders", "AAPL")[1:]]
    assert days == ["2026-06-15"] * 3 + ["2024-04-18"] + ["2022-05-04"] * 7
    filed_first = lines(capsys, "insiders", "AAPL", "--sort-by", "filing_date")[1:]
    assert sorted(filed_first) == sorted(lines(capsys, "insiders", "AAPL")[1:])
    assert cli.main(("fund", "1067983", "-n", "1")) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].startswith("02079K107")
    assert printed.err == "finapi: holdings of Berkshire Hathaway Inc at 2026-03-31\n"
    title = "income: CONDENSED CONSOLIDATED STATEMENTS OF OPERATIONS (Unaudited)"
    assert lines(capsys, "statements", "AAPL", "-p", "Q", "--statement", "income")[1] == title
    for options, output in (((), "no rows"), (("--csv",), rows[0])):
        assert cli.main(("filings", "UPXI", "--form-type", "25-NSE", *options)) == 0
        printed = capsys.readouterr()
        assert printed.out.splitlines() == [output]
        assert printed.err == "finapi: The stored filing of UPEXI, INC. does not match the query.\n"
    (policy,) = lines(capsys, "get", "/api/v1/policy")
    for path in ("policy", "api/v1/policy"):
        assert json.loads(lines(capsys, "get", path)[0])["data"] == json.loads(policy)["data"]
    assert json.loads(policy)["data"]["api_version"]


def test_a_file_is_written_as_it_came(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert cli.main(["get", "/api/v1/xbrl/bulk/filings-2026-01-29.ndjson.gz"]) == 0
    rows = gzip.decompress(capfdbinary.readouterr().out).splitlines()
    assert [json.loads(row)["accession_number"] for row in rows] == ["0000320193-26-000005"]


def test_a_file_is_not_written_to_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert cli.main(["get", "/api/v1/xbrl/bulk/filings-2026-01-29.ndjson.gz"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, "the answer is a file" in printed.err) == ("", True)


def test_names_of_east_asia_and_accents_keep_the_columns() -> None:
    names = ["東京エレクトロン", "Nestle\u0301 SA", "Plain Inc"]
    table_lines = [*terminal_tables.render_table([{"name": name, "value": 5} for name in names], coloured=False)]
    assert table_lines == [
        "name              value",
        "東京エレクトロン      5",
        "Nestle\u0301 SA             5",
        "Plain Inc             5",
    ]
    assert terminal_tables.truncate("東京エレクトロン", 11) == "東京エレ..."
    bars = [*terminal_tables.render_chart("t", [("東京", 1), ("UPXI", 1)])]
    assert [terminal_tables.compute_text_width(line.partition("#")[0]) for line in bars[2:]] == [6, 6]


@pytest.mark.parametrize(("verb", "name"), [("statements", "ticker"), ("nport", "ticker"), ("fund", "cik")])
def test_an_empty_name_is_a_wrong_argument(verb: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main((verb, "", "--url", "http://127.0.0.1:9")) == 2
    assert capsys.readouterr().err == f"finapi: argument {name}: must not be empty\n"


def test_on_a_narrow_terminal_names_are_cut_and_figures_are_not() -> None:
    row = {"accession": "0001140361-26-006577", "name": "A company with quite a long name", "value": Decimal(-1234567)}
    full_lines = [*terminal_tables.render_table([row], coloured=False)]
    assert full_lines[1] == "0001140361-26-006577  A company with quite a long name  -1,234,567"
    assert [*terminal_tables.render_table([row], coloured=False, width=66)] == full_lines
    cut = [*terminal_tables.render_table([row], coloured=False, width=59)]
    assert cut[1] == "0001140361-26-006577  A company with quite a...  -1,234,567"
    # No less than this: beyond it the terminal wraps.
    assert [*terminal_tables.render_table([row], coloured=False, width=10)][
        1
    ] == "0001140361-26-006577  A company wit...  -1,234,567"
    bars = [*terminal_tables.render_chart("t", [("2025 FY", 416)], width=30)]
    assert bars[2] == f"2025 FY  {'#' * 16}  416"


def test_a_wait_is_told_where_somebody_watches(
    server: FinapiServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    server.control.fault(status=429, times=1)
    lines(capsys, "filings", "-n", "1")
    server.control.fault(status=429, times=1)
    assert cli.main(["filings", "-n", "1"]) == 0
    assert "the server is busy or does not answer; next try in 1 s" in capsys.readouterr().err


def test_without_tokens_the_cost_and_the_refill_are_printed(
    server: FinapiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["filings", "--key", server.accounts["exhausted"]["api_key"]]) == 5
    (message,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("finapi: 402"))
    assert re.search(r"It costs 5 and 0 are left until 2026-02-\d\dT[0-9:.]+Z; http://\S+/plans$", message), message


def test_what_a_server_says_does_not_write_to_the_terminal() -> None:
    bad = "\x1b[2J"
    table_lines = [
        *terminal_tables.render_table([{bad: bad, "a": Decimal("1.5")}], coloured=False),
        *terminal_tables.render_chart(bad, [(bad, 1)]),
    ]
    assert "\\x1b[2J" in "".join(table_lines)
    assert "\x1b" not in "".join(table_lines)


@run_each_case(
    "words, status, code",
    [
        (("filings", "--key", "bad"), 3, "UNAUTHORIZED"),
        (("filings", "--key", "bad"), 3, "Set FINAPI_API_KEY, or give --key."),
        (("statements", "ZZZZ"), 4, "UNKNOWN_TICKER"),
        (("statements", "../policy"), 4, "UNKNOWN_TICKER"),
        (("statements", "AAPL", "--as-of", "never"), 2, "INVALID_PARAM"),
        (("get", "/api/v1/nothing"), 4, "NOT_FOUND"),
        (("get", "/api/v1/xbrl/timeserie?ticker=AAPL"), 4, "Did you mean /api/v1/xbrl/timeseries?"),
        (("get", "/api/v1/form-13f/fund/1067984"), 4, "no 13F report by this manager."),
        (("get", "/api/v1/xbrl/dictionary?kind=rati"), 2, "ratio"),
        (("get", "\udcff"), 2, "argument PATH: '\\udcff' is not valid Unicode"),
        (("timeseries", "\udcff", "revenue"), 2, "argument ticker: '\\udcff' is not valid Unicode"),
        (("get", "/api/v1/policy", "--url", "ftp://x"), 2, "setting url"),
    ],
)
def test_the_exit_status_tells_the_kind_of_failure(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, code: str
) -> None:
    assert cli.main(words) == status
    printed = capsys.readouterr()
    assert printed.out == ""
    # The server of this test runs in the same process, and may log before.
    assert code in printed.err.splitlines()[-1]


def test_limits_and_failing_servers_have_statuses_of_their_own(
    server: FinapiServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["filings", "--key", server.accounts["exhausted"]["api_key"]]) == 5
    server.control.fault(status=404, times=1)
    assert cli.main(["filings"]) == 4
    server.control.fault(status=400)
    assert cli.main(["filings"]) == 2
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    server.control.reset()
    server.control.fault(status=500)
    assert cli.main(["filings"]) == 1
    capsys.readouterr()


def test_a_data_directory_is_asked_in_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FINAPI_URL")
    options = ["--data-dir", str(tmp_path / "data")]
    assert cli.main(["get", "/api/v1/policy", *options]) == 2
    assert "there is no database" in capsys.readouterr().err
    companies = tmp_path / "company_tickers.json"
    companies.write_text('{"0": {"cik_str": 1000001, "ticker": "ZZTOP", "title": "Zed Zed Inc"}}')
    assert cli.main(["ingest", str(companies), *options]) == 0
    assert cli.main(["user", "add", "ann@example.com", "--plan", "pro", "--json", *options]) == 0
    key = json.loads(capsys.readouterr().out.splitlines()[-1])["api_key"]
    assert cli.main(["get", "/api/v1/account/balance", "--key", key, *options]) == 0
    assert json.loads(capsys.readouterr().out)["plan"] == "pro"


@pytest.mark.parametrize(
    "words",
    [("screen", "net_margin>0", "--json"), ("get", "/api/v1/xbrl/screen"), ("get", "/api/v1/xbrl/screen?limit=5")],
)
def test_a_screen_without_a_server_computes_latest_years_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.delenv("FINAPI_URL")
    monkeypatch.setattr(screen, "MAX_YEARS_DUE", 0)
    with open_app(Config(data_dir=tmp_path)) as app:
        store_companyfacts(app, build_companyfacts(77, "Seventy-Seven plc", year(77, 2023, 10)))
        key = users.create(app, "ann@example.com", "pro", NOW).api_key
    assert cli.main([*words, "--key", key, "--data-dir", str(tmp_path)]) == 0
    assert [row["cik"] for row in json.loads(capsys.readouterr().out)["data"]] == ["0000000077"]


def test_positions_of_a_fund_are_a_table_and_a_chart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FINAPI_URL")
    with open_app(Config(data_dir=tmp_path)) as app:
        with app.db.write() as tx:
            fund_report_xml.store_examples(tx, NOW)
        key = users.create(app, "ann@example.com", "pro", NOW).api_key
    words = ("nport", "LNTN", "--data-dir", str(tmp_path), "--key", key)
    heading, *table_lines = lines(capsys, *words)
    assert heading.split()[:5] == ["name", "title", "cusip", "isin", "asset_cat"]
    assert [line.split()[0] for line in table_lines] == ["Apple", "Lamp", "-"]
    assert [line.split()[0] for line in lines(capsys, *words, "--period", "2024-09")[1:]] == ["Ally", "Apple"]
    assert lines(capsys, *words, "--chart")[1] == "val_usd"
    assert cli.main([*words, "--period", "2023-12"]) == 4
    assert capsys.readouterr().err == "finapi: 404 NOT_FOUND: finapi has no N-PORT report of this fund for 2023-12.\n"


def test_a_series_without_rows_falls_back_to_another_period(capsys: pytest.CaptureFixture[str]) -> None:
    head, *_ = lines(capsys, "timeseries", "NFLX", "revenue", "-n", "1")
    assert head.split()[2:] == ["2024", "Q1"]
    assert lines(capsys, "timeseries", "NFLX", "revenue", "-p", "A") == ["no rows"]


def test_statements_without_annual_reports_are_quarterly(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["statements", "NFLX"]) == 0
    output = capsys.readouterr()
    assert "2024-03-31" in output.out
    first_line, second_line = output.err.splitlines()
    assert first_line.startswith("finapi: No annual report of Netflix, Inc. is stored.")
    assert second_line == "finapi: these are the statements of period=Q"
    assert cli.main(["statements", "NFLX", "--period", "A"]) != 0
    assert cli.main(["statements", "SNOW"]) != 0
    assert capsys.readouterr().out == ""
