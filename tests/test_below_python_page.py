"""docs/start/below-python.md: each command on SQLite prints what the page shows, but for times and widths."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from planned import loaded_object, needs_decoder

pytestmark = [pytest.mark.one_python, needs_decoder]

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "start" / "below-python.md").read_text()
EXAMPLES = ROOT / "examples" / "below_python"

#: What varies -> what stands for it. Steps within steps are SQLite's own, as many as its version takes.
VARYING = {
    r"[\d.]+ (?:ns|us|ms|s)\b": "TIME",
    r"^[ +#*!@$]+TIME": "TIME",
    r"\b20,\d{3}\b": "STEPS",
    r" +": " ",
}


SQLITE, _, NUMPY = PAGE.partition("## NumPy")


def commands(part: str) -> list[tuple[str, str]]:
    """Return each command of a part of the page, with the output below it."""
    text = textwrap.dedent(part.replace("\n    ", "\n"))
    found = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
    outputs = (output.partition("\n\n")[0] for output in found[1::2])
    return list(zip(found[::2], outputs, strict=True))


def run(command: str, folder: Path) -> str:
    program, *words = shlex.split(command)
    assert program == "funcgraph"
    done = subprocess.run(
        [sys.executable, "-m", "funcgraph", *words], cwd=folder, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_varying(text: str) -> list[str]:
    for pattern, stands in VARYING.items():
        text = re.sub(pattern, stands, text, flags=re.MULTILINE)
    return [line.strip() for line in text.strip("\n").splitlines()]


def counts(summary: str) -> dict[str, int]:
    """Return how often a summary says that each function was called."""
    rows = re.findall(r"^ *([\d,]+) .*  (\S+(?: \[\S+\])?)$", summary, re.MULTILINE)
    return {function: int(calls.replace(",", "")) for calls, function in rows}


def test_each_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    loaded_object(r"libsqlite3\.so[.\d]*")  # a Python whose SQLite is a library
    shutil.copy(EXAMPLES / "shop.py", tmp_path)
    shown = commands(SQLITE)
    assert len(shown) == 6
    for command, output in shown:
        printed, expected = without_varying(run(command, tmp_path)), without_varying(output)
        if "summary" in command:  # its order is that of times
            printed, expected = sorted(printed), sorted(expected)
        assert printed == expected, command


def test_the_functions_of_numpy_are_those_of_the_page(tmp_path: Path) -> None:
    """How OpenBLAS divides its work is a matter of the processors: only that it does is compared."""
    pytest.importorskip("numpy")
    shutil.copy(EXAMPLES / "solve.py", tmp_path)
    (record, nothing), (_, summary) = commands(NUMPY)
    assert nothing == ""
    run(record, tmp_path)
    expected, printed = counts(summary), counts(run("funcgraph summary", tmp_path))
    factors = {name for name in expected if name.startswith("dgetrf_")}
    assert len(factors) == 2
    assert any(name.startswith("dgetrf_") for name in printed)
    assert {name: printed.get(name) for name in expected.keys() - factors} == {
        name: calls for name, calls in expected.items() if name not in factors
    }
