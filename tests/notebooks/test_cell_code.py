"""Promise: `%%funcgraph` puts a cell into a `with` statement, and changes neither its names, its value nor
its lines. Without IPython: the shell's part is done here."""

from __future__ import annotations

import ast
import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from funcgraph.notebook.cell_code import VALUE, CellTransformer, line_transformer


class Shell:
    """Runs a cell as IPython does, statement by statement; the last expression is its value."""

    def __init__(self, interactivity: str = "last_expr") -> None:
        self.log: list[str] = []
        self.names: dict[str, Any] = {"get_ipython": lambda: self, "log": self.log.append}
        self.transformer = CellTransformer(lambda: interactivity)

    @contextmanager
    def run_cell_magic(self, name: str, line: str, cell: str) -> Iterator[None]:
        self.log.append(f"begin {name} {line} {cell}")
        try:
            yield
        finally:
            self.log.append("end")

    def run(self, cell: str) -> Any:
        lines = line_transformer(lambda lines: lines)(cell.splitlines(keepends=True))
        tree = self.transformer.visit(ast.parse("".join(lines)))
        value = None
        for node in tree.body:
            part = ast.Expression(node.value) if isinstance(node, ast.Expr) else ast.Module([node], [])
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            code = compile(part, "<cell>", "eval" if isinstance(part, ast.Expression) else "exec", flags)
            value = eval(code, self.names)
            if code.co_flags & inspect.CO_COROUTINE:
                with pytest.raises(StopIteration):
                    value.send(None)
                value = None
        return value


def test_what_displays_the_value_comes_after_the_recording() -> None:
    shell = Shell()
    assert shell.run("%%funcgraph -l 'a.*'\nx = 1\nlog('in')\nx + 1\n") == 2
    assert shell.log == ["begin funcgraph -l 'a.*' ...", "in", "end"]
    assert shell.names["x"] == 1
    assert shell.names[VALUE] == 2


@pytest.mark.parametrize(
    ("interactivity", "cell", "value"),
    [
        ("last_expr", "x = 5", None),
        ("last_expr_or_assign", "x = 5", 5),
        ("last_expr_or_assign", "x: int = 5", 5),
        ("last_expr_or_assign", "x, y = 5, 6", None),
        ("none", "5", None),
        ("last_expr", "from __future__ import annotations\nx: later = 5\n7", 7),
        ("last_expr", "from __future__ import annotations", None),
        ("last_expr", "async def f():\n    return 4\ny = await f()", None),
    ],
)
def test_the_value_is_that_of_the_cell(interactivity: str, cell: str, value: object) -> None:
    shell = Shell(interactivity)
    assert shell.run(f"%%funcgraph\n{cell}") == value
    assert shell.log[-1:] == ["end"]


def test_an_error_has_the_lines_of_the_cell_alone() -> None:
    """Broken by a function of ours around the cell's code."""
    shell = Shell()
    with pytest.raises(ZeroDivisionError) as error:
        shell.run("%%funcgraph\nx = 1\n\nx / 0\n")
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.value.__traceback__)]
    assert lines[-1] == ("<cell>", 4)
    assert lines[-2][0] == __file__
    assert shell.log[-1] == "end"


@pytest.mark.parametrize("cell", ["%%funcgraph\n", "%%funcgraph?\n1\n", "%%funcgraphs\n1\n", "x\n", ""])
def test_other_cells_stay_as_they_are(cell: str) -> None:
    lines = cell.splitlines(keepends=True)
    assert line_transformer(lambda lines: lines)(lines) == lines
    tree = ast.parse("get_ipython().run_cell_magic('time', '', 'x')\ny")
    assert ast.dump(CellTransformer(lambda: "last_expr").visit(tree)) == ast.dump(
        ast.parse("get_ipython().run_cell_magic('time', '', 'x')\ny")
    )
