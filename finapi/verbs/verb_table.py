"""The verbs of the command line, by name, in the order of ``--help``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from finapi.core.installation import HAS_SERVER
from finapi.core.lazy import LazyModule, LazyReference
from finapi.verbs.verb import Perform, Verb, escape_unprintable

account_verbs = LazyModule("finapi.verbs.account_verbs")
api_verbs = LazyModule("finapi.verbs.api_verbs")
backup_verbs = LazyModule("finapi.verbs.backup_verbs")
claims_verb = LazyModule("finapi.verbs.claims_verb")
completion_verb = LazyModule("finapi.verbs.completion_verb")
conformance_verb = LazyModule("finapi.verbs.conformance_verb")
ingest_verbs = LazyModule("finapi.verbs.ingest_verbs")
inspection_verbs = LazyModule("finapi.verbs.inspection_verbs")
load_verb = LazyModule("finapi.verbs.load_verb")
mapping_verb = LazyModule("finapi.verbs.mapping_verb")
mcp_verb = LazyModule("finapi.verbs.mcp_verb")
move_verb = LazyModule("finapi.verbs.move_verb")
polling_verbs = LazyModule("finapi.verbs.polling_verbs")
receipts_verb = LazyModule("finapi.verbs.receipts_verb")
secret_verb = LazyModule("finapi.verbs.secret_verb")
serving_verbs = LazyModule("finapi.verbs.serving_verbs")
watch_verbs = LazyModule("finapi.verbs.watch_verbs")

__all__ = ["SERVER_VERB_NAMES", "VERBS", "Perform", "Verb", "escape_unprintable"]

# Each reference leads to a Verb, to a mapping of names to Verbs, or to a function that builds a Verb from all verbs.
_VERBS: dict[str, LazyReference] = {
    "demo": serving_verbs("DEMO"),
    "serve": serving_verbs("SERVE"),
    "fixture": serving_verbs("FIXTURE"),
    "conformance": conformance_verb("CONFORMANCE"),
    "ingest": ingest_verbs("INGEST"),
    "load": load_verb("LOAD"),
    "follow": polling_verbs("FOLLOW"),
    "poll": polling_verbs("POLL"),
    "documents": polling_verbs("DOCUMENTS"),
    "outbox": polling_verbs("OUTBOX"),
    "user": account_verbs("USER"),
    "invite": account_verbs("INVITE"),
    "audit": account_verbs("AUDIT"),
    "mail": account_verbs("MAIL"),
    "secret": secret_verb("SECRET"),
    "backup": backup_verbs("BACKUP"),
    "restore": backup_verbs("RESTORE"),
    "check": backup_verbs("CHECK"),
    "move": move_verb("MOVE"),
    "pack": ingest_verbs("PACK"),
    "mapping": mapping_verb("MAPPING"),
    "doctor": inspection_verbs("DOCTOR"),
    "config": inspection_verbs("CONFIG"),
    "openapi": inspection_verbs("OPENAPI"),
    "get": api_verbs("GET"),
    **dict.fromkeys(("statements", "timeseries", "filings", "insiders", "screen", "fund", "nport"), api_verbs("VERBS")),
    "claims": claims_verb("CLAIMS"),
    "receipts": receipts_verb("RECEIPTS"),
    **dict.fromkeys(("watch", "listen", "trigger"), watch_verbs("VERBS")),
    "mcp": mcp_verb("MCP"),
    "completion": completion_verb("build_completion_verb"),
}


# The modules that are also in the wheel of the client (finapi/web/html/client_wheel.py).
_CLIENT_MODULES = (
    *("api_verbs", "claims_verb", "completion_verb", "conformance_verb", "mcp_verb", "receipts_verb", "watch_verbs"),
)
# The verbs that need the server's modules, and are missing where only the client is installed.
SERVER_VERB_NAMES = frozenset(
    name for name, reference in _VERBS.items() if reference.module.rpartition(".")[2] not in _CLIENT_MODULES
)


class _Verbs(Mapping[str, Verb]):
    """The installed verbs by name. A verb's module is imported when the verb is first looked up."""

    def __init__(self) -> None:
        self._references = {
            name: reference for name, reference in _VERBS.items() if HAS_SERVER or name not in SERVER_VERB_NAMES
        }

    def __getitem__(self, name: str) -> Verb:
        verb = self._references[name].load()
        if isinstance(verb, Mapping):
            verb = verb[name]
        elif callable(verb) and not isinstance(verb, Verb):
            verb = verb(self)
        return cast(Verb, verb)

    def __iter__(self) -> Iterator[str]:
        return iter(self._references)

    def __len__(self) -> int:
        return len(self._references)


VERBS: Mapping[str, Verb] = _Verbs()
