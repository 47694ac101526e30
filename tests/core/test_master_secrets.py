"""Tests of the master secrets: created once, read from the file or the setting, refused if others can read them."""

from __future__ import annotations

import shlex
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from finapi.core import files, master_secrets
from finapi.core.config import Config
from finapi.core.errors import UsageError
from finapi.core.master_secrets import Keyring
from tests.leftovers import leave_folder
from tests.support.case_tables import run_each_case

A, B = "aa" * 32, "bb" * 32


def put(directory: Path, data: bytes, mode: int = 0o600) -> Path:
    """Write the file of secrets by hand."""
    file = directory / "secrets"
    file.write_bytes(data)
    file.chmod(mode)
    return file


def test_first_start_makes_one_secret_that_only_the_owner_reads(tmp_path: Path) -> None:
    secrets = master_secrets.read_or_create(Config(data_dir=tmp_path))
    file = tmp_path / "secrets"
    assert len(secrets) == 1
    assert len(secrets[0]) == 32
    assert file.read_text() == secrets[0].hex() + "\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secrets"]


def test_second_start_reads_the_same_secret(tmp_path: Path) -> None:
    settings = Config(data_dir=tmp_path)
    assert master_secrets.read_or_create(settings) == master_secrets.read_or_create(settings)


def test_two_directories_have_different_secrets(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert master_secrets.read_or_create(Config(data_dir=tmp_path / "a")) != master_secrets.read_or_create(
        Config(data_dir=tmp_path / "b")
    )


def test_lines_of_the_file_are_secrets_newest_first(tmp_path: Path) -> None:
    put(tmp_path, f"{B}\n\n  {A}\n".encode())
    assert master_secrets.read_or_create(Config(data_dir=tmp_path)) == [b"\xbb" * 32, b"\xaa" * 32]


def test_setting_comes_before_the_file_and_makes_none(tmp_path: Path) -> None:
    settings = Config(data_dir=tmp_path, secrets=f"{A}, {B}")
    assert master_secrets.read_or_create(settings) == [b"\xaa" * 32, b"\xbb" * 32]
    assert list(tmp_path.iterdir()) == []


@run_each_case("text", ["aa" * 31, f"{A},{'bb' * 31}", ",", "a" * 63 + ","])
def test_a_short_secret_setting_is_refused_without_showing_it(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"^setting secrets: ") as refusal:
        master_secrets.read_or_create(Config(data_dir=tmp_path, secrets=text))
    assert "aa" not in str(refusal.value)


@run_each_case("content", ["", "\n", "aa" * 31, A + "\n" + "bb" * 31])
def test_file_without_a_whole_secret_is_refused_by_name(tmp_path: Path, content: str) -> None:
    put(tmp_path, content.encode())
    with pytest.raises(UsageError) as refusal:
        master_secrets.read_or_create(Config(data_dir=tmp_path))
    assert str(refusal.value) == f"{tmp_path}/secrets: needs at least one master secret of 32 bytes or more"


@pytest.mark.parametrize("content", [b"z" * 64, b"\xff" * 64, b"0x" + b"a" * 64])
def test_file_that_is_not_hex_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    put(tmp_path, content)
    with pytest.raises(UsageError) as refusal:
        master_secrets.read_or_create(Config(data_dir=tmp_path))
    assert str(refusal.value) == f"{tmp_path}/secrets: a master secret must be written in hex"


def test_two_first_starts_at_once_agree_on_one_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Config(data_dir=tmp_path)
    other_secrets: list[list[bytes]] = []

    def fresh(drawn: Callable[[], bytes] = master_secrets.generate) -> bytes:
        # The other start runs from beginning to end while this one is in the middle.
        if not other_secrets:
            other_secrets.append([])
            other_secrets[0] = master_secrets.read_or_create(settings)
        return drawn()

    monkeypatch.setattr(master_secrets, "generate", fresh)
    own_secrets = master_secrets.read_or_create(settings)
    assert other_secrets[0] == own_secrets
    assert len(own_secrets) == 1


# ---- who may know them


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o601, 0o644, 0o777])
def test_an_open_secrets_file_is_refused_with_a_command(tmp_path: Path, mode: int) -> None:
    data_dir = tmp_path / "with a blank"
    data_dir.mkdir()
    file = put(data_dir, A.encode(), mode)
    with pytest.raises(UsageError) as refusal:
        master_secrets.read_or_create(Config(data_dir=data_dir))
    message, _, command = str(refusal.value).partition("; restrict it with: ")
    assert message == f"{file} can be read by others"
    subprocess.run(shlex.split(command), check=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert master_secrets.read_or_create(Config(data_dir=data_dir)) == [b"\xaa" * 32]


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_the_owners_alone_is_read(tmp_path: Path, mode: int) -> None:
    put(tmp_path, A.encode(), mode)
    assert master_secrets.read_or_create(Config(data_dir=tmp_path)) == [b"\xaa" * 32]


@pytest.mark.parametrize(
    ("content", "command"), [("0" * 64, "rm"), (f"{A}\n{'0' * 64}\n", "sed -i '/^0*$/d'"), ("00" * 40, "rm")]
)
def test_a_secret_of_zeros_is_refused_in_the_file(tmp_path: Path, content: str, command: str) -> None:
    file = put(tmp_path, content.encode())
    with pytest.raises(UsageError) as refusal:
        master_secrets.read_or_create(Config(data_dir=tmp_path))
    assert str(refusal.value) == (
        f"{file}: a master secret is all zeros, which anyone can guess; remove it with: {command} {file}"
    )
    subprocess.run(f"{command} {file}", shell=True, check=True)
    assert not any(secret == bytes(len(secret)) for secret in master_secrets.read_or_create(Config(data_dir=tmp_path)))


def test_a_secret_of_zeros_is_refused_in_the_setting(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"setting secrets: a master secret is all zeros, .*: openssl rand -hex 32$"):
        master_secrets.read_or_create(Config(data_dir=tmp_path, secrets="0" * 64))


# ---- replaced


def test_written_secrets_are_read_back_and_stay_private(tmp_path: Path) -> None:
    settings = Config(data_dir=tmp_path)
    master_secrets.read_or_create(settings)
    master_secrets.write_file(settings, [b"\xbb" * 32, b"\xaa" * 32])
    assert (tmp_path / "secrets").read_text() == f"{B}\n{A}\n"
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secrets"]


def test_a_failed_write_leaves_only_the_old_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Config(data_dir=tmp_path)
    secrets = master_secrets.read_or_create(settings)

    def fails(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fails)
    with pytest.raises(OSError, match="No space left"):
        master_secrets.write_file(settings, [b"\xbb" * 32])
    monkeypatch.undo()
    assert master_secrets.read_or_create(settings) == secrets
    assert [path.name for path in tmp_path.iterdir()] == ["secrets"]


def test_what_a_kill_left_half_written_is_swept(tmp_path: Path) -> None:
    settings = Config(data_dir=tmp_path)
    master_secrets.read_or_create(settings)
    leave_folder(tmp_path, "secrets")
    master_secrets.read_or_create(settings)
    assert {path.name for path in tmp_path.iterdir()} == {"secrets"}


def test_secrets_that_are_a_setting_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the master secrets come from a setting, not the file"):
        master_secrets.write_file(Config(data_dir=tmp_path, secrets=A), [b"\xbb" * 32])
    assert list(tmp_path.iterdir()) == []


def test_a_keyring_is_seen_whole_by_who_began_to_read_it() -> None:
    ring = Keyring([b"old"])
    reading = iter(ring)
    ring.replace([b"new", b"old"])
    assert list(reading) == [b"old"]
    assert (list(ring), ring[0], len(ring)) == ([b"new", b"old"], b"new", 2)
