"""Tests of the lock files: they satisfy ``setup.cfg`` exactly and with hashes; and of the result of an audit."""

from __future__ import annotations

import json
import re
from importlib.metadata import version

import pytest
from packaging.utils import canonicalize_name

from tests import locked
from tests.locked import LOCK, ROOT, TOOLS
from tests.support.case_tables import run_each_case

PINS = {"test": locked.parse_pins(LOCK.read_text()), "tools": locked.parse_pins(TOOLS.read_text())}


@pytest.mark.parametrize("extra", PINS)
def test_a_lock_satisfies_setup_cfg(extra: str) -> None:
    declared = locked.read_declared_requirements()
    for requirement in (*declared[""], *declared[extra]):
        pin = PINS[extra][canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(pin.version), requirement
        assert "finapi-server (setup.cfg)" in pin.via


@pytest.mark.parametrize("extra", PINS)
def test_every_package_is_pinned_with_hashes_and_a_reason(extra: str) -> None:
    pins = PINS[extra]
    text = (LOCK if extra == "test" else TOOLS).read_text()
    assert {*pins} == {canonicalize_name(name_text) for name_text in re.findall(r"^([^ #\n]+)==", text, re.MULTILINE)}
    for name, pin in pins.items():
        assert pin.hashes, name
        assert re.fullmatch(r"\d[\w.]*", pin.version)
        assert {re.sub(r"\[.*", "", canonicalize_name(name_text)) for name_text in pin.via} <= {
            *pins,
            "finapi-server (setup-cfg)",
        }, name


@pytest.mark.parametrize("lock", [LOCK, TOOLS], ids=["test", "tools"])
def test_the_head_of_a_lock_has_the_command_that_writes_it(lock: object) -> None:
    text = LOCK.read_text() if lock == LOCK else TOOLS.read_text()
    extra, name = ("test", "requirements.lock") if lock == LOCK else ("tools", ".ci/tools.lock")
    assert f"uv pip compile setup.cfg --extra {extra} " in text.splitlines()[1]
    assert text.splitlines()[1].endswith(f" --generate-hashes --output-file {name}")


def test_runtime_and_test_requirements_are_separate() -> None:
    run_time = locked.select_run_time_pins(PINS["test"])
    assert set(run_time) == {
        "argon2-cffi",
        "argon2-cffi-bindings",
        "cffi",
        "pycparser",
        "pyjwt",
        "waitress",
        "websockets",
    }
    assert locked.parse_pins("\n".join(pin.line() for pin in run_time.values())).keys() == run_time.keys()


def test_waitress_is_exact_in_the_lock_only() -> None:
    (bound,) = [
        requirement for requirement in locked.read_declared_requirements()[""] if requirement.name == "waitress"
    ]
    assert PINS["test"]["waitress"].version == version("waitress")
    assert {requirement.operator for requirement in bound.specifier} == {">=", "<"}
    assert list(bound.specifier.filter(["3.0.0", "3.0.1", "3.9", "4.0"])) == ["3.0.1", "3.9"]


def test_what_is_not_as_it_is_pinned_is_named() -> None:
    pins = locked.parse_pins(
        "a==1.0 \\\n    --hash=sha256:00\n    # via finapi-server (setup.cfg)\n"
        "b-c==2.0 ; sys_platform == 'nowhere' \\\n    --hash=sha256:00\n    # via a\n"
        "d==3 \\\n    # via\n    #   a\n    #   b-c\n"
    )
    assert pins["d"].via == ("a", "b-c")
    assert locked.list_differences(pins, [("A", "1.0"), ("d", "3"), ("pip", "1"), ("finapi-server", "0")]) == []
    assert locked.list_differences(pins, [("A", "1.1"), ("e", "4")]) == [
        "a is 1.1, the lock has 1.0",
        "d is not installed, the lock has 3",
        "e 4 is not in the lock",
    ]


@run_each_case(
    "report, good, message",
    [
        ("", True, "pip-audit could not ask whether weaknesses are known"),
        ("<html>", True, "pip-audit could not ask whether weaknesses are known"),
        ("{}", True, "pip-audit could not ask whether weaknesses are known"),
        (
            json.dumps(
                {"dependencies": [{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "x"}]}
            ),
            True,
            "pip-audit: 1 of 2 packages were looked up, weaknesses of 0 are known",
        ),
        (
            json.dumps({"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1"}]}]}),
            False,
            "pip-audit: 1 of 1 packages were looked up, weaknesses of 1 are known\na 1: PYSEC-1",
        ),
    ],
)
def test_an_audit_fails_on_known_flaws_and_passes_offline(report: str, good: bool, message: str) -> None:
    assert locked.judge_audit(report) == (good, message)


def test_ci_installs_the_lock_first_and_audits_both() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [
        ".venv/bin/pip install --quiet --require-hashes -r requirements.lock",
        'bash -c "$test_command"',
        ".venv/bin/python -m tests.locked",
        ".venv/bin/python -m tests.locked --audit",
    ]
    assert [line for line in lines if line in commands] == commands
