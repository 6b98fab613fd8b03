"""What each selftest gives, and why those that do not pass do not: results.tsv, and the page made of it.

A line of results.tsv is a test, its result, whose reason it is, and the reason, with tabs between them:
`kernel` where the test is of something that a Python process has none of, `difference` where funcgraph does
otherwise, or has not got it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.kselftest.suite import PASSING
from tools.layout import ROOT

FILE = Path(__file__).resolve().parent / "results.tsv"
PAGE = ROOT / "docs" / "internals" / "kselftest.md"

#: Whose reason a test has that does not pass.
CAUSES = {"kernel": "the kernel's alone", "difference": "differences"}

#: How many are to pass.
AIM = 120

_TITLE = "# The kernel's selftests\n"
_HEAD = """\
The kernel brings selftests of ftrace: shell scripts that write to tracefs, and look at what it answers.
`make kselftest` runs them as they are in Debian's package `linux-source-6.12`
(tools/testing/selftests/ftrace; they are GPL, so they are not here) on a [mount](../guides/mount.md) of a
Python program. What the scripts demand stays. What is the kernel's in them is replaced, by the table of
rewritings in `tools/kselftest/mapping.py`:
"""
_USE = """\
A test of a feature that is not here does not pass, even if something similar could be put in its place:
`%pd` is a file's name to the kernel, and `$arg1.name` would give one.

The target needs root, `/dev/fuse`, libfuse 3 and apt with Debian's sources. It fails if a result is another
than here. `python -m tools.kselftest --write` writes this page; `python -m tools.kselftest kprobe/profile`
runs some of them alone. A test with `(instance)` runs in a folder of `instances`. XFAIL, where what must fail
has failed, counts as passing.
"""

#: What stands for what.
STAND_INS = (
    (
        "`/sys/kernel/tracing`, `/proc/kallsyms`, settings of the scheduler",
        "the mount, its `kallsyms`; nothing is set on the machine",
    ),
    ("a task", "a thread of the program; the shell that runs a test is its main thread"),
    ("a function", "a function of `kernel.py` with the same name"),
    (
        "a tracepoint",
        (
            "an event of the same name and fields, which `tracepoints.py` declares by `trace_event()`. "
            "The functions of `kernel.py` hit it where the kernel's do. The machine's own kernel hits none"
        ),
    ),
    (
        "what a shell has the kernel do: a fork, `ping`, `ls`, `cd`",
        "a request to the program, as to start a thread of this name, which wakes up, opens a file and ends",
    ),
    (
        "a text that a task writes to `trace_marker` after its tracepoint",
        "`trace_printk()` in the main thread",
    ),
    (
        "a module of the kernel's samples",
        (
            "a Python module of `modules/`; `modprobe` imports it, `rmmod` forgets it. "
            "For its direct call, `ftrace-direct` has an fprobe"
        ),
    ),
    ("an argument's register, an entry of the stack, `+0($filename)` in memory", "the argument itself"),
    (
        "text: offsets in machine code, names without dots, `comm=ping`, `= -5`",
        'offsets in bytecode, names with dots, `comm="ping"`, `ret=-5` (as kernels after 6.12 print it)',
    ),
)


class Row(NamedTuple):
    """A test's line: its result, the cause, one of CAUSES, and the reason; both empty if it passes."""

    result: str
    cause: str = ""
    reason: str = ""

    @property
    def passes(self) -> bool:
        return self.result in PASSING


def read(text: str | None = None) -> dict[str, Row]:
    """Return the lines of results.tsv by test.

    Raises:
        ValueError: a test that does not pass has no reason, or one that passes has one.
    """
    rows = {}
    for line in (text if text is not None else FILE.read_text()).splitlines():
        name, *cells = line.split("\t")
        row = rows[name] = Row(*cells)
        if row.passes == bool(row.reason) or (row.cause in CAUSES) == row.passes:
            raise ValueError(
                f"{name}: a test that does not pass has a cause and a reason, no other has: {line!r}"
            )
    return rows


def differences(rows: Mapping[str, Row], found: Mapping[str, str]) -> list[str]:
    """Return what of found results is not as the table has it: a line each."""
    lines = []
    for name, result in found.items():
        if name not in rows:
            lines.append(f"{name}: {result}, and the table does not have it")
        elif rows[name].result != result:
            lines.append(f"{name}: {result}, not {rows[name].result}")
    return lines


def summary(rows: Mapping[str, Row]) -> str:
    """Return how many pass, and whether these are as many as are to."""
    causes = Counter(row.cause for row in rows.values() if not row.passes)
    passing = sum(row.passes for row in rows.values())
    parts = ", ".join(f"{causes[cause]} {words}" for cause, words in CAUSES.items())
    most = len(rows) - causes["kernel"]
    missing = f"not reached: {AIM - passing} of the differences below stand in the way"
    aim = "reached" if passing >= AIM else missing
    return (
        f"{passing} of {len(rows)} pass, of {most} that can. The others: {parts}. The aim, {AIM}, is {aim}."
    )


def page(rows: Mapping[str, Row]) -> str:
    """Return the document."""
    counts = f"{summary(rows)} Each of the others has its reason below.\n"
    parts = [_TITLE, counts, _HEAD, _table(("in the kernel", "here"), STAND_INS), _USE]
    for cause, words in CAUSES.items():
        parts.append(f"## Not passing: {words}\n")
        parts.append(_table(("test", "result", "why"), _reasons(rows, cause)))
    parts.append("## Passing\n")
    parts.append("".join(f"- `{name}`\n" for name, row in rows.items() if row.passes))
    return "\n".join(parts)


def _reasons(rows: Mapping[str, Row], cause: str) -> list[tuple[str, ...]]:
    return [(f"`{name}`", row.result, row.reason) for name, row in rows.items() if row.cause == cause]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def write(rows: Mapping[str, Row], found: Mapping[str, str]) -> None:
    """Write the table with results that were found. A test that has begun to fail gets no reason."""
    merged = dict(rows)
    for name, result in found.items():
        if name not in rows or rows[name].result != result:
            merged[name] = Row(result) if result in PASSING else Row(result, "", "")
    ordered = dict(sorted(merged.items()))
    FILE.write_text("".join("\t".join([name, *filter(None, row)]) + "\n" for name, row in ordered.items()))
    PAGE.write_text(page(ordered))
