"""The parts of the function graph's API that need no C. The others are in funcgraph._engine."""

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
    """Register in order, yield the first, and unregister in reverse order: the body of the `with` blocks.

    If one cannot be registered, those before it are unregistered. One that was unregistered inside the block
    stays so.
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
    """Register users while a `with` block runs.

        with funcgraph.registered(latency, errors):
            work()

    They are registered in the given order and unregistered in the reverse order. If one cannot be registered,
    those before it are unregistered. A user that was unregistered inside the block stays so.

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
    """Return the sorted names of the functions that now match a pattern.

        funcgraph.available_filter_functions("shop.*")

    These are all functions in this interpreter, called or not, including functions defined in other functions
    and methods of a class whose body has not run. Each name appears once. C functions match only by their
    whole names, as in a filter: "time.sleep", "builtins.list.append".

    The kernel's file available_filter_functions of tracefs.

    Args:
        pattern: as in FgraphOps(filter=...).

    Raises:
        ValueError: the pattern is invalid; the message says why and where.
        TypeError: it is not a str.
    """
    return sorted(set(function_names([pattern])))


def native_address(callback: object) -> int | None:
    """Return the address of a foreign function pointer, or None if `callback` is not one.

    It accepts numba's cfunc objects and the function pointers of ctypes and cffi. It imports none of these
    packages, because the creator of the pointer has imported its own.

    Raises:
        ValueError: the pointer is NULL.
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
