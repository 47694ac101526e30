"""The verb conformance: grade a server, or a client's answers to the vectors."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from finapi.core import config as settings
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.store.datadir import Say
from finapi.verbs.verb import Perform, Verb, arg, escape_unprintable, print_document, resolve_path

if TYPE_CHECKING:
    from finapi.testing.conformance import Verdict

MAX_ANSWERS_BYTES = 1 << 20  # Maximum size of the file with a client's answers.


def _run_conformance(
    args: argparse.Namespace, config: Config, origins: settings.Origins, say: Say, perform: Perform
) -> int:
    from finapi.testing import vectors

    if args.vectors:
        say("out", vectors.read_text().rstrip("\n"))
        return 0
    verdicts = []
    for verdict in _iter_verdicts(args, config):
        verdicts.append(verdict)
        if not args.json:
            say("out", escape_unprintable(f"{verdict.outcome:8}{verdict.check:16}{verdict.message}"))
    failed_count = sum(verdict.outcome == "failed" for verdict in verdicts)
    if args.json:
        checks = [{"check": verdict.check, "outcome": verdict.outcome, "told": verdict.message} for verdict in verdicts]
        print_document(say, {"checks": checks, "failed": failed_count})
    return 1 if failed_count else 0


def _iter_verdicts(args: argparse.Namespace, config: Config) -> Iterator[Verdict]:
    """Return the verdicts on a server, or on a client's answers to the vectors. Raise UsageError."""
    from finapi.testing import conformance, vectors

    if (args.against is None) == (args.answers is None):
        raise UsageError("name a server with --against URL, or a client's answers with --answers FILE")
    unknown = [name for name in args.checks if name not in conformance.CHECKS]
    if unknown:
        raise UsageError(f"unknown check {unknown[0]}; use one of: {', '.join(conformance.CHECKS)}")
    if args.answers is not None:
        return vectors.grade_answers(_read_answers(args.answers))
    key = args.key or config.api_key
    if not key:
        raise UsageError("grading a server needs --key or FINAPI_API_KEY")
    if not args.against.startswith(("http://", "https://")):
        raise UsageError("--against must be an http or https URL")
    return conformance.grade_server(conformance.GradedServer(args.against, key), args.checks or conformance.CHECKS)


def _read_answers(path: str) -> dict[str, object]:
    """Read a client's answers by vector id from a file, or from standard input if ``path`` is ``-``.

    Raise UsageError if it cannot be read or is not a JSON object.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_ANSWERS_BYTES + 1)
        else:
            with resolve_path(os.getcwd(), path).open("rb") as stream:
                data = stream.read(MAX_ANSWERS_BYTES + 1)
        value = json.loads(data)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: is not JSON") from None
    if not isinstance(value, dict) or len(data) > MAX_ANSWERS_BYTES:
        raise UsageError(f"{path}: is not an object that maps vector ids to answers")
    return value


CONFORMANCE = Verb(
    "grade a server of this API by what its clients rely on, or a client by vectors",
    (
        arg("checks", nargs="*", metavar="CHECK", help="names of checks of a server (all)"),
        arg("--against", metavar="URL", help="the server; it costs a few hundred calls and tokens"),
        arg("--key", help="API key; FINAPI_API_KEY keeps it off the list of processes"),
        arg("--vectors", action="store_true", help="print the vectors for clients, a JSON document"),
        arg(
            "--answers",
            metavar="FILE",
            help="a client's answers to the vectors: a JSON object by id; - is standard input",
        ),
    ),
    _run_conformance,
    storeless=True,
    interrupt_note="only the printed checks are done",
)
