"""Copies of the embedded data, which take 0.6 s to load: each process loads them once per day and copies them."""

from __future__ import annotations

from datetime import datetime
from functools import cache

from finapi import app as apps
from finapi.app import App
from finapi.core.clock import FixedClock
from finapi.core.config import Config
from finapi.market.demo import demo_data
from tests.support.raw_sql import get_writer, run_sql


def load_demo(app: App) -> None:
    """Store the embedded data in an App in memory that has no rows yet, as ``demo_data.load`` does."""
    assert app.db.path is None
    with app.db.read() as tx:
        assert not tx.find_value("any_user_or_invite")
    get_writer(app.db).deserialize(_build_image(app.clock.now()))
    run_sql(app.db, "PRAGMA foreign_keys=ON")
    run_sql(app.db, "UPDATE data_version SET stamp = hex(randomblob(8))")


@cache
def _build_image(now: datetime) -> bytes:
    app = apps.create_in_memory(Config(), FixedClock(now))
    try:
        demo_data.load(app)
        return app.db.image()
    finally:
        app.db.close()
