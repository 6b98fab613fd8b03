"""Style and mistakes: `make lint`; `make format` changes the files instead of complaining.

ruff over the Python, clang-format and clang-tidy over the C, and a build of everything by each of gcc and
clang that is here with warnings as errors. The formatters are pinned in pyproject.toml: another release of
them formats differently. clang-tidy and the compilers are the machine's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools import native
from tools.console import CommandFailedError, Stopwatch, heading, run, say
from tools.layout import BUILD, LOGS, ROOT, files
from tools.pythons import choose
from tools.venvs import Environment

_PYTHON = ("src", "tests", "tools", "benchmarks", "examples")
_C = ("src", "tests", "benchmarks", "examples")


def _c_files(*suffixes: str) -> list[Path]:
    return files(*_C, suffixes=suffixes)


def ruff(environment: Environment, fix: bool) -> int:
    program = environment.script("ruff")
    check = run([program, "check", "--no-cache", *(["--fix"] if fix else []), *_PYTHON], check=False)
    layout = run(
        [program, "format", "--no-cache", *([] if fix else ["--check", "--diff"]), *_PYTHON], check=False
    )
    return check or layout


def clang_format(environment: Environment, fix: bool) -> int:
    how = ["-i"] if fix else ["--dry-run", "-Werror"]
    return run([environment.script("clang-format"), *how, *_c_files(".c", ".h")], check=False)


def warnings(environment: Environment, fix: bool) -> int:
    """Compile everything with each compiler, warnings as errors. The last one's build serves clang-tidy."""
    del fix
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    if len(compilers) < 2:
        say(f"only {' '.join(compilers) or 'neither gcc nor clang'} is here")
        if os.environ.get("CI") == "true":
            return 1
    for compiler in compilers:
        log = LOGS / f"lint-{compiler}.log"
        log.unlink(missing_ok=True)
        for python in (f"Python_EXECUTABLE={environment.python}", "FG_ENGINE_ONLY=ON"):
            folder = BUILD / f"lint-{compiler}{'-tests' if python.startswith('FG') else ''}"
            try:
                native.build(
                    folder, log, f"CMAKE_C_COMPILER={compiler}", "FG_WERROR=ON", "FG_LTO=OFF", python
                )
            except CommandFailedError as error:
                say(log.read_text(errors="replace"))
                say(str(error))
                return 1
        say(f"{compiler}: no warning")
    return 0


def clang_tidy(environment: Environment, fix: bool) -> int:
    del environment, fix
    program = shutil.which("clang-tidy")
    if program is None:
        say("clang-tidy is not here (Debian package clang-tidy)")
        return 1
    known: dict[str, Path] = {}
    for folder in ("lint-clang", "lint-clang-tests", "lint-gcc", "lint-gcc-tests"):
        database = BUILD / folder / "compile_commands.json"
        if database.is_file():
            for entry in json.loads(database.read_text()):
                known.setdefault(entry["file"], database.parent)

    def check(file: str) -> int:
        log = LOGS / "clang-tidy" / f"{Path(file).relative_to(ROOT)}.log".replace("/", "-")
        log.unlink(missing_ok=True)
        status = run([program, "--quiet", "-p", known[file], file], log=log, check=False)
        if status:
            say(log.read_text(errors="replace"))
        return status

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        bad = sum(1 for status in pool.map(check, sorted(known)) if status)
    say(f"clang-tidy: {len(known)} files, {bad} with complaints")
    return 1 if bad or not known else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.lint", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--fix", action="store_true", help="change the files")
    fix: bool = parser.parse_args(argv).fix
    steps: list[Callable[[Environment, bool], int]] = [ruff, clang_format]
    if not fix:
        steps += [warnings, clang_tidy]
    failed = []
    try:
        environment = Environment("lint", choose(""), "lint")
        environment.prepare()
        for step in steps:
            heading(step.__name__.replace("_", "-"))
            watch = Stopwatch()
            if step(environment, fix):
                failed.append(step.__name__.replace("_", "-"))
            say(f"({watch})")
    except (CommandFailedError, LookupError) as error:
        say(f"lint: {error}")
        return 1
    say(f"\nlint: {'FAILED: ' + ', '.join(failed) if failed else 'clean'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
