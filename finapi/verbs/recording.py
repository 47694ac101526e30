"""fixture before a real service: --record, --recording, --verify."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.store.datadir import Say
from finapi.verbs.verb import arg, one_line, typed_path

if TYPE_CHECKING:
    from finapi.testing.gate import Elsewhere

ARGUMENTS = (
    arg("--record", metavar="URL", help="ask this service what the fixture is asked, and keep it in --recording"),
    arg("--recording", metavar="FILE", help="answer the calls that FILE holds; with --record, a new file to write"),
    arg("--verify", metavar="URL", help="compare this service's answers with the fixture's, say what differs, and end"),
    arg("--key", help="the service's API key, for calls with a key of the fixture; better as FINAPI_API_KEY"),
)


@contextmanager
def elsewhere(args: argparse.Namespace, config: Config) -> Iterator[Elsewhere | None]:
    """What answers before the fixture does: the service that is recorded, a recording, or nothing."""
    if args.record is None and args.recording is None:
        yield None
        return
    from finapi.net.outbound import Outbound
    from finapi.ops.probes import OPERATORS_OWN
    from finapi.testing.recording import Recorder, ServiceRecording, by_outbound

    if args.record is None:
        yield ServiceRecording(typed_path(os.getcwd(), args.recording))
        return
    if args.recording is None:
        raise UsageError("--record needs --recording FILE, to write what passes")
    file, key = typed_path(os.getcwd(), args.recording), args.key or config.api_key
    with (
        closing(Outbound(OPERATORS_OWN)) as outbound,
        closing(Recorder(_service(args.record), file, key, by_outbound(outbound), SystemClock().now())) as recorder,
    ):
        yield recorder


def verify(args: argparse.Namespace, config: Config, say: Say) -> int:
    """Say where a service and the fixture differ; exit status 1 when anything is missing or another."""
    from finapi.net.outbound import Outbound
    from finapi.ops.probes import OPERATORS_OWN
    from finapi.testing.control_client import by_wsgi
    from finapi.testing.drift import differences
    from finapi.testing.recording import ServiceRecording, by_outbound
    from finapi.testing.running import running

    if args.record is not None:
        raise UsageError("--record and --verify cannot be combined")
    live, failed = _service(args.verify), 0
    on = None if args.recording is None else ServiceRecording(typed_path(os.getcwd(), args.recording))
    with running(config, listens=False, elsewhere=on) as fixture, closing(Outbound(OPERATORS_OWN)) as outbound:
        own = {"url": fixture.url, "api_key": fixture.base.accounts["pro"]["api_key"]}
        key, send, here = args.key or config.api_key, by_outbound(outbound), by_wsgi(fixture.gate)
        for call, what in differences(live, key, send, time.sleep, here, own, on):
            failed += not what.startswith("+")
            say("out", one_line(f"GET {call}: {what}"))
    say("out", f"{live} and the fixture differ in {failed} places" if failed else f"{live} answers as the fixture does")
    return 1 if failed else 0


def _service(url: str) -> str:
    from finapi.net.outbound import TargetRefused, target

    try:
        target(url)
    except TargetRefused as error:
        raise UsageError(f"{url}: {error.reason}") from None
    return url
