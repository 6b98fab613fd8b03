"""`make kselftest`: the kernel's own selftests of ftrace, on a mount of a prepared program.

A line for each test says what came of it; those whose result is not the one of the table (results.tsv) come
at the end. The exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.console import CommandFailedError, Stopwatch, print_message
from tools.kselftest import mapping, sources, suite, table
from tools.layout import ROOT
from tools.pythons import choose
from tools.venvs import Environment, test_environment

#: The package's folder. `make clean` leaves it.
CACHE = Path(os.environ.get("FG_CACHE") or ROOT / ".cache").resolve() / "kselftest"


def lacks() -> str:
    """Return what this machine lacks, or an empty string."""
    if os.geteuid() != 0:
        return "root"
    if not Path("/dev/fuse").exists():
        return "/dev/fuse"
    return sources.lacks()


def run(environment: Environment, names: Sequence[str]) -> dict[str, str]:
    """Run the tests whose paths contain one of the names, all if there are none; return their results."""
    work = Path(tempfile.mkdtemp(prefix="fg-kselftest-"))
    found: dict[str, str] = {}
    try:
        mapping.write(sources.fetch(CACHE), work / "tests")
        paths = [
            path for path in suite.paths(work / "tests") if not names or any(name in path for name in names)
        ]
        runner = suite.Runner(work / "tests", environment.python, work)
        try:
            for path in paths:
                for test, result in runner.run(path):
                    found[str(test)] = result
                    print_message(f"{result:12} {test}")
        finally:
            runner.end()
    finally:
        keep_logs(work)
        shutil.rmtree(work, ignore_errors=True)
    return found


def keep_logs(work: Path) -> None:
    """Keep what each test printed, in place of the last run's."""
    shutil.rmtree(CACHE / "logs", ignore_errors=True)
    if (work / "logs").is_dir():
        shutil.move(work / "logs", CACHE / "logs")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.kselftest", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", default="", metavar="TAG", help="the newest here if not given")
    parser.add_argument("--write", action="store_true", help="write docs/internals/kselftest.md")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a part of the paths of tests; all if not given"
    )
    options = parser.parse_args(argv)
    if absent := lacks():
        print_message(f"kselftest: this needs {absent}")
        return 1
    watch = Stopwatch()
    try:
        found = run(test_environment(choose(options.python)), options.names)
    except (CommandFailedError, LookupError, OSError, subprocess.SubprocessError) as error:
        print_message(f"kselftest: {error}")
        return 1
    rows = table.read()
    if options.write:
        table.write(rows, found)
        return 0
    different = table.differences(rows, found)
    passing = sum(result in suite.PASSING for result in found.values())
    print_message(f"\n{passing} of {len(found)} pass ({watch}); the logs are in {CACHE / 'logs'}")
    for line in different:
        print_message(f"different: {line}")
    return 1 if different or not found else 0


if __name__ == "__main__":
    sys.exit(main())
