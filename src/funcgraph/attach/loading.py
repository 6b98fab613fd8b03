"""What runs in a process to load funcgraph there.

This module is not imported there. Its text is sent, followed by a call of `serve_with`. sys.path stays as it
is: other threads may be importing.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from typing import Any

#: What the first requests would load, with the GIL in long turns.
_FIRST_REQUESTS = ("funcgraph.control.entrance", "funcgraph.tracefs.tree", "funcgraph.buffer.reading")


def serve_with(ours: str) -> str:
    """Have this process serve its control socket. Return what is missing for that; "": nothing."""
    funcgraph = load(ours)
    if funcgraph is None:
        return missing()
    from funcgraph import _control

    if hasattr(_control, "hold_forks"):  # the process's own funcgraph may be an earlier one
        _control.hold_forks()
    funcgraph.serve()
    for name in _FIRST_REQUESTS:
        importlib.import_module(name)
    hide_thread()
    return ""


def hide_thread() -> None:
    """Keep the end of this thread out of traces: it may end after a recording has begun."""
    from funcgraph import _engine

    if hasattr(_engine, "native_hide_thread"):
        _engine.native_hide_thread()


def load(ours: str) -> Any:
    """Return this process's own funcgraph, or the attacher's in the folder `ours`; None: neither fits."""
    if "funcgraph" in sys.modules or importlib.util.find_spec("funcgraph") is not None:
        import funcgraph

        return funcgraph
    spec = importlib.machinery.PathFinder.find_spec("funcgraph", [ours])
    if spec is None or spec.loader is None or not is_for_this_python(os.path.join(ours, "funcgraph")):
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules["funcgraph"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["funcgraph"]
        raise
    return module


def is_for_this_python(folder: str) -> bool:
    """Return whether the package in `folder` was built for this version and build of Python."""
    suffixes = [suffix for suffix in importlib.machinery.EXTENSION_SUFFIXES if suffix.startswith(".cpython-")]
    return any(os.path.exists(os.path.join(folder, f"_engine{suffix}")) for suffix in suffixes)


def missing() -> str:
    """Return what is missing, and what helps."""
    version = "{}.{}{}".format(*sys.version_info[:2], getattr(sys, "abiflags", ""))
    python = sys.executable or f"{sys.prefix}/bin/python3"
    return f"its CPython {version} has no funcgraph: run '{python} -m pip install funcgraph'"
