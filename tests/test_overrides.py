"""What is overridden in waitress is written down, with why, for the version that is installed."""

from __future__ import annotations

import configparser
import inspect
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import waitress
from packaging.requirements import Requirement

from finapi import httpd
from finapi.httpd import listen, loop, pool, request_parser, response

MODULES = (listen, loop, pool, request_parser, response)


def overridden() -> Iterator[str]:
    """What our classes define that a class of waitress above them defines too."""
    for module in MODULES:
        for name, cls in inspect.getmembers(module, inspect.isclass):
            bases = [base for base in cls.__mro__ if base.__module__.startswith(f"{waitress.__name__}.")]
            if cls.__module__ == module.__name__ and bases:
                theirs = {attribute for base in bases for attribute in vars(base)}
                yield from (f"{name}.{attribute}" for attribute in vars(cls).keys() & theirs)


def test_every_override_of_waitress_is_explained() -> None:
    explained = re.findall(r"^(\w+\.\w+) +\S", httpd.__doc__ or "", re.MULTILINE)
    # What every class has, of some versions of Python too.
    described = {"__doc__", "__module__", "__firstlineno__", "__static_attributes__"}
    assert sorted(explained) == sorted(name for name in overridden() if name.partition(".")[2] not in described)


def test_the_waitress_installed_is_the_one_that_was_read() -> None:
    assert f"waitress {version('waitress')}, the version that was read" in (httpd.__doc__ or "")
    setup = configparser.ConfigParser()
    setup.read(Path(__file__).parents[1] / "setup.cfg")
    required = setup["options"]["install_requires"].splitlines()
    (bound,) = [Requirement(line) for line in required if line.startswith("waitress")]
    major, minor, patch = version("waitress").split(".")
    assert bound.specifier.contains(version("waitress"))
    assert not bound.specifier.contains(f"{major}.{minor}.{int(patch) + 1}")
