"""Cells that a kernel runs, once for all tests: those of docs/guides/notebooks.md, and others."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

__all__ = ["CELLS", "PAGE", "Outputs", "notebook", "outputs", "page_cells"]

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "notebooks.md"
_COLOUR = re.compile(r"\x1b\[[\d;]*m")

#: Cells after those of the page: name -> code.
CELLS = {
    "await": "%%funcgraph -l '*.later'\nimport asyncio\nasync def later(n):\n"
    "    await asyncio.sleep(0)\n    return n + 1\nanswer = await later(1)\nanswer",
    "interrupted": "%%funcgraph -l '*.wait'\nimport signal\n"
    "def wait():\n    signal.raise_signal(signal.SIGINT)\nwait()",
    "printing": "%%funcgraph\nfor number in range(100):\n    print(number)",
    "display": "%%funcgraph -l '*.Shown.*'\nclass Shown:\n    def __repr__(self): return 'shown'\nShown()",
    "silent": "%%funcgraph -l '*.price'\nprice('tea');",
    "time": "%%funcgraph -l '*.price'\n%%time\nprice('tea')",
    "quotes": "%%funcgraph -l 'a\nran = True",
    "option": "%%funcgraph --argz\nran = True",
    "folder": "%%funcgraph -o /nowhere/x.fg\nran = True",
    "help": "%%funcgraph --help\nran = True",
    "kept": "%%funcgraph -o 'kept trace.fg' -l '*.price'\nprice('tea')",
    "nothing": "%%funcgraph -l no.such.function\n1",
    "names": "sorted(name for name in globals() if 'unc' in name or name == 'ran')",
    "left": "import os, tempfile\n[one for one in os.listdir(tempfile.gettempdir()) if 'funcgraph-' in one]",
    "unloaded": "%unload_ext funcgraph",
    "after": "%%funcgraph\n1",
}


def page_cells() -> list[str]:
    """Return the cells of the page."""
    return re.findall(r"```python\n(.*?)\n```", PAGE.read_text(), re.DOTALL)


class Outputs:
    """What a cell has below it.

    Attributes:
        texts: of its outputs, in order, without colours.
        html: of those outputs that have some.
    """

    def __init__(self, outputs: list[Any]) -> None:
        self.texts, self.html = [], []
        for one in outputs:
            text = (
                one.get("text")
                or one.get("data", {}).get("text/plain")
                or "\n".join(one.get("traceback", ()))
            )
            self.texts.append(_COLOUR.sub("", text))
            if html := one.get("data", {}).get("text/html"):
                self.html.append(html)


@pytest.fixture(scope="session")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the notebook of the page and of CELLS, which a kernel has run."""
    nbclient = pytest.importorskip("nbclient", reason="needs Jupyter, which is installed for one CPython")
    nbformat = pytest.importorskip("nbformat")
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "tmp").mkdir()
    code = [*page_cells(), *CELLS.values()]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in code])
    own = {"IPYTHONDIR": str(folder), "JUPYTER_PLATFORM_DIRS": "1", "JUPYTER_CONFIG_DIR": str(folder)}
    environment = {**os.environ, **own, "TMPDIR": str(folder / "tmp")}
    client = nbclient.NotebookClient(
        book, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=environment)
    return book


@pytest.fixture(scope="session")
def outputs(notebook: Any) -> Callable[[str], Outputs]:
    """Return a function that returns what is below a cell: of CELLS by its name, of the page by its code."""
    of_page = {cell.source: cell for cell in notebook.cells}

    def outputs_of(name: str) -> Outputs:
        return Outputs(of_page[CELLS.get(name, name)].outputs)

    return outputs_of
