"""All tests: `make test`.

The C tests first, then `pip install .` as a user does it, then the Python tests on every CPython that is
here, each against the wheel installed in its own environment. Each suite's output is printed whole when it
ends, the table of all at the very end. In CI (CI=true) a missing CPython 3.11, 3.12 or 3.13 is a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools import native, pythons
from tools.console import CommandFailedError, Stopwatch, heading, run, say, shown, table
from tools.layout import BUILD, LOGS, ROOT, VENVS
from tools.pythons import Interpreter
from tools.venvs import test_environment


@dataclass(frozen=True)
class Suite:
    """What running one suite came to. `problem` is why it could not be run to its end."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: str = ""
    log: Path | None = None
    problem: str = ""

    @property
    def good(self) -> bool:
        return not self.failed and not self.problem


def c_suite() -> Suite:
    """Build and run the C tests."""
    name = "C engine and trace files"
    watch = Stopwatch()
    try:
        result = native.run_tests("plain")
    except CommandFailedError as error:
        return Suite(name, seconds=str(watch), log=error.log, problem="did not build or run")
    problem = "" if result.passed + result.failed else "ran no test"
    return Suite(name, result.passed, result.failed, seconds=str(watch), log=result.log, problem=problem)


def python_suite(python: Interpreter, arguments: Sequence[str]) -> Suite:
    """Build the wheel for `python`, install it, and run the Python tests with it."""
    name = f"Python {python.tag} ({python.release})"
    watch = Stopwatch()
    try:
        environment = test_environment(python)
    except CommandFailedError as error:
        return Suite(name, seconds=str(watch), log=error.log, problem="could not be built")
    log = LOGS / f"pytest-{python.tag}.log"
    log.unlink(missing_ok=True)
    report = BUILD / f"pytest-{python.tag}.xml"
    report.unlink(missing_ok=True)
    status = run(
        [
            environment.python, "-m", "pytest", "--color=no", "-p", "no:cacheprovider",
            f"--junitxml={report}", "-o", "junit_family=xunit1", *(arguments or ["tests"]),
        ],
        log=log,
        env={"PATH": f"{environment.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"},
        check=False,
    )  # fmt: skip
    counts = _counts(report)
    if counts is None:
        return Suite(name, seconds=str(watch), log=log, problem=f"pytest ended with status {status}")
    total, failed, skipped = counts
    problem = ""
    if total == 0:
        problem = "ran no test"
    elif status != 0 and not failed:
        problem = f"pytest ended with status {status}"
    return Suite(name, total - failed - skipped, failed, skipped, str(watch), log, problem)


def plain_install(python: Interpreter) -> Suite:
    """Install with `pip install .` and nothing prepared, as a user does, and record with that."""
    name = "pip install . alone"
    watch = Stopwatch()
    folder = BUILD / "plain-install"
    log = LOGS / "plain-install.log"
    log.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    trace = folder / "trace.dat"
    try:
        run([python.executable, "-m", "venv", folder], log=log)
        run([folder / "bin" / "pip", "install", ROOT], log=log)
        run([folder / "bin" / "funcgraph", "record", "-o", trace, "-m", "json.tool", "--help"], log=log)
        run([folder / "bin" / "funcgraph", "summary", "-i", trace], log=log)
    except CommandFailedError:
        return Suite(name, failed=1, seconds=str(watch), log=log)
    return Suite(name, passed=1, seconds=str(watch), log=log)


def _counts(report: Path) -> tuple[int, int, int] | None:
    """Return (all, failed, skipped) from a JUnit file, None if there is none."""
    try:
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    except (OSError, ElementTree.ParseError):
        return None

    def count(*names: str) -> int:
        return sum(int(suite.get(name, "0")) for suite in suites for name in names)

    return count("tests"), count("failures", "errors"), count("skipped")


def _print(suite: Suite) -> Suite:
    heading(suite.name)
    if suite.log is not None and suite.log.is_file():
        lines = suite.log.read_text(errors="replace").splitlines()
        # What a build says matters when it failed; what a test run says matters always.
        say("\n".join(lines[-400:]))
    if suite.problem:
        say(f"{suite.name}: {suite.problem}")
    return suite


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.test", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--python", action="append", metavar="TAG", help="only this one (3.13); may be repeated"
    )
    parser.add_argument(
        "--jobs", type=int, default=2, help="how many Pythons at a time (default: %(default)s)"
    )
    parser.add_argument(
        "arguments", nargs="*", metavar="PYTEST-ARGUMENT", help="after --: in place of `tests`"
    )
    options = parser.parse_args(argv)

    found = pythons.find()
    chosen = [python for tag, python in found.items() if python.usable and tag in (options.python or found)]
    heading("CPythons")
    pythons.main()
    say(f"environments in {shown(VENVS)}, everything else that is built in {shown(BUILD)}")

    suites: list[Suite] = []
    if not options.python:
        suites.append(_print(c_suite()))
        if chosen:
            suites.append(_print(plain_install(chosen[-1])))
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        running: list[Future[Suite]] = [
            pool.submit(python_suite, python, options.arguments) for python in chosen
        ]
        suites.extend(_print(future.result()) for future in running)

    missing = options.python or pythons.missing(found)
    lacking = [tag for tag in missing if tag not in {python.tag for python in chosen}]
    fatal = [
        tag
        for tag in lacking
        if options.python or (os.environ.get("CI") == "true" and tag in pythons.REQUIRED)
    ]

    heading("Summary")
    rows = [["suite", "passed", "failed", "skipped", "time", "result"]]
    for suite in suites:
        numbers = [str(suite.passed), str(suite.failed), str(suite.skipped), suite.seconds]
        rows.append([suite.name, *numbers, suite.problem or ("ok" if suite.good else "FAILED")])
    say(table(rows, right=(1, 2, 3, 4)))
    if lacking:
        say(f"not found, so not run: {', '.join(lacking)}")
    if fatal:
        say(f"FAILED: CPython {', '.join(fatal)} must be here")
    bad = [suite.name for suite in suites if not suite.good]
    if bad:
        say(f"FAILED: {', '.join(bad)}")
    passed = sum(suite.passed for suite in suites)
    failed = sum(suite.failed for suite in suites)
    skipped = sum(suite.skipped for suite in suites)
    failed += sum(1 for suite in suites if suite.problem) + len(fatal)
    say(f"total: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
