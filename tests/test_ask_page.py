"""docs/start/ask-a-running-program.md: each command prints what the page shows, but for times and pids."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "start" / "ask-a-running-program.md").read_text()
EXAMPLES = ROOT / "examples" / "ask_a_program"

#: What varies -> what stands for it.
VARYING = {
    r"\S+-\d+ +\[": "TASK [",
    r"\] +[\d.]+:": "] TIME:",
    r"^[ +#*!@$]*[\d.]+ us +": "DURATION ",  # the width follows the number of digits
}


def commands() -> list[tuple[str, str]]:
    """Return each command of the page, with the output below it."""
    text = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", text, re.MULTILINE)
    shown = "\n".join(textwrap.dedent(block) for block in blocks)
    found = re.split(r"^\$ (.*)\n", shown, flags=re.MULTILINE)[1:]
    return [(command, output.strip("\n")) for command, output in zip(found[::2], found[1::2], strict=True)]


def run(command: str, folder: Path) -> str:
    """Run a command of the page; return all that it prints."""
    words = shlex.split(command)
    env = dict(os.environ)
    while re.match(r"[A-Z]+=", words[0]):
        name, _, env[name] = words.pop(0).partition("=")
    program = {"funcgraph": [sys.executable, "-m", "funcgraph"], "python": [sys.executable, "-B"]}
    done = subprocess.run(
        [*program[words[0]], *words[1:]], cwd=folder, env=env, capture_output=True, text=True, timeout=60
    )
    if words[:2] == ["funcgraph", "record"] and done.returncode == 0:
        return done.stdout  # the closing line has the number of records
    return done.stdout + done.stderr


def without_varying(text: str) -> list[str]:
    for pattern, stands in VARYING.items():
        text = re.sub(pattern, stands, text, flags=re.MULTILINE)
    return [re.sub(r"^ +(TASK|\|)", r"\1", line.rstrip()) for line in text.strip("\n").splitlines()]


def test_each_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    for file in EXAMPLES.glob("*.py"):
        shutil.copy(file, tmp_path)
    shown = commands()
    assert len(shown) == 12
    for command, output in shown:
        assert without_varying(run(command, tmp_path)) == without_varying(output), command


def test_the_pages_code_is_that_of_the_examples() -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert block in (EXAMPLES / "ask.py").read_text()
