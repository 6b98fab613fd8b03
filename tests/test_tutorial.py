"""The tutorial's and the README's code is that of the examples, which print the output shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "examples" / "two_tools"
TUTORIAL = (ROOT / "docs" / "start" / "tutorial.md").read_text()
README = (ROOT / "README.md").read_text()


def run(*words: str) -> str:
    """Run this Python with these arguments in the examples' folder; return its output."""
    result = subprocess.run(
        [sys.executable, "-B", *words], cwd=TOOLS, capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def output_block(text: str, command: str) -> str:
    """Return the indented lines below `    $ COMMAND`, dedented."""
    found = re.search(rf"^    \$ {re.escape(command)}\n((?:    .*\n|\n(?=    ))+)", text, re.MULTILINE)
    assert found, f"no output of {command}"
    return textwrap.dedent(found[1])


def without_times(text: str) -> list[list[str]]:
    """Split the lines into words. Times vary: a row of the table keeps its name and the sum of its counts."""
    rows = []
    for line in text.strip().splitlines():
        words = line.split()
        if len(words) == 6 and set("".join(words[1:])) <= set("0123456789."):
            words[1:] = [str(sum(int(cell) for cell in words[1:] if cell != "."))]
        rows.append(words)
    return rows


@pytest.mark.parametrize("block", python_blocks(TUTORIAL), ids=lambda block: block.split("\n")[0].strip())
def test_the_tutorials_code_is_that_of_the_examples(block: str) -> None:
    assert any(block in file.read_text() for file in TOOLS.glob("*.py"))


@pytest.mark.parametrize("script", ["both.py", "mistake.py", "probe.py"])
def test_the_tutorials_output_is_what_the_examples_print(script: str) -> None:
    shown = output_block(TUTORIAL + "\n", f"python {script}")
    assert len(shown.splitlines()) >= 3
    assert without_times(run(script)) == without_times(shown)


@pytest.mark.parametrize("script", ["both.py", "mistake.py"])
def test_the_examples_work_beside_cprofile(script: str) -> None:
    """Their output is the same, and the profile has all calls of the program."""
    profiled = run("-m", "cProfile", script)
    plain = run(script)
    assert without_times(plain) == without_times(profiled)[: len(without_times(plain))]
    assert re.search(r"^ +6 .* shop\.py:\d+\(price_of\)$", profiled, re.MULTILINE)


def test_the_readmes_instance_for_the_database_has_what_was_asked_of_it(fg: Any) -> None:
    """Functions of sqlite3 in Python run only while it is imported: what a program asks of it is in C."""
    command = re.search(r"^    funcgraph (record .*-B sql .*? app\.py)", README, re.MULTILINE)
    assert command
    shop = fg.folder / "shop"
    shop.mkdir()
    (shop / "__init__.py").write_text("")
    (shop / "db.py").write_text("def rows(db, sql):\n    return db.execute(sql).fetchall()\n")
    fg.script("""
        import sqlite3
        from shop.db import rows
        print(rows(sqlite3.connect(":memory:"), "SELECT 1"))
    """)
    assert fg.run(*shlex.split(command[1])).stdout == "[(1,)]\n"
    report = fg.run("report", "-B", "sql").stdout
    assert "sqlite3.Connection.execute" in report and "sqlite3.Cursor.fetchall" in report
    assert "import" not in report


def test_the_readmes_slowest_call_is_one_short_line(fg: Any) -> None:
    assert fg.record("-q", "-c", "def f(): pass\nf()").returncode == 0
    (block,) = (block for block in python_blocks(README) if "trace.calls()" in block)
    done = fg.plain(sys.executable, "-c", f"import funcgraph\n{block}")
    assert re.fullmatch(r"[\w.<>]+ \d+\n", done.stdout), done


def test_the_first_screen_of_the_readme_has_the_two_commands_and_then_the_installation() -> None:
    screen = README.splitlines()[:32]
    places = [
        next(n for n, line in enumerate(screen) if text in line)
        for text in ("`make demo`", "`make test`", "pip install", "funcgraph record app.py")
    ]
    assert places == sorted(places)
    for row in (screen[places[0]], screen[places[1]]):
        assert "minutes" in row


def test_the_readmes_tool_prints_what_the_readme_shows() -> None:
    (block,) = (block for block in python_blocks(README) if "FgraphOps" in block)
    shown = README.partition(block + "```\n\n")[2].partition("\n\n")[0]
    assert run("-c", f"import shop\n{block}") == textwrap.dedent(shown) + "\n"
