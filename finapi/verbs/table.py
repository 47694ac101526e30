"""The verbs of the command line, by name, in the order of ``--help``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from finapi.core.lazy import LazyModule, LazyReference
from finapi.verbs.verb import Perform, Verb, one_line

accounts = LazyModule("finapi.verbs.accounts")
asking = LazyModule("finapi.verbs.asking")
backing_up = LazyModule("finapi.verbs.backing_up")
completing = LazyModule("finapi.verbs.completing")
grading = LazyModule("finapi.verbs.grading")
ingesting = LazyModule("finapi.verbs.ingesting")
inspecting = LazyModule("finapi.verbs.inspecting")
loading = LazyModule("finapi.verbs.loading")
mapping = LazyModule("finapi.verbs.mapping")
model_context = LazyModule("finapi.verbs.model_context")
moving = LazyModule("finapi.verbs.moving")
polling = LazyModule("finapi.verbs.polling")
secrets = LazyModule("finapi.verbs.secrets")
serving = LazyModule("finapi.verbs.serving")
watching = LazyModule("finapi.verbs.watching")

__all__ = ["VERBS", "Perform", "Verb", "one_line"]

# Each reference is a Verb, a mapping of names to Verbs, or a function that builds a Verb from all verbs.
_VERBS: dict[str, LazyReference] = {
    "demo": serving("DEMO"),
    "serve": serving("SERVE"),
    "fixture": serving("FIXTURE"),
    "conformance": grading("CONFORMANCE"),
    "ingest": ingesting("INGEST"),
    "load": loading("LOAD"),
    "follow": polling("FOLLOW"),
    "poll": polling("POLL"),
    "documents": polling("DOCUMENTS"),
    "outbox": polling("OUTBOX"),
    "user": accounts("USER"),
    "invite": accounts("INVITE"),
    "audit": accounts("AUDIT"),
    "mail": accounts("MAIL"),
    "secret": secrets("SECRET"),
    "backup": backing_up("BACKUP"),
    "restore": backing_up("RESTORE"),
    "check": backing_up("CHECK"),
    "move": moving("MOVE"),
    "pack": ingesting("PACK"),
    "mapping": mapping("MAPPING"),
    "doctor": inspecting("DOCTOR"),
    "config": inspecting("CONFIG"),
    "openapi": inspecting("OPENAPI"),
    "get": asking("GET"),
    **dict.fromkeys(("statements", "timeseries", "filings", "insiders", "screen", "fund"), asking("VERBS")),
    **dict.fromkeys(("watch", "listen", "trigger"), watching("VERBS")),
    "mcp": model_context("MCP"),
    "completion": completing("completion"),
}


class _Verbs(Mapping[str, Verb]):
    """The verbs by name. A verb's module is imported when the verb is first looked up."""

    def __getitem__(self, name: str) -> Verb:
        verb = _VERBS[name].load()
        if isinstance(verb, Mapping):
            verb = verb[name]
        elif callable(verb) and not isinstance(verb, Verb):
            verb = verb(self)
        return cast(Verb, verb)

    def __iter__(self) -> Iterator[str]:
        return iter(_VERBS)

    def __len__(self) -> int:
        return len(_VERBS)


VERBS: Mapping[str, Verb] = _Verbs()
