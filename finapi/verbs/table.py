"""The verbs of the command line, by name, in the order of ``--help``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from finapi.verbs.verb import Perform, Verb, one_line
from finapi.web.http.late import by_name

with by_name():
    from finapi.verbs import (
        accounts,
        asking,
        backing_up,
        completing,
        grading,
        ingesting,
        inspecting,
        loading,
        mapping,
        model_context,
        moving,
        polling,
        secrets,
        serving,
        watching,
    )

__all__ = ["VERBS", "Perform", "Verb", "one_line"]

# A verb, where it stands among others, or what makes it of all.
_VERBS: dict[str, Verb | Mapping[str, Verb] | Callable[[Mapping[str, Verb]], Verb]] = {
    "demo": serving.DEMO,
    "serve": serving.SERVE,
    "fixture": serving.FIXTURE,
    "conformance": grading.CONFORMANCE,
    "ingest": ingesting.INGEST,
    "load": loading.LOAD,
    "follow": polling.FOLLOW,
    "poll": polling.POLL,
    "documents": polling.DOCUMENTS,
    "outbox": polling.OUTBOX,
    "user": accounts.USER,
    "invite": accounts.INVITE,
    "audit": accounts.AUDIT,
    "mail": accounts.MAIL,
    "secret": secrets.SECRET,
    "backup": backing_up.BACKUP,
    "restore": backing_up.RESTORE,
    "check": backing_up.CHECK,
    "move": moving.MOVE,
    "pack": ingesting.PACK,
    "mapping": mapping.MAPPING,
    "doctor": inspecting.DOCTOR,
    "config": inspecting.CONFIG,
    "openapi": inspecting.OPENAPI,
    "get": asking.GET,
    **dict.fromkeys(("statements", "timeseries", "filings", "insiders", "screen", "fund"), asking.VERBS),
    **dict.fromkeys(("watch", "listen", "trigger"), watching.VERBS),
    "mcp": model_context.MCP,
    "completion": completing.completion,
}


class _Verbs(Mapping[str, Verb]):
    """The verbs by name; the module of one is loaded when it is asked for."""

    def __getitem__(self, name: str) -> Verb:
        found = cast(Any, _VERBS[name]).found()
        if callable(found):
            found = found(self)
        return found if isinstance(found, Verb) else cast(Verb, found[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_VERBS)

    def __len__(self) -> int:
        return len(_VERBS)


VERBS: Mapping[str, Verb] = _Verbs()
