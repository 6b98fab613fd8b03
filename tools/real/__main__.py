"""`make real`: other people's test suites and servers, untraced and traced. Nothing may differ.

Fourteen packages run their own tests (suites.py), six servers answer requests (servers.py): untraced,
untraced again to find what differs by itself, and under `funcgraph record --args --retval --c-calls`. A line
for each says what came of it; the table of all comes at the end. The exit status is 1 if anything differs.
`--plugin` runs the suites with `pytest --funcgraph` in place of `record`, some of them as a whole then.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tools.console import CommandFailedError, print_message, table
from tools.layout import ROOT
from tools.pythons import choose
from tools.real import servers, suites
from tools.real.compare import Verdict
from tools.venvs import Environment, installed

#: The downloads. `make clean` leaves them.
CACHE = Path(os.environ.get("FG_CACHE") or ROOT / ".cache").resolve() / "real"

Judge = Callable[[Path], Verdict]


def judges(environment: Environment, names: Sequence[str], way: suites.Way) -> dict[str, Judge]:
    """Return what judges each suite and server in a folder of its own; those of `names` if there are any."""
    python = environment.python
    CACHE.mkdir(parents=True, exist_ok=True)
    found: dict[str, Judge] = {}
    for suite in suites.SUITES:
        if not names or suite.package in names:
            archive = suites.sdist(suite.package, python, CACHE)
            found[suite.package] = partial(suites.judge, suite, archive, python, way=way)
    for server in servers.SERVERS if way == "record" else ():
        if not names or server.name in names:
            found[server.name] = partial(servers.judge, server, python)
    return found


def judge_all(chosen: dict[str, Judge]) -> list[Verdict]:
    """Judge each, print its lines, and leave nothing behind."""
    verdicts = []
    for name, judge in chosen.items():
        folder = Path(tempfile.mkdtemp(prefix=f"fg-real-{name}-"))
        try:
            verdict = judge(folder / "run")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        verdicts.append(verdict)
        for line in verdict.lines():
            print_message(line)
    return verdicts


def overview(verdicts: Sequence[Verdict]) -> str:
    """Return the table of all."""
    head = ("what", "outcomes", "left out", "different", "events", "untraced", "traced")
    rows = [
        (
            verdict.name,
            f"{len(verdict.plain.outcomes):,}",
            str(len(verdict.flaky)),
            str(len(verdict.differences)),
            f"{verdict.traced.events:,}",
            f"{verdict.plain.seconds:.1f} s",
            f"{verdict.traced.seconds:.1f} s",
        )
        for verdict in verdicts
    ]
    return table([head, *rows], right=range(1, len(head)))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.real", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", default="", metavar="TAG", help="the newest here if not given")
    parser.add_argument("--plugin", action="store_true", help="with `pytest --funcgraph`; no servers")
    parser.add_argument("names", nargs="*", metavar="NAME", help="packages and servers; all if not given")
    options = parser.parse_args(argv)
    try:
        python = choose(options.python)
        environment = installed(f"real-{python.tag}", python, "real")
        chosen = judges(environment, options.names, "plugin" if options.plugin else "record")
    except (CommandFailedError, LookupError) as error:
        print_message(f"real: {error}")
        return 1
    verdicts = judge_all(chosen)
    different = [verdict.name for verdict in verdicts if verdict.differences]
    print_message(f"\n{overview(verdicts)}\n")
    print_message(
        f"different: {', '.join(different)}" if different else f"CPython {python.release}: nothing differs"
    )
    return 1 if different or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
