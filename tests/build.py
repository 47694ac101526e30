"""``python -m tests.build [DIR] [--quick]``: everything that is given to people, built from the source and tried.

An sdist and a wheel (the same bytes each time), a zipapp for hosts with Python (shiv), and executables for hosts
without (PyInstaller: a folder, and one file). Each is tried in a bare root: the executables in a chroot that holds the
C library and nothing else, the zipapp under the system's own Python with an empty environment. ``--quick`` stops after
the wheel. Needs a network or a mirror for the tools, and root for the chroot. Figures: docs/OPERATIONS.md.
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
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("setuptools>=70", "wheel", "pyinstaller>=6,<7", "shiv>=1,<2")
ENTRY = "import sys\nfrom finapi.cli import main\nsys.exit(main())\n"


def exported(place: Path) -> Path:
    """A copy of what is in the repository: what lies about in a working tree is in nothing that is built."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    return place


def epoch() -> int:
    """The time that everything built bears: that of the last commit."""
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True)
    return int(told.stdout)


def built(what: str, out: Path, python: Path) -> Path:
    """The ``sdist`` or the ``wheel``, in ``out``; the same source gives the same bytes."""
    with tempfile.TemporaryDirectory() as place:
        source = exported(Path(place))
        code = f"import setuptools.build_meta as b, sys; print(b.build_{what}(sys.argv[1]))"
        env = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run([python, "-c", code, str(out)], cwd=source, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        made = out / done.stdout.splitlines()[-1]
    if what == "sdist":
        made.write_bytes(repacked(made.read_bytes()))
    return made


def repacked(data: bytes) -> bytes:
    """The same archive without what differs from one build to the next: times, owners, the order of its members."""
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as old,
        gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=6, mtime=epoch(), filename="") as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for info in sorted(old.getmembers(), key=lambda one: one.name):
            info.mtime, info.uid, info.gid, info.uname, info.gname, info.pax_headers = epoch(), 0, 0, "", "", {}
            info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            new.addfile(info, old.extractfile(info) if info.isfile() else None)
    return packed.getvalue()


def run(*words: object, **more: str) -> None:
    # What is built is of the wheel: a PYTHONPATH would put a checkout before it, whose SQL lies elsewhere.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | more
    subprocess.run([*map(str, words)], check=True, env=env)


def zipapp(wheel: Path, tools: Path, out: Path) -> Path:
    """finapi and what it needs in one file for a Python that is there."""
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
        SOURCE_DATE_EPOCH=str(epoch()),
    )
    return file


def executables(tools: Path, out: Path, work: Path) -> tuple[Path, Path]:
    """finapi with its interpreter, as a folder and as one file."""
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
    made = []
    for kind, place in (("--onedir", "folder"), ("--onefile", "file")):
        run(tools / "bin/pyinstaller", *options, kind, "--distpath", out / place, work / "entry.py")
        made.append(out / place / "finapi")
    return made[0] / "finapi", made[1]


def bare_root(place: Path, program: Path) -> list[str]:
    """The command that runs a program in a root with the C library, /tmp and nothing else."""
    needed: set[str] = set()
    files = [program, *program.parent.rglob("*.so*")] if program.parent.name == "finapi" else [program]
    for file in files:
        told = subprocess.run(["ldd", file], capture_output=True, text=True).stdout
        needed |= set(re.findall(r"(/\S+) \(0x", told))
    # What the one file unpacks to needs these; a system without them is none.
    for name in (
        "libc.so.6",
        "libm.so.6",
        "libdl.so.2",
        "libpthread.so.0",
        "librt.so.1",
        "libutil.so.1",
        "libgcc_s.so.1",
    ):
        found = Path("/lib/x86_64-linux-gnu") / name
        needed |= {str(found)} if found.exists() else set()
    for library in needed:
        if not library.startswith(str(program.parent)):
            (place / library.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, place / library.lstrip("/"))
    for name in ("tmp", "data", "proc", "dev"):
        (place / name).mkdir(exist_ok=True)
    run("mount", "-t", "proc", "proc", place / "proc")
    for name in ("null", "urandom"):
        shutil.copyfile("/dev/null", place / "dev" / name)
        run("mount", "--bind", f"/dev/{name}", place / "dev" / name)
    home = place / "finapi"
    if program.parent.name == "finapi":
        shutil.copytree(program.parent, home, symlinks=True)
    else:
        home.mkdir()
        shutil.copy(program, home / "finapi")
    assert not shutil.which("python3", path=f"{place}/bin:{place}/usr/bin")
    return ["chroot", str(place), "/finapi/finapi"]


def tried(name: str, command: list[str], data: str) -> float:
    """Start the demo, ask it for a statement, stop it; the seconds to its first answer."""
    env = {"PATH": "/nonexistent" if "chroot" in command[0] else "/usr/bin:/bin", "HOME": "/tmp"}
    version = subprocess.run(
        [*command, "--version"], env=env | {"PATH": os.environ["PATH"]}, capture_output=True, text=True
    )
    assert re.fullmatch(r"finapi \S+\n", version.stdout), version.stderr
    starts = []
    for turn in range(3):
        begun = time.monotonic()
        words = [*command, "demo", "--port", "0", "--ready", "json", "--data-dir", f"{data}{turn}"]
        process = subprocess.Popen(words, env=env | {"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            ready = json.loads(process.stdout.readline())
            starts.append(time.monotonic() - begun)
            url = f"{ready['url']}/api/v1/xbrl/companies/AAPL/statements?period=Q&statement=income"
            request = urllib.request.Request(url, headers={"X-API-Key": ready["api_key"]})
            answer = json.loads(urllib.request.urlopen(request, timeout=30).read())
            assert answer["status"] == "success", answer
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    print(f"{name:10} answers; start {min(starts):.2f} s")
    return min(starts)


def in_bare_root(name: str, program: Path) -> float:
    with tempfile.TemporaryDirectory(prefix="bare-") as place:
        root = Path(place)
        try:
            return tried(name, bare_root(root, program), "/data/")
        finally:
            for mounted in ("proc", "dev/null", "dev/urandom"):
                subprocess.run(["umount", root / mounted], capture_output=True)


def measured(name: str, work: Callable[[], Path]) -> Path:
    begun = time.monotonic()
    made = work()
    size = sum(file.stat().st_size for file in made.parent.rglob("*")) if name == "folder" else made.stat().st_size
    print(f"{name:10} {size / 1e6:6.1f} MB, built in {time.monotonic() - begun:.0f} s: {made}")
    return made


def main() -> int:
    """Build and try everything; exit status 1 when the folder starts too slowly."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", default="dist", type=Path)
    parser.add_argument("--quick", action="store_true", help="the sdist and the wheel only")
    args = parser.parse_args()
    out = args.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        work, tools = Path(place), Path(place) / "tools"
        venv.create(tools, with_pip=True)
        run(tools / "bin/pip", "install", "--quiet", "--upgrade", *TOOLS)
        files = [built(what, out, tools / "bin/python") for what in ("sdist", "wheel")]
        for made in files:
            print(f"{made.name}: {made.stat().st_size:,} bytes, sha256 {hashlib.sha256(made.read_bytes()).hexdigest()}")
        if args.quick:
            return 0
        wheel = files[1]
        run(tools / "bin/pip", "install", "--quiet", wheel)
        pyz = measured("zipapp", lambda: zipapp(wheel, tools, out))
        folder, file = executables(tools, out, work)
        measured("folder", lambda: folder)
        measured("one file", lambda: file)
        plain = tried("checkout", [sys.executable, str(ROOT / "run.py")], f"{place}/checkout")
        tried("zipapp", ["/usr/bin/env", "-i", "HOME=/tmp", "/usr/bin/python3", str(pyz)], f"{place}/zipapp")
        slower = in_bare_root("folder", folder) / plain
        in_bare_root("one file", file)
    print(f"the folder starts in {slower:.2f} times the checkout's time (at most 1.5)")
    return int(slower > 1.5)


if __name__ == "__main__":
    sys.exit(main())
