"""Python's side of kprobes: finding the function that a probe is for. The rest is in funcgraph._engine."""

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
    """Put a probe on its place: its handler is called from now on, also in calls that are in progress.

    On CPython 3.11 a call in progress is probed once it has called another Python function.

    Registering enables it. The function need not have been called before; named by a str, it must exist.

    The kernel's register_kprobe (Documentation/trace/kprobes.rst).

    Args:
        kprobe: not registered.

    Raises:
        OSError: nothing has changed. EEXIST: it is registered already (in the kernel EINVAL); ENOENT: no
            function has this name, the text says which are near, or it is a C function, or gone; EINVAL: the
            function has no code at this line, the text says which lines are near, or cannot be probed at this
            offset; EILSEQ: no instruction begins at this offset; EADDRNOTAVAIL: several functions have this
            name and place.
        RuntimeError: no hook is free (see `funcgraph status`); the interpreter is ending.
    """
    register_kprobe_at(kprobe, _function_at(kprobe))


def probed(*kprobes: Kprobe) -> AbstractContextManager[Kprobe]:
    """Register kprobes for the length of a `with` block.

        with funcgraph.probed(funcgraph.Kprobe(show, "shop.cart.total", line=42)):
            work()

    They are registered in the order given and unregistered in the reverse order; if one of them cannot be
    registered, those before it are unregistered again. One that was unregistered inside the block is left as
    it is.

    Args:
        kprobes: one or more.

    Yields:
        The first of them.

    Raises:
        TypeError: none was given.
        OSError: as register_kprobe.
    """
    if not kprobes:
        raise TypeError("probed() needs at least one Kprobe")
    return while_registered(kprobes, register_kprobe, unregister_kprobe)


def _function_at(kprobe: Kprobe) -> Function:
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
            f"{len(functions)} functions are named {kprobe.symbol} and have this place: give the one itself",
        )
    return functions[0]


def _may_be_on(kprobe: Kprobe, function: Function) -> bool:
    code = function.code
    return code is not None and (kprobe.line is None or kprobe.line in kprobe_lines(code))
