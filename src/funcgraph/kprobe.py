"""Finds the function of a kprobe by name. The rest of the kprobe API is in funcgraph._engine."""

from __future__ import annotations

import errno
from contextlib import AbstractContextManager

from funcgraph._engine import (
    Function,
    Kprobe,
    functions_named,
    kprobe_lines,
    register_kprobe_at,
    unregister_kprobe,
)
from funcgraph.fgraph import while_registered
from funcgraph.fprobe import nobody


def register_kprobe(kprobe: Kprobe) -> None:
    """Register a kprobe: its handler is called at its place, also in calls in progress.

    On CPython 3.11 a call in progress is probed only after it has called another Python function.

    Registering enables the probe. The function need not have been called before. If given by name, it must
    exist.

    The kernel's register_kprobe (Documentation/trace/kprobes.rst).

    Args:
        kprobe: a probe that is not registered.

    Raises:
        OSError: EEXIST: it is registered already (in the kernel EINVAL); ENOENT: no function has this name
            (the message has similar names), or it is a C function, or was freed; EINVAL: the function has no
            code at this line (the message has near lines), or cannot be probed at this offset; EILSEQ: no
            instruction begins at this offset; EADDRNOTAVAIL: several functions have this name and place. Then
            nothing has changed.
        RuntimeError: no hook is free (see `funcgraph status`); the interpreter is ending.
    """
    register_kprobe_at(kprobe, function_at(kprobe))


def probed(*kprobes: Kprobe) -> AbstractContextManager[Kprobe]:
    """Register kprobes while a `with` block runs.

        with funcgraph.probed(funcgraph.Kprobe(show, "shop.cart.total", line=42)):
            work()

    They are registered in the given order and unregistered in the reverse order. If one cannot be registered,
    those before it are unregistered. One that was unregistered inside the block stays so.

    Args:
        kprobes: one or more probes.

    Yields:
        The first of them.

    Raises:
        TypeError: no probe was given.
        OSError: as register_kprobe().
    """
    if not kprobes:
        raise TypeError("probed() needs at least one Kprobe")
    return while_registered(kprobes, register_kprobe, unregister_kprobe)


def function_at(kprobe: Kprobe) -> Function:
    """Return the function that a kprobe is for.

    Raises:
        OSError: ENOENT: no function has its name; EADDRNOTAVAIL: several have its name and its place.
    """
    if not kprobe.by_name:
        assert kprobe.function is not None
        return kprobe.function
    functions = functions_named([kprobe.symbol])[kprobe.symbol]
    if not functions:
        raise nobody([kprobe.symbol])
    if len(functions) > 1:
        functions = [function for function in functions if _may_be_on(kprobe, function)] or functions[:1]
    if len(functions) > 1:
        raise OSError(
            errno.EADDRNOTAVAIL,
            f"{len(functions)} functions are named {kprobe.symbol} and have this place: pass the function",
        )
    return functions[0]


def _may_be_on(kprobe: Kprobe, function: Function) -> bool:
    code = function.code
    return code is not None and (kprobe.line is None or kprobe.line in kprobe_lines(code))
