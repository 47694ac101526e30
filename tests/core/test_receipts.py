"""Receipts: their canonical form, their hash, and chains that are intact, cut, repeated or reordered."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from finapi.core import receipts
from finapi.core.receipts import ChainCheck, ReceiptError

ACCOUNT = "00000000-0000-4000-8000-000000000001"


def build_receipt(number: int, previous: dict[str, Any] | None, *, epoch: int = 1, **members: Any) -> dict[str, Any]:
    """Return a sealed receipt."""
    content = {
        "format": receipts.FORMAT,
        "account": ACCOUNT,
        "epoch": epoch,
        "number": number,
        "previous_sha256": previous and previous["sha256"],
        "issued_at": "2026-01-31T12:00:00.000Z",
        "results": [{"verdict": "matches", "claim": {"value": 'Größe "1,5"\n\u0001\u007f', "tolerance": None}}],
        **members,
    }
    return {**content, "sha256": receipts.compute_sha256(content), "signature": "0" * 64}


def build_chain(length: int, *, epoch: int = 1, after: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return receipts that follow one another, the first one after ``after``."""
    chain: list[dict[str, Any]] = []
    previous = after
    for _ in range(length):
        previous = build_receipt((previous["number"] if previous else 0) + 1, previous, epoch=epoch)
        chain.append(previous)
    return chain


def check_chain(*chain: dict[str, Any]) -> list[str]:
    """Return what the check says of each receipt."""
    check = ChainCheck()
    messages = []
    for members in chain:
        receipt = receipts.parse_receipt(receipts.canonicalise(members))
        try:
            messages.append(check.add(receipt))
        except ReceiptError as error:
            messages.append(f"error: {error}")
    return messages


def test_the_canonical_form_has_sorted_keys_and_no_spaces() -> None:
    value = {"b": [1, None, True], "a": {"z": 'ü€𝄞"\\/\b\f\n\r\t\u0000\u001f\u007f', "A": -5}, "": []}
    canonical = '{"":[],"a":{"A":-5,"z":"ü€𝄞\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u007f"},"b":[1,null,true]}'
    assert receipts.canonicalise(value) == canonical.encode()
    assert json.loads(canonical) == value


def test_the_hash_is_that_of_all_members_but_the_seals() -> None:
    receipt = build_receipt(1, None)
    content = {name: member for name, member in receipt.items() if name not in ("sha256", "signature")}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert receipt["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert receipts.parse_receipt(receipts.canonicalise(receipt)) == receipts.SealedReceipt(
        account=ACCOUNT,
        epoch=1,
        number=1,
        issued_at="2026-01-31T12:00:00.000Z",
        claim_count=1,
        previous_sha256=None,
        sha256=receipt["sha256"],
        signature="0" * 64,
    )


def test_each_changed_byte_is_noticed() -> None:
    receipt = receipts.canonicalise(build_receipt(1, None))
    signature_start = receipt.index(b'"signature":"') + len(b'"signature":"')
    for position in range(len(receipt)):
        for change in (b"", b" ", bytes([receipt[position] ^ 1]), bytes([receipt[position] ^ 0x20])):
            changed = receipt[:position] + change + receipt[position + 1 :]
            if changed == receipt:
                continue
            # The signature is checked by the server. Offline it is only compared with the form of a signature.
            if signature_start <= position < signature_start + 64 and change == b"1":
                continue
            with pytest.raises(ReceiptError):
                receipts.parse_receipt(changed)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "is not a receipt: not JSON|is not a receipt: line 1, column 1: not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[" * 100_000, "nested too deep"),
        (b"[]", "it has no format finapi-receipt-1"),
        (b"{}", "it has no format finapi-receipt-1"),
        (b'{"format":"finapi-receipt-2"}', "it has no format finapi-receipt-1"),
        (b'{"format":"finapi-receipt-1","format":"finapi-receipt-1"}', "a key occurs twice"),
        (b'{"format":"finapi-receipt-1","number":1.5}', "1.5 is a fraction"),
        (b'{"format":"finapi-receipt-1","number":NaN}', "NaN is not a JSON value"),
        (b'{"account":"\\ud800","format":"finapi-receipt-1"}', "not Unicode"),
        (b'{"format":"finapi-receipt-1"}', "its account is missing or of the wrong type"),
    ],
)
def test_a_line_that_is_not_a_receipt_is_refused(line: bytes, reason: str) -> None:
    with pytest.raises(ReceiptError, match=reason):
        receipts.parse_receipt(line)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"number": True}, "its number is missing or of the wrong type"),
        ({"number": 0}, "only the receipt with number 1 has no previous_sha256"),
        ({"number": 2}, "only the receipt with number 1 has no previous_sha256"),
        ({"previous_sha256": "0" * 64}, "only the receipt with number 1 has no previous_sha256"),
        ({"previous_sha256": "F" * 64}, "its previous_sha256 must be 64 hexadecimal digits"),
        ({"previous_sha256": 5}, "its previous_sha256 must be 64 hexadecimal digits"),
        ({"results": {}}, "its results is missing or of the wrong type"),
    ],
)
def test_a_sealed_receipt_with_a_wrong_member_is_refused(members: dict[str, Any], reason: str) -> None:
    with pytest.raises(ReceiptError, match=reason):
        receipts.parse_receipt(receipts.canonicalise(build_receipt(**{"number": 1, "previous": None, **members})))


def test_a_receipt_in_another_layout_is_refused() -> None:
    receipt = build_receipt(1, None)
    reason = "was changed: it is not canonical JSON"
    for line in (json.dumps(receipt), json.dumps(receipt, sort_keys=True, separators=(",", ":"))):
        with pytest.raises(ReceiptError, match=reason):
            receipts.parse_receipt(line.encode())


def test_receipts_of_a_chain_follow_one_another() -> None:
    first, second, third, fourth = build_chain(4)
    assert check_chain(first, second, third) == ["is the first", "follows number 1", "follows number 2"]
    unknown_link = "follows number 2, which is not among the intact receipts before it"
    assert check_chain(third, fourth) == [unknown_link, "follows number 3"]
    # Each account has a chain of its own.
    other = build_receipt(1, None, account="other")
    assert check_chain(first, other, second) == ["is the first", "is the first", "follows number 1"]


def test_missing_repeated_and_reordered_receipts_are_reported() -> None:
    first, second, third, fourth = build_chain(4)
    assert check_chain(first, third) == ["is the first", "error: does not follow number 1: number 2 is missing"]
    assert check_chain(first, fourth)[1] == "error: does not follow number 1: numbers 2 to 3 are missing"
    assert check_chain(first, first) == ["is the first", "error: is a duplicate of number 1"]
    assert check_chain(first, first, second)[2] == "follows number 1"
    assert check_chain(first, third, second) == [
        "is the first",
        "error: does not follow number 1: number 2 is missing",
        "error: is not in order, or on a branch: it follows number 1, but comes after number 3",
    ]
    assert check_chain(second, first) == [
        "follows number 1, which is not among the intact receipts before it",
        "error: is not in order, or on a branch: it is the first, but comes after number 2",
    ]
    assert check_chain(fourth, third)[1] == "error: is not in order: number 3 comes after number 4"


def test_a_receipt_that_was_put_into_a_chain_is_reported() -> None:
    first, second = build_chain(2)
    (foreign,) = build_chain(1, after=build_receipt(1, None, request_id="of another chain"))
    reason = "error: does not follow number 1: its previous_sha256 is that of another receipt"
    assert check_chain(first, foreign) == ["is the first", reason]
    reason = "error: does not follow this chain: another receipt with number 2 is before it"
    assert check_chain(first, second, foreign)[2] == reason
    forged = build_receipt(2, first, request_id="forged")
    reason = "error: is not in order, or on a branch: it follows number 1, but comes after number 2"
    assert check_chain(first, second, forged) == ["is the first", "follows number 1", reason]
    assert check_chain(first, build_receipt(3, first))[1] == "error: has the wrong number: it follows number 1"
    older = build_receipt(2, build_receipt(1, None, epoch=2), epoch=1)
    reason = "error: has the wrong epoch: that of number 1 is greater"
    assert check_chain(build_receipt(1, None, epoch=2), older) == ["is the first", reason]


def test_a_branch_of_a_greater_epoch_is_that_of_a_restore() -> None:
    first, second, third = build_chain(3)
    branch = build_chain(2, after=first, epoch=2)
    assert check_chain(first, second, third, *branch) == [
        "is the first",
        "follows number 1",
        "follows number 2",
        "follows number 1, after a restore of the server from a backup",
        "follows number 2",
    ]
    # The backup was made before the first receipt.
    anew = build_receipt(1, None, epoch=2)
    assert check_chain(first, second, anew)[2] == "is the first, after a restore of the server from a backup"
    # The receipt that the branch follows is not here.
    assert check_chain(second, third, *branch)[2] == "error: is not in order: number 2 comes after number 3"
    # After a restore of a backup that contains the last receipt, the chain goes on.
    assert check_chain(first, second, *build_chain(1, after=second, epoch=2))[2] == "follows number 2"
