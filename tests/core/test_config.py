"""Tests of settings: where a value comes from, and which values are refused."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

from finapi.core.bounds import BOUND_NAMES, Bounds
from finapi.core.config import USUAL_SETTINGS, Config, describe_settings, list_settings, load
from finapi.core.errors import UsageError
from tests.support.case_tables import run_each_case

A, B = "aa" * 32, "bb" * 32


def toml(tmp_path: Path, text: str) -> str:
    file = tmp_path / "finapi.toml"
    file.write_text(text)
    return str(file)


def value(name: str, text: str) -> Any:
    """Return the value of a setting whose environment variable is ``text``."""
    return getattr(load({}, {f"FINAPI_{name.upper()}": text})[0], name)


def from_file(tmp_path: Path, line: str) -> Config:
    return load({"config": toml(tmp_path, line)}, {})[0]


# ---- shown


def test_what_python_shows_of_settings_has_no_secret() -> None:
    secrets = {setting.name: f"secret of {setting.name}" for setting in list_settings() if setting.metadata["secret"]}
    assert set(secrets) >= {"secrets", "smtp_url", "metrics_token", "api_key"}
    settings_text = repr(Config(**{**secrets, "accounts_url": "postgresql://u:secret@host/db", "port": 8080}))  # type: ignore[arg-type]
    assert "secret of" not in settings_text
    assert "secret@" not in settings_text
    assert "port=8080" in settings_text
    assert repr(Config(port=8080, api_key="k")) == "Config(port=8080, api_key=********)"
    assert repr(Config()) == "Config()"


# ---- precedence and origins


def test_nothing_given_is_the_defaults() -> None:
    settings, origins = load({}, {})
    assert settings == Config()
    assert set(origins.values()) == {"default"}
    assert set(origins) == {setting.name for setting in list_settings()}


def test_defaults_are_those_of_the_spec() -> None:
    settings = Config()
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert (settings.xbrl_per_minute, settings.xbrl_burst) == (120, 30)
    assert (settings.body_limit, settings.server_timeout) == (52_428_800, 300.0)
    assert (settings.free_tokens, settings.weekly_tokens, settings.monthly_tokens) == (2_000, 50_000, 200_000)
    assert (settings.pro_tokens, settings.yearly_tokens) == (500_000, 2_400_000)
    assert settings.synchronous == "FULL"


def test_flags_override_the_environment_which_overrides_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, "threads = 1\nport = 1\nhost = '192.0.2.1'\n")
    environ = {"FINAPI_PORT": "2", "FINAPI_HOST": "192.0.2.2"}
    settings, origins = load({"config": file, "host": "192.0.2.3"}, environ)
    assert (settings.threads, settings.port, settings.host) == (1, 2, "192.0.2.3")
    assert (origins["threads"], origins["port"], origins["host"]) == (f"file {file}", "environment", "flag")
    assert origins["xbrl_burst"] == "default"


def test_environment_may_name_the_file(tmp_path: Path) -> None:
    settings, origins = load({}, {"FINAPI_CONFIG": toml(tmp_path, "port = 81")})
    assert settings.port == 81
    assert "config" not in origins


def test_a_file_named_by_a_flag_replaces_that_of_the_environment(tmp_path: Path) -> None:
    file = toml(tmp_path, "port = 81")
    assert load({"config": file}, {"FINAPI_CONFIG": "/does/not/exist"})[0].port == 81


def test_a_flag_that_was_not_given_overrides_nothing() -> None:
    assert load({"port": None, "config": None}, {"FINAPI_PORT": "82"})[0].port == 82


@pytest.mark.parametrize(("text", "host"), [("[::1]", "::1"), ("::1", "::1"), ("127.0.0.1", "127.0.0.1")])
def test_an_ipv6_host_may_be_written_as_in_a_url(text: str, host: str) -> None:
    assert load({"host": text}, {})[0].host == host


def test_variables_of_other_programs_are_not_read() -> None:
    assert load({}, {"PORT": "1", "finapi_port": "2", "MY_FINAPI_PORT": "3"})[0].port == 8000


def test_process_environment_is_read_when_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINAPI_PORT", "8123")
    settings, origins = load()
    assert (settings.port, origins["port"]) == (8123, "environment")


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().port = 1  # type: ignore[misc]


# ---- unknown names


def test_unknown_name_in_the_environment_is_named() -> None:
    with pytest.raises(UsageError, match=r"unknown setting FINAPI_PROT \(environment\)"):
        load({}, {"FINAPI_PROT": "1"})


def test_unknown_name_in_the_file_is_named_with_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, "prot = 1")
    with pytest.raises(UsageError, match=rf"unknown setting prot \(file {file}\)"):
        load({"config": file}, {})


def test_unknown_flag_is_named() -> None:
    with pytest.raises(UsageError, match=r"unknown setting --log-colour \(flag\)"):
        load({"log_colour": "red"}, {})


@pytest.mark.parametrize(
    ("flags", "environ", "meant"),
    [
        ({}, {"FINAPI_LEDGER_DAY": "1"}, "FINAPI_LEDGER_DAYS"),
        ({"ledger_day": 1}, {}, "--ledger-days"),
        ({}, {"FINAPI_ZZZZZZ": "1"}, None),
    ],
)
def test_a_typo_gets_a_suggestion(flags: dict[str, int], environ: dict[str, str], meant: str | None) -> None:
    with pytest.raises(UsageError) as wrong:
        load(flags, environ)
    assert ("did you mean" in str(wrong.value)) == (meant is not None)
    if meant is not None:
        assert f", did you mean {meant}?; see finapi config" in str(wrong.value)


@pytest.mark.parametrize("name", sorted(BOUND_NAMES))
def test_a_former_setting_is_refused_as_a_constant(tmp_path: Path, name: str) -> None:
    reason = "it is a constant now, so leave it out; see UPGRADING.md"
    file = toml(tmp_path, f"{name} = 1")
    variable, flag = f"FINAPI_{name.upper()}", "--" + name.replace("_", "-")
    origins: list[tuple[dict[str, object], dict[str, str], str]] = [
        ({}, {variable: "1"}, f"{variable} (environment)"),
        ({"config": file}, {}, f"{name} (file {file})"),
        ({name: "1"}, {}, f"{flag} (flag)"),
    ]
    for flags, environ, spelling in origins:
        with pytest.raises(UsageError) as refusal:
            load(flags, environ)
        assert str(refusal.value) == f"unknown setting {spelling}: {reason}"
    assert f"`{name}`" in (Path(__file__).parents[2] / "docs" / "UPGRADING.md").read_text()


def test_bounds_have_their_documented_values() -> None:
    text = (Path(__file__).parents[2] / "docs" / "UPGRADING.md").read_text()
    documented = {name: value.replace(",", "") for name, value in re.findall(r"`(\w+)` \(([\d,.]+)\)", text)}
    assert documented == {name: str(getattr(Bounds(), name)) for name in BOUND_NAMES}


def test_a_file_cannot_name_another_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown setting config"):
        load({"config": toml(tmp_path, "config = 'other.toml'")}, {})


def test_a_table_in_the_file_is_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown setting server"):
        load({"config": toml(tmp_path, "[server]\nport = 1")}, {})


# ---- types


@run_each_case(
    "name, text, expected",
    [
        ("port", "0", 0),
        ("port", "65535", 65535),
        ("header_timeout", "1.5", 1.5),
        ("header_timeout", "2", 2.0),
        ("header_timeout", "1e2", 100.0),
        ("log_format", "json", "json"),
        ("synchronous", "NORMAL", "NORMAL"),
        ("data_dir", "/srv/finapi", Path("/srv/finapi")),
        ("host", "", ""),
        ("trusted_proxies", "10.0.0.1, 2001:db8::/32 ,", ("10.0.0.1", "2001:db8::/32")),
        ("trusted_proxies", "", ()),
    ],
)
def test_text_becomes_the_type_of_its_setting(name: str, text: str, expected: object) -> None:
    parsed = value(name, text)
    assert parsed == expected
    assert type(parsed) is type(expected)


def test_a_tilde_is_the_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert value("data_dir", "~/finapi") == Path("/home/ann/finapi")


@run_each_case(
    "name, text, reason",
    [
        ("port", "1.5", "must be a whole number, not '1.5'"),
        ("port", "", "must be a whole number, not ''"),
        ("port", "eighty", "must be a whole number, not 'eighty'"),
        ("port", "nan", "must be a whole number, not 'nan'"),
        ("port", "inf", "must be a whole number, not 'inf'"),
        ("port", "true", "must be a whole number, not 'true'"),
        ("threads", "9" * 400, "must be a whole number"),
        ("threads", "9" * 5000, "must be a whole number"),
        ("header_timeout", "nan", "must be a number, not 'nan'"),
        ("header_timeout", "inf", "must be a number, not 'inf'"),
        ("header_timeout", "-inf", "must be a number, not '-inf'"),
        ("header_timeout", "1e999", "must be a number, not '1e999'"),
        ("header_timeout", "15s", "must be a number, not '15s'"),
        ("log_format", "xml", "must be one of text, json, not 'xml'"),
        ("log_format", "JSON", "must be one of text, json, not 'JSON'"),
        ("synchronous", "OFF", "must be one of FULL, NORMAL, not 'OFF'"),
    ],
)
def test_text_of_another_type_is_refused(name: str, text: str, reason: str) -> None:
    with pytest.raises(UsageError) as refusal:
        value(name, text)
    assert str(refusal.value).startswith(f"FINAPI_{name.upper()}: {reason}")


@run_each_case(
    "line, name, expected",
    [
        ("port = 81", "port", 81),
        ("port = 81.0", "port", 81),
        ("port = '81'", "port", 81),
        ("header_timeout = 2", "header_timeout", 2.0),
        ("trusted_proxies = ['10.0.0.1', '10.0.0.2']", "trusted_proxies", ("10.0.0.1", "10.0.0.2")),
        ("trusted_proxies = '10.0.0.1,10.0.0.2'", "trusted_proxies", ("10.0.0.1", "10.0.0.2")),
        ("trusted_proxies = []", "trusted_proxies", ()),
        ("data_dir = 'd'", "data_dir", Path("d")),
    ],
)
def test_toml_value_becomes_the_type_of_its_setting(tmp_path: Path, line: str, name: str, expected: object) -> None:
    parsed = getattr(from_file(tmp_path, line), name)
    assert parsed == expected
    assert type(parsed) is type(expected)


@run_each_case(
    "line, message",
    [
        ("port = true", "port: must be a whole number, not True"),
        ("port = 1.5", "port: must be a whole number, not 1.5"),
        ("port = nan", "port: must be a whole number, not nan"),
        ("port = [1]", "port: must be a whole number, not [1]"),
        ("port = 2026-01-01", "port: must be a whole number, not datetime.date(2026, 1, 1)"),
        ("header_timeout = true", "header_timeout: must be a number, not True"),
        ("header_timeout = inf", "header_timeout: must be a number, not inf"),
        ("host = true", "host: must be a text, not True"),
        ("host = ['a']", "host: must be a text, not ['a']"),
        ("data_dir = false", "data_dir: must be a path, not False"),
        ("log_format = 1", "log_format: must be one of text, json, not 1"),
        ("log_format = ['json']", "log_format: must be one of text, json, not ['json']"),
        ("trusted_proxies = 1", "trusted_proxies: must be a list of strings, not 1"),
        ("trusted_proxies = [1]", "trusted_proxies: must be a list of strings, not [1]"),
        ("trusted_proxies = true", "trusted_proxies: must be a list of strings, not True"),
    ],
)
def test_toml_value_of_another_type_is_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        from_file(tmp_path, line)
    assert str(refusal.value) == message


@run_each_case(
    "line, message",
    [
        ("port = inf", "port: must be a whole number, not inf"),
        ("port = -inf", "port: must be a whole number, not -inf"),
        ("host = 5", "host: must be a text, not 5"),
        ("public_url = 1.5", "public_url: must be a text, not 1.5"),
        ("data_dir = 5", "data_dir: must be a path, not 5"),
    ],
)
def test_toml_number_in_the_wrong_place_is_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        from_file(tmp_path, line)
    assert str(refusal.value) == message


def test_toml_number_beyond_all_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="threads: must be a whole number"):
        from_file(tmp_path, "threads = " + "9" * 400)


def test_home_of_an_unknown_user_is_refused() -> None:
    with pytest.raises(UsageError, match="FINAPI_DATA_DIR"):
        value("data_dir", "~no-such-user-here/finapi")


# ---- bounds


@run_each_case(
    "name, text, message",
    [
        ("port", "-1", "setting port: must be at least 0, not -1"),
        ("port", "65536", "setting port: must be at most 65535, not 65536"),
        ("threads", "0", "setting threads: must be at least 1, not 0"),
        ("header_timeout", "0", "setting header_timeout: must be at least 0.05, not 0.0"),
        ("drain_timeout", "-1", "setting drain_timeout: must be at least 0, not -1.0"),
        ("xbrl_per_minute", "0", "setting xbrl_per_minute: must be at least 1, not 0"),
        ("xbrl_burst", "-1", "setting xbrl_burst: must be at least 0, not -1"),
        ("events_kept", "19", "setting events_kept: must be at least 20, not 19"),
        ("free_tokens", "-1", "setting free_tokens: must be at least 0, not -1"),
        ("backup_hour", "24", "setting backup_hour: must be at most 23, not 24"),
        ("webhook_retries", "10,-1", "setting webhook_retries: must be seconds, 0 or more, not -1"),
    ],
)
def test_value_beyond_its_bound_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        value(name, text)
    assert str(refusal.value) == message


def test_wrong_watchdog_targets_are_named() -> None:
    with pytest.raises(UsageError, match=r"^setting watchdog_targets: must be NAME=URL, .* URL, not 'shop=ftp://x'$"):
        value("watchdog_targets", "shop=ftp://x")
    message = "^setting watchdog_targets: two targets are named shop; give each its own name$"
    with pytest.raises(UsageError, match=message):
        value("watchdog_targets", "mail=http://m,shop=http://a,shop=http://b")


@run_each_case("name, text", [("port", "0"), ("threads", "1"), ("xbrl_burst", "0"), ("events_kept", "20")])
def test_bound_itself_is_allowed(name: str, text: str) -> None:
    assert value(name, text) == int(text)


@run_each_case("text", ["proxy.example.com", "10.0.0.1/8", "10.0.0.0/33", "10.0.0"])
def test_proxy_that_is_no_address_or_range_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="setting trusted_proxies: "):
        value("trusted_proxies", text)


# ---- files


@run_each_case(
    "content", [b"port", b"port = ", b"port = 1\nport = 2", b"\xff\xfe", b"[", b'host = "a\nb"', b"port = 0x"]
)
def test_file_that_is_not_toml_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "finapi.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as refusal:
        load({"config": str(file)}, {})
    assert str(refusal.value).startswith(f"{file}: ")


def test_file_with_a_number_too_long_to_read_is_refused_by_name(tmp_path: Path) -> None:
    file = toml(tmp_path, "threads = " + "9" * 5000)
    with pytest.raises(UsageError) as refusal:
        load({"config": file}, {})
    assert str(refusal.value).startswith(f"{file}: ")


def test_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        load({"config": str(tmp_path / "none.toml")}, {})
    assert str(refusal.value) == f"cannot read {tmp_path}/none.toml: No such file or directory"


def test_folder_in_place_of_a_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        load({"config": str(tmp_path)}, {})
    assert str(refusal.value) == f"cannot read {tmp_path}: Is a directory"


# ---- what is shown


def test_every_setting_is_shown_with_its_origin_and_reason() -> None:
    settings, origins = load({"trusted_proxies": "10.0.0.1,10.0.0.2"}, {"FINAPI_PORT": "81"})
    rows = describe_settings(settings, origins)
    names = [setting.name for setting in list_settings()]
    usual_names = [name for name in names if name in USUAL_SETTINGS]
    assert len(usual_names) == len(USUAL_SETTINGS)
    assert [row["name"] for row in rows] == [*usual_names, *(name for name in names if name not in USUAL_SETTINGS)]
    by_name = {row["name"]: row for row in rows}
    assert by_name["port"] == {
        "name": "port",
        "value": "81",
        "origin": "environment",
        "help": "TCP port; 0 picks a free one",
    }
    assert by_name["trusted_proxies"]["value"] == "10.0.0.1,10.0.0.2"
    assert by_name["trusted_proxies"]["origin"] == "flag"
    assert all(row["help"] for row in rows)


def test_described_masks_secrets() -> None:
    settings, origins = load({}, {"FINAPI_SECRETS": f"{A},{B}"})
    rows = describe_settings(settings, origins)
    assert [row["value"] for row in rows if row["name"] == "secrets"] == ["********"]
    assert A not in str(rows)
    assert B not in str(rows)


def test_described_shows_that_no_secret_is_set() -> None:
    assert [row["value"] for row in describe_settings(*load({}, {})) if row["name"] == "secrets"] == [""]


@run_each_case("text", ["not a url", "ftp://x.example", "https://", "https://x.example/", "//x.example"])
@run_each_case("name", ["public_url", "frontend_url", "upgrade_url"])
def test_a_url_that_links_could_not_begin_with_is_refused(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"^setting {name}: must be an http or https URL without a slash .*, not "):
        load({name: text}, {})


@pytest.mark.parametrize("url", ["postgresql://u@host/db", "postgres://u@host/db"])
def test_both_schemes_of_postgresql_are_accepted(url: str) -> None:
    assert load({"accounts_url": url}, {})[0].accounts_url == url


def test_another_scheme_of_accounts_url_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^setting accounts_url: must begin with postgresql:// or postgres://$"):
        load({"accounts_url": "mysql://u@host/db"}, {})


def test_mails_become_files_unless_a_server_is_named() -> None:
    assert Config(data_dir=Path("d")).mail_directory == Path("d/mail")
    assert Config(smtp_url="smtp://localhost").mail_directory is None
    assert Config(smtp_url="smtp://localhost", mail_dir="m").mail_directory == Path("m")
