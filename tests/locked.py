"""The tested set of packages, pinned with hashes in ``requirements.lock``; that of the tools in ``.ci/tools.lock``.

    python -m tests.locked             whether what is installed here is what is pinned
    python -m tests.locked --run-time  what of it finapi needs to run, as requirements with hashes
    python -m tests.locked --audit     whether weaknesses of it are known; without a network it says so

The head of each has the command that writes it anew, with ``uv``, which ``.ci/tools`` installs into ``.venv/tools``
with the others; with ``--upgrade`` it raises the versions.
"""

from __future__ import annotations

import argparse
import configparser
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
TOOLS = ROOT / ".ci" / "tools.lock"
TOOL = ROOT / ".venv" / "tools" / "bin" / "python"

# What every environment has, and what is installed in place.
BESIDE = {"pip", "setuptools", "wheel", "finapi"}

AUDIT_SECONDS = 180


@dataclass(frozen=True)
class Pin:
    """One package: its line with the marker, its hashes, and for whose sake it is there."""

    requirement: Requirement
    hashes: tuple[str, ...]
    via: tuple[str, ...]

    @property
    def version(self) -> str:
        (exact,) = self.requirement.specifier
        assert exact.operator == "=="
        return exact.version

    def line(self) -> str:
        """As pip reads it."""
        return " \\\n    ".join([str(self.requirement), *(f"--hash={one}" for one in self.hashes)])


def pins(text: str) -> dict[str, Pin]:
    """The packages of a lock that are for this interpreter, by their names."""
    found: dict[str, Pin] = {}
    for block in re.split(r"\n(?=[a-z0-9])", text):
        first, *_ = block.partition("\n")
        if first.startswith("#"):
            continue
        requirement = Requirement(first.rstrip(" \\"))
        name = canonicalize_name(requirement.name)
        if name in found and requirement.marker is not None and not requirement.marker.evaluate():
            continue  # in another version for other interpreters
        via = re.findall(r"^    #(?: via)? +(?!via\b)(\S.*)$", block, re.MULTILINE)
        hashes = re.findall(r"--hash=(sha256:[0-9a-f]{64})", block)
        found[name] = Pin(requirement, tuple(hashes), tuple(via))
    return found


def declared() -> dict[str, list[Requirement]]:
    """What ``setup.cfg`` asks for: to run, under an empty name, and for each extra."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    groups = {"": setup["options"]["install_requires"], **setup["options.extras_require"]}
    return {name: [Requirement(line) for line in text.splitlines() if line] for name, text in groups.items()}


def run_time(locked: dict[str, Pin]) -> dict[str, Pin]:
    """Those of them that finapi needs to run."""
    needed = {canonicalize_name(one.name) for one in declared()[""]}
    while more := {name for name, pin in locked.items() if needed.intersection(pin.via)} - needed:
        needed |= more
    return {name: locked[name] for name in sorted(needed)}


def differences(locked: dict[str, Pin], installed: Iterable[tuple[str, str]]) -> list[str]:
    """What is not as it is pinned, a line each."""
    found = {canonicalize_name(name): version for name, version in installed}
    wrong = [
        f"{name} {version} is not in the lock" for name, version in found.items() if name not in {*locked, *BESIDE}
    ]
    for name, pin in locked.items():
        here = pin.requirement.marker is None or pin.requirement.marker.evaluate()
        if here and name not in BESIDE and found.get(name) != pin.version:
            wrong.append(f"{name} is {found.get(name, 'not installed')}, the lock has {pin.version}")
    return sorted(wrong)


def verdict(report: str) -> tuple[bool, str]:
    """Whether an answer of pip-audit is good, and what to say of it; an empty one is that of no network."""
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError):
        return True, "pip-audit could not ask whether weaknesses are known"
    asked = [one for one in packages if "skip_reason" not in one]
    weak = [f"{one['name']} {one['version']}: {bad['id']}" for one in asked for bad in one["vulns"]]
    said = f"pip-audit: {len(asked)} of {len(packages)} packages were looked up, weaknesses of {len(weak)} are known"
    return not weak, "\n".join([said, *weak])


def audit() -> bool:
    """Ask; whether nothing is known."""
    words = ["--progress-spinner", "off", "--timeout", "15", "--require-hashes", "--disable-pip", "--format", "json"]
    which = [word for lock in (LOCK, TOOLS) for word in ("--requirement", str(lock))]
    command = [str(TOOL), "-m", "pip_audit", *words, *which]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=AUDIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        good, said, why = *verdict(""), str(error)
    else:
        good, said, why = *verdict(asked.stdout), asked.stderr.strip().rpartition("\n")[2]
    print(said if "looked up" in said else f"{said}: {why[:300]}")
    return good


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.locked", description="The packages that are tested with.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--run-time", action="store_true", help="print what finapi needs to run")
    what.add_argument("--audit", action="store_true", help="ask whether weaknesses are known")
    args = parser.parse_args()
    locked = pins(LOCK.read_text())
    if args.run_time:
        print(*(pin.line() for pin in run_time(locked).values()), sep="\n")
        return 0
    if args.audit:
        return 0 if audit() else 1
    wrong = differences(locked, ((one.metadata["Name"], one.version) for one in metadata.distributions()))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
