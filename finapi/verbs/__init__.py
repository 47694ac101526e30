"""The verbs of the command line, by name, in the order of ``--help``."""

from __future__ import annotations

from finapi.verbs import accounts, checking, describing, ingesting, measuring, packs, polling, serving
from finapi.verbs.verb import Perform, Verb, one_line

__all__ = ["VERBS", "Perform", "Verb", "one_line"]

VERBS = {
    "demo": serving.DEMO,
    "serve": serving.SERVE,
    "ingest": ingesting.INGEST,
    "follow": polling.FOLLOW,
    "poll": polling.POLL,
    "user": accounts.USER,
    "invite": accounts.INVITE,
    "check": checking.CHECK,
    "accuracy": measuring.ACCURACY,
    "pack": packs.PACK,
    "config": describing.CONFIG,
    "openapi": describing.OPENAPI,
}
