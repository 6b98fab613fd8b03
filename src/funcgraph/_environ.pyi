"""Builtins that pass one environment variable on to programs with an environment of their own."""

from collections.abc import Callable
from typing import TypeVar

_Function = TypeVar("_Function", bound=Callable[..., object])

def set_variable(name: bytes, value: bytes | None, /) -> None:
    """Set the variable that the wrappers add. A value of None: they add nothing."""

def wrap(function: _Function, /) -> _Function:
    """Return the builtin that adds the variable and calls `function`; the same object each time.

    Raises:
        ValueError: `function` does not start a program with an environment of its own.
    """

def original(function: _Function, /) -> _Function:
    """Return the function that `function` wraps, or `function` itself if it is not a wrapper."""
