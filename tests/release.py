"""``python -m tests.release [DIR]``: make the files of a release and try each of them. ``.ci/release`` runs it.

Everything is built twice by :mod:`tests.build`, and the two builds must be equal byte for byte. The release consists of
the sdist, the wheels of the server and of the client, a zipapp, one executable file, the bill of materials (CycloneDX)
of what the server needs to run, and ``SHA256SUMS``. Each file is installed and used in an empty environment: the
README's two commands run in the unpacked sdist, and the client of its wheel calls the demo of the server's wheel.
It needs a network or a mirror, root for the chroot of the executable, and about fifteen minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.build import ROOT, run, time_demo, time_in_bare_root

TOOLS = ROOT / ".venv" / "tools" / "bin"
EXECUTABLE_NAME = f"finapi-linux-{platform.machine()}"
CHECKSUMS_NAME = "SHA256SUMS"
# The program that a user of the client wheel would write.
CLIENT_PROGRAM = """
import os
from finapi.client import Client

client = Client(os.environ["FINAPI_URL"], os.environ["FINAPI_API_KEY"])
series = client.get_xbrl_timeseries(ticker="AAPL", metrics=["revenue"], period="A", limit=1)
assert series["data"]["rows"][0]["metrics"]["revenue"] > 0, series
"""


def hash_files(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file below a folder, by its path in the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def list_differences(first: dict[str, str], second: dict[str, str]) -> list[str]:
    """Return the paths of files that are in one build only, or differ between the two."""
    return sorted(path for path in {*first, *second} if first.get(path) != second.get(path))


def build_twice(folder: Path) -> Path:
    """Build everything twice and return the folder of the first build. Exit with the names of files that differ."""
    builds = [folder / "first", folder / "second"]
    for build in builds:
        run(sys.executable, "-m", "tests.build", build, "--only")
    differences = list_differences(*map(hash_files, builds))
    if differences:
        sys.exit(f"two builds of the same source differ in {', '.join(differences)}")
    return builds[0]


def copy_release(build: Path, out: Path) -> None:
    """Copy the files of a release from a build."""
    for path in [*build.glob("*.whl"), *build.glob("*.tar.gz"), *build.glob("*.pyz")]:
        shutil.copy2(path, out)
    shutil.copy2(build / "file" / "finapi", out / EXECUTABLE_NAME)


def write_bill(out: Path, folder: Path) -> None:
    """Write the bill of materials of the server's wheel and of the pinned packages that it needs to run."""
    venv.create(folder / "run", with_pip=False)
    interpreter = folder / "run" / "bin" / "python"
    lock = folder / "run.lock"
    pinned = subprocess.run(
        [sys.executable, "-m", "tests.locked", "--run-time"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    lock.write_text(pinned.stdout)
    install = [sys.executable, "-m", "pip", "--python", interpreter, "install", "--quiet", "--no-deps"]
    run(*install, "--require-hashes", "-r", lock)
    wheel = find_file(out, "finapi_server-*.whl")
    # Installed by name, because pip records the path of a file, which would be in the bill.
    run(*install, "--no-index", "--find-links", out, "finapi-server")
    bill = out / f"{wheel.name.partition('-py3-')[0]}.cdx.json"
    options = ["environment", "--output-reproducible", "--output-format", "JSON", "--output-file", bill]
    run(TOOLS / "cyclonedx-py", *options, interpreter)


def write_checksums(out: Path) -> None:
    """Write ``SHA256SUMS`` for ``sha256sum --check``."""
    hashes = hash_files(out)
    (out / CHECKSUMS_NAME).write_text("".join(f"{digest}  {name}\n" for name, digest in hashes.items()))


def find_file(out: Path, pattern: str) -> Path:
    """Return the only file of the release with a name of this pattern."""
    (path,) = out.glob(pattern)
    return path


def find_readme_command(readme: str, last_word: str) -> str:
    """Return the command of the README that ends with a word."""
    (command,) = re.findall(rf"^python3 -m venv .*{last_word}$", readme, re.MULTILINE)
    return str(command)


@contextmanager
def open_demo(command: list[str], folder: Path) -> Iterator[dict[str, Any]]:
    """Start the demo, yield its ready line, and stop it."""
    words = [*command, "demo", "--port", "0", "--ready", "json", "--data-dir", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=folder.parent, env=build_empty_environment()) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def build_empty_environment() -> dict[str, str]:
    """Return an environment without the settings of this process, except those with which pip finds packages."""
    kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_", "http", "HTTP", "no_"))}
    return {**kept, "PATH": "/usr/bin:/bin", "HOME": "/tmp"}


def install_in_new_environment(folder: Path, wheel: Path) -> Path:
    """Install a wheel in a new virtual environment. Return the folder of its programs."""
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "pip", "install", "--quiet", wheel)
    return folder / "bin"


def try_wheels(out: Path, folder: Path) -> None:
    """Start the demo of the server's wheel, and call it with the client of the client's wheel."""
    server_programs = install_in_new_environment(folder / "server", find_file(out, "finapi_server-*.whl"))
    client_programs = install_in_new_environment(folder / "client", find_file(out, "finapi_client-*.whl"))
    with open_demo([str(server_programs / "finapi")], folder / "demo") as ready:
        environment = {
            **build_empty_environment(),
            "FINAPI_URL": ready["url"],
            "FINAPI_API_KEY": ready["api_key"],
        }
        for words in (
            [client_programs / "python", "-c", CLIENT_PROGRAM],
            [client_programs / "finapi", "get", "xbrl/timeseries?ticker=AAPL&metrics=revenue"],
        ):
            subprocess.run([*map(str, words)], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
    print("the wheels answer")


def try_sdist(out: Path, folder: Path) -> None:
    """Run the README's two commands in the unpacked sdist."""
    with tarfile.open(find_file(out, "finapi_server-*.tar.gz")) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    readme = (source / "README.md").read_text(encoding="utf-8")
    install, _, demo = find_readme_command(readme, "demo").rpartition(" && ")
    environment = build_empty_environment()
    subprocess.run(["bash", "-c", install], check=True, cwd=source, env=environment)
    time_demo("sdist", [str(source / demo.split()[0]), str(source / "run.py")], str(folder / "demo"))
    tests = find_readme_command(readme, "pytest")
    subprocess.run(["bash", "-c", tests], check=True, cwd=source, env=environment)
    print("the README's commands work in the sdist")


def main() -> int:
    """Make and try a release. Return exit status 0, or raise an error that names the file that fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", default="dist", type=Path)
    out = parser.parse_args().out.absolute()
    if out.exists() and any(out.iterdir()):
        sys.exit(f"{out} is not empty: a release must contain nothing else")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        copy_release(build_twice(folder / "builds"), out)
        write_bill(out, folder)
        write_checksums(out)
        run("sha256sum", "--check", "--quiet", CHECKSUMS_NAME, cwd=out)
        try_wheels(out, folder)
        time_demo("zipapp", ["/usr/bin/python3", str(find_file(out, "*.pyz"))], str(folder / "zipapp"))
        time_in_bare_root("executable", out / EXECUTABLE_NAME)
        (folder / "sdist").mkdir()
        try_sdist(out, folder / "sdist")
    print((out / CHECKSUMS_NAME).read_text(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
