"""Chains of receipts: one for each account, in both stores, appended together with the charge of the call."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finapi.accounts import billing, credentials, receipt_chains, users
from finapi.app import App
from finapi.core import receipts
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.core.errors import ApiError
from finapi.core.receipts import ChainCheck
from finapi.ops import backups
from finapi.ops.app_opening import open_app
from tests.conftest import NOW

CONTENT: dict[str, Any] = {"results": [], "request_id": "r1"}
ENDPOINT = "POST /api/v1/claims"


@pytest.fixture(params=["sqlite", "postgres"])
def store_app(request: pytest.FixtureRequest) -> App:
    """Return an App with accounts in SQLite, and then one with accounts in PostgreSQL."""
    app: App = request.getfixturevalue("app") if request.param == "sqlite" else request.getfixturevalue("node")()
    return app


def append(app: App, user_id: int, **content: Any) -> dict[str, Any]:
    """Charge a call and return its receipt."""
    charge = billing.charge(app, user_id, ENDPOINT, 25, "r1")
    return receipt_chains.append_receipt(app, user_id, charge, {**CONTENT, **content})


def check_chain(chain: list[dict[str, Any]]) -> list[str]:
    """Return the links of receipts. Raise ReceiptError if they are not intact."""
    check = ChainCheck()
    return [check.add(receipts.parse_receipt(receipts.canonicalise(receipt))) for receipt in chain]


def get_chain(app: App, user_id: int) -> tuple[int, str | None]:
    """Return the number and the hash of an account's last receipt."""
    with app.accounts.read_one() as tx:
        row = tx.find_row("receipt_chain", user_id=user_id)
    assert row is not None
    return row["receipts"], row["last_sha256"]


def get_plan(app: App, user_id: int) -> tuple[int, int]:
    """Return the tokens that an account has spent, and the number of its open debits."""
    with app.accounts.read() as tx:
        plan = tx.find_row("userplan", user_id=user_id)
        assert plan is not None
        return plan["reach_limit_api"], len(tx.list_rows("open_debits", after=0, before="~", limit=-1))


def test_receipts_of_an_account_are_chained(store_app: App) -> None:
    ann = users.create(store_app, "ann@example.com", "pro", NOW)
    bob = users.create(store_app, "bob@example.com", "pro", NOW)
    assert get_chain(store_app, ann.id) == (0, None)
    first, second = append(store_app, ann.id), append(store_app, ann.id, request_id="r2")
    other = append(store_app, bob.id)
    with store_app.accounts.read_one() as tx:
        epoch = tx.find_value("journal_epoch")
    content = {
        "account": ann.uuid,
        "epoch": epoch,
        "format": "finapi-receipt-1",
        "issued_at": "2026-01-31T12:00:00.000Z",
        "number": 1,
        "previous_sha256": None,
        "request_id": "r1",
        "results": [],
    }
    sha256 = receipts.compute_sha256(content)
    signature = credentials.sign_receipt(store_app.secrets, sha256)
    assert first == {**content, "sha256": sha256, "signature": signature}
    assert list(first) == sorted(first)
    assert (second["number"], second["previous_sha256"], second["request_id"]) == (2, sha256, "r2")
    assert (other["number"], other["previous_sha256"], other["account"]) == (1, None, bob.uuid)
    assert check_chain([first, second, other]) == ["is the first", "follows number 1", "is the first"]
    assert get_chain(store_app, ann.id) == (2, second["sha256"])
    assert get_plan(store_app, ann.id) == (50, 0)
    # A deleted account has no chain any more.
    users.erase(store_app, ann.id, NOW)
    assert get_chain(store_app, ann.id) == (0, None)
    assert get_chain(store_app, bob.id) == (1, other["sha256"])


def test_a_receipt_that_cannot_be_written_refunds_the_call(store_app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    user = users.create(store_app, "ann@example.com", "pro", NOW)
    first = append(store_app, user.id)
    charge = billing.charge(store_app, user.id, ENDPOINT, 25, "r2")

    def fail(secrets: object, sha256: str) -> str:
        raise ApiError("UNAVAILABLE", "no secret")

    with monkeypatch.context() as patch:
        patch.setattr(credentials, "sign_receipt", fail)
        with pytest.raises(ApiError, match="no secret") as failure:
            receipt_chains.append_receipt(store_app, user.id, charge, CONTENT)
    assert get_chain(store_app, user.id) == (1, first["sha256"])
    assert get_plan(store_app, user.id) == (50, 1)
    charge.refund(failure.value)
    assert get_plan(store_app, user.id) == (25, 0)
    second = append(store_app, user.id)
    assert check_chain([first, second]) == ["is the first", "follows number 1"]


def test_a_settled_receipt_is_not_refunded(store_app: App) -> None:
    user = users.create(store_app, "ann@example.com", "pro", NOW)
    charge = billing.charge(store_app, user.id, ENDPOINT, 25, "r1")
    receipt_chains.append_receipt(store_app, user.id, charge, CONTENT)
    charge.refund(KeyError())
    charge.settle()
    assert billing.refund_open_debits(store_app, NOW, every=True) == 0
    assert get_plan(store_app, user.id) == (25, 0)
    # A call that costs nothing has a receipt too.
    free_charge = billing.charge(store_app, user.id, ENDPOINT, 0, "r2")
    assert receipt_chains.append_receipt(store_app, user.id, free_charge, CONTENT)["number"] == 2
    assert get_plan(store_app, user.id) == (25, 0)


def append_in_threads(apps: list[App], user_id: int) -> list[dict[str, Any]]:
    """Return the receipts of four calls of each of eight threads, in the order of their numbers."""
    chain: list[dict[str, Any]] = []

    def work(app: App) -> None:
        chain.extend(append(app, user_id) for _ in range(4))

    threads = [threading.Thread(target=work, args=(apps[index % len(apps)],)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(chain, key=lambda receipt: receipt["number"])


def test_simultaneous_calls_never_have_the_same_predecessor(app: App) -> None:
    user = users.create(app, "ann@example.com", "pro", NOW)
    chain = append_in_threads([app], user.id)
    assert check_chain(chain) == ["is the first", *(f"follows number {number}" for number in range(1, 32))]
    assert get_plan(app, user.id) == (800, 0)


def test_two_nodes_append_to_one_chain(node: Callable[..., App]) -> None:
    nodes = [node(), node()]
    user = users.create(nodes[0], "ann@example.com", "pro", NOW)
    chain = append_in_threads(nodes, user.id)
    assert check_chain(chain) == ["is the first", *(f"follows number {number}" for number in range(1, 32))]
    assert get_plan(nodes[1], user.id) == (800, 0)


def test_a_restore_begins_a_branch_of_a_greater_epoch(tmp_path: Path) -> None:
    config = Config(data_dir=tmp_path / "data")
    backup = tmp_path / "finapi.db"
    with open_app(config, FixedClock(NOW)) as app:
        user = users.create(app, "ann@example.com", "pro", NOW)
        first = append(app, user.id)
        backups.create(config, backup, NOW, secrets=False, report_progress=lambda done, pages: None)
        second, third = append(app, user.id), append(app, user.id)
    backups.restore(config, backup, FixedClock(NOW), secrets=False, report_progress=lambda done, pages: None)
    with open_app(config, FixedClock(NOW)) as app:
        branch = [append(app, user.id), append(app, user.id)]
    assert (branch[0]["number"], branch[0]["previous_sha256"]) == (2, first["sha256"])
    assert branch[0]["epoch"] == first["epoch"] + 1
    assert check_chain([first, second, third, *branch]) == [
        "is the first",
        "follows number 1",
        "follows number 2",
        "follows number 1, after a restore of the server from a backup",
        "follows number 2",
    ]


def test_a_signature_is_confirmed_only_with_its_secret() -> None:
    old, new, sha256 = b"o" * 32, b"n" * 32, "0" * 64
    signature = credentials.sign_receipt([old], sha256)
    assert credentials.is_receipt_signature([new, old], sha256, signature)
    assert not credentials.is_receipt_signature([new], sha256, signature)
    assert not credentials.is_receipt_signature([old], "1" * 64, signature)
    assert not credentials.is_receipt_signature([old], sha256, "0" * 64)
