"""Python's side of the function graph: what needs no C. The rest is in funcgraph._engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from funcgraph._engine import FgraphOps, function_names, register_ftrace_graph, unregister_ftrace_graph

TYPE_CHECKING = False  # typing is not imported in a traced process
if TYPE_CHECKING:
    from typing import TypeVar

    from funcgraph._engine import Fprobe, Kprobe

    Client = TypeVar("Client", FgraphOps, Fprobe, Kprobe)


@contextmanager
def while_registered(
    clients: Sequence[Client], register: Callable[[Client], object], unregister: Callable[[Client], object]
) -> Iterator[Client]:
    """The common half of `with` blocks: registered in order, unregistered in reverse; yields the first.

    If one cannot be registered, those before it are unregistered again. One that was unregistered inside the
    block is left as it is.
    """
    entered: list[Client] = []
    try:
        for client in clients:
            register(client)
            entered.append(client)
        yield clients[0]
    finally:
        for client in reversed(entered):
            if client.registered:
                unregister(client)


def registered(*ops: FgraphOps) -> AbstractContextManager[FgraphOps]:
    """Register users for the length of a `with` block.

        with funcgraph.registered(latency, errors):
            work()

    They are registered in the order given and unregistered in the reverse order; if one of them cannot be
    registered, those before it are unregistered again. A user that was unregistered inside the block is left
    as it is.

    Args:
        ops: one or more users.

    Yields:
        The first of them.

    Raises:
        TypeError: no user was given.
        OSError: as register_ftrace_graph.
    """
    if not ops:
        raise TypeError("registered() needs at least one FgraphOps")
    return while_registered(ops, register_ftrace_graph, unregister_ftrace_graph)


def available_filter_functions(pattern: str = "*") -> list[str]:
    """Return the names of the functions that a filter of this pattern is for now, sorted.

        funcgraph.available_filter_functions("shop.*")

    These are all that there are in this interpreter, whether they were called or not: also functions that are
    defined in the body of another, and the methods of a class whose body has not run. A name that several
    functions have is there once. C functions are there only under their whole names, as in a filter:
    "time.sleep", "builtins.list.append".

    The kernel's file available_filter_functions of tracefs.

    Args:
        pattern: as in FgraphOps(filter=...).

    Raises:
        ValueError: it is no pattern; the text says what is wrong, and where.
        TypeError: it is no str.
    """
    return sorted(set(function_names([pattern])))


def native_address(callback: object) -> int | None:
    """Return the address behind a foreign function pointer, or None if `callback` is nothing of that kind.

    Known are numba's cfunc objects, ctypes' function pointers and cffi's. No package is imported for it: what
    made the object has imported its own.

    Raises:
        ValueError: it is such a pointer, and NULL.
    """
    kind = type(callback)
    ctypes = sys.modules.get("ctypes")
    cffi = sys.modules.get("_cffi_backend")
    if ctypes is not None and isinstance(callback, ctypes._CFuncPtr):
        address = ctypes.cast(callback, ctypes.c_void_p).value
    elif (
        cffi is not None
        and isinstance(callback, cffi._CDataBase)
        and cffi.typeof(callback).kind == "function"
    ):
        address = int(cffi.cast(cffi.new_primitive_type("uintptr_t"), callback))
    elif kind.__module__.partition(".")[0] == "numba":
        address = getattr(callback, "address", None)
        if address is None:
            return None
    else:
        return None
    if not address:
        raise ValueError(f"{callback!r} is a NULL pointer")
    return int(address)
