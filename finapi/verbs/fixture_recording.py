"""The options --record, --recording and --verify of the verb fixture: a test server in front of a real service."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from finapi.core.clock import SystemClock
from finapi.core.config import Config
from finapi.core.counts import format_count
from finapi.core.errors import UsageError
from finapi.store.datadir import Say
from finapi.verbs.verb import arg, escape_unprintable, resolve_path

if TYPE_CHECKING:
    from finapi.testing.gate import AnswerSource

ARGUMENTS = (
    arg("--record", metavar="URL", help="pass calls on to this service and write its answers to --recording"),
    arg("--recording", metavar="FILE", help="answer the calls recorded in FILE; with --record, a new file"),
    arg(
        "--verify", metavar="URL", help="compare this service's answers with the fixture's, print differences, and end"
    ),
    arg("--key", help="the service's API key, for calls with a key of the fixture; better as FINAPI_API_KEY"),
)


@contextmanager
def open_answer_source(args: argparse.Namespace, config: Config) -> Iterator[AnswerSource | None]:
    """Yield the source that is asked for answers before the fixture: a service, a recording, or None."""
    if args.record is None and args.recording is None:
        yield None
        return
    from finapi.net.outbound import Outbound
    from finapi.ops.probes import OPERATOR_TARGET_POLICY
    from finapi.testing.recording import Recorder, ServiceRecording, build_outbound_sender

    if args.record is None:
        yield ServiceRecording(resolve_path(os.getcwd(), args.recording))
        return
    if args.recording is None:
        raise UsageError("--record needs --recording FILE, the file to write the recording to")
    file = resolve_path(os.getcwd(), args.recording)
    api_key = args.key or config.api_key
    with closing(Outbound(OPERATOR_TARGET_POLICY)) as outbound:
        send = build_outbound_sender(outbound)
        now = SystemClock().now()
        with closing(Recorder(_check_url(args.record), file, api_key, send, now)) as recorder:
            yield recorder


def verify_service(args: argparse.Namespace, config: Config, say: Say) -> int:
    """Print where a service and the fixture differ.

    Return exit status 1 if clients of the fixture may fail on the service, else 0.
    """
    from finapi.net.outbound import Outbound
    from finapi.ops.probes import OPERATOR_TARGET_POLICY
    from finapi.testing.control_client import build_wsgi_sender
    from finapi.testing.drift import Endpoint, iter_differences
    from finapi.testing.recording import ServiceRecording, build_outbound_sender
    from finapi.testing.running import run_fixture

    if args.record is not None:
        raise UsageError("--record and --verify cannot be combined")
    service_url = _check_url(args.verify)
    failed_count = 0
    recording = None if args.recording is None else ServiceRecording(resolve_path(os.getcwd(), args.recording))
    with (
        run_fixture(config, listens=False, answer_source=recording) as fixture,
        closing(Outbound(OPERATOR_TARGET_POLICY)) as outbound,
    ):
        service = Endpoint(service_url, args.key or config.api_key, build_outbound_sender(outbound))
        fixture_key = fixture.base.accounts["pro"]["api_key"]
        fixture_endpoint = Endpoint(fixture.url, fixture_key, build_wsgi_sender(fixture.gate))
        for target, message in iter_differences(service, fixture_endpoint, time.sleep, recording):
            failed_count += not message.startswith("+")
            say("out", escape_unprintable(f"GET {target}: {message}"))
    if failed_count:
        say("out", f"{service_url} and the fixture differ in {format_count(failed_count, 'place')}")
        return 1
    say("out", f"{service_url} answers as the fixture does")
    return 0


def _check_url(url: str) -> str:
    """Return ``url``. Raise UsageError if it cannot be the URL of a service."""
    from finapi.net.outbound import TargetRefusedError, parse_target

    try:
        parse_target(url)
    except TargetRefusedError as error:
        raise UsageError(f"{url}: {error.reason}") from None
    return url
