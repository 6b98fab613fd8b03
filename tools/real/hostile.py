"""Runs a program in hostile environments, untraced and traced.

The outcome is the table of docs/reference/compatibility.md.

Usage: python -m tools.real.hostile [--write] [--python TAG] [NAME...]

The table says what each environment (environments.py) does to a recording. tests/session/test_hostile.py runs
the rows, and fails if one of them says something else than the page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.console import CommandFailedError, print_message, table
from tools.layout import ROOT
from tools.pythons import choose
from tools.real.environments import ROWS, Row, Scene
from tools.venvs import test_environment

PAGE = ROOT / "docs" / "reference" / "compatibility.md"
BEGIN, END = (
    "<!-- environments: written by python -m tools.real.hostile --write -->",
    "<!-- end of environments -->",
)
HEAD = ("environment", "the program's outcome is the same", "recorded", "what is said")

_TIMEOUT_S = 60
_OURS = "funcgraph: "


@dataclass(frozen=True)
class Outcome:
    """What somebody who started the program sees."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Finding:
    """What a row came to, as the page has it."""

    environment: str
    same: str
    recorded: str
    notes: str

    def cells(self) -> tuple[str, str, str, str]:
        return self.environment, self.same, self.recorded, self.notes


def find(row: Row, python: str) -> Finding:
    """Run a row untraced and traced on a Python that has funcgraph."""
    base = Path(tempfile.mkdtemp(prefix="fg-hostile-"))
    memory = Path(tempfile.mkdtemp(prefix="fg-hostile-", dir="/dev/shm"))
    try:
        plain = _run(row, _scene(base / "plain", memory / "plain", python), traced=False)
        scene = _scene(base / "traced", memory / "traced", python)
        traced = _run(row, scene, traced=True)
        notes = [line for line in traced.stderr.splitlines() if line.startswith(_OURS)]
        own = "".join(line for line in traced.stderr.splitlines(True) if not line.startswith(_OURS))
        truth = row.truth
        if truth is None:
            found = re.search(r"^calls (\d+)$", plain.stdout, re.MULTILINE)
            assert found is not None, plain
            truth = int(found[1])
        return Finding(
            row.text,
            _difference(plain, Outcome(traced.status, traced.stdout, own)),
            _recorded(scene, truth),
            "; ".join(_general(line.removeprefix(_OURS), base, memory) for line in notes) or "nothing",
        )
    finally:
        shutil.rmtree(base, ignore_errors=True)
        shutil.rmtree(memory, ignore_errors=True)


def _scene(folder: Path, runtime: Path, python: str) -> Scene:
    scene = Scene(folder, folder / "output" / "trace.fg", folder / "kept.fg", runtime, python)
    for made in (folder.parent, folder, scene.trace.parent, runtime.parent, runtime):
        made.mkdir(exist_ok=True)
        made.chmod(0o1777)
    return scene


def _run(row: Row, scene: Scene, *, traced: bool) -> Outcome:
    command = [scene.python, *row.flags, str(row.write(scene.folder))]
    if traced:
        record = ["record", "-q", "-l", "*.leaf", "-o", str(scene.trace), *row.options]
        command = [scene.python, "-m", "funcgraph", *record, *command]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(scene.runtime), "TMPDIR": str(scene.folder)}
    environment.pop("FUNCGRAPH_SESSION", None)
    for name, value in row.variables:
        environment[name] = value
        if not value:
            del environment[name]
    result = subprocess.run(
        [*row.place(scene), *command],
        cwd=scene.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    return Outcome(result.returncode, result.stdout, result.stderr)


def _difference(plain: Outcome, traced: Outcome) -> str:
    parts = []
    if traced.status != plain.status:
        parts.append(f"exit status {traced.status}, not {plain.status}")
    for name in ("stdout", "stderr"):
        if getattr(plain, name) and not getattr(traced, name):
            parts.append(f"nothing on {name}")
        elif getattr(plain, name) != getattr(traced, name):
            parts.append(f"another {name}")
    return f"no: {', '.join(parts)}" if parts else "yes"


def _recorded(scene: Scene, truth: int) -> str:
    trace = next((path for path in (scene.trace, scene.copy) if path.exists()), None)
    if trace is None:
        return "nothing"
    text = subprocess.run(
        [scene.python, "-m", "funcgraph", "summary", "--json", "-i", str(trace)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    count = sum(row["calls"] for row in json.loads(text)["functions"] if row["name"].endswith(".leaf"))
    return f"all {truth:,} calls" if count == truth else f"{count:,} of {truth:,} calls"


def _general(line: str, base: Path, memory: Path) -> str:
    """Replace what differs from run to run."""
    line = line.replace(str(memory / "traced"), "SESSIONS").replace(str(base / "traced"), "FOLDER")
    line = re.sub(r"SESSIONS/funcgraph-\d+-\w+", "SESSION", line)
    line = re.sub(r"\(\d+(, \d+)*\)", "(PID)", line)
    return re.sub(r"process \d+:", "process PID:", line)


# ---- the page


def as_row(finding: Finding) -> str:
    """Return a finding as a row of the page's table."""
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in finding.cells())} |"


def page_rows(text: str) -> list[str]:
    """Return the rows of the page's table, without its head."""
    part = text.partition(BEGIN)[2].partition(END)[0]
    return [line for line in part.splitlines() if line.startswith("|")][2:]


def write_page(findings: Sequence[Finding]) -> None:
    """Replace the page's table."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    lines = [f"| {' | '.join(HEAD)} |", "|---|---|---|---|", *map(as_row, findings)]
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END]) + rest.partition(END)[2])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tools.real.hostile", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--python", default="", metavar="TAG", help="the newest here if not given")
    parser.add_argument("--write", action="store_true", help="write docs/reference/compatibility.md")
    parser.add_argument("names", nargs="*", metavar="NAME", help="of rows; all if not given")
    options = parser.parse_args(argv)
    rows = [row for row in ROWS if not options.names or row.name in options.names]
    left_out = [row.name for row in rows if not row.needs()]
    if left_out and options.write:
        print_message(
            f"hostile: only root on Linux can try these, so the table is not written: {', '.join(left_out)}"
        )
        return 1
    try:
        python = str(test_environment(choose(options.python)).python)
    except (CommandFailedError, LookupError) as error:
        print_message(f"hostile: {error}")
        return 1
    findings = [find(row, python) for row in rows if row.name not in left_out]
    if options.write and not options.names:
        write_page(findings)
        print_message(f"{PAGE.relative_to(ROOT)} has these rows now")
    print_message(table([HEAD, *(finding.cells() for finding in findings)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
