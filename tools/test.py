"""All tests: `make test`.

Suites run side by side: the C tests, `pip install .` as a user does it, and the Python tests against the
wheel that is installed in an environment for each CPython. On each CPython run the tests whose outcome may
depend on its version. Those marked one_python run on the machine's newest alone. A suite that ends prints
its line, and its output if it failed; the table of all comes at the very end.

In CI (CI=true) a missing CPython 3.11 to 3.15 is a failure. FUNCGRAPHNIGHTLY=1, `make nightly`, runs
everything on each CPython, and all that takes long (tests/support/sizes.py).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import threading
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools import native, pythons
from tools.console import CommandFailedError, Stopwatch, heading, run, say, shown, table
from tools.layout import BUILD, LOGS, NIGHTLY, ROOT, VENVS
from tools.progress import Progress
from tools.pythons import Interpreter
from tools.venvs import test_environment

#: Lines of a failed suite's log that are printed; the log has all of them.
_SHOWN_LINES = 400
#: Dask and Ray, of one CPython: they bring so much along that other tests beside them take longer.
_CLUSTERS, _CLUSTERS_TAG = "tests/cluster", "3.12"


@dataclass(frozen=True)
class Outcome:
    """What running one suite came to. `problem` is why it could not be run to its end."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    problem: str = ""
    seconds: str = ""

    @property
    def good(self) -> bool:
        return not self.failed and not self.problem


@dataclass(frozen=True)
class Suite:
    """Tests that run one after the other, and the log that they write."""

    name: str
    log: Path
    tests: Callable[[Path], Outcome]

    def run(self, progress: Progress) -> Outcome:
        """Run it, and print how it ended."""
        watch = Stopwatch()
        self.log.unlink(missing_ok=True)
        with progress.part(self.name, self.log):
            try:
                outcome = self.tests(self.log)
            except CommandFailedError as error:
                outcome = Outcome(problem=f"could not be built: {error}")
        outcome = Outcome(outcome.passed, outcome.failed, outcome.skipped, outcome.problem, str(watch))
        self._print(outcome, progress)
        return outcome

    def _print(self, outcome: Outcome, progress: Progress) -> None:
        lines = []
        if not outcome.good and self.log.is_file():
            output = self.log.read_text(errors="replace").splitlines()
            lines = [f"\n== {self.name}: output", *output[-_SHOWN_LINES:]]
        if outcome.problem:
            lines.append(f"{self.name}: {outcome.problem}")
        verdict = "ok" if outcome.good else "FAILED"
        counts = f"{outcome.passed + outcome.failed} run, {outcome.failed} failed, {outcome.skipped} skipped"
        lines.append(f"{verdict}: {self.name}: {counts} ({outcome.seconds}; {shown(self.log)})")
        progress.say("\n".join(lines))


def c_tests(log: Path) -> Outcome:
    """Build and run the C tests."""
    del log  # native.py knows where it writes
    result = native.run_tests("plain")
    return Outcome(result.passed, result.failed, problem="" if result.passed else "passed no test")


def plain_install(python: Interpreter) -> Callable[[Path], Outcome]:
    """Install with `pip install .` and nothing prepared, as a user does, and record with that."""

    def tests(log: Path) -> Outcome:
        folder = BUILD / "plain-install"
        shutil.rmtree(folder, ignore_errors=True)
        trace = folder / "trace.dat"
        try:
            run([python.executable, "-m", "venv", folder], log=log)
            run([folder / "bin" / "pip", "install", ROOT], log=log)
            run([folder / "bin" / "funcgraph", "record", "-o", trace, "-m", "json.tool", "--help"], log=log)
            run([folder / "bin" / "funcgraph", "summary", "-i", trace], log=log)
        except CommandFailedError:
            return Outcome(failed=1)
        return Outcome(passed=1)

    return tests


#: Two suites of one CPython share its environment: the first makes it.
_making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def python_tests(python: Interpreter, *arguments: str) -> Callable[[Path], Outcome]:
    """Build the wheel for `python`, install it, and run pytest with it."""

    def tests(log: Path) -> Outcome:
        with _making[python.tag]:
            environment = test_environment(python)
        report = log.with_suffix(".xml")
        report.unlink(missing_ok=True)
        words = ["-m", "pytest", "--color=no", "-p", "no:cacheprovider", "--durations=10"]
        words += [f"--junitxml={report}", "-o", "junit_family=xunit1", *arguments]
        status = run(environment.command(*words), log=log, env={"PATH": environment.path}, check=False)
        counts = _counts(report)
        if counts is None:
            return Outcome(problem=f"pytest ended with status {status}")
        total, failed, skipped = counts
        problem = ""
        if total == 0:
            problem = "ran no test"
        elif status != 0 and not failed:
            problem = f"pytest ended with status {status}"
        return Outcome(total - failed - skipped, failed, skipped, problem)

    return tests


def _counts(report: Path) -> tuple[int, int, int] | None:
    """Return (all, failed, skipped) from a JUnit file, None if there is none."""
    try:
        suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    except (OSError, ElementTree.ParseError):
        return None

    def count(*names: str) -> int:
        return sum(int(suite.get(name, "0")) for suite in suites for name in names)

    return count("tests"), count("failures", "errors"), count("skipped")


def suites_of(chosen: Sequence[Interpreter]) -> list[Suite]:
    """Return all suites, those that take long first: so that at the end no processor waits for one."""
    newest = next((python for python in reversed(chosen) if not python.inside), None)
    suites = []
    if newest is not None and not NIGHTLY:
        log = LOGS / f"pytest-{newest.tag}-alone.log"
        suites.append(Suite("one Python", log, python_tests(newest, "-m", "one_python", "tests")))
    each = () if NIGHTLY else ("-m", "not one_python")
    for python in reversed(chosen):
        log = LOGS / f"pytest-{python.tag}.log"
        words = (*each, f"--ignore={_CLUSTERS}", "tests")
        suites.append(Suite(f"Python {python.release}", log, python_tests(python, *words)))
    if newest is not None:
        suites.append(Suite("pip install .", LOGS / "plain-install.log", plain_install(newest)))
    for python in chosen:
        if python.tag == _CLUSTERS_TAG:
            log = LOGS / "pytest-clusters.log"
            suites.append(Suite(f"clusters on {python.release}", log, python_tests(python, _CLUSTERS)))
    suites.append(Suite("C", LOGS / "c-plain.log", c_tests))
    return suites


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.test", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--python",
        action="append",
        metavar="TAG",
        help="only all Python tests on this one (3.13); may be repeated",
    )
    jobs = os.cpu_count() or 1
    parser.add_argument(
        "--jobs", type=int, default=jobs, help="how many suites at a time (default: %(default)s)"
    )
    parser.add_argument(
        "arguments", nargs="*", metavar="PYTEST-ARGUMENT", help="after --: in place of `tests`"
    )
    options = parser.parse_args(argv)

    found = pythons.find()
    chosen = [python for tag, python in found.items() if python.usable and tag in (options.python or found)]
    heading("CPythons")
    pythons.main(found)
    say(f"environments in {shown(VENVS)}, everything else that is built in {shown(BUILD)}\n")

    if options.python or options.arguments:
        words = options.arguments or ["tests"]
        suites = [
            Suite(f"Python {python.release}", LOGS / f"pytest-{python.tag}.log", python_tests(python, *words))
            for python in chosen
        ]
    else:
        suites = suites_of(chosen)
    progress = Progress(len(suites))
    with progress.shown(), ThreadPoolExecutor(max(1, options.jobs)) as pool:
        outcomes = list(pool.map(lambda suite: suite.run(progress), suites))

    missing = options.python or pythons.missing(found)
    lacking = [tag for tag in missing if tag not in {python.tag for python in chosen}]
    in_ci = os.environ.get("CI") == "true"
    fatal = [tag for tag in lacking if options.python or (in_ci and tag in pythons.SUPPORTED)]

    heading("Summary")
    rows = [["suite", "passed", "failed", "skipped", "time", "result"]]
    for suite, outcome in zip(suites, outcomes, strict=True):
        numbers = [str(outcome.passed), str(outcome.failed), str(outcome.skipped), outcome.seconds]
        rows.append([suite.name, *numbers, "ok" if outcome.good else "FAILED"])
    say(table(rows, right=(1, 2, 3, 4)))
    if lacking:
        say(f"not found, so not run: {', '.join(lacking)}")
    if fatal:
        say(f"FAILED: CPython {', '.join(fatal)} must be here")
    bad = [suite.name for suite, outcome in zip(suites, outcomes, strict=True) if not outcome.good]
    if bad:
        say(f"FAILED: {', '.join(bad)}")
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    skipped = sum(outcome.skipped for outcome in outcomes)
    failed += sum(1 for outcome in outcomes if outcome.problem) + len(fatal)
    say(f"total: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
