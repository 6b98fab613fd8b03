"""Folded imports: which functions are the import machinery's, and which are the program's own.
docs/reference/trace-text.md ("Imports") has the rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from funcgraph.tracedata.description import Function

#: Stands for all folded imports in a summary.
IMPORTS = Function("", "(imports)", "", 0, 0, ())

# enum fg_func_flags: its first argument is the name of the module that is imported
_IMPORTS_FLAG = 128
# enum fg_fold_mark
_MACHINERY, _NAMES, _OWN = 1, 2, 4

_MACHINERY_FILES = {
    "<frozen importlib._bootstrap>",
    "<frozen importlib._bootstrap_external>",
    "<frozen zipimport>",
}
# Python's library and what is installed: /usr/lib/python3.13/json/, /app/venv/lib/python3.13/site-packages/,
# /usr/lib/python3/dist-packages/, /usr/lib/python313.zip/
_LIBRARY = re.compile(r"(^|/)(lib(32|64)?/python\d[\d.]*t?|site-packages|dist-packages|python\d+t?\.zip)/")


def fold_marks(functions: Sequence[Function]) -> bytes | None:
    """Return for each function what it is in imports, as a Reader takes it; None: there are no imports."""
    marks = bytes(map(_mark, functions))
    return marks if any(mark & _MACHINERY for mark in marks) else None


def is_import_machinery(function: Function) -> bool:
    """Return whether a function is one of those that import modules."""
    return function.file in _MACHINERY_FILES


def _mark(function: Function) -> int:
    if is_import_machinery(function):
        return _MACHINERY | (_NAMES if function.flags & _IMPORTS_FLAG else 0)
    return _OWN if is_own(function) else 0


def is_own(function: Function) -> bool:
    """Return whether a function has a file that is neither of Python's library nor of what is installed."""
    return bool(function.file) and function.file[0] != "<" and not _LIBRARY.search(function.file)


def import_function(name: str) -> Function:
    """Return what stands for a folded import in a call tree: `import json`."""
    return Function("", name, "", 0, 0, ())
