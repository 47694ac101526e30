"""The verbs of the command line, by name, in the order of ``--help``."""

from __future__ import annotations

from finapi.verbs import (
    accounts,
    asking,
    backing_up,
    completing,
    grading,
    ingesting,
    inspecting,
    loading,
    model_context,
    polling,
    secrets,
    serving,
    watching,
)
from finapi.verbs.verb import Perform, Verb, one_line

__all__ = ["VERBS", "Perform", "Verb", "one_line"]

VERBS = {
    "demo": serving.DEMO,
    "serve": serving.SERVE,
    "fixture": serving.FIXTURE,
    "conformance": grading.CONFORMANCE,
    "ingest": ingesting.INGEST,
    "load": loading.LOAD,
    "follow": polling.FOLLOW,
    "poll": polling.POLL,
    "documents": polling.DOCUMENTS,
    "user": accounts.USER,
    "invite": accounts.INVITE,
    "audit": accounts.AUDIT,
    "mail": accounts.MAIL,
    "secret": secrets.SECRET,
    "backup": backing_up.BACKUP,
    "restore": backing_up.RESTORE,
    "check": backing_up.CHECK,
    "pack": ingesting.PACK,
    "doctor": inspecting.DOCTOR,
    "config": inspecting.CONFIG,
    "openapi": inspecting.OPENAPI,
    "get": asking.GET,
    **asking.VERBS,
    **watching.VERBS,
    "mcp": model_context.MCP,
}
VERBS["completion"] = completing.completion(VERBS)
