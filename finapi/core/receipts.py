"""Receipts of verdicts: their canonical form, their hash, and the check of a chain of them.

A receipt is a JSON object in canonical form: keys sorted, no spaces, UTF-8, no fractions (RFC 8785, whose rules for
fractions are not needed). Its member ``sha256`` is the hash of the canonical form of all members but the two seals,
``sha256`` and ``signature``. ``previous_sha256`` is the hash of the account's receipt before it, so the receipts of an
account form a chain. Anyone can check hashes and chain. Only the server can check the signature, which is an HMAC.

A restored backup contains an earlier end of the chain, and the next receipt continues there. Its ``epoch`` is greater
than those before. Without that, it would look like a receipt that was put into the chain by somebody else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from finapi.core.errors import ParseError
from finapi.core.json import parse

FORMAT = "finapi-receipt-1"
# The members that seal the others, and so are not hashed.
SEALS = ("sha256", "signature")
# The members that a check reads, with their types. ``previous_sha256`` may be null.
_CHECKED_MEMBERS: Mapping[str, type] = {
    "format": str,
    "account": str,
    "epoch": int,
    "number": int,
    "issued_at": str,
    "results": list,
    "sha256": str,
    "signature": str,
}
_SHA256 = re.compile(r"[0-9a-f]{64}")


class ReceiptError(ValueError):
    """A receipt that does not pass a check. The message is the reason."""


class SealedReceipt(NamedTuple):
    """The members of a receipt that a check of the chain needs."""

    account: str
    epoch: int
    number: int
    issued_at: str
    claim_count: int
    previous_sha256: str | None
    sha256: str
    signature: str


def canonicalise(value: Any) -> bytes:
    """Return the canonical JSON of a value without fractions. Raise UnicodeEncodeError for a lone surrogate."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sort_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return a receipt with its members in canonical order, so that any compact writer of JSON keeps its form."""
    sorted_members: dict[str, Any] = json.loads(canonicalise(members))
    return sorted_members


def compute_sha256(members: Mapping[str, Any]) -> str:
    """Return the hash of a receipt: the SHA-256, in hexadecimal, of all its members but the seals."""
    content = {name: member for name, member in members.items() if name not in SEALS}
    return hashlib.sha256(canonicalise(content)).hexdigest()


def parse_receipt(line: bytes) -> SealedReceipt:
    """Return the receipt of a line of canonical JSON. Raise ReceiptError if it is not a receipt, or was changed."""
    members = _parse_members(line)
    previous_sha256 = members["previous_sha256"]
    receipt = SealedReceipt(
        account=members["account"],
        epoch=members["epoch"],
        number=members["number"],
        issued_at=members["issued_at"],
        claim_count=len(members["results"]),
        previous_sha256=previous_sha256,
        sha256=members["sha256"],
        signature=members["signature"],
    )
    sha256 = compute_sha256(members)
    if sha256 != receipt.sha256:
        raise ReceiptError(f"was changed: its SHA-256 is {sha256}, but it states {receipt.sha256}")
    if receipt.number < 1 or (receipt.number == 1) != (previous_sha256 is None):
        raise ReceiptError("is not a receipt: only the receipt with number 1 has no previous_sha256")
    return receipt


def _parse_members(line: bytes) -> dict[str, Any]:
    """Return the members of a receipt with their types checked. Raise ReceiptError if a member is wrong."""
    try:
        members = parse(line, "", parse_float=_refuse_fraction)
        is_canonical = canonicalise(members) == line
    except ParseError as error:
        raise ReceiptError(f"is not a receipt: {error}") from None
    except (UnicodeEncodeError, RecursionError):
        raise ReceiptError("is not a receipt: it has a text that is not Unicode, or is nested too deep") from None
    if not isinstance(members, dict) or members.get("format") != FORMAT:
        raise ReceiptError(f"is not a receipt: it has no format {FORMAT}")
    for name, member_type in _CHECKED_MEMBERS.items():
        if type(members.get(name)) is not member_type:
            raise ReceiptError(f"is not a receipt: its {name} is missing or of the wrong type")
    for name in ("sha256", "signature", "previous_sha256"):
        seal = members.get(name, "")
        is_null = seal is None and name == "previous_sha256"
        if not is_null and not (isinstance(seal, str) and _SHA256.fullmatch(seal)):
            raise ReceiptError(f"is not a receipt: its {name} must be 64 hexadecimal digits")
    if not is_canonical:
        raise ReceiptError("was changed: it is not canonical JSON (sorted keys, no spaces, one line)")
    return members


def _refuse_fraction(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is a fraction, which receipts write as a text")


class _Link(NamedTuple):
    """A checked receipt of an account."""

    number: int
    epoch: int


class ChainCheck:
    """The check of receipts in their order, separately for each account. Only their numbers and hashes are stored."""

    def __init__(self) -> None:
        self._links_by_account: dict[str, dict[str, _Link]] = {}

    def add(self, receipt: SealedReceipt) -> str:
        """Check a receipt against those before it. Return its link to them, such as "follows number 4".

        Raise ReceiptError if it is a duplicate, if it is not in order, or if receipts before it are missing. The next
        receipt is compared with this one all the same.
        """
        links = self._links_by_account.setdefault(receipt.account, {})
        if receipt.sha256 in links:
            raise ReceiptError(f"is a duplicate of number {receipt.number}")
        last_sha256 = next(reversed(links), None)
        last = links[last_sha256] if last_sha256 is not None else None
        previous = links.get(receipt.previous_sha256) if receipt.previous_sha256 is not None else None
        links[receipt.sha256] = _Link(receipt.number, receipt.epoch)
        if receipt.number == 1:
            link = "is the first"
        elif last is None:
            return f"follows number {receipt.number - 1}, which is not among the intact receipts before it"
        elif previous is None:
            raise ReceiptError(_describe_gap(receipt, last))
        elif receipt.number != previous.number + 1:
            raise ReceiptError(f"has the wrong number: it follows number {previous.number}")
        else:
            link = f"follows number {previous.number}"
        if last is None:
            return link
        is_next = receipt.previous_sha256 == last_sha256
        if is_next and receipt.epoch < last.epoch:
            raise ReceiptError(f"has the wrong epoch: that of number {last.number} is greater")
        if not is_next and receipt.epoch <= last.epoch:
            raise ReceiptError(f"is not in order, or on a branch: it {link}, but comes after number {last.number}")
        return link if is_next else f"{link}, after a restore of the server from a backup"


def _describe_gap(receipt: SealedReceipt, last: _Link) -> str:
    """Return the reason why a receipt whose predecessor is not among those before it does not pass."""
    if receipt.number == last.number:
        return f"does not follow this chain: another receipt with number {receipt.number} is before it"
    if receipt.number < last.number:
        return f"is not in order: number {receipt.number} comes after number {last.number}"
    if receipt.number == last.number + 1:
        return f"does not follow number {last.number}: its previous_sha256 is that of another receipt"
    if receipt.number == last.number + 2:
        return f"does not follow number {last.number}: number {receipt.number - 1} is missing"
    return f"does not follow number {last.number}: numbers {last.number + 1} to {receipt.number - 1} are missing"
