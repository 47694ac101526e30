"""Billed calls without a server: charged before a block, settled or refunded after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from finapi.accounts import billing
from finapi.app import App


@contextmanager
def charged(app: App, user_id: int, endpoint: str, cost: int, request_id: str) -> Iterator[None]:
    """Run the block as a billed call: settle its charge, or refund it if the block raises."""
    charge = billing.charge(app, user_id, endpoint, cost, request_id)
    try:
        yield
    except BaseException as error:
        charge.refund(error)
        raise
    charge.settle()
