"""Tests of passwords: which may be chosen, the stored hash, and how many hashes run concurrently."""

from __future__ import annotations

import platform
import subprocess
import sys
import threading
from importlib import resources

import argon2
import pytest
from argon2.exceptions import InvalidHashError

from finapi.core.errors import ApiError
from finapi.core.fair_queue import FairQueue
from finapi.core.passwords import BUSY_MESSAGE, PROFILES, Hasher, check_new
from tests.process import eventually
from tests.support.case_tables import run_each_case


@pytest.fixture
def hasher() -> Hasher:
    return Hasher("cheap")


def refusal(password: str) -> ApiError:
    with pytest.raises(ApiError) as refused:
        check_new(password, "newpassword", common="refused")
    return refused.value


def common() -> list[str]:
    return resources.files("finapi.core").joinpath("common_passwords.txt").read_text("ascii").splitlines()


# ---- what may be chosen


@run_each_case(
    "password",
    [
        "kvxqzjwp",  # 8
        "é" * 8,
        "\N{PILE OF POO}" * 8,
        "k" * 1024,
        "\N{PILE OF POO}" * 1024,  # 4,096 bytes
        "        ",
        "a\0bcdefg",
        "password of mine",
        "12345678 ",
    ],
)
def test_eight_to_1024_characters_may_be_chosen(password: str) -> None:
    check_new(password, "password", common="refused")


@run_each_case("password", ["", "kvxqzjw", "é" * 7, "\N{PILE OF POO}" * 7, "k" * 1025, "k" * 100_000])
def test_passwords_outside_8_to_1024_characters_are_refused(password: str) -> None:
    error = refusal(password)
    assert (error.code, error.status) == ("INVALID_PARAM", 400)
    assert error.message == "The password must have 8 to 1024 characters"
    assert error.details == {"param": "newpassword", "expected": "8 to 1024 characters"}


@pytest.mark.parametrize("password", ["kvxqzjwp\ud800", "\udfff" * 8])
def test_half_a_surrogate_pair_is_refused(password: str) -> None:
    error = refusal(password)
    assert error.message == "The password contains an unpaired surrogate"
    assert error.details == {"param": "newpassword", "expected": "Unicode characters"}


@run_each_case("password", ["password", "12345678", "password123", "qwertyuiop", "PASSWORD", "Password1", "LetMeIn1"])
def test_a_common_password_is_refused_in_any_case(password: str) -> None:
    error = refusal(password)
    assert error.message == "The password is one of the most common ones. Choose one that nobody would guess."
    assert error.details == {"param": "newpassword", "expected": "a password that is not in common use"}


@run_each_case("password", [" password", "password\n", "pass word", "passwordpassword1", "p\0assword"])
def test_a_common_password_inside_a_longer_one_is_no_reason(password: str) -> None:
    check_new(password, "password", common="refused")


def test_the_list_has_3000_passwords_of_eight_characters() -> None:
    words = common()
    assert len(words) == len(set(words)) == 3000
    assert words[:5] == ["password", "12345678", "123456789", "baseball", "football"]
    assert all(len(word) >= 8 and word == word.lower().strip() for word in words)


def test_every_password_of_the_list_is_refused() -> None:
    for word in common():
        assert (
            refusal(word).message == "The password is one of the most common ones. Choose one that nobody would guess."
        )


def test_a_refusal_does_not_repeat_the_password() -> None:
    for password in ("hunter2", "sunshine", "kvxqzjwp\ud800"):
        error = refusal(password)
        assert password not in f"{error.message} {error.details}"


# ---- what is stored


@run_each_case("password", ["kvxqzjwp", "a\0bcdefg", "\0" * 8, "é" * 8, "\N{PILE OF POO}" * 1024, " padded ", "x"])
def test_the_password_itself_is_right(hasher: Hasher, password: str) -> None:
    assert hasher.verify(hasher.hash(password), password) is True


@run_each_case(
    "chosen, tried",
    [
        ("kvxqzjwp", "kvxqzjwq"),
        ("kvxqzjwp", "Kvxqzjwp"),
        ("kvxqzjwp", "kvxqzjwp "),
        ("kvxqzjwp", " kvxqzjwp"),
        ("kvxqzjwp", ""),
        ("kvxqzjwp", "kvxqzjwp\0"),
        ("kvxq\0jwp", "kvxq\0jwq"),
        ("kvxq\0jwp", "kvxq"),
        ("caf\u00e9 noir", "cafe\u0301 noir"),  # the same to read, other code points
        ("\ufb01nance", "finance"),  # a ligature
        ("k" * 1024, "k" * 1023),
        ("k" * 1023 + "a", "k" * 1023 + "b"),
        ("k" * 1024, "k" * 1025),
        ("kvxqzjwp", "kvxqzjwp\ud800"),
    ],
)
def test_anything_else_is_wrong(hasher: Hasher, chosen: str, tried: str) -> None:
    assert hasher.verify(hasher.hash(chosen), tried) is False


@pytest.mark.parametrize("password", ["k" * 1025, "kvxqzjwp\ud800"])
def test_a_password_that_cannot_be_stored_is_not_hashed(hasher: Hasher, password: str) -> None:
    with pytest.raises(ValueError, match="must be valid Unicode of at most 1024 characters"):
        hasher.hash(password)


def test_equal_passwords_have_different_hashes(hasher: Hasher) -> None:
    assert hasher.hash("kvxqzjwp") != hasher.hash("kvxqzjwp")


def test_an_unknown_user_has_no_right_password(hasher: Hasher) -> None:
    assert hasher.verify(None, "kvxqzjwp") is False


def test_a_damaged_hash_is_an_error_and_not_a_wrong_password(hasher: Hasher) -> None:
    with pytest.raises(InvalidHashError):
        hasher.verify("damaged", "kvxqzjwp")


@pytest.mark.parametrize(
    ("profile", "form"),
    [
        ("default", "$argon2id$v=19$m=19456,t=2,p=1$"),
        ("library", "$argon2id$v=19$m=65536,t=3,p=4$"),
        ("cheap", "$argon2id$v=19$m=8,t=1,p=1$"),
    ],
)
def test_a_hash_is_argon2id_with_the_cost_of_its_profile(profile: str, form: str) -> None:
    assert Hasher(profile).hash("kvxqzjwp").startswith(form)


def test_the_profiles_are_what_argon2_cffi_calls_them() -> None:
    for name, library_profile in [
        ("library", argon2.profiles.RFC_9106_LOW_MEMORY),
        ("cheap", argon2.profiles.CHEAPEST),
    ]:
        ours = PROFILES[name]
        assert (ours.passes, ours.memory_kib, ours.lanes, ours.salt_length, ours.digest_length) == (
            library_profile.time_cost,
            library_profile.memory_cost,
            library_profile.parallelism,
            library_profile.salt_len,
            library_profile.hash_len,
        )
    assert argon2.PasswordHasher()._parameters == argon2.profiles.RFC_9106_LOW_MEMORY


def test_a_hash_of_another_profile_verifies_but_needs_a_rehash(hasher: Hasher) -> None:
    costly = Hasher("default")
    stored = hasher.hash("kvxqzjwp")
    assert (hasher.needs_rehash(stored), costly.needs_rehash(stored)) == (False, True)
    assert costly.verify(stored, "kvxqzjwp") is True
    assert costly.needs_rehash(costly.hash("kvxqzjwp")) is False


# ---- the work


class Recorder:
    """Stands for argon2's hasher. It records the stored hashes, and blocks every call until it is released."""

    def __init__(self) -> None:
        self.hashes: list[str] = []
        self.running = self.most = 0
        self.release = threading.Event()
        self._lock = threading.Lock()

    def verify(self, stored: str, secret: bytes) -> bool:
        with self._lock:
            self.hashes.append(stored)
            self.running += 1
            self.most = max(self.most, self.running)
        assert self.release.wait(10)
        with self._lock:
            self.running -= 1
        return True


def record_hashes(hasher: Hasher) -> Recorder:
    recorder = Recorder()
    vars(hasher)["_argon2"] = recorder
    return recorder


@pytest.mark.parametrize("profile", list(PROFILES))
def test_an_unknown_user_costs_what_a_known_one_costs(profile: str) -> None:
    hasher = Hasher(profile)
    stored = hasher.hash("kvxqzjwp")
    recorder = record_hashes(hasher)
    recorder.release.set()
    assert hasher.verify(stored, "kvxqzjwp") is True
    assert hasher.verify(None, "kvxqzjwp") is False
    known_cost, unknown = map(argon2.extract_parameters, recorder.hashes)
    assert known_cost == unknown
    assert len(recorder.hashes[0]) == len(recorder.hashes[1])


def test_the_hash_of_nobody_is_made_once_for_each_hasher() -> None:
    created = []
    for _ in range(2):
        hasher = Hasher("cheap")
        recorder = record_hashes(hasher)
        recorder.release.set()
        hasher.verify(None, "kvxqzjwp")
        hasher.verify(None, "kvxqzjwq")
        assert recorder.hashes[0] == recorder.hashes[1]
        created.append(recorder.hashes[0])
    assert created[0] != created[1]


@run_each_case("password", ["k" * 1025, "kvxqzjwp\ud800"])
@run_each_case("stored", [None, "a hash"])
def test_what_nobody_can_have_chosen_costs_nothing(password: str, stored: str | None) -> None:
    hasher = Hasher("cheap")
    recorder = record_hashes(hasher)
    assert hasher.verify(stored, password) is False
    assert recorder.hashes == []


def test_200_passwords_are_hashed_two_at_a_time() -> None:
    hasher = Hasher("cheap", FairQueue(BUSY_MESSAGE, 2, 16, 10))
    recorder = record_hashes(hasher)
    recorder.hash = lambda secret: recorder.verify("", secret)  # type: ignore[attr-defined]
    answers: list[object] = []

    def choose() -> None:
        try:
            answers.append(hasher.hash("kvxqzjwp", "an address"))
        except ApiError as error:
            answers.append((error.code, error.status, dict(error.headers)))

    threads = [threading.Thread(target=choose) for _ in range(200)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(answers) == 182)
    assert recorder.running == 2
    recorder.release.set()
    for thread in threads:
        thread.join()
    assert recorder.most == 2
    assert answers.count(True) == 18
    assert answers.count(("UNAVAILABLE", 503, {"Retry-After": "1"})) == 182


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the habit that is tested is glibc's")
def test_many_threads_cost_the_memory_of_concurrent_hashes() -> None:
    script = """
import resource, threading
from finapi.core.passwords import Hasher
from finapi.core.fair_queue import FairQueue

hasher = Hasher("default", FairQueue("", 2, 100, 60))
stored = hasher.hash("kvxqzjwp")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
threads = [threading.Thread(target=hasher.hash, args=("kvxqzjwq",)) for _ in range(30)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # One hash of 19 MiB ran before, a second beside it since; the rest is for the threads.
    assert int(done.stdout) / 1024 < 19 + 10


def test_argon2_and_the_list_load_at_the_first_password() -> None:
    script = (
        "import sys; from finapi.core import passwords; passwords.Hasher('default'); "
        "print('argon2' in sys.modules, passwords._load_common_passwords.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False 0\n"
