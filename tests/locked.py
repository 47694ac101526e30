"""The tested packages, pinned with hashes in ``requirements.lock``, and the tools in ``.ci/tools.lock``.

    python -m tests.locked             compare the installed packages with the pinned ones
    python -m tests.locked --run-time  print the packages that finapi needs to run, as requirements with hashes
    python -m tests.locked --audit     look up known weaknesses; report when there is no network

The head of each lock has the command that rewrites it with ``uv``, which ``.ci/tools`` installs into ``.venv/tools``
with the other tools; ``--upgrade`` raises the versions.
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

# Packages of every environment, and the one installed in place.
UNPINNED = {"pip", "setuptools", "wheel", "finapi-server"}

AUDIT_SECONDS = 180


@dataclass(frozen=True)
class Pin:
    """A package: its requirement with the marker, its hashes, and the packages that need it."""

    requirement: Requirement
    hashes: tuple[str, ...]
    via: tuple[str, ...]

    @property
    def version(self) -> str:
        (exact,) = self.requirement.specifier
        assert exact.operator == "=="
        return exact.version

    def line(self) -> str:
        """Return the requirement as pip reads it."""
        return " \\\n    ".join([str(self.requirement), *(f"--hash={digest}" for digest in self.hashes)])


def parse_pins(text: str) -> dict[str, Pin]:
    """Return the packages of a lock for this interpreter, by name."""
    pins_by_name: dict[str, Pin] = {}
    for block in re.split(r"\n(?=[a-z0-9])", text):
        first, *_ = block.partition("\n")
        if first.startswith("#"):
            continue
        requirement = Requirement(first.rstrip(" \\"))
        name = canonicalize_name(requirement.name)
        if name in pins_by_name and requirement.marker is not None and not requirement.marker.evaluate():
            continue  # in another version for other interpreters
        via = re.findall(r"^    #(?: via)? +(?!via\b)(\S.*)$", block, re.MULTILINE)
        hashes = re.findall(r"--hash=(sha256:[0-9a-f]{64})", block)
        pins_by_name[name] = Pin(requirement, tuple(hashes), tuple(via))
    return pins_by_name


def read_declared_requirements() -> dict[str, list[Requirement]]:
    """Return the requirements of ``setup.cfg``: to run (under an empty name) and by extra."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    groups = {"": setup["options"]["install_requires"], **setup["options.extras_require"]}
    return {name: [Requirement(line) for line in text.splitlines() if line] for name, text in groups.items()}


def select_run_time_pins(locked: dict[str, Pin]) -> dict[str, Pin]:
    """Return the pins that finapi needs to run."""
    needed = {canonicalize_name(requirement.name) for requirement in read_declared_requirements()[""]}
    while new_names := {name for name, pin in locked.items() if needed.intersection(pin.via)} - needed:
        needed |= new_names
    return {name: locked[name] for name in sorted(needed)}


def list_differences(locked: dict[str, Pin], installed: Iterable[tuple[str, str]]) -> list[str]:
    """Return one message for each package that differs from its pin."""
    installed_versions = {canonicalize_name(name): version for name, version in installed}
    wrong = [
        f"{name} {version} is not in the lock"
        for name, version in installed_versions.items()
        if name not in {*locked, *UNPINNED}
    ]
    for name, pin in locked.items():
        applies_here = pin.requirement.marker is None or pin.requirement.marker.evaluate()
        if applies_here and name not in UNPINNED and installed_versions.get(name) != pin.version:
            wrong.append(f"{name} is {installed_versions.get(name, 'not installed')}, the lock has {pin.version}")
    return sorted(wrong)


def judge_audit(report: str) -> tuple[bool, str]:
    """Return True and a summary if pip-audit's report is good; an empty report means no network."""
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError):
        return True, "pip-audit could not ask whether weaknesses are known"
    checked = [package for package in packages if "skip_reason" not in package]
    weaknesses = [
        f"{package['name']} {package['version']}: {weakness['id']}"
        for package in checked
        for weakness in package["vulns"]
    ]
    summary = (
        f"pip-audit: {len(checked)} of {len(packages)} packages were looked up, "
        f"weaknesses of {len(weaknesses)} are known"
    )
    return not weaknesses, "\n".join([summary, *weaknesses])


def run_audit() -> bool:
    """Run pip-audit and print its summary. Return True if no weakness is known."""
    words = ["--progress-spinner", "off", "--timeout", "15", "--require-hashes", "--disable-pip", "--format", "json"]
    which = [word for lock in (LOCK, TOOLS) for word in ("--requirement", str(lock))]
    command = [str(TOOL), "-m", "pip_audit", *words, *which]
    try:
        audit_run = subprocess.run(command, capture_output=True, text=True, timeout=AUDIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        good, summary, why = *judge_audit(""), str(error)
    else:
        good, summary, why = *judge_audit(audit_run.stdout), audit_run.stderr.strip().rpartition("\n")[2]
    print(summary if "looked up" in summary else f"{summary}: {why[:300]}")
    return good


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.locked", description="The packages that are tested with.")
    actions = parser.add_mutually_exclusive_group()
    actions.add_argument("--run-time", action="store_true", help="print what finapi needs to run")
    actions.add_argument("--audit", action="store_true", help="ask whether weaknesses are known")
    args = parser.parse_args()
    locked = parse_pins(LOCK.read_text())
    if args.run_time:
        print(*(pin.line() for pin in select_run_time_pins(locked).values()), sep="\n")
        return 0
    if args.audit:
        return 0 if run_audit() else 1
    wrong = list_differences(
        locked, ((distribution.metadata["Name"], distribution.version) for distribution in metadata.distributions())
    )
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
