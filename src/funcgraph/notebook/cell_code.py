"""What the magic makes of a cell's code: a `with` statement around it, which the shell runs as any cell.

So names, `await`, the value that is displayed and the traceback of an error are those of the cell. First the
line `%%funcgraph` becomes a call of the magic, as the shell does with its own. In the syntax tree, the rest
of the cell is then inside a `with` statement on what the call returns. No line moves.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

__all__ = ["BODY", "MAGIC", "VALUE", "CellTransformer", "line_transformer"]

MAGIC = "funcgraph"
#: The text in the place of the cell's body, in the call.
BODY = "..."
#: The name that has the value of the last expression, from the end of the recording until it was displayed.
VALUE = "_funcgraph_value"

_FIRST_LINE = re.compile(rf"%%{MAGIC}(?:[ \t]+(.*?))?\s*")


def line_transformer(cell_magic: Callable[[list[str]], list[str]]) -> Callable[[list[str]], list[str]]:
    """Return the function that puts the call into the place of the first line.

    Args:
        cell_magic: IPython's function that does so with another magic, in the second line.
    """

    def transform(lines: list[str]) -> list[str]:
        match = _FIRST_LINE.fullmatch(lines[0]) if lines else None
        if match is None or not "".join(lines[1:]).strip():
            return lines  # the shell says of a magic without a body what is wrong
        call = f"get_ipython().run_cell_magic({MAGIC!r}, {match[1] or ''!r}, {BODY!r})\n"
        return [call, *cell_magic(lines[1:])]

    return transform


class CellTransformer:
    """The transformer of syntax trees.

    Args:
        interactivity: returns which values the shell displays, as its option ast_node_interactivity.
    """

    def __init__(self, interactivity: Callable[[], str]) -> None:
        self._interactivity = interactivity

    def visit(self, tree: ast.Module) -> ast.Module:
        """Return the tree of a cell, with what is recorded in a `with` statement."""
        if not tree.body or not _is_call(tree.body[0]):
            return tree
        call, *rest = tree.body
        assert isinstance(call, ast.Expr)
        first = next((i for i, node in enumerate(rest) if not _is_future(node)), len(rest))
        inside, shown = self._split(rest[first:])
        recorded = ast.With([ast.withitem(call.value)], inside or [ast.Pass()])
        tree.body = [*rest[:first], ast.copy_location(recorded, call), *shown]
        return ast.fix_missing_locations(tree)

    def _split(self, body: Sequence[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Return what is recorded, and what displays the last value: its calls are not those of the cell."""
        inside, last = list(body), body[-1] if body else None
        interactivity = self._interactivity()
        if isinstance(last, ast.Expr) and interactivity.startswith("last_expr"):
            inside[-1] = ast.copy_location(ast.Assign([ast.Name(VALUE, ast.Store())], last.value), last)
            return inside, [ast.copy_location(_value_of(VALUE), last)]
        name = _assigned(last) if interactivity == "last_expr_or_assign" else None
        return inside, [ast.copy_location(_value_of(name), last)] if last and name else []


def _is_call(node: ast.stmt) -> bool:
    """Return whether a statement is the call that `line_transformer` makes."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    words = [word.value for word in node.value.args if isinstance(word, ast.Constant)]
    is_magic = ast.unparse(node.value.func) == "get_ipython().run_cell_magic"
    return is_magic and words[:1] == [MAGIC] and words[2:] == [BODY]


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _assigned(node: ast.stmt | None) -> str | None:
    """Return the name to which a statement assigns; None: not to one name."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        target = node.target
    else:
        return None
    return target.id if isinstance(target, ast.Name) else None


def _value_of(name: str) -> ast.Expr:
    return ast.Expr(ast.Name(name, ast.Load()))
