"""All tests: `make test`.

Suites run side by side: the C tests, `pip install .` as a user does it, and the Python tests against the
wheel that is installed in an environment for each CPython. On each CPython run the tests whose outcome may
depend on its version. Those marked one_python run on the machine's newest alone, in four suites. A suite
that ends prints its line, and its output if it failed. At the very end come the table of all, and each
failed test with the command that runs it again.

Each CPython's tests run on another memory layout (tools/stack_layouts.py); --layout chooses one for all.

In CI (CI=true) a missing CPython 3.11 to 3.15 is a failure. FUNCGRAPH_NIGHTLY=1, `make nightly`, runs
everything on each CPython, and all that takes long (tests/support/sizes.py).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tools import native, pythons
from tools.console import CommandFailedError, heading, print_message, run, shown, table
from tools.junit import read_report
from tools.layout import BUILD, LOGS, NIGHTLY, ROOT, VENVS
from tools.progress import Progress
from tools.pythons import Interpreter
from tools.stack_layouts import LAYOUTS, Layout, layout_for
from tools.suite import Outcome, Suite, print_failures
from tools.venvs import test_environment

#: Dask and Ray, of one CPython: they bring so much along that other tests beside them take longer.
_CLUSTERS, _CLUSTERS_TAG = "tests/cluster", "3.12"

#: The tests of one Python are several suites, which run side by side: folders of tests, and about how long
#: they take. What looks at all functions of its process is slow where there are many: the first suites have
#: such tests, and few others. The last suite has all other folders.
_PARTS = {
    "its instances": (("instance", "tracefs"), 60.0),
    "its events": (("binding", "control", "events", "settings", "steering"), 90.0),
    "its sessions": (("attach", "mount", "security", "session"), 240.0),
    "the rest": ((), 280.0),
}

#: About how many seconds the other suites take, beside each other on two quiet processors.
_EACH_PYTHON_S, _BROWSER_S, _INSTALL_S, _CLUSTERS_S, _C_S = 300.0, 120.0, 60.0, 80.0, 40.0
#: The CPython whose tests drive a browser.
_BROWSER_TAG = "3.13"

#: How pytest names a test that it ran a second time (pytest-rerunfailures, -rR).
_REPEAT = re.compile(r"^RERUN (\S+)$", re.MULTILINE)


def c_tests(log: Path) -> Outcome:
    """Build and run the C tests."""
    del log  # native.py knows where it writes
    result = native.run_tests("plain")
    return Outcome(
        result.passed,
        result.failed,
        problem="" if result.passed else "passed no test",
        failures=result.failures,
        again=("python3", "-m", "tools.native", "plain", "--only"),
    )


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


def python_tests(python: Interpreter, layout: Layout, *arguments: str) -> Callable[[Path], Outcome]:
    """Build the wheel for `python`, install it, and run pytest with it."""

    def tests(log: Path) -> Outcome:
        with _making[python.tag]:
            environment = test_environment(python)
        report = log.with_suffix(".xml")
        report.unlink(missing_ok=True)
        words = ["-m", "pytest", "--color=no", "-p", "no:cacheprovider", "--durations=10"]
        words += [f"--junitxml={report}", "-o", "junit_family=xunit1", *arguments]
        command = [*layout.prefix, *environment.command(*words)]
        variables = {"PATH": environment.path, **layout.environment}
        status = run(command, log=log, env=variables, check=False)
        return _outcome(python, layout, status, log)

    return tests


def _outcome(python: Interpreter, layout: Layout, status: int, log: Path) -> Outcome:
    """Return what pytest's report and output say."""
    report = read_report(log.with_suffix(".xml"))
    if report is None:
        return Outcome(problem=f"pytest ended with status {status}")
    problem = ""
    if report.total == 0:
        problem = "ran no test"
    elif status != 0 and not report.failed:
        problem = f"pytest ended with status {status}"
    return Outcome(
        report.total - report.failed - report.skipped,
        report.failed,
        report.skipped,
        problem,
        failures=report.failures,
        repeats=tuple(dict.fromkeys(_REPEAT.findall(log.read_text(errors="replace")))),
        again=("python3", "-m", "tools.test", "--python", python.tag, "--layout", layout.name, "--"),
    )


def _one_python_suites(python: Interpreter, layout: Layout) -> list[Suite]:
    """Return the suites of the tests that run on one CPython."""
    suites = []
    elsewhere = [f"tests/{folder}" for folders, _ in _PARTS.values() for folder in folders]
    for number, (name, (folders, usual_s)) in enumerate(_PARTS.items(), 1):
        log = LOGS / f"pytest-{python.tag}-alone-{number}.log"
        words = [f"tests/{folder}" for folder in folders]
        words = words or [*(f"--ignore={folder}" for folder in elsewhere), "tests"]
        tests = python_tests(python, layout, "-m", "one_python", *words)
        suites.append(Suite(f"one Python: {name}", log, tests, usual_s))
    return suites


def suites_of(chosen: Sequence[Interpreter], layout: Layout | None = None) -> list[Suite]:
    """Return all suites, those that take long first: so that at the end no processor waits for one."""
    newest = next((python for python in reversed(chosen) if not python.inside), None)
    suites = []
    if newest is not None and not NIGHTLY:
        suites += _one_python_suites(newest, layout or LAYOUTS[0])
    each = () if NIGHTLY else ("-m", "not one_python")
    words = (*each, f"--ignore={_CLUSTERS}", "tests")
    suites += [_python_suite(python, layout, *words) for python in reversed(chosen)]
    if newest is not None:
        tests = plain_install(newest)
        suites.append(Suite("pip install .", LOGS / "plain-install.log", tests, _INSTALL_S))
    for python in chosen:
        if python.tag == _CLUSTERS_TAG:
            log = LOGS / "pytest-clusters.log"
            tests = python_tests(python, layout or LAYOUTS[0], _CLUSTERS)
            suites.append(Suite(f"clusters on {python.release}", log, tests, _CLUSTERS_S))
    suites.append(Suite("C", LOGS / "c-plain.log", c_tests, _C_S))
    return sorted(suites, key=lambda suite: -suite.usual_s)


def _python_suite(python: Interpreter, layout: Layout | None, *words: str) -> Suite:
    layout = layout or layout_for(python.version)
    name = f"Python {python.release}"
    if layout is not LAYOUTS[0]:
        name += f", {layout.name}"
    log = LOGS / f"pytest-{python.tag}.log"
    usual_s = _EACH_PYTHON_S + (_BROWSER_S if python.tag == _BROWSER_TAG else 0.0)
    return Suite(name, log, python_tests(python, layout, *words), usual_s)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.test", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--python",
        action="append",
        metavar="TAG",
        help="only all Python tests on this one (3.13; '': the newest); may be repeated",
    )
    names = [layout.name for layout in LAYOUTS]
    parser.add_argument("--layout", choices=names, help="run all Python tests on this memory layout")
    # Tests wait nearly half of their time, for processes and time limits.
    jobs = 2 * (os.cpu_count() or 1)
    parser.add_argument(
        "--jobs", type=int, default=jobs, help="how many suites at a time (default: %(default)s)"
    )
    parser.add_argument(
        "arguments", nargs="*", metavar="PYTEST-ARGUMENT", help="after --: in place of `tests`"
    )
    options = parser.parse_args(argv)

    found = pythons.find()
    if options.python:
        options.python = [tag or pythons.choose("").tag for tag in options.python]
    chosen = [python for tag, python in found.items() if python.usable and tag in (options.python or found)]
    heading("CPythons")
    pythons.main(found)
    print_message(f"environments in {shown(VENVS)}, everything else that is built in {shown(BUILD)}\n")

    layout = next((layout for layout in LAYOUTS if layout.name == options.layout), None)
    if layout is not None and not layout.can_run():
        parser.error(f"--layout {layout.name}: this machine does not let {layout.prefix[0]} set it")
    if options.python or options.arguments:
        words = options.arguments or ["tests"]
        suites = [_python_suite(python, layout, *words) for python in chosen]
    else:
        suites = suites_of(chosen, layout)
    if not options.arguments:
        with suppress(CommandFailedError):  # the C suite tells
            native.built()  # Python tests link with it, and each has a time limit
    progress = Progress(sum(suite.usual_s for suite in suites), len(suites))
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
    print_message(table(rows, right=(1, 2, 3, 4)))
    if lacking:
        print_message(f"not found, so not run: {', '.join(lacking)}")
    if fatal:
        print_message(f"FAILED: CPython {', '.join(fatal)} must be here")
    for suite, outcome in zip(suites, outcomes, strict=True):
        print_failures(suite, outcome)
    passed = sum(outcome.passed for outcome in outcomes)
    failed = sum(outcome.failed for outcome in outcomes)
    skipped = sum(outcome.skipped for outcome in outcomes)
    failed += sum(1 for outcome in outcomes if outcome.problem) + len(fatal)
    print_message(f"total: {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
