"""The engine inside a traced process. Importing this imports nothing else."""

import threading
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, Final, Literal, final

from _typeshed import structseq

MODES: Final[tuple[str, ...]]  # ("wait", "drop", "overwrite")
TRACERS: Final[tuple[str, ...]]  # ("function_graph", "function")

def check_pattern(pattern: str) -> None:
    """Raise ValueError, with column and reason, if `pattern` is not a valid filter pattern."""

def start(
    directory: str,
    *,
    tracer: str = "function_graph",
    filter: Sequence[str] = (),
    notrace: Sequence[str] = (),
    graph: Sequence[str] = (),
    max_graph_depth: int = 0,
    thresh_us: int = 0,
    args: bool = False,
    retval: bool = False,
    c_calls: bool = False,
    buffer_kb: int = 8192,
    mode: str = "wait",
    follow_fork: bool = True,
    after_site: bool = False,
) -> int:
    """Create a ring-buffer file named PID.N.ring in `directory` and trace into it; return a handle.

    In wait mode a writer that finds the buffer full waits while some process holds a lock (fcntl record lock,
    exclusive, whole file) on `directory`/lock, and drops when none does. After a fork the child makes a file
    of its own at its first record (not with follow_fork=False: the child is then not traced).
    `after_site`: record nothing until the `site` module's start-up work is over.
    Errors: ValueError (a bad pattern, tracer, mode or number), OSError (the file), RuntimeError (no hook
    free).
    """

def stop(handle: int) -> None:
    """Stop tracing into that file and mark it finished. ValueError if the handle is not active."""

def status() -> dict[str, Any]:
    """What the engine holds: {"arch", "tool_id", "users": [...], "functions", "tasks", "killed"}; `killed` is
    the kill switch's message or None."""

# ---- the function graph

class FgraphOps:
    """A user of the function graph: what to call at the entry and at the return of which functions.

    The semantics are those of the Linux kernel's struct fgraph_ops (kernel/trace/fgraph.c and
    Documentation/trace/ftrace-uses.rst); filters are those of Documentation/trace/ftrace.rst.

        def entry(trace, ops, regs):
            ops.reserve_object(regs.get_argument("order"))
            return True

        def ret(trace, ops, regs):
            print(trace.func.name, ops.retrieve_object(), trace.rettime_ns - trace.calltime_ns, "ns")

        ops = funcgraph.FgraphOps(entry, ret, filter=["shop.*"], notrace=["shop.db.*"], name="latency")
        with funcgraph.registered(ops):
            serve()

    Args:
        entryfunc: called as entryfunc(trace, ops, regs) with a GraphEnt, this object and FtraceRegs; a true
            answer asks for the return. None: all returns are wanted.
        retfunc: called as retfunc(trace, ops, regs) with a GraphRet, exactly once for each entry that asked
            for it: also if the call ends by an exception, or is a generator that is closed. None: returns are
            not told.
        filter: patterns of functions, as "module.qualname" with *, ? and [...], or ":mod:NAME". Empty: all
            functions.
        notrace: never these.
        graph: only these and all that they call, in the same thread.
        graph_notrace: neither these nor anything that they call.
        tids: only calls in these threads, by native id (threading.get_native_id()). None: in all.
        name: what users() and error messages call it.
        keep_on_error: it stays enabled after a callback has raised.

    Either function may also be the address of a C function with the signature in funcgraph.h, as an int, a
    ctypes function pointer, a numba cfunc or a cffi function pointer: it is then called without any Python in
    between. It must be there for as long as the user is registered.

    An exception that comes out of a callback goes to sys.unraisablehook and is counted; it never reaches the
    program. The user is disabled: it keeps its slot, and its functions are not called any more. What a
    callback calls is not traced. A signal handler that runs in the middle of a callback is the program's:
    what it raises, the program gets.

    Errors: ValueError (a bad pattern, with its column; a number that is no address or no thread id),
    TypeError.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> FgraphOps: ...
    def __init__(
        self,
        entryfunc: Callable[[GraphEnt, FgraphOps, FtraceRegs], object] | int | None = None,
        retfunc: Callable[[GraphRet, FgraphOps, FtraceRegs], object] | int | None = None,
        *,
        filter: Iterable[str] = (),
        notrace: Iterable[str] = (),
        graph: Iterable[str] = (),
        graph_notrace: Iterable[str] = (),
        tids: Iterable[int] | None = None,
        name: str = "",
        keep_on_error: bool = False,
    ) -> None: ...
    @property
    def entryfunc(self) -> Any:
        """As it was given."""

    @property
    def retfunc(self) -> Any:
        """As it was given."""

    @property
    def name(self) -> str: ...
    @property
    def keep_on_error(self) -> bool: ...
    @property
    def filter(self) -> tuple[str, ...]: ...
    @property
    def notrace(self) -> tuple[str, ...]: ...
    @property
    def graph(self) -> tuple[str, ...]: ...
    @property
    def graph_notrace(self) -> tuple[str, ...]: ...
    @property
    def tids(self) -> tuple[int, ...] | None: ...
    def set_filter(self, patterns: Iterable[str], reset: bool = False) -> None:
        """Add patterns to `filter`, or make them all of it.

        At any time, from any thread, also from a callback; it counts from now on, also for functions that are
        not there yet. The kernel's ftrace_set_filter().

            ops.set_filter(["shop.cart.*"])

        Args:
            patterns: as the constructor's.
            reset: they replace those that are there.

        Errors: ValueError (a bad pattern), TypeError, MemoryError; then nothing has changed.
        """

    def set_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `notrace`."""

    def set_graph(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `graph`. Calls in progress are not looked at: what they call is traced from the next
        call on."""

    def set_graph_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `graph_notrace`."""

    def set_tids(self, tids: Iterable[int] | None, /) -> None:
        """See only calls in these threads from now on (native ids); None: in all.

        Errors: ValueError (no native id), TypeError, MemoryError; then nothing has changed.
        """

    def reserve_data(self, size_bytes: int, /) -> memoryview | None:
        """In the entry function, once per entry: zeroed bytes that retfunc finds at this call's return.

        They lie on the thread's shadow stack and go with the call. The view is of use until the callback
        ends; after that it, its slices and all other views of it raise ValueError. The kernel's
        fgraph_reserve_data().

            ops.reserve_data(8)[:] = struct.pack("q", amount)

        Args:
            size_bytes: 1 to 256.

        Returns:
            A writable view of bytes; None if the shadow stack has no room for them, or if it was asked for
            twice.

        Errors: ValueError (the size), RuntimeError (not in this user's entry function).
        """

    def retrieve_data(self) -> memoryview | None:
        """In the return function: what was reserved at this call's entry, or None. The kernel's
        fgraph_retrieve_data().

        Errors: RuntimeError (not in this user's return function).
        """

    def retrieve_parent_data(self, depth: int, /) -> memoryview | None:
        """In a callback: the data of the call that is `depth` of this user's own calls further out; 0 is this
        one.

        What is written to it is there for that call's return. The kernel's fgraph_retrieve_parent_data().

        Returns:
            None: there is no such call, or it reserved nothing.

        Errors: ValueError (depth is negative), RuntimeError (not in a callback of this user).
        """

    def reserve_object(self, obj: object, /) -> bool:
        """In the entry function, once per entry: an object that retfunc finds at this call's return.

        It is referenced exactly as long as the call is in progress. False: the shadow stack has no room, or
        there is one already.

        Errors: RuntimeError (not in this user's entry function).
        """

    def retrieve_object(self) -> Any:
        """In the return function: the object that was reserved at this call's entry; None if there is none.

        Errors: RuntimeError (not in this user's return function).
        """

    task_var: int
    """A 64-bit word (0 to 2**64 - 1) for the calling thread and this user, in callbacks and outside of them.
    Zero for a new thread, and at each registration. The kernel's fgraph_get_task_var().

    Errors: RuntimeError (not registered), OverflowError, TypeError.
    """

    @property
    def nmissed(self) -> int:
        """Calls of its functions that were made in callbacks, and so not traced, since it was registered.

        From 3.12 on CPython tells no tool of calls that a callback of sys.monitoring makes: there they are
        not traced either, and are not counted.
        """

    @property
    def errors(self) -> int:
        """Exceptions that came out of its callbacks so far."""

    @property
    def last_error(self) -> BaseException | None:
        """The latest of them."""

    @property
    def enabled(self) -> bool:
        """False once a callback has raised (unless keep_on_error), until the next registration."""

    @property
    def registered(self) -> bool: ...
    @property
    def slot(self) -> int | None:
        """Its place in the table of users, or None."""

    @property
    def generation(self) -> int | None:
        """The number of its registration in this process, or None. It tells owners of one slot apart."""

@final
class GraphEnt:
    """What an entry function is told of a call; the kernel's struct ftrace_graph_ent.

    It may be kept: it goes on telling of that call.
    """

    @property
    def func(self) -> Function:
        """The function that is called."""

    @property
    def depth(self) -> int:
        """This user's own calls that are in progress below this one, in this thread."""

    @property
    def parent(self) -> ReturnLocation | None:
        """Where the call will return to; None at the bottom of a thread."""

    @property
    def calltime_ns(self) -> int:
        """When the call, or its latest resume, began: nanoseconds of CLOCK_MONOTONIC
        (time.monotonic_ns())."""

    @property
    def start_ns(self) -> int:
        """When the call first began: earlier than calltime_ns for a generator that was suspended."""

@final
class GraphRet:
    """What a return function is told of a call; the kernel's struct ftrace_graph_ret.

    It may be kept: it goes on telling of that call.
    """

    @property
    def func(self) -> Function: ...
    @property
    def depth(self) -> int: ...
    @property
    def parent(self) -> ReturnLocation | None: ...
    @property
    def calltime_ns(self) -> int: ...
    @property
    def start_ns(self) -> int: ...
    @property
    def rettime_ns(self) -> int:
        """When the call ended, as calltime_ns."""

    @property
    def overrun(self) -> int:
        """Calls of this thread so far that were not traced, as its shadow stack had no room."""

    @property
    def end(self) -> Literal["return", "raise", "close"]:
        """How it ended: it returned; an exception left it; it was suspended and closed or collected, or
        CPython told nobody of its end."""

@final
class Function:
    """A function that can be traced: one object for each, so it can be compared and be a key; the kernel's
    dyn_ftrace.

    It keeps neither the function nor its code alive.
    """

    name: Final[str]
    module: Final[str]
    qualname: Final[str]
    file: Final[str]
    line: Final[int]
    id: Final[int]
    @property
    def code(self) -> CodeType | None:
        """Its code object; None: it is gone, or the function is implemented in C."""

@final
class FtraceRegs:
    """What the hook saw at the function's boundary; the kernel's struct ftrace_regs.

    Of use while the callback runs; after that everything raises RuntimeError. None of the program's code
    runs.
    """

    def get_argument(self, which: int | str, /) -> Any:
        """At the entry: an argument's value, by number or by name.

        Numbers are those of the code object's variables: arguments by position, by keyword only, then *args
        (a tuple) and **kwargs (a dict).

        Errors: IndexError, KeyError (there is none), RuntimeError (at a return; after the callback).
        """

    def arguments(self) -> dict[str, Any]:
        """At the entry: all arguments by name, in the order of their numbers.

        Errors: RuntimeError (at a return; after the callback).
        """

    def get_return_value(self) -> Any:
        """At the return: what the call returned; the exception, if it ended by one.

        Before 3.12 an exception that C code raised may be told by its class.

        Errors: RuntimeError (at an entry; CPython did not tell how the call ended; after the callback).
        """

@final
class ReturnLocation(structseq[Any], tuple[str, str, str, str, int, CodeType]):
    """Where a call returns to."""

    __match_args__: Final = ("name", "module", "qualname", "file", "line", "code")
    @property
    def name(self) -> str:
        """'module.qualname' of the caller."""

    @property
    def module(self) -> str: ...
    @property
    def qualname(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int:
        """The line of the call."""

    @property
    def code(self) -> CodeType: ...

@final
class RetFrame(structseq[Any], tuple[Function, int, int, ReturnLocation | None]):
    """A call in progress."""

    __match_args__: Final = ("func", "calltime_ns", "line", "parent")
    @property
    def func(self) -> Function: ...
    @property
    def calltime_ns(self) -> int:
        """When the call, or its latest resume, began: nanoseconds of CLOCK_MONOTONIC."""

    @property
    def line(self) -> int:
        """The line that it is at; 0: it has just ended."""

    @property
    def parent(self) -> ReturnLocation | None:
        """Where it returns to; None at the bottom of a thread."""

@final
class User(
    structseq[Any],
    tuple[
        str,
        Literal["python", "C", "tracer"],
        int,
        int,
        tuple[str, ...],
        tuple[str, ...],
        tuple[str, ...],
        tuple[str, ...],
        tuple[int, ...] | None,
        int,
        int,
    ],
):
    """A registered user, as it was when users() was called."""

    __match_args__: Final = (
        "name",
        "kind",
        "slot",
        "generation",
        "filter",
        "notrace",
        "graph",
        "graph_notrace",
        "tids",
        "nmissed",
        "errors",
    )
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> Literal["python", "C", "tracer"]:
        """An FgraphOps, another extension's struct fgraph_ops, or a tracer that writes a trace."""

    @property
    def slot(self) -> int: ...
    @property
    def generation(self) -> int: ...
    @property
    def filter(self) -> tuple[str, ...]: ...
    @property
    def notrace(self) -> tuple[str, ...]: ...
    @property
    def graph(self) -> tuple[str, ...]: ...
    @property
    def graph_notrace(self) -> tuple[str, ...]: ...
    @property
    def tids(self) -> tuple[int, ...] | None: ...
    @property
    def nmissed(self) -> int: ...
    @property
    def errors(self) -> int: ...

def register_ftrace_graph(ops: FgraphOps, /) -> None:
    """Register a user: its functions are called from now on, until it is unregistered.

    The engine keeps a reference to it meanwhile. The kernel's register_ftrace_graph().

        funcgraph.register_ftrace_graph(ops)

    Errors: OSError EBUSY (it is registered already), OSError ENOSPC (all slots are taken: the text says by
    whom), RuntimeError (CPython has no hook free; the interpreter is ending), TypeError, MemoryError.
    """

def unregister_ftrace_graph(ops: FgraphOps, /) -> None:
    """Take a user out. When this returns, none of its functions runs any more, but for the caller's own
    callback.

    Entries that it made get no return. The kernel's unregister_ftrace_graph().

    Errors: OSError EINVAL (it is not registered), TypeError.
    """

def users() -> list[User]:
    """All users that are registered in this interpreter now, in the order of their slots."""

def get_ret_stack(idx: int = 0, task: int | threading.Thread | None = None) -> list[RetFrame]:
    """Return the traced calls that are in progress in a thread, newest first.

    The kernel's ftrace_graph_get_ret_stack(): what whoever walks a stack needs to know of hooked returns.

        for frame in funcgraph.get_ret_stack():
            print(frame.func.name, frame.line)

    Args:
        idx: leave out so many of the newest.
        task: a native thread id (threading.get_native_id()) or a threading.Thread; None: the caller's thread.
            Of another thread it is a picture of the moment, as sys._current_frames() is.

    Errors: ValueError (idx is negative; no thread id), TypeError, RuntimeError (another thread, in a
    free-threaded build: its stack does not stand still).
    """
