"""The C code without Python: builds it and runs its tests, plain or under a sanitizer."""

from __future__ import annotations

import argparse
import functools
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.console import CommandFailedError, Stopwatch, heading, print_message, run, shown
from tools.junit import read_report
from tools.layout import BUILD, LOGS, NIGHTLY, ROOT
from tools.pythons import choose
from tools.venvs import Environment, locked

_CMAKE_NEEDED = (3, 21)

#: Name of a build, its sanitizers, and their options at run time.
SANITIZERS = {
    "plain": ("", {}),
    "asan": (
        "address,undefined",
        {
            "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        },
    ),
    "tsan": ("thread", {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}),
}
#: Tests that take long and never have a second thread: ThreadSanitizer runs them at night only.
_ONE_THREAD = (
    r"_damage$|^engine\.test_(hot_path|patterns|slot_reuse)$|^native\.test_plan$"
    r"|^tracedata\.test_(call_tree|dump|held|lanes|rotation|rows|slices)$"
)
#: Its handler of signals runs after each instruction, in the middle of ThreadSanitizer's own functions, too.
#: It hung there once, most likely for one of their locks. The other builds run it, and it has one thread:
#: there is no race to find.
_NOT_BELOW_THREAD_SANITIZER = r"^native\.test_signals$"


@dataclass(frozen=True)
class NativeTools:
    """cmake, ctest and the folder that has ninja."""

    cmake: Path
    ctest: Path
    environment: dict[str, str]


@dataclass(frozen=True)
class Result:
    """What a run of the C tests came to."""

    passed: int
    failed: int
    log: Path
    failures: tuple[str, ...] = ()


def native_tools() -> NativeTools:
    """Return the machine's cmake and ninja if they are new enough, else those of PyPI in .venvs/native."""
    cmake, ctest, ninja = (shutil.which(name) for name in ("cmake", "ctest", "ninja"))
    if cmake and ctest and ninja:
        output = subprocess.run([cmake, "--version"], capture_output=True, text=True).stdout
        version = re.search(r"(\d+)\.(\d+)", output)
        if version and (int(version[1]), int(version[2])) >= _CMAKE_NEEDED:
            return NativeTools(Path(cmake), Path(ctest), {})
    environment = Environment("native", choose(""), "native")
    environment.prepare()
    path = f"{environment.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return NativeTools(environment.script("cmake"), environment.script("ctest"), {"PATH": path})


def configure(folder: Path, log: Path | None, *definitions: str) -> NativeTools:
    """Run cmake for a build in `folder` with `-D` definitions; return the tools it was done with."""
    tools = native_tools()
    defined = [f"-D{definition}" for definition in definitions]
    run([tools.cmake, "-S", ROOT, "-B", folder, "-G", "Ninja", *defined], log=log, env=tools.environment)
    return tools


def build(folder: Path, log: Path | None, *definitions: str, target: str = "all") -> NativeTools:
    """Configure and compile in `folder`."""
    tools = configure(folder, log, *definitions)
    run([tools.cmake, "--build", folder, "--target", target], log=log, env=tools.environment)
    return tools


def build_tests(name: str) -> NativeTools:
    """Build the variant `name` of SANITIZERS with its tests; what is said goes to a log."""
    log = LOGS / f"c-{name}.log"
    log.unlink(missing_ok=True)
    folder = folder_of(name)
    with locked(folder.name):
        return build(folder, log, *_settings(name))


def folder_of(name: str) -> Path:
    """Return where the variant `name` of SANITIZERS is built: build/c-NAME, in sid build/c-NAME-sid."""
    return BUILD / f"c-{name}{'-sid' if os.environ.get('FG_IN_SID') else ''}"


def _settings(name: str) -> tuple[str, ...]:
    sanitize, _ = SANITIZERS[name]
    # A sanitizer's own code makes gcc warn of what is not there (-Wmaybe-uninitialized).
    werror = "OFF" if sanitize else "ON"
    # Without LTO, which would compile the engine again for each test program. Wheels have it.
    return ("FG_ENGINE_ONLY=ON", "FG_LTO=OFF", f"FG_SANITIZE={sanitize}", f"FG_WERROR={werror}")


@functools.cache
def built(target: str = "all") -> Path:
    """Return the folder of the plain variant, with the newest `target` in it.

    Python tests link with its libraries and read its objects. The C tests use the same build, so the engine
    is compiled once for both.
    """
    folder, log = folder_of("plain"), LOGS / "c-libraries.log"
    with locked(folder.name):
        if not (folder / "build.ninja").is_file():
            configure(folder, log, *_settings("plain"))
        tools = native_tools()
        run([tools.cmake, "--build", folder, "--target", target], log=log, env=tools.environment)
    return folder


def run_tests(name: str, only: str = "") -> Result:
    """Build the variant `name` of SANITIZERS and run its tests, or only the one named; it goes to a log."""
    sanitize, settings = SANITIZERS[name]
    folder = folder_of(name)
    log = LOGS / f"c-{name}.log"
    tools = build_tests(name)
    report = folder / "ctest.xml"
    report.unlink(missing_ok=True)
    command: list[str | Path] = [tools.ctest, "--test-dir", folder, "--output-on-failure"]
    command += ["--no-tests=error", "--output-junit", report, "--parallel", str(os.cpu_count() or 1)]
    if sanitize == "thread":
        excluded = _NOT_BELOW_THREAD_SANITIZER if NIGHTLY else f"{_NOT_BELOW_THREAD_SANITIZER}|{_ONE_THREAD}"
        command += ["--exclude-regex", excluded]
    if only:
        command += ["--tests-regex", f"^{re.escape(only)}$"]
    setarch = shutil.which("setarch")
    if sanitize == "thread" and setarch:
        # The runtimes of older compilers stop at the memory layout of newer kernels (high-entropy ASLR).
        command = [setarch, platform.machine(), "-R", *command]
    status = run(command, log=log, env={**tools.environment, **settings}, check=False)
    outcome = read_report(report)
    if outcome is None:
        raise CommandFailedError([str(word) for word in command], status, log)
    failed = max(outcome.failed, 1 if status else 0)
    return Result(outcome.total - outcome.failed, failed, log, outcome.failures)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.native", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("variant", choices=sorted(SANITIZERS))
    parser.add_argument("--only", metavar="TEST", default="", help="one test (engine.test_ring)")
    options = parser.parse_args(argv)
    variant: str = options.variant
    heading(f"C tests, {variant}")
    watch = Stopwatch()
    try:
        result = run_tests(variant, options.only)
    except (CommandFailedError, LookupError) as error:
        log = getattr(error, "log", None)
        if log is not None:
            print_message(log.read_text(errors="replace"))
        print_message(f"{variant}: {error}")
        return 1
    print_message(result.log.read_text(errors="replace"))
    print_message(f"{variant}: {result.passed} passed, {result.failed} failed ({watch}; {shown(result.log)})")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
