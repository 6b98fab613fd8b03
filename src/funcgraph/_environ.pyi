"""Builtins that pass one environment variable on to programs with an environment of their own."""

from collections.abc import Callable
from typing import TypeVar

_Function = TypeVar("_Function", bound=Callable[..., object])

def is_secure() -> bool:
    """Return whether this process got more rights at its exec than who started it (AT_SECURE)."""

def read_sealed(descriptor: int, /) -> bytes | None:
    """Return the contents of a sealed memfd that root or this process's user made; None: the descriptor is
    none."""

def set_descriptor(descriptor: int, /) -> None:
    """Set the descriptor that the wrappers keep open for children; -1: none."""

def set_variable(name: bytes, value: bytes | None, /) -> None:
    """Set the variable that the wrappers add. A value of None: they add nothing."""

def wrap(function: _Function, /) -> _Function:
    """Return the builtin that adds the variable and calls `function`; the same object each time.

    Raises:
        ValueError: `function` does not start a program with an environment of its own.
    """

def original(function: _Function, /) -> _Function:
    """Return the function that `function` wraps, or `function` itself if it is not a wrapper."""
