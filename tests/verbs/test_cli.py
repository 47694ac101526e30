"""Tests of the command line: its output on stdout and stderr, and the exit status."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from finapi import __version__, cli
from finapi.core.config import USUAL_SETTINGS, list_settings
from finapi.core.errors import UsageError
from finapi.market.documents.outcomes import ALREADY_STORED_NOTE
from finapi.verbs.examples import EXAMPLES, GROUPS
from finapi.verbs.verb import resolve_path
from finapi.verbs.verb_table import VERBS as VERBS_BY_NAME
from tests import process
from tests.process import (
    CIK,
    COMMAND,
    ROOT,
    Finished,
    Running,
    environment,
    eventually,
    figures,
    filing,
    finapi,
    measured,
    write,
)
from tests.support.case_tables import run_each_case
from tests.support.slow_cases import slow_after

MIB = 1024 * 1024
PEAK = 150 * MIB  # bytes that an ingest may hold, whatever it is given
STATEMENTS = f"/api/v1/xbrl/companies/{CIK}/statements"
VERBS = (
    "demo",
    "serve",
    "fixture",
    "conformance",
    "ingest",
    "load",
    "follow",
    "poll",
    "documents",
    "outbox",
    "user",
    "invite",
    "audit",
    "mail",
    "secret",
    "backup",
    "restore",
    "check",
    "move",
    "pack",
    "mapping",
    "doctor",
    "config",
    "openapi",
    "get",
    "statements",
    "timeseries",
    "filings",
    "insiders",
    "screen",
    "fund",
    "nport",
    "claims",
    "receipts",
    "watch",
    "listen",
    "trigger",
    "mcp",
    "completion",
)
ACTIONS = (("user", "add"), ("follow", "add"), ("pack", "export"), ("pack", "load"))
KEY = re.compile(r"[0-9a-f]{32}")


def rows(data_dir: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query in a data directory's database."""
    with contextlib.closing(sqlite3.connect(data_dir / "finapi.db")) as db:
        return db.execute(query).fetchall()


# ---- Words


@run_each_case("words", [(), *((verb,) for verb in VERBS), *ACTIONS])
def test_every_verb_has_help(words: tuple[str, ...]) -> None:
    done = finapi(*words, "--help")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(" ".join(["usage: finapi", *words, "[-h]"]))


@pytest.mark.parametrize("columns", [80, 160])
def test_help_is_as_wide_as_the_terminal(columns: int) -> None:
    help_text = finapi("serve", "--help", env=environment(COLUMNS=str(columns))).out
    assert columns - 12 < max(map(len, help_text.splitlines())) < columns


def test_help_names_every_verb() -> None:
    verb_names = re.findall(r"^    (\w+)(?: |$)", finapi("--help").out, flags=re.MULTILINE)
    assert sorted(verb_names) == sorted(VERBS)


def test_every_verb_is_in_one_group_of_the_help() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(VERBS)


def test_every_verb_and_action_has_an_example_that_parses() -> None:
    commands = {
        " ".join(filter(None, (name, action))) for name, verb in VERBS_BY_NAME.items() for action in ("", *verb.actions)
    }
    assert set(EXAMPLES) == commands
    for command, example in EXAMPLES.items():
        words = shlex.split(example.partition(" > ")[0])
        assert words[0] == "finapi"
        assert " ".join(words[1:]).startswith(command)
        cli._build_parser(words[1:]).parse_args(words[1:])


def test_help_shows_the_example_on_a_line_of_its_own() -> None:
    assert "\nExample:\n  finapi user plan ann@example.com pro\n" in finapi("user", "plan", "--help").out
    assert "\nExample:\n  finapi filings AAPL --form-type 8-K\n" in finapi("filings", "--help").out


def flags(*words: str) -> set[str]:
    """Return the options that a help text lists."""
    text = finapi(*words, "--help").out.partition("Every other setting")[0]
    return set(re.findall(r"--([a-z-]+)", text)) - {"help", "config"}


def test_one_page_names_every_setting_but_secrets() -> None:
    setting_names = {setting.name.replace("_", "-") for setting in list_settings() if not setting.metadata["secret"]}
    assert flags("config") == {*setting_names, "json"}


def test_usual_settings_come_first_in_help_and_output() -> None:
    text = finapi("config", "--help").out
    usual, special = text.partition("settings for special cases")[::2]
    usual_options = set(re.findall(r"^  --([a-z-]+)", usual, flags=re.MULTILINE)) - {"config", "json"}
    secret_names = {setting.name for setting in list_settings() if setting.metadata["secret"]}
    assert usual_options == {name.replace("_", "-") for name in USUAL_SETTINGS if name not in secret_names}
    assert "--host" not in special
    first_names = [line.split(" ")[0] for line in finapi("config").out.splitlines()[: len(USUAL_SETTINGS)]]
    assert sorted(first_names) == sorted(USUAL_SETTINGS)


def test_verb_help_shows_its_options_and_the_data_directory() -> None:
    assert flags("check") == {"data-dir", "file", "json"}
    assert flags("completion") == {"json"}
    assert flags("openapi") == {"public-url", "json"}
    for storeless in ("fixture", "conformance", "watch", "listen", "trigger"):
        assert "data-dir" not in flags(storeless)
    assert flags("documents") == {"data-dir"}
    assert flags("pack", "load") == {"data-dir", "json"}
    assert flags("invite", "create") == {"data-dir", "count", "expires", "note", "json"}
    assert flags("poll") == {"data-dir", "every", "replay", "speed", "json", "user-agent", "base-url"}
    assert flags("demo") == {"data-dir", "host", "port", "public", "ready"}
    assert {"host", "port", "poll-every", "ready", "new-secrets"} <= flags("serve")
    assert "xbrl-per-minute" not in flags("serve")
    assert flags("timeseries") == {"data-dir", "url", "period", "as-of", "limit", "unit", "chart", "key", "csv", "json"}
    assert "exit status" not in finapi("--help").out.lower()
    assert "Exit status: 0 done, 1 no answer" in finapi("timeseries", "--help").out
    assert "finapi config --help" in finapi("serve", "--help").out


@run_each_case(
    "words, meant",
    [
        (("serv",), "serve"),
        (("user", "ad"), "add"),
        (("user", "lokc", "ann@example.com"), "lock"),
        (("serve", "--prot", "5"), "--port"),
        (("backup", "--hep"), "--help"),
        (("trigger", "--redy-line=x"), "--ready-line"),
        (("serve", "--xbrl-perminute", "5"), "--xbrl-per-minute"),
        (("invite", "create", "--cuont", "2"), "--count"),
        (("frobnicate",), None),
        (("check", "--zzzzzz"), None),
        # An option of another verb, and a setting of the server.
        (("check", "--coutn", "2"), None),
        (("invite", "revoke", "--expirse", "2"), None),
        (("invite", "list", "--pollevery", "5"), None),
    ],
)
def test_a_typo_gets_a_suggestion(words: tuple[str, ...], meant: str | None) -> None:
    with pytest.raises(UsageError) as wrong:
        cli._build_parser(words).parse_args(words)
    assert ("did you mean" in str(wrong.value)) == (meant is not None)
    if meant is not None:
        assert f" (did you mean {meant}?); see finapi" in str(wrong.value)


@pytest.mark.parametrize("setting", ["api_key", "smtp_url"])
def test_a_secret_as_an_option_is_refused_with_its_setting(setting: str) -> None:
    words = ("get", f"--{setting.replace('_', '-')}", "x")
    with pytest.raises(
        UsageError, match=f"others can read command lines: set FINAPI_{setting.upper()}, or {setting} in"
    ):
        cli._build_parser(words).parse_args(words)


def test_version() -> None:
    assert finapi("--version") == Finished(0, f"finapi {__version__}\n", "")


def test_the_package_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "finapi", "--version"], cwd=ROOT, env=environment(), capture_output=True
    )
    assert (done.returncode, done.stdout.decode()) == (0, f"finapi {__version__}\n")


MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown verb": (("fly",), "there is no verb 'fly'; see finapi --help"),
    "unknown flag": (("serve", "--bogus"), "unrecognized arguments: --bogus; see finapi serve --help"),
    "unknown flag with a value": (
        ("config", "--bogus=1"),
        "unrecognized arguments: --bogus=1; see finapi config --help",
    ),
    "a former setting as a flag": (
        ("serve", "--queue-limit", "5"),
        "unrecognized arguments: --queue-limit 5: it is a constant now, so leave it out; see UPGRADING.md; "
        "see finapi serve --help",
    ),
    "a word too many": (("openapi", "x"), "unrecognized arguments: x; see finapi openapi --help"),
    "a word with a line break": (("openapi", "a\nb"), "unrecognized arguments: "),
    "a secret as a flag": (("config", "--secrets", "00"), "unrecognized arguments: --secrets 00"),
    "a flag without its value": (
        ("serve", "--port"),
        "argument --port: expected one argument; see finapi serve --help",
    ),
    "a port that is a word": (("serve", "--port", "http"), "--port: must be a whole number, not 'http'"),
    "a port that is a fraction": (("serve", "--port", "80.5"), "--port: must be a whole number, not '80.5'"),
    "a port below 0": (("serve", "--port=-1"), "setting port: must be at least 0, not -1"),
    "a port too high": (("serve", "--port", "65536"), "setting port: must be at most 65535, not 65536"),
    "no threads": (("serve", "--threads", "0"), "setting threads: must be at least 1, not 0"),
    "a time that is none": (("serve", "--drain-timeout", "nan"), "--drain-timeout: must be a number, not 'nan'"),
    "a time without end": (("serve", "--drain-timeout", "inf"), "--drain-timeout: must be a number, not 'inf'"),
    "no sender": (("config", "--mail-from", "nobody"), "the sender of mail must be name@domain"),
    "a name of our own": (
        ("config", "--watchdog-targets", "redis=http://a"),
        "setting watchdog_targets: redis is reserved by finapi",
    ),
    "nobody who asks EDGAR": (("config", "--poll-every", "60"), "EDGAR requires a contact address"),
    "a word not in the list": (
        ("serve", "--synchronous", "OFF"),
        "--synchronous: must be one of FULL, NORMAL, not 'OFF'",
    ),
    "a proxy that is none": (
        ("serve", "--trusted-proxies", "10.0.0.1/8"),
        "setting trusted_proxies: 10.0.0.1/8 has host bits set",
    ),
    "another ready line": (("serve", "--ready", "yaml"), "argument --ready: invalid choice: 'yaml'"),
    "no action": (("user",), "the following arguments are required: ACTION; see finapi user --help"),
    "unknown action": (("user", "fly"), "there is no action 'fly'; see finapi user --help"),
    "no email": (("user", "add"), "the following arguments are required: email; see finapi user add --help"),
    "an email that is none": (("user", "add", "ann"), "'ann' is not an email address"),
    "an email with a blank": (("user", "add", "a n@n.example"), "'a n@n.example' is not an email address"),
    "unknown plan": (("user", "add", "ann@example.com", "--plan", "gold"), "'gold' is not a plan; use one of: free, "),
    "nothing to ingest": (("ingest",), "the following arguments are required: PATH; see finapi ingest --help"),
    "an accession number that is none": (
        ("ingest", "x", "--accession", "1"),
        "--accession: '1' is not an accession number (0000320193-25-000057)",
    ),
    "a day that is none": (
        ("ingest", "x", "--filed", "2025-02-30"),
        "--filed: '2025-02-30' is not a date (YYYY-MM-DD)",
    ),
    "a day in another spelling": (
        ("ingest", "x", "--filed", "20250214"),
        "--filed: '20250214' is not a date (YYYY-MM-DD)",
    ),
    "a pack that is not there": (("pack", "load", "/no/such/file"), "/no/such/file: No such file or directory"),
    "a pack in no folder": (("pack", "export", "/no/such/file"), "/no/such/file: No such file or directory"),
    "a configuration that is not there": (
        ("config", "--config", "/no/such/file"),
        "cannot read /no/such/file: No such file or directory",
    ),
    "a configuration that is a folder": (("config", "--config", "/"), "cannot read /: Is a directory"),
}


@pytest.fixture
def run_in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Finished]:
    """Return a function that runs a command in this process, ten times faster; for those that end before they begin."""

    def run_in_process(*words: object, **settings: str) -> Finished:
        monkeypatch.setattr(os, "environ", environment(**settings))
        status = cli.main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Finished(status, out, err)

    return run_in_process


@run_each_case("case", MISTAKES)
def test_a_mistake_prints_one_line_and_exits_with_status_2(
    case: str, run_in_process: Callable[..., Finished], tmp_path: Path
) -> None:
    words, complaint = MISTAKES[case]
    process.made((*words, "--data-dir", tmp_path / "data"))
    done = run_in_process(*words, FINAPI_DATA_DIR=str(tmp_path / "data"))
    assert done.status == 2
    assert done.complaint.startswith(complaint)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "a" * 64 + ".example", "192.0.2.1"])
def test_a_host_that_cannot_be_listened_on_prints_one_line(host: str, tmp_path: Path) -> None:
    done = finapi("serve", "--public", "--host", host, "--port", 0, "--data-dir", tmp_path / "data")
    assert done.status == 2
    assert done.complaint.startswith(f"cannot listen on {host}:0: ")


def test_a_mistake_in_a_process_of_its_own() -> None:
    done = finapi("fly")
    assert done.status == 2
    assert done.complaint == "there is no verb 'fly'; see finapi --help"
    assert done.complaint.endswith("; see finapi --help")


@run_each_case("verb", ["serve", "demo", "config", "openapi"])
def test_a_mistake_in_the_environment_stops_every_verb(verb: str) -> None:
    done = finapi(verb, env=environment(FINAPI_PROT="8000"))
    assert done.status == 2
    assert done.complaint == "unknown setting FINAPI_PROT (environment), did you mean FINAPI_PORT?; see finapi config"


def test_a_data_directory_of_a_later_finapi_prints_one_line(tmp_path: Path) -> None:
    assert finapi("user", "add", "ann@example.com", "--data-dir", tmp_path).status == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "finapi.db")) as db:
        db.execute("PRAGMA user_version=999")
    for verb in (("serve", "--port", "0"), ("user", "add", "bob@example.com")):
        done = finapi(*verb, "--data-dir", tmp_path)
        assert done.status in (1, 2)
        assert "999" in done.complaint
        assert "install a newer finapi" in done.complaint


@pytest.mark.parametrize(
    "content", [b"this is no database at all, but a text\n" * 200, b"SQLite format 3\0" + b"\xff" * 4080]
)
def test_a_file_that_is_not_a_database_is_reported_in_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "finapi.db").write_bytes(content)
    done = finapi("serve", "--port", "0", "--data-dir", tmp_path)
    assert done.status in (1, 2)
    assert str(tmp_path) in done.complaint


def test_a_secrets_file_without_secrets_prints_one_line(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("open sesame\n")
    (tmp_path / "secrets").chmod(0o600)
    done = finapi("serve", "--port", "0", "--data-dir", tmp_path)
    assert done.status == 2
    assert done.complaint == f"{tmp_path / 'secrets'}: a master secret must be written in hex"


# ---- stdout that goes away


@pytest.mark.parametrize(
    "words", slow_after(2, [("openapi",), ("--help",), ("config",), ("config", "--json"), ("serve", "--help")])
)
def test_a_reader_that_goes_away_costs_no_traceback(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([*COMMAND, *words], cwd=ROOT, env=environment(), stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert done.stderr == b""
    assert done.returncode in (0, 1)


@pytest.mark.parametrize("closing", slow_after(1, ["<&- >&- 2>&-", ">&-", ">&- <&-", ">&- 2>&-"]))
def test_streams_that_are_closed_are_done_without(closing: str) -> None:
    line = f"{sys.executable} run.py config {closing}"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, env=environment(), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_full_disk_is_reported_in_one_line() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "config"], cwd=ROOT, env=environment(), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == b"finapi: No space left on device\n"


@pytest.mark.slow
def test_an_ingest_into_head_is_cut_off_without_a_traceback(tmp_path: Path) -> None:
    for number in range(1, 41):
        write(tmp_path / "in" / process.accession(number), filing(cik=number))
    line = f"{sys.executable} run.py ingest '{tmp_path}/in' --data-dir '{tmp_path}/data' | head -1"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, env=environment(), capture_output=True)
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1
    again = finapi("ingest", tmp_path / "in", "--json", "--data-dir", tmp_path / "data")
    assert again.status == 0
    assert again.json["counts"]["ingested"] + again.json["counts"]["unchanged"] == 200


# ---- config

SECRETS = ",".join(["ab" * 32, "cd" * 32])


@pytest.fixture
def layers(tmp_path: Path) -> tuple[tuple[object, ...], dict[str, str], Path]:
    """Return words, environment and file that set some things three times."""
    file = tmp_path / "finapi.toml"
    file.write_text(
        'host = "192.0.2.1"\nport = 1\nthreads = 3\nchannel_timeout = 7\ntrusted_proxies = ["10.0.0.0/8"]\n'
    )
    env = environment(FINAPI_HOST="192.0.2.2", FINAPI_PORT="2", FINAPI_SECRETS=SECRETS, FINAPI_PUBLIC="yes")
    return ("--config", file, "--host", "192.0.2.3", "--log-level", "error"), env, file


def test_config_shows_every_value_and_where_it_is_from(layers: tuple[tuple[object, ...], dict[str, str], Path]) -> None:
    words, env, file = layers
    done = finapi("config", "--json", *words, env=env)
    assert (done.status, done.err) == (0, "")
    rows_shown = done.json["settings"]
    assert sorted(row["name"] for row in rows_shown) == sorted(setting.name for setting in list_settings())
    assert all(set(row) == {"name", "value", "origin", "help"} for row in rows_shown)
    set_values = {row["name"]: (row["value"], row["origin"]) for row in rows_shown if row["origin"] != "default"}
    assert set_values == {
        "host": ("192.0.2.3", "flag"),
        "port": ("2", "environment"),
        "public": ("yes", "environment"),
        "secrets": ("********", "environment"),
        "threads": ("3", f"file {file}"),
        "channel_timeout": ("7.0", f"file {file}"),
        "trusted_proxies": ("10.0.0.0/8", f"file {file}"),
        "log_level": ("error", "flag"),
    }
    assert "ab" * 32 not in done.out
    assert "cd" * 32 not in done.out


def test_config_as_text_says_the_same(layers: tuple[tuple[object, ...], dict[str, str], Path]) -> None:
    words, env, file = layers
    done = finapi("config", *words, env=env)
    assert (done.status, done.err) == (0, "")
    lines = [line.split(None, 2) for line in done.out.splitlines() if line]
    assert sorted(name for name, _, _ in lines) == sorted(setting.name for setting in list_settings())
    assert all(equals == "=" for _, equals, _ in lines)
    values_by_name = {name: value_text for name, _, value_text in lines}
    assert values_by_name["host"].startswith("192.0.2.3  (flag) ")
    assert values_by_name["port"].startswith("2  (environment) ")
    assert values_by_name["threads"].startswith(f"3  (file {file}) ")
    assert values_by_name["body_limit"].startswith("52428800  (default) ")
    assert values_by_name["secrets"].startswith("********  (environment) ")
    assert "ab" * 32 not in done.out


def test_secrets_are_masked_when_they_are_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "finapi.toml").write_text(f'secrets = "{SECRETS}"\n')
    done = finapi("config", "--config", tmp_path / "finapi.toml")
    assert done.status == 0
    assert re.search(r"^secrets +=", done.out, flags=re.MULTILINE)
    assert "ab" * 32 not in done.out


def test_a_file_may_be_named_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "finapi.toml").write_text("threads = 5\n")
    done = finapi("config", "--json", env=environment(FINAPI_CONFIG=str(tmp_path / "finapi.toml")))
    assert {row["name"]: row["value"] for row in done.json["settings"]}["threads"] == "5"


@run_each_case(
    "text, complaint",
    [
        ("prot = 1", "unknown setting prot (file {}), did you mean port?; see finapi config"),
        ("[server]\nport = 1", "unknown setting server (file {}); see finapi config"),
        ("port = true", "port: must be a whole number, not True"),
        ("port = 1.5", "port: must be a whole number, not 1.5"),
        ("port = 1" + "0" * 400, "port: must be a whole number, not 1"),
        ("drain_timeout = 1" + "0" * 400, "drain_timeout: must be a number, not 1"),
        ("drain_timeout = inf", "drain_timeout: must be a number, not inf"),
        ("data_dir = 1", "data_dir: must be a path, not 1"),
        ("trusted_proxies = [1]", "trusted_proxies: must be a list of strings, not [1]"),
        ("port = ", "{}: Invalid value (at end of document)"),
        ("caf\u00e9".encode("latin-1"), "{}: 'utf-8' codec can't decode byte 0xe9 in position 3"),
    ],
)
def test_a_mistake_in_the_file_is_reported_in_one_line(
    run_in_process: Callable[..., Finished], tmp_path: Path, text: str | bytes, complaint: str
) -> None:
    file = tmp_path / "finapi.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = run_in_process("config", "--config", file)
    assert done.status == 2
    assert done.complaint.startswith(complaint.format(file))


def test_openapi_is_a_json_document() -> None:
    done = finapi("openapi", "--public-url", "https://finapi.example")
    assert (done.status, done.err) == (0, "")
    document = json.loads(done.out)
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == __version__
    assert document["servers"] == [{"url": "https://finapi.example"}]


# ---- user


@pytest.mark.slow
def test_a_key_that_user_add_prints_opens_the_api(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    write(tmp_path / process.accession(1), filing())
    assert finapi("ingest", tmp_path / process.accession(1), "--data-dir", data_dir).status == 0
    added = finapi("user", "add", " Ann@Example.COM", "--plan", "pro", "--json", "--data-dir", data_dir)
    assert added.status == 2, "a blank is no part of an address"
    added = finapi("user", "add", "Ann@Example.COM", "--plan", "pro", "--json", "--data-dir", data_dir)
    assert (added.status, added.err) == (0, "")
    assert set(added.json) == {"email", "uuid", "api_key"}
    assert added.json["email"] == "ann@example.com"
    printed = finapi("user", "add", "bob@example.com", "--data-dir", data_dir)
    key = printed.out.split()[-1]
    assert printed == Finished(0, f"bob@example.com has the API key {key}\n", "")
    assert KEY.fullmatch(key)
    twice = finapi("user", "add", "ANN@example.com", "--data-dir", data_dir)
    assert twice.status == 1
    assert twice.complaint == "A user with the email ann@example.com exists already."
    with process.serve(data_dir) as running:
        for api_key in (added.json["api_key"], key):
            assert KEY.fullmatch(api_key)
            assert figures(running.get(STATEMENTS, api_key))["Net sales"] == ["1000"]
        assert running.get(STATEMENTS, "0" * 32).status == 401
    plans = rows(data_dir, "SELECT plan, total_limit_api, reach_limit_api FROM userplans ORDER BY id")
    assert plans == [("pro", 500_000, 25), ("free", 2_000, 25)]


def test_the_database_holds_no_key(tmp_path: Path) -> None:
    key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", tmp_path).json["api_key"]
    assert key.encode() not in (tmp_path / "finapi.db").read_bytes()
    assert bytes.fromhex(key) not in (tmp_path / "finapi.db").read_bytes()


# ---- ingest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a filing whose name says nothing about it."""
    return write(tmp_path / "in", filing())


UNDATED = "the filing date is not known: the filing sorts last, and as_of and sniper targets ignore it until it is"


def entries(folder: Path, outcome: str, reason: str | None, accession: str) -> list[dict[str, Any]]:
    return [
        {"path": str(path), "kind": kind, "outcome": outcome, "reason": reason, "accession": accession}
        for path, kind in process.kinds(folder)
    ]


def lines(folder: Path, outcome: str, reason: str | None, accession: str) -> str:
    return "".join(
        f"{outcome:9} {path} ({kind}) {accession}" + (f": {reason}" if reason else "") + "\n"
        for path, kind in process.kinds(folder)
    )


def test_ingest_reports_as_json(folder: Path, tmp_path: Path) -> None:
    accession = process.accession(1)
    words = ("--accession", accession.replace("-", ""), "--filed", "2025-02-14", "--data-dir", tmp_path / "data")
    done = finapi("ingest", folder, "--json", *words)
    assert (done.status, done.err) == (0, "")
    assert done.json == {
        "files": entries(folder, "ingested", None, accession),
        "counts": {"ingested": 5, "unchanged": 0, "skipped": 0, "refused": 0},
    }


def test_ingest_reports_as_text(folder: Path, tmp_path: Path) -> None:
    accession = process.accession(1)
    words = ("--accession", accession, "--filed", "2025-02-14", "--data-dir", tmp_path / "data")
    done = finapi("ingest", folder, *words)
    assert (done.status, done.err) == (0, "")
    assert done.out == lines(folder, "ingested", None, accession) + ("5 ingested, 0 unchanged, 0 skipped, 0 refused\n")


def test_accession_and_day_that_are_given_are_served(folder: Path, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    words = ("--accession", process.accession(1), "--filed", "2025-02-14", "--data-dir", data_dir)
    assert finapi("ingest", folder, *words).status == 0
    key = finapi("user", "add", "ann@example.com", "--json", "--data-dir", data_dir).json["api_key"]
    with process.serve(data_dir) as running:
        answer = running.get(f"/api/v1/xbrl/filing/{process.accession(1)}/statements", key)
        assert figures(answer) == {"Net sales": ["1000"], "Cost of sales": ["400"], "Gross margin": ["600"]}
        assert answer.json["meta"]["filed_at"] == "2025-02-14"
        assert running.get(f"{STATEMENTS}?as_of=2025-02-14", key).status == 200
        assert running.get(f"{STATEMENTS}?as_of=2025-02-13", key).status == 404


@pytest.mark.slow
def test_a_second_ingest_changes_nothing(folder: Path, tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    words = ("ingest", folder, "--accession", process.accession(1), "--data-dir", data_dir)

    def content() -> list[tuple[Any, ...]]:
        (tables,) = zip(*rows(data_dir, "SELECT name FROM sqlite_master WHERE type = 'table'"), strict=True)
        return [(table, rows(data_dir, f"SELECT * FROM {table}")) for table in tables]

    first = finapi(*words, "--json")
    assert first.json["files"] == entries(folder, "ingested", UNDATED, process.accession(1))
    before = content()
    assert rows(data_dir, "SELECT version FROM data_version") == [(1,)]
    second = finapi(*words)
    assert second.out == lines(folder, "unchanged", ALREADY_STORED_NOTE, process.accession(1)) + (
        "0 ingested, 5 unchanged, 0 skipped, 0 refused\n"
    )
    assert (second.status, second.err) == (0, "")
    third = finapi(*words, "--json")
    assert third.json == {
        "files": entries(folder, "unchanged", ALREADY_STORED_NOTE, process.accession(1)),
        "counts": {"ingested": 0, "unchanged": 5, "skipped": 0, "refused": 0},
    }
    assert content() == before


def test_a_day_that_is_told_later_is_taken(folder: Path, tmp_path: Path) -> None:
    """The report names the filing whose day is not known. A second ingest with the day must succeed."""
    words = ("ingest", folder, "--accession", process.accession(1), "--data-dir", tmp_path / "data")
    assert finapi(*words).status == 0
    assert finapi(*words, "--filed", "2025-02-14").status == 0
    assert rows(tmp_path / "data", "SELECT accession, filed_at FROM filings") == [(process.accession(1), "2025-02-14")]


def test_an_accession_that_is_told_later_is_taken(folder: Path, tmp_path: Path) -> None:
    unfiled = finapi("ingest", folder, "--json", "--data-dir", tmp_path / "data")
    assert re.fullmatch("unfiled-[0-9a-f]{16}", unfiled.json["files"][0]["accession"])
    words = ("--accession", process.accession(1), "--filed", "2025-02-14")
    assert finapi("ingest", folder, *words, "--data-dir", tmp_path / "data").status == 0
    assert rows(tmp_path / "data", "SELECT accession, filed_at FROM filings") == [(process.accession(1), "2025-02-14")]
    assert rows(tmp_path / "data", "SELECT count(*) FROM reports") == [(1,)]


def test_documents_named_one_by_one_are_one_filing(folder: Path, tmp_path: Path) -> None:
    done = finapi("ingest", *sorted(folder.iterdir()), "--json", "--data-dir", tmp_path / "data")
    assert done.json["counts"] == {"ingested": 5, "unchanged": 0, "skipped": 0, "refused": 0}
    assert rows(tmp_path / "data", "SELECT documents FROM reports") == [(5,)]


def test_a_relative_path_is_reported_in_full(folder: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "run.py"), "ingest", "in", "--json", "--data-dir", "data"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
    )
    report = json.loads(done.stdout)
    assert [file["path"] for file in report["files"]] == [str(path) for path, _ in process.kinds(folder)]
    assert (tmp_path / "data" / "finapi.db").is_file()


def test_an_empty_path_is_refused_and_not_the_current_folder() -> None:
    with pytest.raises(UsageError, match="a path is empty"):
        resolve_path("/tmp", "")
    assert resolve_path("/tmp", ".") == Path("/tmp")


def test_a_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    folder = write(tmp_path / os.fsdecode(b"caf\xe9"), filing())
    # As in the locale of a desktop, where stdout takes UTF-8 and nothing else.
    env = environment(PYTHONIOENCODING="utf-8:strict")
    done = finapi("ingest", folder, "--data-dir", tmp_path / "data", env=env)
    assert (done.status, done.err) == (0, "")
    assert done.out.endswith("\n5 ingested, 0 unchanged, 0 skipped, 0 refused\n")
    assert done.out.count("\n") == 6


def test_an_ingest_without_a_stderr_does_its_work(folder: Path, tmp_path: Path) -> None:
    line = f"{sys.executable} run.py ingest '{folder}' --json --data-dir '{tmp_path}/data' 2>&-"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, env=environment(), stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert json.loads(done.stdout)["counts"]["ingested"] == 5


def test_progress_is_for_a_terminal_only(folder: Path, tmp_path: Path) -> None:
    ours, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, "ingest", str(folder), "--json", "--data-dir", str(tmp_path / "data")],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=terminal,
        )
        output = os.read(ours, 65536).decode()
    finally:
        os.close(terminal)
        os.close(ours)
    assert done.returncode == 0
    assert json.loads(done.stdout)["counts"]["ingested"] == 5
    *steps, last = output.split("\r\x1b[K")[1:]
    counts = ("1 file", "2 files", "3 files", "4 files", "5 files")
    assert steps == [f"{count}, {path}" for count, (path, _) in zip(counts, process.kinds(folder), strict=True)]
    assert last == "", "the line is wiped at the end"


# ---- ingest of what is no filing


def build_zip(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


def zip_bomb(size: int) -> bytes:
    """Return a zip with ``size`` zero bytes in a thousandth of it, put together from one compressed piece."""
    piece = bytes(MIB)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    second = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    data = first + second * (size // MIB - 1) + packer.flush()
    crc = 0
    for _ in range(size // MIB):
        crc = zlib.crc32(piece, crc)
    fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, crc, len(data), size, 8, 0)
    local = b"PK\x03\x04" + fields + b"bomb.xml"
    central = b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"bomb.xml"
    at = len(local) + len(data)
    return local + data + central + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), at, 0)


def patch_zip(archive: bytes, offset: int, value: bytes) -> bytes:
    """Return a zip of one member whose central directory is changed at ``offset``."""
    at = archive.index(b"PK\x01\x02") + offset
    return archive[:at] + value + archive[at + len(value) :]


def encrypt_zip(archive: bytes) -> bytes:
    """Return a zip of one member with the flag of encryption set, there and in its local header."""
    return archive[:6] + b"\x01" + patch_zip(archive, 8, b"\x01")[7:]


INSTANCE, *_ = filing().values()
LINKBASE = filing()[f"tiny{CIK}-20241231_pre.xml"]
ENTITIES = (
    b'<?xml version="1.0"?><!DOCTYPE xbrl [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;">' % (n, *[n - 1] * 10) for n in range(98, 108))
    + b']><xbrl xmlns="http://www.xbrl.org/2003/instance">&k;</xbrl>'
)
OUTSIDE = b'<!DOCTYPE xbrl SYSTEM "file:///etc/passwd"><xbrl xmlns="http://www.xbrl.org/2003/instance"/>'
TABLE_13F = (
    b'<informationTable xmlns="http://www.sec.gov/edgar/document/thirteenf/informationtable"><infoTable>'
    b"<nameOfIssuer>APPLE INC</nameOfIssuer></infoTable></informationTable>"
)
DEEP = b'<xbrl xmlns="http://www.xbrl.org/2003/instance">' + b"<a>" * 500_000
DEEP_JSON = b'{"filings": ' + b"[" * 500_000
UNREAD = "is not a document that finapi reads"

# What a file holds, and (what it is taken for, why it is refused); the reason is matched from its start.
BAD_FILES: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "garbage.xml": (lambda: bytes(range(256)) * 20, "unknown", UNREAD),
    "empty.xml": (lambda: b"", "empty", "is empty"),
    "blank.xml": (lambda: b" \r\n\t" * 1000, "empty", "is empty"),
    "zeros.xml": (lambda: bytes(MIB), "unknown", UNREAD),
    "truncated.xml": (lambda: INSTANCE[:1200], "xbrl-instance", "line 12, column 1: unclosed token"),
    "no-facts.xml": (
        lambda: b'<xbrl xmlns="http://www.xbrl.org/2003/instance"/>',
        "xbrl-instance",
        "dei:EntityCentralIndexKey: ",
    ),
    "entities.xml": (lambda: ENTITIES, "unknown", UNREAD),
    "outside.xml": (
        lambda: OUTSIDE,
        "xbrl-instance",
        "line 1, column 43: a document type declaration, which no SEC format allows",
    ),
    "deep.xml": (lambda: DEEP, "xbrl-instance", "line 1, column 49: element a is not a fact"),
    "deep.json": (lambda: DEEP_JSON, "submissions", "JSON nested too deep"),
    "13f.xml": (
        lambda: TABLE_13F,
        "13f-table",
        "is the table of a 13F without its cover page, which states the filer and the quarter",
    ),
    "linkbase_pre.xml": (lambda: LINKBASE, "xbrl-presentation", "an XBRL filing without its instance document"),
    "cut.zip": (
        lambda: build_zip({"a.xml": INSTANCE})[:-30],
        "unknown",
        "is not a readable zip: File is not a zip file",
    ),
    "claims.zip": (
        lambda: patch_zip(build_zip({"a.xml": INSTANCE}), 24, struct.pack("<I", 0xFFFF_0000)),
        "unknown",
        "a.xml unpacks to more than 200 times its size",
    ),
    "bomb.zip": (lambda: zip_bomb(1024 * MIB), "unknown", "bomb.xml unpacks to more than 200 times its size"),
}
# The same for what one member of a zip holds.
BAD_MEMBERS: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "nested.zip!inner.zip": (
        lambda: build_zip({"inner.zip": build_zip({"a.xml": INSTANCE})}),
        "zip",
        "is a zip inside a zip",
    ),
    "locked.zip!a.xml": (lambda: encrypt_zip(build_zip({"a.xml": INSTANCE})), "unknown", "is encrypted"),
    "damaged.zip!a.xml": (
        lambda: patch_zip(build_zip({"a.xml": INSTANCE}), 16, b"\0\0\0\0"),
        "unknown",
        "cannot be unpacked: Bad CRC-32 for file 'a.xml'",
    ),
    "method.zip!a.xml": (
        lambda: patch_zip(build_zip({"a.xml": INSTANCE}), 10, struct.pack("<H", 99)),
        "unknown",
        "is compressed with a method other than deflate, which is not supported",
    ),
    "lies.zip!bomb.xml": (
        lambda: patch_zip(zip_bomb(64 * MIB), 24, struct.pack("<I", 1000)),
        "unknown",
        "cannot be unpacked: ",
    ),
}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """Return a complete filing, in the folder in which the bad files are put, and below it."""
    return write(tmp_path / "in" / process.accession(1), filing())


def ingested_beside(good: Path, *paths: Path, data_dir: Path) -> list[str]:
    """Ingest some paths, or the folder of the good filing, which must be stored. Return the complaints."""
    done, peak = measured("ingest", *(paths or [good.parent]), "--data-dir", data_dir)
    assert done.status == 1, done
    assert lines(good, "ingested", UNDATED, process.accession(1)) in done.out, done
    assert "Traceback" not in done.err
    assert peak < PEAK, f"{peak / MIB:.0f} MB"
    assert rows(data_dir, "SELECT accession FROM filings") == [(process.accession(1),)]
    refused = done.err.splitlines()
    assert done.out.endswith(f"\n5 ingested, 0 unchanged, 0 skipped, {len(refused)} refused\n")
    return refused


@pytest.mark.parametrize("name", [*BAD_FILES, *BAD_MEMBERS])
def test_a_bad_file_prints_one_line_and_others_are_stored(name: str, good: Path, tmp_path: Path) -> None:
    content, kind, reason = {**BAD_FILES, **BAD_MEMBERS}[name]
    write(tmp_path / "in" / "bad", {name.partition("!")[0]: content()})
    (line,) = ingested_beside(good, data_dir=tmp_path / "data")
    assert line.startswith(f"refused   {tmp_path / 'in' / 'bad' / name} ({kind}): {reason}")


def test_a_file_of_300_megabytes(good: Path, tmp_path: Path) -> None:
    with (tmp_path / "in" / "large.xml").open("wb") as file:
        file.write(b"<ownershipDocument>")
        file.truncate(300 * MIB)
    assert ingested_beside(good, data_dir=tmp_path / "data") == [
        f"refused   {tmp_path / 'in' / 'large.xml'} (ownership): is larger than 256 MiB"
    ]


def test_a_large_file_that_is_no_document_is_not_read_to_its_end(good: Path, tmp_path: Path) -> None:
    with (tmp_path / "in" / "large.bin").open("wb") as file:
        file.truncate(255 * MIB)
    assert ingested_beside(good, data_dir=tmp_path / "data") == [
        f"refused   {tmp_path / 'in' / 'large.bin'} (unknown): {UNREAD}"
    ]


@pytest.mark.slow
def test_ten_thousand_tiny_files(good: Path, tmp_path: Path) -> None:
    names = [f"{number:05}.txt" for number in range(10_000)]
    write(tmp_path / "in" / "many", {name: name.encode() for name in names})
    assert ingested_beside(good, data_dir=tmp_path / "data") == [
        f"refused   {tmp_path / 'in' / 'many' / name} (unknown): {UNREAD}" for name in names
    ]


def test_what_is_no_file_at_all(good: Path, tmp_path: Path) -> None:
    inside = tmp_path / "in"
    (inside / "a-dangling").symlink_to(tmp_path / "nowhere")
    (inside / "b-loop").symlink_to(inside / "b-loop")
    os.mkfifo(inside / "c-pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(inside / "d-socket"))
    assert ingested_beside(good, data_dir=tmp_path / "data") == [
        f"refused   {inside / name} (unknown): is not a regular file"
        for name in ("a-dangling", "b-loop", "c-pipe", "d-socket")
    ]


def test_paths_that_cannot_be_read(good: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    long = tmp_path / ("x" * 300)
    bad = {
        tmp_path / "nowhere": "No such file or directory",
        tmp_path / "dangling": "No such file or directory",
        tmp_path / "loop": "Too many levels of symbolic links",
        tmp_path / "pipe": "is neither a file nor a folder",
        Path("/dev/zero"): "is neither a file nor a folder",
        good / "tiny.xml" / "below": "No such file or directory",
        next(good.iterdir()) / "below": "Not a directory",
        long: "File name too long",
    }
    assert ingested_beside(good, *bad, good, data_dir=tmp_path / "data") == [
        f"refused   {path} (unknown): {reason}" for path, reason in bad.items()
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root ignores modes")
def test_a_file_and_a_folder_that_may_not_be_read(good: Path, tmp_path: Path) -> None:
    write(tmp_path / "in" / "shut", {"a.xml": INSTANCE})
    write(tmp_path / "in", {"b.xml": INSTANCE})
    (tmp_path / "in" / "b.xml").chmod(0)
    (tmp_path / "in" / "shut").chmod(0)
    try:
        assert ingested_beside(good, data_dir=tmp_path / "data") == [
            f"refused   {tmp_path / 'in' / 'b.xml'} (unknown): Permission denied",
            f"refused   {tmp_path / 'in' / 'shut'} (unknown): Permission denied",
        ]
    finally:
        (tmp_path / "in" / "shut").chmod(0o700)


@pytest.mark.parametrize("name", ["folder", "empty.zip", "only-folders.zip"])
def test_what_holds_nothing_is_named(name: str, good: Path, tmp_path: Path) -> None:
    bad = tmp_path / name
    if name == "folder":
        bad.mkdir()
    else:
        bad.write_bytes(build_zip({"a/": b""} if "folders" in name else {}))
    (line,) = ingested_beside(good, bad, good, data_dir=tmp_path / "data")
    assert line.startswith(f"refused   {bad} (")


def test_nothing_but_an_empty_folder_is_status_1(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    done = finapi("ingest", tmp_path / "in", "--json", "--data-dir", tmp_path / "data")
    assert done.status == 1
    assert [(file["path"], file["outcome"]) for file in done.json["files"]] == [(str(tmp_path / "in"), "refused")]


def test_names_in_a_zip_lead_nowhere(good: Path, tmp_path: Path) -> None:
    other = filing(year=2023)
    outside = tmp_path / "outside"
    members = {
        f"{outside}/absolute.xml": b"hello",
        "../../outside/relative.xml": b"hello",
        "C:\\outside\\windows.xml": b"hello",
        **{f"../../{process.accession(2)}/{name}": data for name, data in other.items()},
    }
    (tmp_path / "in" / "names.zip").write_bytes(build_zip(members))
    before = sorted(tmp_path.rglob("*"))
    done = finapi("ingest", tmp_path / "in", "--json", "--data-dir", tmp_path / "data")
    assert done.status == 1
    assert done.json["counts"] == {"ingested": 10, "unchanged": 0, "skipped": 0, "refused": 3}
    refused = [file for file in done.json["files"] if file["outcome"] == "refused"]
    assert sorted(file["path"] for file in refused) == sorted(
        f"{tmp_path / 'in' / 'names.zip'}!{name}" for name in list(members)[:3]
    )
    assert {file["reason"] for file in refused} == {UNREAD}
    now = [path for path in sorted(tmp_path.rglob("*")) if (tmp_path / "data") not in [path, *path.parents]]
    assert now == before
    assert rows(tmp_path / "data", "SELECT accession FROM filings ORDER BY accession") == [
        (process.accession(1),),
        (process.accession(2),),
    ]


def test_a_name_in_a_zip_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    name = "a\x1b[2J\x1b]0;owned\x07\r\ningested  all.xml"
    (tmp_path / "names.zip").write_bytes(build_zip({name: b"hello"}))
    done = finapi("ingest", tmp_path / "names.zip", "--data-dir", tmp_path / "data")
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert done.err[:-1].isprintable()


def test_a_folder_with_two_filings(tmp_path: Path) -> None:
    write(tmp_path / "in", {**filing(year=2023, revenue=900), **filing(year=2024)})
    done = finapi("ingest", tmp_path / "in", "--json", "--data-dir", tmp_path / "data")
    assert done.status == 0
    assert done.json["counts"] == {"ingested": 10, "unchanged": 0, "skipped": 0, "refused": 0}
    outcomes = rows(
        tmp_path / "data", "SELECT period_of_report, documents, statements FROM reports ORDER BY period_of_report"
    )
    assert outcomes == [("2023-12-31", 5, 1), ("2024-12-31", 5, 1)]


def test_a_broken_filing_beside_a_whole_one_in_the_same_folder(tmp_path: Path) -> None:
    broken = filing(year=2023)
    (instance, *other_files) = broken
    broken[instance] = broken[instance][:1200]
    write(tmp_path / "in", {**broken, **filing(year=2024)})
    done = finapi("ingest", tmp_path / "in", "--json", "--data-dir", tmp_path / "data")
    assert done.status == 1
    assert done.json["counts"] == {"ingested": 5, "unchanged": 0, "skipped": 0, "refused": 5}
    reasons = {Path(file["path"]).name: file["reason"] for file in done.json["files"] if file["outcome"] == "refused"}
    assert sorted(reasons) == sorted(broken)
    assert reasons[instance].startswith("line 12, column 1: unclosed token")
    for other in other_files:
        assert reasons[other].startswith(
            f"its filing was refused: {tmp_path / 'in' / instance}: line 12, column 1: unclosed token"
        )
    assert rows(tmp_path / "data", "SELECT period_of_report FROM reports") == [("2024-12-31",)]


# ---- pack


@pytest.fixture(scope="module")
def demo_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data directory of a demo that was stopped."""
    data_path = tmp_path_factory.mktemp("demo") / "data"
    with process.running("demo", "--port", 0, "--data-dir", data_path) as running:
        assert running.stop() == 0
    return data_path


LOOSE = ("--xbrl-burst", 10_000)


def all_statements(running: Running, data_dir: Path) -> Iterator[tuple[str, str]]:
    """Yield each requested path, and the answer's data and meta, for all stored statements."""
    email = f"all{time.monotonic_ns()}@example.com"
    added = finapi("user", "add", email, "--plan", "pro", "--json", "--data-dir", data_dir)
    accessions = rows(data_dir, "SELECT accession FROM filings JOIN reports ON filing_id = filings.id ORDER BY 1")
    ciks = rows(data_dir, "SELECT DISTINCT cik FROM reports ORDER BY 1")
    paths = [f"filing/{accession}" for (accession,) in accessions]
    paths += [f"companies/{cik}" for (cik,) in ciks]
    for path in paths:
        for query in ("", "?consolidated_only=false", "?period=Q&basis=original"):
            answer = running.get(f"/api/v1/xbrl/{path}/statements{query}", added.json["api_key"])
            body = answer.json
            body.pop("request_id")
            body.pop("timestamp")
            body.get("meta", {}).pop("generated_at", None)
            yield f"{path}{query}", f"{answer.status} {json.dumps(body)}"


@pytest.mark.slow
def test_a_pack_that_is_loaded_elsewhere_serves_the_same(demo_dir: Path, tmp_path: Path) -> None:
    file, fresh = tmp_path / "all.pack", tmp_path / "fresh"
    exported = finapi("pack", "export", file, "--data-dir", demo_dir)
    assert exported == Finished(0, f"{file}: {file.stat().st_size:,} bytes\n", "")
    reports = rows(demo_dir, "SELECT count(*) FROM reports")[0][0]
    assert reports > 1
    assert finapi("pack", "load", file, "--data-dir", fresh) == Finished(0, f"{reports} reports stored\n", "")
    assert finapi("pack", "load", file, "--data-dir", fresh) == Finished(0, "0 reports stored\n", "")
    again = tmp_path / "again.pack"
    assert finapi("pack", "export", again, "--data-dir", fresh).status == 0
    assert again.read_bytes() == file.read_bytes()
    with process.serve(demo_dir, *LOOSE) as demo_server, process.serve(fresh, *LOOSE) as two:
        expected = dict(all_statements(demo_server, demo_dir))
        assert dict(all_statements(two, fresh)) == expected
    assert sum(text.startswith("200 ") for text in expected.values()) >= 2 * reports


def test_a_pack_of_nothing_holds_nothing(tmp_path: Path) -> None:
    assert finapi("pack", "export", tmp_path / "none", "--data-dir", tmp_path / "a").status == 0
    assert finapi("pack", "load", tmp_path / "none", "--data-dir", tmp_path / "b").out == "0 reports stored\n"


BAD_PACKS = {
    "no pack": (b"hello", "is not a finapi pack of version 2"),
    "another version": (b"finapi-pack 3 reports\n", "is not a finapi pack of version 2"),
    "not packed": (b"finapi-pack 2 reports\nhello", "cannot be unpacked: "),
    "cut short": (b"finapi-pack 2 reports\n" + zlib.compress(b"{}\n")[:-5], "is truncated or unpacks to too much data"),
    "not a report": (
        b"finapi-pack 2 reports\n" + zlib.compress(b"{}\n"),
        "line 1: is not a line of a finapi pack (ValueError)",
    ),
    "values of other types": (
        b"finapi-pack 2 reports\n"
        + zlib.compress(
            json.dumps(
                [
                    ["0001999999-25-000001", 3, None, None, None, None, None],
                    [["one", "A", "10-K", "2024-12-31", None, None, []], "xbrl", "00", 1, [], [], []],
                    None,
                ]
            ).encode()
        ),
        "line 1: ",
    ),
}


@run_each_case("case", BAD_PACKS)
def test_a_bad_pack_is_reported_in_one_line(case: str, tmp_path: Path) -> None:
    data, reason = BAD_PACKS[case]
    (tmp_path / "bad").write_bytes(data)
    done = finapi("pack", "load", tmp_path / "bad", "--data-dir", tmp_path / "data")
    assert done.status == 1
    assert done.complaint.startswith(f"{tmp_path / 'bad'}: {reason}")


# ---- demo


def temporary(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """Return an empty directory for temporary files, and the environment that names it."""
    temporary_dir = tmp_path / "tmp"
    temporary_dir.mkdir()
    return temporary_dir, environment(TMPDIR=str(temporary_dir))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_demo_serves_from_a_directory_that_goes_away_again(tmp_path: Path, number: signal.Signals) -> None:
    temporary_dir, env = temporary(tmp_path)
    with process.running("demo", "--port", 0, env=env) as running:
        (data_dir,) = temporary_dir.iterdir()
        assert data_dir.name.startswith("finapi-demo-")
        assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
        ready = running.ready
        assert {"ready", "url", "port", "pid", "api_key", "free_api_key", "email"} <= set(ready)
        assert (ready["ready"], ready["pid"]) == (True, running.pid)
        assert ready["url"] == f"http://127.0.0.1:{ready['port']}"
        for key, tokens in (("api_key", 500_000), ("free_api_key", 2_000)):
            assert KEY.fullmatch(ready[key])
            answer = running.get("/api/v1/xbrl/companies/AAPL/statements?period=Q", ready[key])
            assert answer.json["data"]["company_name"] == "Apple Inc."
            assert (tokens,) in rows(data_dir, "SELECT total_limit_api FROM userplans")
        assert running.get("/api/v1/policy").json["data"]["passwords"]["common_passwords"] == "allowed"
        plan = rows(
            data_dir, f"SELECT plan FROM users JOIN userplans ON user_id = users.id WHERE email = '{ready['email']}'"
        )
        assert plan == [("pro",)]
        assert running.stop(number) == 0
        assert running.rest == b""
        assert running.log == ""
    assert list(temporary_dir.iterdir()) == []


@pytest.mark.slow
def test_demo_that_is_stopped_while_it_starts_leaves_nothing(tmp_path: Path) -> None:
    temporary_dir, env = temporary(tmp_path)
    with process.child("demo", "--port", "0", env=env) as starting:
        eventually(lambda: any(temporary_dir.glob("finapi-demo-*")))
        starting.send_signal(signal.SIGTERM)
        starting.communicate(timeout=process.SECONDS)
    assert list(temporary_dir.iterdir()) == []


@pytest.mark.slow
def test_demo_into_a_pipe_that_nobody_reads_ends_quietly(tmp_path: Path) -> None:
    temporary_dir, env = temporary(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [*COMMAND, "demo", "--port", "0"],
            cwd=ROOT,
            env=env,
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=process.SECONDS,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
    assert list(temporary_dir.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
def test_the_line_that_demo_prints_works_when_pasted(tmp_path: Path) -> None:
    temporary_dir, env = temporary(tmp_path)
    with process.child("demo", "--port", "0", env=env) as demo:
        output_lines = [process.next_line(demo).decode()]
        while "curl" not in output_lines[-1]:
            output_lines.append(process.next_line(demo).decode())
            assert output_lines[-1], output_lines
        pasted = subprocess.run(["sh", "-c", output_lines[-1]], capture_output=True, timeout=process.SECONDS)
        _, login, register, mails = (process.next_line(demo).decode() for _ in range(4))
        demo.terminate()
        assert demo.wait(10.0) == 0
    assert re.match(rf"finapi {re.escape(__version__)} listens at http://127\.0\.0\.1:\d+ ", output_lines[0])
    assert re.search(
        r" at http://127\.0\.0\.1:\d+/login: demo-\w+@example\.com, password [0-9a-f-]{36}$", login.strip()
    )
    assert re.search(r" at http://127\.0\.0\.1:\d+/register: invite code (\w{4}-){3}\w{4}$", register.strip())
    assert mails.startswith(f"Mails are files in {temporary_dir}")
    assert (pasted.returncode, pasted.stderr) == (0, b"")
    answer = json.loads(pasted.stdout)
    assert answer["status"] == "success"
    assert answer["meta"]["ticker"] == "AAPL"
    assert list(answer["data"]["statements"]) == ["income"]
    assert list(temporary_dir.iterdir()) == []


@pytest.mark.slow
def test_demo_takes_a_free_port_when_8000_is_taken(tmp_path: Path) -> None:
    _, env = temporary(tmp_path)
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # taken by somebody else is as good
            stack.enter_context(socket.create_server(("127.0.0.1", 8000)))
        running = stack.enter_context(process.running("demo", env=env))
        assert running.ready["port"] != 8000
        assert running.get("/livez").status == 200


def test_demo_on_a_port_in_use_prints_one_line(tmp_path: Path) -> None:
    temporary_dir, env = temporary(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = finapi("demo", "--port", port, env=env)
    assert done.status == 2
    assert done.complaint.startswith(f"cannot listen on 127.0.0.1:{port}: Address already in use")
    assert list(temporary_dir.iterdir()) == []


@pytest.mark.slow
def test_demo_keeps_a_named_directory_and_starts_again_in_it(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    keys = []
    for life in range(3):
        with process.running("demo", "--port", 0, "--data-dir", data_dir) as running:
            keys.append(running.ready["api_key"])
            for key in keys:
                answer = running.get("/api/v1/xbrl/companies/AAPL/statements?period=Q", key)
                assert answer.status == 200, f"life {life}"
            assert running.stop() == 0
        assert (data_dir / "finapi.db").is_file()
    assert len(set(keys)) == 3
    ((total, distinct),) = rows(data_dir, "SELECT count(*), count(DISTINCT sha256) FROM reports")
    assert total == distinct > 1


@pytest.mark.slow
def test_without_a_word_it_is_the_demo(tmp_path: Path) -> None:
    temporary_dir, env = temporary(tmp_path)
    with process.child(env={**env, "FINAPI_PORT": "0"}) as demo:
        assert b"with a few real companies' filings" in process.next_line(demo)
        assert [path.name[:12] for path in temporary_dir.iterdir()] == ["finapi-demo-"]
        demo.terminate()
        demo.communicate(timeout=10.0)
        assert demo.returncode == 0
    assert list(temporary_dir.iterdir()) == []
