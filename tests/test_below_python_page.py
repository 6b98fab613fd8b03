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


def commands() -> list[tuple[str, str]]:
    """Return each command of the page that uses shop.py or its trace, with the output below it."""
    text = textwrap.dedent(PAGE.partition("## NumPy")[0].replace("\n    ", "\n"))
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


def test_each_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    loaded_object(r"libsqlite3\.so[.\d]*")  # a Python whose SQLite is a library
    shutil.copy(EXAMPLES / "shop.py", tmp_path)
    shown = commands()
    assert len(shown) == 6
    for command, output in shown:
        printed, expected = without_varying(run(command, tmp_path)), without_varying(output)
        if "summary" in command:  # its order is that of times
            printed, expected = sorted(printed), sorted(expected)
        assert printed == expected, command
