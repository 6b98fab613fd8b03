"""docs/start/guide.md: each command does what the page says, on the program that the page names."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from progress import wait_for_progress

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "start" / "guide.md").read_text()
WEB = ROOT / "examples" / "guide" / "web.py"
BAKERY = ROOT / "examples" / "running_service" / "bakery.py"
REST = "..."  # lines that the page leaves out


def sections() -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return the sections with their commands, each with the lines that the page shows below it."""
    found = []
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        code = "\n".join(
            textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
        )
        parts = re.split(r"^\$ (.*)\n", code, flags=re.MULTILINE)[1:]
        lines = [[line for line in output.splitlines() if line.strip()] for output in parts[1::2]]
        found.append((title, list(zip(parts[::2], lines, strict=True))))
    return found


def kind(line: str) -> str:
    """Return a line without what differs between two runs: numbers, units, marks of long calls, paths."""
    line = re.sub(r"\(/\S+?:\d+\)", "(FILE)", line)
    line = re.sub(r"^[+!#*@$ ]+", "", line)
    line = re.sub(r"\S*python[\w.]*-\d+ +\[", "TASK [", line)
    line = re.sub(r"\b(0x)?[\da-f]*\d[\da-f.,:%]*( (ns|us|ms|s)\b)?", "N", line)
    return " ".join(line.split())


@pytest.mark.parametrize(("title", "commands"), sections(), ids=lambda value: str(value)[:12])
def test_each_command_prints_what_the_page_shows(
    fg: Any, title: str, commands: list[tuple[str, list[str]]]
) -> None:
    shutil.copy(WEB, fg.folder)
    assert commands, title
    with subprocess.Popen([sys.executable, BAKERY], env=fg.env) as bakery:
        try:
            for command, shown in commands:
                check(fg, command.replace("bakery.py", str(bakery.pid)), shown, bakery.pid)
        finally:
            bakery.kill()


def check(fg: Any, command: str, shown: list[str], pid: int) -> None:
    """Run a command; each line that is shown is one that it prints, and all are shown if none is left out."""
    words = shlex.split(command)
    if "sleep" in words:
        words[words.index("sleep") :] = wait_for_progress(pid)
    done = fg.run(*words[1:])
    assert done.returncode == (1 if "'gin'" in command else 0), done.stderr
    printed = [kind(line) for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    expected = [kind(line) for line in shown if line != REST]
    assert set(expected) <= set(printed), (command, printed)
    assert REST in shown or not shown or set(expected) == set(printed), (command, printed)


def test_the_readme_leads_to_the_guide_and_the_guide_has_the_problems() -> None:
    assert "(docs/start/guide.md)" in (ROOT / "README.md").read_text()
    assert len(sections()) == 6
