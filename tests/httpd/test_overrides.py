"""Every override of waitress is written down, with why, and is checked by what a client sees of it over a socket.

setup.cfg takes any release of waitress before its next major version. What a release changes inside is noticed by these
tests: ``python -m tests.newest_waitress`` runs them with the newest one.
"""

from __future__ import annotations

import configparser
import inspect
import re
from collections.abc import Iterator
from importlib.metadata import version

import pytest
import waitress
from packaging.requirements import Requirement

from finapi import httpd
from finapi.httpd import (
    body_reading,
    listener,
    loop,
    pool,
    request_parser,
    response_heads,
    response_writing,
    server_context,
    unsent,
    wsgi_task,
)
from tests import newest_waitress
from tests.httpd import test_listener, test_shares
from tests.process import ROOT

MODULES = (
    body_reading,
    listener,
    loop,
    pool,
    request_parser,
    response_heads,
    response_writing,
    server_context,
    unsent,
    wsgi_task,
)

# The tests by which a release of waitress fails that no longer calls what is overridden, or calls it otherwise.
BEHAVIOUR = {
    "RequestParser.__init__": (test_listener.test_the_public_path_is_removed_from_a_target,),
    "RequestParser.close": (test_shares.test_spooled_bodies_have_a_limit_together,),
    "RequestParser.received": (
        test_listener.test_malformed_requests_are_refused_and_closed,
        test_listener.test_bytes_behind_a_refused_request_are_not_parsed,
        test_listener.test_well_formed_requests_are_parsed,
    ),
    "ChunkedBody.__init__": (test_listener.test_malformed_requests_are_refused_and_closed,),
    "ChunkedBody.received": (
        test_listener.test_malformed_requests_are_refused_and_closed,
        test_listener.test_well_formed_requests_are_parsed,
    ),
    "RequestTask.build_response_header": (
        test_listener.test_an_answer_without_a_body_keeps_its_connection,
        test_listener.test_the_connection_stays_open,
        test_listener.test_a_stop_waits_for_the_answer_of_a_running_call,
    ),
    "RequestTask.write": (test_listener.test_an_answer_to_head_has_no_body,),
}


def list_overrides() -> Iterator[str]:
    """Yield the members of our classes that override one of waitress."""
    # What every class has, of some versions of Python too.
    described = {"__doc__", "__module__", "__firstlineno__", "__static_attributes__"}
    for module in MODULES:
        for name, cls in inspect.getmembers(module, inspect.isclass):
            bases = [base for base in cls.__mro__ if base.__module__.startswith(f"{waitress.__name__}.")]
            if cls.__module__ == module.__name__ and bases:
                base_attributes = {attribute for base in bases for attribute in vars(base)}
                yield from (f"{name}.{attribute}" for attribute in (vars(cls).keys() & base_attributes) - described)


def test_every_override_of_waitress_is_explained() -> None:
    explained = re.findall(r"^(\w+\.\w+) +\S", httpd.__doc__ or "", re.MULTILINE)
    assert sorted(explained) == sorted(list_overrides())


def test_every_override_of_waitress_is_checked_over_a_socket() -> None:
    assert BEHAVIOUR.keys() == set(list_overrides())
    modules = {test.__module__.replace(".", "/") + ".py" for tests in BEHAVIOUR.values() for test in tests}
    assert modules < {*newest_waitress.TESTS}


def test_setup_accepts_waitress_up_to_the_next_major_version() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    required = setup["options"]["install_requires"].splitlines()
    (requirement,) = [Requirement(line) for line in required if line.startswith("waitress")]
    allowed = requirement.specifier
    assert [allowed.contains(release) for release in ("3.0.0", version("waitress"), "3.0.3", "3.9", "4.0.0")] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert str(requirement) == str(newest_waitress.find_requirement())


def test_the_document_names_every_part_of_waitress_that_is_used() -> None:
    parts = set()
    for module in MODULES:
        for line in inspect.getsource(module).splitlines():
            if match := re.fullmatch(r"from waitress\.\w+ import (.+)", line):
                parts |= {name.strip() for name in match[1].split(",")}
    document = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    section = document.partition("## Parts of waitress")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| (\w+) \|", section, re.MULTILINE)) - {"part"} == parts


@pytest.mark.parametrize("name", ["newest_waitress"])
def test_ci_runs_them_with_the_newest_waitress(name: str) -> None:
    assert f"-m tests.{name}" in (ROOT / ".ci" / "run").read_text()
