"""What a person sees in a terminal of 80 columns: no line is broken, the columns stand below each other. The
screens are kept as pictures in build/screens/; `make site` shows them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyte
import pytest
from conftest import Funcgraph
from terminal_picture import SCREENS, lines_on, picture

pytestmark = pytest.mark.one_python

SHOP = Path(__file__).parents[2] / "examples" / "answers" / "shop.py"
LOOKS = {
    "summary": ["summary", "-n", "8"],
    "tree": ["report", "--tree"],
    "why": ["why", "__main__.page"],
    "repeat": ["repeat"],
    "values": ["values", "__main__.convert"],
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Funcgraph:
    folder = tmp_path_factory.mktemp("shop")
    fg = Funcgraph(folder, folder)
    done = fg.record("-q", "--why", "--args", "--retval", "-o", "trace.fg", SHOP)
    assert done.returncode == 0, done.stderr
    return fg


@pytest.mark.parametrize("name", LOOKS)
def test_a_terminal_of_80_columns_holds_each_line_of(shop: Funcgraph, name: str) -> None:
    """Broken by a line that is wider than the terminal. Only commands to copy may be: they are never cut."""
    words = LOOKS[name]
    screen = pyte.Screen(80, 60)
    lines = lines_on(screen, [*shop.command, *words], cwd=shop.folder, env=shop.env)
    assert any(lines), "the command wrote nothing"
    assert [line for line in lines if len(line) > 80 and "funcgraph report " not in line] == []
    SCREENS.mkdir(parents=True, exist_ok=True)
    typed = shlex.join(["funcgraph", *words])
    for mode in ("light", "dark"):
        (SCREENS / f"terminal-{name}-{mode}.svg").write_text(picture(screen, typed, dark=mode == "dark"))


def test_an_instance_without_calls_is_a_line(shop: Funcgraph) -> None:
    """Not a table without rows."""
    for words in (["summary"], ["report", "--tree"]):
        text = shop.run(*words).stdout
        assert text.splitlines()[0] == "top instance:"
        assert text.rstrip().splitlines()[-1] == "why-ready: no calls"
        assert text.count("CALLS") == 1
