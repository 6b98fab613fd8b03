"""What a terminal shows fits it: names are cut in the middle, numbers never; elsewhere nothing is cut."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from funcgraph.names import shortened
from funcgraph.tracedata.pager import pager_command

pytestmark = pytest.mark.one_python

LONG = "a_function_with_a_name_that_nobody_would_type_twice_in_one_and_the_same_program_if_it_can_be_helped"
PROGRAM = f"""
def {LONG}(depth):
    if depth:
        {LONG}(depth - 1)
class {LONG.title()}:
    def first_of_two(self): {LONG}(40)
    def second_of_two(self): {LONG}(2)
{LONG.title()}().first_of_two()
{LONG.title()}().second_of_two()
"""


def on_terminal(words: list[str], folder: Path, columns: int) -> list[str]:
    """Return the lines that a command prints on a terminal of so many columns, and of few lines."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "PAGER": "cat", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    command = [sys.executable, "-m", "funcgraph", *words]
    with subprocess.Popen(command, cwd=folder, env=environment, stdin=other, stdout=other) as child:
        os.close(other)
        printed = b""
        while True:
            try:
                printed += os.read(main, 65536)
            except OSError:  # the command has ended
                break
    os.close(main)
    assert child.returncode == 0
    return printed.decode().splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a trace of deep calls and long names."""
    folder = tmp_path_factory.mktemp("terminal")
    (folder / "app.py").write_text(PROGRAM)
    subprocess.run(
        [sys.executable, "-m", "funcgraph", "record", "-q", "-l", "__main__.*", "app.py"],
        cwd=folder,
        check=True,
    )
    return folder


VIEWS = [["summary"], ["summary", "--sort", "min"], ["report", "--tree", "--min-percent", "0"]]


@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
@pytest.mark.parametrize("columns", [80, 100, 200])
def test_a_table_fits_the_terminal(folder: Path, words: list[str], columns: int) -> None:
    lines = on_terminal(words, folder, columns)
    assert len(lines) > 5
    assert max(map(len, lines)) <= columns
    names = [line.split()[-1] for line in lines]
    cut = [name for name in names if re.fullmatch(r"__main__\..*\.\.\w*be_helped", name)]
    assert cut or columns == 200
    assert (f"__main__.{LONG}" in names) == (columns == 200)


@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
def test_nothing_is_cut_where_there_is_no_terminal(folder: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "funcgraph", *words]
    environment = {**os.environ, "COLUMNS": "80"}
    text = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout
    assert f"__main__.{LONG.title()}.second_of_two" in text and ".." not in text


def test_numbers_of_a_narrow_table_are_whole_and_left_out_columns_are_named(folder: Path) -> None:
    wide = on_terminal(["summary"], folder, 250)
    narrow = on_terminal(["summary"], folder, 80)
    heading = narrow[0].split()
    assert heading[:3] == ["CALLS", "SELF", "TOTAL"] and heading[-1] == "FUNCTION"
    left_out = [name for name in wide[0].split() if name not in heading]
    assert left_out and narrow[-1].endswith(f"{', '.join(left_out)}")
    figures = re.compile(r"[\d.,]+(?: (?:ns|us|ms|s))?")
    whole = {figure for line in wide[1:] for figure in figures.findall(line)}
    for line in narrow[1:-1]:
        assert set(figures.findall(line[: narrow[0].index("FUNCTION")])) <= whole, line


def test_the_column_of_the_order_stays(folder: Path) -> None:
    assert "MIN" in on_terminal(["summary", "--sort", "min"], folder, 80)[0]


def test_a_name_is_cut_in_the_middle() -> None:
    assert shortened("shop.views.checkout", 40) == "shop.views.checkout"
    assert shortened("shop.views.checkout", 12) == "sho..heckout"
    assert len(shortened("shop.views.checkout", 12)) == 12
    assert shortened("shop", 1) == "shop"  # nothing sensible is left


def test_the_pager_chops_long_lines_and_shows_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAGER", raising=False)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert pager_command() == "less -RSFX"


def test_a_program_in_place_of_a_trace_is_told(folder: Path, command: Any) -> None:
    path = folder / "app.py"
    for words in (["report"], ["summary"], ["export", "csv"], ["diff", folder / "trace.fg"]):
        ran = command(*words, path)
        advice = f"{path}: a program, not a trace: 'funcgraph record {path}' makes one of it"
        assert (ran.status, ran.err) == (2, f"funcgraph: {advice}\n")
