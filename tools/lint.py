"""Style and mistakes: `make lint`; `make format` changes the files instead of complaining.

ruff checks the Python, clang-format and clang-tidy the C, actionlint the workflows of .github. gcc compiles
everything, warnings are errors. clang's own warnings come from clang-tidy. No line is over 110 columns.
Messages of new commits say why (tools/commits.py). The formatters are pinned in pyproject.toml: another
release of them formats differently. clang-tidy and the compilers are the machine's.
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

from tools import commits, native
from tools.console import CommandFailedError, Stopwatch, heading, print_message, run, shown
from tools.layout import BUILD, LOGS, NIGHTLY, ROOT, files
from tools.pythons import choose
from tools.venvs import Environment, test_environment

_PYTHON = ("src", "tests", "tools", "benchmarks", "examples")
_C = ("src", "tests", "benchmarks", "examples")
_TEXTS = (".c", ".h", ".py", ".pyi", ".sh", ".md")
_COLUMNS = 110
#: Builds by clang that are only described: clang-tidy reads there how each file is compiled.
_DATABASES = BUILD / "lint-clang"
#: What such a build generates.
_GENERATED = "tracer_slowest.c"


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


def actionlint(environment: Environment, fix: bool) -> int:
    """Check the workflows of .github, which nothing here can run."""
    del fix
    program = environment.script("actionlint")
    if not program.exists():
        print_message("no wheel of actionlint for this machine: not checked")
        return 0
    workflows = sorted((ROOT / ".github" / "workflows").iterdir())
    # Without what it would call if the machine had it: each machine finds the same.
    return run([program, "-shellcheck=", "-pyflakes=", *workflows], check=False)


def long_lines(text: str, is_markdown: bool = False) -> list[int]:
    """Return the numbers of the lines that are too long. Of Markdown only fenced Python and C counts."""
    found = []
    is_code = not is_markdown
    for number, line in enumerate(text.splitlines(), 1):
        if is_markdown and line.lstrip().startswith("```"):
            is_code = line.strip() in ("```python", "```c")
        elif is_code and len(line) > _COLUMNS:
            found.append(number)
    return found


def line_length(environment: Environment, fix: bool) -> int:
    """Name each line of code that is too long, comments and examples in documents included."""
    del environment, fix
    documents = ("docs", "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")
    bad = 0
    for file in files(*_C, "tools", *documents, suffixes=_TEXTS):
        if file == ROOT / "docs" / "reference" / "api.md":  # written by tools.api_reference
            continue
        for number in long_lines(file.read_text(), file.suffix == ".md"):
            print_message(f"{shown(file)}:{number}: longer than {_COLUMNS} columns")
            bad += 1
    return 1 if bad else 0


def commit_messages(environment: Environment, fix: bool) -> int:
    """Name each new commit whose message is not as CONTRIBUTING.md says."""
    del environment, fix
    bad = 0
    for commit in commits.new_commits(ROOT):
        for fault in commits.faults(commit.message):
            print_message(f"{commit.hash} {commit.message.partition(chr(10))[0]!r}: {fault}")
            bad += 1
    return 1 if bad else 0


def warnings(environment: Environment, fix: bool) -> int:
    """Compile everything with gcc, warnings as errors: the builds that the tests run with."""
    del fix
    if not shutil.which("gcc"):
        print_message("gcc must be here")
        return 1
    os.environ["FG_WERROR"] = "1"
    try:
        native.build_tests("plain")
        test_environment(environment.interpreter)
    except CommandFailedError as error:
        _print_failure(error)
        return 1
    print_message("gcc: no warning")
    return 0


def _print_failure(error: CommandFailedError) -> None:
    if error.log is not None:
        print_message(error.log.read_text(errors="replace"))
    print_message(str(error))


#: The analyzer follows the paths of one function after the other. At night it also follows them into callees,
#: which takes twenty times as long.
_SHALLOW = tuple(f"--extra-arg={word}" for word in ("-Xclang", "-analyzer-config", "-Xclang", "mode=shallow"))


def _how_to_compile(python: Path) -> dict[str, Path]:
    """Return each C file, and the folder of a build by clang that has it."""
    log = LOGS / "lint-clang.log"
    log.unlink(missing_ok=True)
    clang = ("CMAKE_C_COMPILER=clang", "CMAKE_BUILD_TYPE=Debug", "FG_LTO=OFF")
    native.configure(_DATABASES / "python", log, *clang, f"Python_EXECUTABLE={python}")
    native.build(_DATABASES / "tests", log, *clang, "FG_ENGINE_ONLY=ON", target=_GENERATED)
    known: dict[str, Path] = {}
    for database in sorted(_DATABASES.glob("*/compile_commands.json")):
        for entry in json.loads(database.read_text()):
            if not entry["file"].endswith(".S"):  # assembled as C: see CMakeLists.txt
                known.setdefault(entry["file"], database.parent)
    return known


def clang_tidy(environment: Environment, fix: bool) -> int:
    """Check each C file once, with clang's own warnings. Files that take long go first."""
    del fix
    program = shutil.which("clang-tidy")
    if program is None or not shutil.which("clang"):
        print_message("clang-tidy and clang must be here (Debian packages of these names)")
        return 1
    try:
        known = _how_to_compile(environment.interpreter.executable)
    except CommandFailedError as error:
        _print_failure(error)
        return 1
    depth = () if NIGHTLY else _SHALLOW

    def check(file: str) -> int:
        log = LOGS / "clang-tidy" / f"{Path(file).relative_to(ROOT)}.log".replace("/", "-")
        log.unlink(missing_ok=True)
        status = run([program, "--quiet", *depth, "-p", known[file], file], log=log, check=False)
        if status:
            print_message(log.read_text(errors="replace"))
        return status

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        largest_first = sorted(known, key=lambda file: -Path(file).stat().st_size)
        bad = sum(1 for status in pool.map(check, largest_first) if status)
    print_message(f"clang-tidy: {len(known)} files, {bad} with complaints")
    return 1 if bad or not known else 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.lint", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--fix", action="store_true", help="change the files")
    fix: bool = parser.parse_args(argv).fix
    steps: list[Callable[[Environment, bool], int]] = [ruff, clang_format]
    if not fix:
        steps += [actionlint, line_length, commit_messages, warnings, clang_tidy]
    failed = []
    try:
        environment = Environment("lint", choose(""), "lint")
        environment.prepare()
        for step in steps:
            heading(step.__name__.replace("_", "-"))
            watch = Stopwatch()
            if step(environment, fix):
                failed.append(step.__name__.replace("_", "-"))
            print_message(f"({watch})")
    except (CommandFailedError, LookupError) as error:
        print_message(f"lint: {error}")
        return 1
    print_message(f"\nlint: {'FAILED: ' + ', '.join(failed) if failed else 'clean'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
