"""``python -m tests.build [DIR] [--quick | --only]``: build everything that is distributed from the source, and try it.

An sdist and a wheel (the same bytes each time), the wheel of the client, a zipapp for hosts with Python (shiv), and
executables for hosts without (PyInstaller: a folder, and one file). Each is tried in a bare root: the executables in a
chroot with the C library only, the zipapp under the system's own Python with an empty environment. ``--quick`` stops
after the wheels, ``--only`` before the tries. It needs a network or a mirror for the tools, and root for the chroot.
Figures are in docs/OPERATIONS.md. :mod:`tests.release` makes a release of these files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("setuptools>=70", "wheel", "pyinstaller>=6,<7", "shiv>=1,<2")
ENTRY = "import sys\nfrom finapi.cli import main\nsys.exit(main())\n"


def copy_repository(directory: Path) -> Path:
    """Copy the tracked files only, so that other files of the working tree are in no build. Return the copy."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, directory / name)
    return directory


def get_commit_time() -> int:
    """Return the time of the last commit, which everything built carries."""
    log = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True)
    return int(log.stdout)


def build_archive(format_name: str, out: Path, python: Path) -> Path:
    """Build the ``sdist`` or the ``wheel`` in ``out`` and return it; the same source gives the same bytes."""
    with tempfile.TemporaryDirectory() as directory:
        source = copy_repository(Path(directory))
        code = f"import setuptools.build_meta as b, sys; print(b.build_{format_name}(sys.argv[1]))"
        env = {
            **os.environ,
            "SOURCE_DATE_EPOCH": str(get_commit_time()),
            "PYTHONHASHSEED": "0",
            "PYTHONWARNINGS": "ignore",
        }
        done = subprocess.run([python, "-c", code, str(out)], cwd=source, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        archive = out / done.stdout.splitlines()[-1]
    if format_name == "sdist":
        archive.write_bytes(repack_sdist(archive.read_bytes()))
    return archive


def repack_sdist(data: bytes) -> bytes:
    """Return the archive without times, owners and order, which differ between builds."""
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as old,
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=get_commit_time(), filename="") as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for info in sorted(old.getmembers(), key=lambda info: info.name):
            info.mtime, info.uid, info.gid, info.uname, info.gname, info.pax_headers = (
                get_commit_time(),
                0,
                0,
                "",
                "",
                {},
            )
            info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            new.addfile(info, old.extractfile(info) if info.isfile() else None)
    return packed.getvalue()


def run(*words: object, cwd: Path | None = None, **variables: str) -> None:
    """Run a command with these environment variables. Raise CalledProcessError if it fails."""
    # The wheel is tested: PYTHONPATH would put a checkout before it, whose SQL is in another directory.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    subprocess.run([*map(str, words)], check=True, env=env, cwd=cwd)


def build_zipapp(wheel: Path, tools: Path, out: Path) -> Path:
    """Build finapi and its dependencies as one file for an installed Python."""
    file = out / "finapi.pyz"
    shebang = "/usr/bin/env python3"
    run(
        tools / "bin/shiv",
        "--quiet",
        "--reproducible",
        "-c",
        "finapi",
        "-p",
        shebang,
        "-o",
        file,
        wheel,
        SOURCE_DATE_EPOCH=str(get_commit_time()),
    )
    return file


def build_executables(tools: Path, out: Path, work: Path) -> tuple[Path, Path]:
    """Build finapi with its interpreter. Return the program of the folder and the one file."""
    (work / "entry.py").write_text(ENTRY)
    options = [
        "--noconfirm",
        "--clean",
        "--log-level",
        "ERROR",
        "--name",
        "finapi",
        "--workpath",
        work / "work",
        "--specpath",
        work,
        "--collect-all",
        "finapi",
        "--collect-submodules",
        "websockets",
    ]
    programs = []
    for kind, layout in (("--onedir", "folder"), ("--onefile", "file")):
        run(
            tools / "bin/pyinstaller",
            *options,
            kind,
            "--distpath",
            out / layout,
            work / "entry.py",
            SOURCE_DATE_EPOCH=str(get_commit_time()),
            PYTHONHASHSEED="0",
        )
        programs.append(out / layout / "finapi")
    return programs[0] / "finapi", programs[1]


def build_bare_root(root: Path, program: Path) -> list[str]:
    """Build a root with the C library and /tmp only. Return the command that runs a program there."""
    needed: set[str] = set()
    files = [program, *program.parent.rglob("*.so*")] if program.parent.name == "finapi" else [program]
    for file in files:
        libraries = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
        needed |= set(re.findall(r"(/\S+) \(0x", libraries))
    # The unpacked file needs these; every system has them.
    for name in (
        "libc.so.6",
        "libm.so.6",
        "libdl.so.2",
        "libpthread.so.0",
        "librt.so.1",
        "libutil.so.1",
        "libgcc_s.so.1",
    ):
        library_path = Path("/lib/x86_64-linux-gnu") / name
        needed |= {str(library_path)} if library_path.exists() else set()
    for library in needed:
        if not library.startswith(str(program.parent)):
            (root / library.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, root / library.lstrip("/"))
    for name in ("tmp", "data", "proc", "dev"):
        (root / name).mkdir(exist_ok=True)
    run("mount", "-t", "proc", "proc", root / "proc")
    for name in ("null", "urandom"):
        shutil.copyfile("/dev/null", root / "dev" / name)
        run("mount", "--bind", f"/dev/{name}", root / "dev" / name)
    home = root / "finapi"
    if program.parent.name == "finapi":
        shutil.copytree(program.parent, home, symlinks=True)
    else:
        home.mkdir()
        shutil.copy(program, home / "finapi")
    assert not shutil.which("python3", path=f"{root}/bin:{root}/usr/bin")
    return ["chroot", str(root), "/finapi/finapi"]


def time_demo(name: str, command: list[str], data: str) -> float:
    """Start the demo three times and request a statement. Return the least seconds until it is ready."""
    env = {"PATH": "/nonexistent" if "chroot" in command[0] else "/usr/bin:/bin", "HOME": "/tmp"}
    version = subprocess.run(
        [*command, "--version"], env=env | {"PATH": os.environ["PATH"]}, capture_output=True, text=True
    )
    assert re.fullmatch(r"finapi \S+\n", version.stdout), version.stderr
    starts = []
    for turn in range(3):
        started = time.monotonic()
        words = [*command, "demo", "--port", "0", "--ready", "json", "--data-dir", f"{data}{turn}"]
        process = subprocess.Popen(words, env=env | {"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            starts.append(time.monotonic() - started)
            url = f"{ready['url']}/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income"
            request = urllib.request.Request(url, headers={"X-API-Key": ready["api_key"]})
            answer = json.loads(urllib.request.urlopen(request, timeout=30).read())
            assert answer["status"] == "success", answer
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
    print(f"{name:10} answers; start {min(starts):.2f} s")
    return min(starts)


def time_in_bare_root(name: str, program: Path) -> float:
    with tempfile.TemporaryDirectory(prefix="bare-") as directory:
        root = Path(directory)
        try:
            return time_demo(name, build_bare_root(root, program), "/data/")
        finally:
            for mounted in ("proc", "dev/null", "dev/urandom"):
                subprocess.run(["umount", root / mounted], capture_output=True)


def report_build(name: str, work: Callable[[], Path]) -> Path:
    started = time.monotonic()
    path = work()
    size = sum(file.stat().st_size for file in path.parent.rglob("*")) if name == "folder" else path.stat().st_size
    print(f"{name:10} {size / 1e6:6.1f} MB, built in {time.monotonic() - started:.0f} s: {path}")
    return path


@contextmanager
def open_build_folder() -> Iterator[Path]:
    """Create the folder in which everything is built, and delete it afterwards. Raise FileExistsError if it exists.

    Its path is always the same, because scripts and records in the zipapp and the executables contain it.
    """
    folder = Path(tempfile.gettempdir()) / "finapi-build"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def build_client_wheel(out: Path, tools: Path) -> Path:
    """Write the wheel of the client as an installed server hands it out."""
    code = (
        "import sys; from pathlib import Path; from finapi.web.html import client_wheel as wheel;"
        "path = Path(sys.argv[1]) / wheel.FILENAME; path.write_bytes(wheel.build_wheel().body); print(path)"
    )
    # The current directory comes first on the path of modules, and must not be the checkout.
    done = subprocess.run([tools / "bin/python", "-c", code, out], cwd=out, check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def main() -> int:
    """Build and try everything. Return exit status 1 when the folder starts too slowly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", default="dist", type=Path)
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="the sdist and the wheels only")
    extent.add_argument("--only", action="store_true", help="build everything and try nothing")
    args = parser.parse_args()
    out = args.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    with open_build_folder() as work:
        tools = work / "tools"
        venv.create(tools, with_pip=True)
        run(tools / "bin/pip", "install", "--quiet", "--upgrade", *TOOLS)
        sdist, wheel = (build_archive(format_name, out, tools / "bin/python") for format_name in ("sdist", "wheel"))
        # pip records the path of the file that it installs.
        built_wheel = Path(shutil.copy(wheel, work))
        run(tools / "bin/pip", "install", "--quiet", built_wheel)
        for file_path in (sdist, wheel, build_client_wheel(out, tools)):
            print(
                f"{file_path.name}: {file_path.stat().st_size:,} bytes, "
                f"sha256 {hashlib.sha256(file_path.read_bytes()).hexdigest()}"
            )
        if args.quick:
            return 0
        pyz = report_build("zipapp", lambda: build_zipapp(built_wheel, tools, out))
        folder, file = build_executables(tools, out, work)
        report_build("folder", lambda: folder)
        report_build("one file", lambda: file)
        if args.only:
            return 0
        plain = time_demo("checkout", [sys.executable, str(ROOT / "run.py")], str(work / "checkout"))
        time_demo("zipapp", ["/usr/bin/env", "-i", "HOME=/tmp", "/usr/bin/python3", str(pyz)], str(work / "zipapp"))
        slower = time_in_bare_root("folder", folder) / plain
        time_in_bare_root("one file", file)
    print(f"the folder starts in {slower:.2f} times the checkout's time (at most 1.5)")
    return int(slower > 1.5)


if __name__ == "__main__":
    sys.exit(main())
