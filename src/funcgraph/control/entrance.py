"""Where the requests come in. It loads the server in the native thread: the program may be importing too.

Before CPython 3.13.1, the second of two threads that import `collections.abc` at the same time gets a module
without names: https://github.com/python/cpython/issues/125245. That may be the program's thread, which
would fail because of us, or this one.
"""

import sys

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["handle"]


def _give_collections_abc() -> None:
    """Do what `import collections.abc` does, but at no moment leave another module under that name."""
    import _collections_abc  # Python has loaded it
    import collections

    if sys.modules.setdefault("collections.abc", _collections_abc) is _collections_abc:
        collections.abc = _collections_abc


def _load() -> "Callable[[int, bytes | None], bytes]":
    _give_collections_abc()
    try:
        from funcgraph.control.server import handle
    except ImportError:  # the program's thread was the first, and has done it by now
        from funcgraph.control.server import handle
    return handle


handle = _load()
