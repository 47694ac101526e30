"""Tests of the test server's ids: the same in every run, and never used twice in a world."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from finapi.testing import FinapiServer
from finapi.testing.base import INVITE_COUNT, PASSWORD
from finapi.testing.gate import Gate
from finapi.testing.server import FixtureWorld
from finapi.testing.world import World
from tests.support.case_tables import run_each_case
from tests.support.raw_sql import run_sql

SEED = 7
COMPANIES = [
    json.dumps({"0": {"cik_str": 1_000_001 + number, "ticker": ticker, "title": f"{ticker} Inc"}}).encode()
    for number, ticker in enumerate(("AAAA", "BBBB", "CCCC"))
]


@pytest.fixture
def server() -> Iterator[FinapiServer]:
    with FinapiServer(seed=SEED, listens=False) as server:
        yield server


@pytest.fixture(params=["", "named"], ids=["unnamed-world", "named-world"])
def world(request: pytest.FixtureRequest, server: FinapiServer) -> FixtureWorld:
    unnamed_world = server._world
    assert unnamed_world is not None
    return server.world(request.param) if request.param else unnamed_world


def get_state(world: FixtureWorld) -> World:
    """Return the state behind a world."""
    assert isinstance(world.wsgi, Gate)
    return world.wsgi.worlds[world.url.partition("/_world/")[2]]


def get_uuids(world: FixtureWorld) -> list[str]:
    """Return the uuids of every account and key in a world."""
    with get_state(world).app.accounts.read() as tx:
        rows = run_sql(tx, "SELECT uuid FROM users UNION ALL SELECT uuid FROM api_keys").fetchall()
    return [uuid for (uuid,) in rows]


def get_stamp(world: FixtureWorld) -> str:
    """Return the stamp of a world's data version."""
    with get_state(world).app.db.read() as tx:
        return str(run_sql(tx, "SELECT stamp FROM data_version").fetchone()[0])


def file_companies(world: FixtureWorld, *numbers: int) -> str:
    """File these lists of companies and return the stamp of the data version."""
    for number in numbers:
        (outcome,) = world.control.filing("company_tickers.json", COMPANIES[number])
        assert outcome["outcome"] == "ingested"
    return get_stamp(world)


def test_an_account_with_an_email_can_be_created_first(world: FixtureWorld) -> None:
    account = world.control.account(email="ann@example.com")
    assert account["email"] == "ann@example.com"
    assert world.client("free").get_account_balance()["plan"] == "free"
    uuids = get_uuids(world)
    assert len(set(uuids)) == len(uuids)


def test_every_invite_code_of_the_ready_line_registers(server: FinapiServer, world: FixtureWorld) -> None:
    client, invite_codes = world.client(), server.ready["invite_codes"]
    assert len(invite_codes) == INVITE_COUNT
    for number, code in enumerate(invite_codes):
        world.control.clear_limits()
        token = client.post_auth_redeem_invite(invite_code=code)["invite_token"]
        client.post_auth_register(email=f"ann{number}@example.com", password=PASSWORD, invite_token=token)
    uuids = get_uuids(world)
    assert len(set(uuids)) == len(uuids)


def test_a_reset_gives_the_same_accounts_again(world: FixtureWorld) -> None:
    first_run = [world.control.account() for _ in range(5)]
    world.control.reset()
    assert [world.control.account() for _ in range(5)] == first_run


def test_a_restore_gives_the_same_accounts_again(world: FixtureWorld) -> None:
    world.control.account()
    snapshot = world.control.snapshot()
    first_run = [world.control.account() for _ in range(5)]
    world.control.restore(snapshot)
    assert [world.control.account() for _ in range(5)] == first_run
    uuids = get_uuids(world)
    assert len(set(uuids)) == len(uuids)


def test_servers_of_one_seed_give_the_same_accounts() -> None:
    runs = []
    for _ in range(2):
        with FinapiServer(seed=SEED, listens=False) as server:
            runs.append([server.control.account() for _ in range(5)] + [server.world("w").control.account()])
    assert runs[0] == runs[1]
    assert len({account["api_key"] for account in runs[0]}) == 6


@run_each_case("seed", [SEED, 99])
def test_a_seed_that_is_set_again_goes_on(world: FixtureWorld, seed: int) -> None:
    accounts = []
    for seed_now in (seed, SEED, seed, 100, seed):
        world.control.seed(seed_now)
        accounts += [world.control.account() for _ in range(2)]
    assert len({account["api_key"] for account in accounts}) == 10
    uuids = get_uuids(world)
    assert len(set(uuids)) == len(uuids)


def test_a_reset_begins_seeds_again(world: FixtureWorld) -> None:
    runs = []
    for _ in range(2):
        world.control.seed(99)
        runs.append(world.control.account())
        world.control.reset()
    assert runs[0] == runs[1]


def test_a_restore_goes_on_with_the_seeds_of_its_snapshot(world: FixtureWorld) -> None:
    world.control.seed(99)
    world.control.account()
    snapshot = world.control.snapshot()
    after_snapshot = world.control.account()
    world.control.seed(SEED)
    world.control.restore(snapshot)
    assert world.control.account() == after_snapshot


def test_a_data_version_follows_from_every_document(world: FixtureWorld) -> None:
    stamp = file_companies(world, 0, 1)
    world.control.reset()
    assert file_companies(world, 2, 1) != stamp
    world.control.reset()
    assert file_companies(world, 0, 1) == stamp
    world.control.reset()
    world.control.advance(86_400)
    assert file_companies(world, 0, 1) != stamp


def test_a_restore_brings_back_the_documents_filed_before(world: FixtureWorld) -> None:
    file_companies(world, 0)
    snapshot = world.control.snapshot()
    stamp = file_companies(world, 1)
    world.control.restore(snapshot)
    assert file_companies(world, 2) != stamp
    world.control.restore(snapshot)
    assert file_companies(world, 1) == stamp
