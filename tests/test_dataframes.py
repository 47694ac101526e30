"""Runs the code of docs/DATAFRAMES.md against a server with the demo's data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import users
from finapi.core.config import Config
from finapi.market.demo import demo_data
from finapi.server import run_server
from finapi.testing import FinapiServer
from finapi.testing.server import FixtureWorld

PAGE = (Path(__file__).parents[1] / "docs" / "DATAFRAMES.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture
def world() -> Iterator[FixtureWorld]:
    with FinapiServer(seed=19, listens=False) as server:
        yield server.world("frames")


def nothing(*_: Any) -> int:
    """Accept no command that is handed over."""
    return 0


def test_every_block_runs_and_its_figures_are_apples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="pandas cannot be had here")
    pytest.importorskip("polars", reason="polars cannot be had here")
    config = Config(data_dir=tmp_path, port=0, password_profile="cheap")
    keys: list[str] = []

    def prepare(app: Any) -> None:
        demo_data.load(app)
        keys.append(users.create(app, "ann@example.com", "pro", app.clock.now()).api_key)

    with run_server(config, nothing, prepare=prepare) as server:
        monkeypatch.setenv("FINAPI_URL", server.url)
        monkeypatch.setenv("FINAPI_API_KEY", keys[0])
        namespace: dict[str, Any] = {}
        for block in BLOCKS:
            exec(compile(block, "docs/DATAFRAMES.md", "exec"), namespace)
    wide = namespace["wide"]
    assert wide.loc["2024-09-28", "revenue"] == 391_035_000_000
    assert (wide.loc["2024-09-28", "ticker"], wide.loc["2024-09-28", "unit"]) == ("AAPL", "USD")
    assert round(namespace["margin"].loc["2024-09-28"], 4) == round(93_736 / 391_035, 4)
    assert "0000320193-24-000123" in namespace["sources"]["revenue"]
    assert "391035000000" in set(namespace["newest"]["value"])
    assert len(namespace["trades"]) > 0
    assert namespace["prices"]["close"].null_count() == 0
    assert namespace["prices"].height > 500, "without a limit the table is whole"
    assert set(namespace["companies"]["ticker"]) <= {"AAPL", "NFLX", "UPXI", "AEON", "SNOW", "MRVL"}
    assert namespace["monthly"].height > 12
    assert namespace["quarters"]["revenue"].notna().all()
    assert namespace["closes"].height == namespace["prices"].height
    assert namespace["weekly"].dtype == "float64"


def test_a_client_makes_frames_of_lists(world: FixtureWorld) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas cannot be had here")
    polars = pytest.importorskip("polars", reason="polars cannot be had here")
    client = world.client(dates=True)
    years = client.to_pandas("get_xbrl_timeseries", ticker="AAPL", metrics=["revenue", "premiums_earned"], years="2")
    assert [*years["revenue"]] == [416_161_000_000, 391_035_000_000]
    # What is missing is neither 0 nor NaN.
    assert years["premiums_earned"].isna().all()
    assert years["premiums_earned"].isna().dtype == bool
    assert [*years["period_end"]] == [date(2025, 9, 27), date(2024, 9, 28)]
    series = client.to_polars("get_xbrl_timeseries", ticker="AAPL", metrics="revenue", provenance="summary", years="2")
    assert series["revenue"].to_list() == [*years["revenue"]]
    prices = client.to_polars("get_prices_ticker", ticker="AAPL")
    assert prices.schema["close"] == polars.Decimal(38, 2)
    assert prices.schema["date"] == polars.Date
    assert isinstance(client.to_pandas("get_prices_ticker", ticker="AAPL")["close"][0], Decimal)
    for frame in (client.to_pandas("get_insiders_clusters"), client.to_polars("get_insiders_clusters")):
        assert len(frame) == 0
    assert isinstance(years, pandas.DataFrame)


@pytest.mark.parametrize("dates", [False, True])
def test_frames_of_floats_have_plain_dtypes(world: FixtureWorld, dates: bool) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas cannot be had here")
    client = world.client(dates=dates)
    metrics = ["revenue", "premiums_earned", "gross_margin"]
    years = client.to_pandas("get_xbrl_timeseries", floats=True, ticker="AAPL", metrics=metrics, years="2")
    assert {name: str(years[name].dtype) for name in (*metrics, "fiscal_year", "period_end", "known_on")} == {
        "revenue": "float64",
        "premiums_earned": "float64",
        "gross_margin": "float64",
        "fiscal_year": "float64",
        "period_end": "datetime64[s]",
        "known_on": "datetime64[s]",
    }
    assert [*years["revenue"]] == [416_161_000_000.0, 391_035_000_000.0]
    assert years["premiums_earned"].isna().all()
    assert years["period_end"][0] == pandas.Timestamp("2025-09-27")
    prices = client.to_pandas("get_prices_ticker", floats=True, ticker="AAPL")
    assert (str(prices["close"].dtype), str(prices["date"].dtype)) == ("float64", "datetime64[s]")
    filings = client.to_pandas("get_sec_filings", floats=True, ticker="AAPL")
    assert str(filings["accepted_at"].dtype) == "datetime64[ms, UTC]"
    assert filings["form_type"][0] in {"10-K", "10-Q", "8-K", "4"}


def test_frames_of_empty_lists_have_columns(world: FixtureWorld) -> None:
    pytest.importorskip("pandas", reason="pandas cannot be had here")
    client = world.client()
    series = {"ticker": "AAPL", "metrics": "revenue,net_income", "years": "1999"}
    empty = client.to_pandas("get_xbrl_timeseries", floats=True, **series)
    assert len(empty) == 0
    assert {"fiscal_year", "period_end", "revenue", "net_income"} <= {*empty.columns}
    assert "metrics" not in empty.columns
    assert (str(empty["revenue"].dtype), str(empty["period_end"].dtype)) == ("float64", "datetime64[s]")
    assert [*client.to_pandas("get_xbrl_timeseries", **series).columns] == [*empty.columns]
    clusters = client.to_pandas("get_insiders_clusters", floats=True)
    assert "ticker" in {*clusters.columns}
