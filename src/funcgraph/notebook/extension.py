"""`%load_ext funcgraph`: the cell magic `%%funcgraph` of a shell of IPython."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakKeyDictionary

from funcgraph.notebook.cell_code import BODY, MAGIC, VALUE, CellTransformer, line_transformer
from funcgraph.notebook.recorded_cell import RecordedCell, options_parser
from funcgraph.view.notebook_html import ShownTrace

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_loaded: WeakKeyDictionary[Any, _Extension] = WeakKeyDictionary()


def load_ipython_extension(shell: Any) -> None:
    """Register the magic. IPython calls this for `%load_ext funcgraph`.

    Args:
        shell: the InteractiveShell.
    """
    if shell not in _loaded:
        _loaded[shell] = _Extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magic: `%unload_ext funcgraph`."""
    extension = _loaded.pop(shell, None)
    if extension is not None:
        extension.remove()


class _Finished(threading.local):
    """The recordings that ended in this thread and are not shown yet."""

    def __init__(self) -> None:
        self.cells: list[RecordedCell] = []


class _Extension:
    """What a shell has of ours."""

    def __init__(self, shell: Any) -> None:
        from IPython.core.inputtransformer2 import cell_magic

        self._shell = shell
        self._finished = _Finished()
        self._transform_lines = line_transformer(cell_magic)
        self._transform_tree = CellTransformer(lambda: str(shell.ast_node_interactivity))
        shell.input_transformers_cleanup.append(self._transform_lines)
        shell.ast_transformers.append(self._transform_tree)
        shell.events.register("post_execute", self._show)
        shell.register_magic_function(self._magic(), magic_kind="cell", magic_name=MAGIC)

    def remove(self) -> None:
        self._shell.input_transformers_cleanup.remove(self._transform_lines)
        self._shell.ast_transformers.remove(self._transform_tree)
        self._shell.events.unregister("post_execute", self._show)
        del self._shell.magics_manager.magics["cell"][MAGIC]

    def _magic(self) -> Any:
        from IPython.core.magic import no_var_expand

        def funcgraph(line: str, cell: str) -> RecordedCell | None:
            if cell != BODY:  # it was called by its name, without a cell of its own
                self._shell.run_cell(f"%%{MAGIC} {line}\n{cell}")
                return None
            return RecordedCell(line, self._finished.cells.append)

        funcgraph.__doc__ = options_parser().format_all()
        return no_var_expand(funcgraph)  # an event has `$retval`, a filter braces

    def _show(self) -> None:
        """Show what was recorded, below what the cell printed."""
        from IPython.display import display

        self._shell.user_ns.pop(VALUE, None)
        while self._finished.cells:
            cell = self._finished.cells.pop(0)
            try:
                display(ShownTrace(cell.path, notes=cell.notes))
            finally:
                cell.close()
