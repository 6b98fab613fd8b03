"""What the programs of hostile users have in common, those that tests of tests/security/ start."""

from __future__ import annotations

import importlib
import os
import pkgutil
from contextlib import suppress

__all__ = ["load_all", "signal_others"]


def load_all() -> None:
    """Import what a request or an attacher may import: the user may be unable to read Python's folder."""
    for name in ("_environ", "_system"):
        importlib.import_module(f"funcgraph.{name}")
    for package in ("attach", "control", "events", "instance", "session", "tracefs"):
        folder = importlib.import_module(f"funcgraph.{package}")
        for module in pkgutil.iter_modules(folder.__path__):
            with suppress(ImportError):  # of this machine or Python there is none
                importlib.import_module(f"funcgraph.{package}.{module.name}")


def signal_others(number: int) -> None:
    """Send a signal to all processes that the user may signal, but this one."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        if int(name) != os.getpid():
            with suppress(PermissionError, ProcessLookupError):
                os.kill(int(name), number)
