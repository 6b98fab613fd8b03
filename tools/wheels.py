"""Wheels for other machines: `make wheels`.

A wheel of each CPython found, and the sdist, go into dist/. Each wheel is held against its promises:

- its tag is what auditwheel allows: the oldest C library that has all symbols that it needs;
- it is not larger than MOST_BYTES;
- a second build, in another folder, has the same bytes;
- in a fresh environment, without a compiler on PATH, it installs, checks itself and records a program; and
  removed, it leaves no file.

The sdist is built to a wheel once more where no network is.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tools import pythons
from tools.console import CommandFailedError, Stopwatch, heading, print_message, run, shown, table
from tools.layout import BUILD, LOGS, ROOT
from tools.pythons import Interpreter
from tools.venvs import Environment

#: What a person downloads.
MOST_BYTES = 6_000_000
_DIST = ROOT / "dist"
_WORK = BUILD / "release"
_PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


class PromiseError(Exception):
    """A wheel does not keep one of its promises."""


def build(python: Interpreter, source: Path, folder: Path, log: Path, *, offline: bool = False) -> Path:
    """Build the wheel of a folder of sources.

    Args:
        python: the CPython that it is for.
        source: an unpacked sdist.
        folder: for the wheel and what is built on the way; it is made empty.
        log: gets the output.
        offline: build where no network is.

    Returns:
        The wheel.
    """
    environment = _builder(python)
    shutil.rmtree(folder, ignore_errors=True)
    words: list[str | Path] = [
        *_PIP,
        "wheel",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
    ]
    words += [f"--config-settings=build-dir={folder / 'cmake'}"]
    words += [f"--config-settings=cmake.define.FG_COMMIT={_git('rev-parse', '--short=12', 'HEAD')}", source]
    # assert() has the name of its file in the code, the build id depends on what is stripped later, and a zip
    # file has the time of each of its files.
    flags = f"-ffile-prefix-map={source}=. -ffile-prefix-map={folder / 'cmake'}=."
    variables = {
        "PATH": environment.path,
        "CFLAGS": f"{os.environ.get('CFLAGS', '')} {flags}".strip(),
        "SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct"),
        # ccache takes objects that were compiled in another folder, whose name is in their debug information.
        "CCACHE_DISABLE": "1",
    }
    alone = ["unshare", "--net"] if offline else []
    run([*alone, *environment.command(*words)], log=log, env=variables)
    (wheel,) = folder.glob("*.whl")
    return wheel


def sdist(python: Interpreter, log: Path) -> Path:
    """Build the sdist from the commit that is checked out, and return it."""
    source = _WORK / "checkout"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "--extract"], cwd=source, input=archive, check=True)
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    variables = {"SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct")}
    run(_builder(python).command("-c", code, _DIST), log=log, env=variables, cwd=source)
    (made,) = _DIST.glob("*.tar.gz")
    return made


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an sdist into a folder that is made empty. Returns the folder of its sources."""
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    return source


def platform_tag(text: str) -> str:
    """Return the tag that `auditwheel show` found.

    Args:
        text: its output.

    Raises:
        PromiseError: it found none that another machine would take.

    Example:
        >>> platform_tag('funcgraph is consistent with the following platform tag: "manylinux_2_34_x86_64".')
        'manylinux_2_34_x86_64'
    """
    match = re.search(r'consistent with\s+the\s+following\s+platform\s+tag:\s+"(\w+)"', text)
    if match is None or not match[1].startswith(("manylinux", "musllinux")):
        raise PromiseError(f"auditwheel finds no tag for other machines: {' '.join(text.split())}")
    return match[1]


def retag(wheel: Path, log: Path) -> Path:
    """Put a wheel into dist/ with the tag that auditwheel allows. Returns it."""
    auditor = Environment("wheels", pythons.choose(""), "wheels")
    auditor.prepare()
    words: list[str | Path] = [auditor.python, "-m", "auditwheel", "show", wheel]
    shows = subprocess.run(
        words, capture_output=True, text=True, check=True, env={**os.environ, "PATH": auditor.path}
    )
    tag = platform_tag(shows.stdout)
    words = [auditor.python, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, wheel]
    run(words, log=log, env={"SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct")})
    (tagged,) = wheel.parent.glob("*.whl")
    return tagged.rename(_DIST / tagged.name)


def check_version(shown: str, commit: str) -> None:
    """Hold what an installed wheel says of itself against the commit of which it was built.

    Args:
        shown: what `funcgraph --version` printed.
        commit: its first twelve digits.

    Raises:
        PromiseError: it does not name it.
    """
    if f"(commit {commit})\n" not in shown:
        raise PromiseError(f"--version names no commit {commit}: {shown.partition(chr(10))[0]}")


def try_out(wheel: Path, python: Interpreter, log: Path) -> None:
    """Install a wheel where nothing else is, use it, and remove it.

    Raises:
        PromiseError: it left files behind, or does not know its commit.
        CommandFailedError: a step failed.
    """
    folder = _WORK / f"fresh-{python.tag}"
    shutil.rmtree(folder, ignore_errors=True)
    inside = python.inside
    run([*inside, python.executable, "-m", "venv", folder], log=log)
    before = files_of(folder)
    of_folder = folder / "bin" / "python"
    # The environment's own commands are all that there is, no compiler; what leads into another root comes
    # before.
    alone = ["env", f"PATH={folder / 'bin'}", "FUNCGRAPH="]
    run([*inside, of_folder, *_PIP, "install", wheel], log=log)
    command: list[str | Path] = [*inside, *alone, folder / "bin" / "funcgraph"]
    trace = folder / "t.fg"
    shown = subprocess.run([*command, "--version"], cwd=ROOT, check=True, capture_output=True, text=True)
    check_version(shown.stdout, _git("rev-parse", "--short=12", "HEAD"))
    run([*command, "selftest"], log=log)
    run([*command, "record", "-o", trace, "-m", "json.tool", "--help"], log=log)
    run([*command, "summary", "-i", trace], log=log)
    trace.unlink()
    run([*inside, of_folder, *_PIP, "uninstall", "--yes", "funcgraph"], log=log)
    run([*inside, of_folder, *_PIP, "uninstall", "--yes", "backports.zstd"], log=log)
    if left := sorted(files_of(folder) - before):
        raise PromiseError(f"uninstalled, it leaves {', '.join(left)}")
    shutil.rmtree(folder)


def make(python: Interpreter, source: Path) -> list[str]:
    """Build and check the wheel of one CPython. Returns its row of the table. Raises PromiseError."""
    watch = Stopwatch()
    log = LOGS / f"release-{python.tag}.log"
    log.unlink(missing_ok=True)
    wheel = build(python, source, _WORK / f"wheel-{python.tag}", log)
    again = unpack(_DIST / f"{source.name}.tar.gz", _WORK / f"again-{python.tag}")
    twin = build(python, again, _WORK / f"twin-{python.tag}", log)
    if _digest(wheel) != _digest(twin):
        raise PromiseError(f"two builds of it differ: {shown(wheel)} and {shown(twin)}")
    wheel = retag(wheel, log)
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        raise PromiseError(f"{wheel.name} has {size:,} bytes; at most {MOST_BYTES:,} are right")
    try_out(wheel, python, log)
    return [wheel.name, f"{size / 1e6:.2f} MB", _digest(wheel)[:12], str(watch)]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.wheels", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", action="append", metavar="TAG", help="only for this CPython; repeatable")
    options = parser.parse_args(argv)
    found = {tag: python for tag, python in pythons.find().items() if python.usable}
    chosen = [found[tag] for tag in options.python or found if tag in found]
    if not chosen:
        parser.error("none of these CPythons is here: see `make pythons`")
    shutil.rmtree(_DIST, ignore_errors=True)
    _DIST.mkdir()
    rows, wrong = [["file", "size", "sha256", "time"]], []
    try:
        watch = Stopwatch()
        archive = sdist(pythons.choose(""), LOGS / "release-sdist.log")
        source = unpack(archive, _WORK / "source")
        build(pythons.choose(""), source, _WORK / "offline", LOGS / "release-sdist.log", offline=True)
        rows.append(
            [archive.name, f"{archive.stat().st_size / 1e6:.2f} MB", _digest(archive)[:12], str(watch)]
        )
    except CommandFailedError as error:
        print_message(f"FAILED: the sdist: {error}")
        return 1
    for python in chosen:
        heading(f"CPython {python.release}")
        try:
            rows.append(make(python, source))
            print_message(f"ok: {rows[-1][0]}")
        except (PromiseError, CommandFailedError, subprocess.CalledProcessError) as error:
            wrong.append(f"FAILED: CPython {python.release}: {error}")
            print_message(wrong[-1])
    heading(f"{shown(_DIST)}")
    print_message(table(rows, right=(1, 3)))
    for line in wrong:
        print_message(line)
    return 1 if wrong else 0


def _builder(python: Interpreter) -> Environment:
    """Return the environment that builds wheels for a CPython, with all that a build needs."""
    native = [] if python.has("cmake", "ninja") else ["native"]
    environment = Environment(f"build-{python.tag}", python, "build", *native)
    environment.prepare()
    return environment


@cache
def _git(*words: str) -> str:
    """Return what git prints. Both builds of a wheel get the same, also if somebody commits meanwhile."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_of(folder: Path) -> set[str]:
    """Return the files of an environment, without what Python compiled."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    return {name for name in names if not name.endswith(".pyc")}


if __name__ == "__main__":
    sys.exit(main())
