"""docs/guides/answers.md: each command prints what the page shows, on the program that the page names."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from test_guide_page import kind

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "guides" / "answers.md").read_text()
#: What depends on how long calls of a few microseconds took: it is not compared.
_BY_TIME = re.compile(r" %  |currency|up to|CALLS|'\w{3}'$|^TIMES|^ +and ")


def commands() -> list[tuple[str, list[str]]]:
    """Return the commands of the page, each with the lines below it."""
    code = "\n".join(
        textwrap.dedent(block)
        for block in re.findall(r"(?:^    .*\n|^\n)+", PAGE.partition("```")[0], re.MULTILINE)
    )
    parts = re.split(r"^\$ (.*)\n", code, flags=re.MULTILINE)[1:]
    lines = [[line for line in output.splitlines() if line.strip()] for output in parts[1::2]]
    return list(zip(parts[::2], lines, strict=True))


def form(line: str) -> str:
    line = re.sub(r"\(\S*\.py:\d+\)", "(FILE)", line)
    return re.sub(r"[ ▁▂▃▄▅▆▇█~]+", " ", re.sub(r"N (ns|us|ms|s)\b", "N", kind(line))).strip()


def test_the_page_shows_what_the_commands_print(fg: Any) -> None:
    shutil.copy(ROOT / "examples" / "answers" / "shop.py", fg.folder)
    found = commands()
    assert [command.split()[1] for command, _ in found] == [
        "record", "values", "repeat", "exceptions", "exceptions",
    ]  # fmt: skip
    for command, shown in found:
        words = [sys.executable if word == "python" else word for word in shlex.split(command)]
        done = fg.run(*words[1:])
        assert done.returncode == 0, done.stderr
        printed = {form(line) for line in done.stdout.splitlines()}
        expected = {form(line) for line in shown if not _BY_TIME.search(line)}
        assert expected <= printed, (command, sorted(expected - printed), sorted(printed))


def test_the_planted_faults_are_what_the_page_says_that_they_are(fg: Any) -> None:
    shutil.copy(ROOT / "examples" / "answers" / "shop.py", fg.folder)
    assert fg.record("--args", "--retval", "shop.py").returncode == 0
    assert "%  currency" in fg.run("values", "__main__.convert").stdout
    assert "up to 40 times, 120 in 3 calls, below __main__.page" in fg.run("repeat", "-n", "9").stdout
