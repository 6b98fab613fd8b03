"""The engine inside a traced process. Importing this imports nothing else."""

import threading
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from types import CodeType, FrameType
from typing import Any, Final, Literal, Self, final

from _typeshed import structseq

MODES: Final[tuple[str, ...]]  # ("wait", "drop", "overwrite")
TRACERS: Final[tuple[str, ...]]  # ("function_graph", "function", "nop", ...)

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
    instance: str = "",
    retaddr: bool = False,
    stack_trace: bool = False,
    no_repeats: bool = False,
    no_sleep_time: bool = False,
    no_irqs: bool = False,
) -> int:
    """Create a ring-buffer file named PID.N.ring in `directory` and trace into it; return a handle.

    In wait mode a writer that finds the buffer full waits while some process holds a lock (fcntl record lock,
    exclusive, whole file) on `directory`/lock, and drops when none does. After a fork the child makes a file
    of its own at its first record (not with follow_fork=False: the child is then not traced).
    `after_site`: record nothing until the `site` module's start-up work is over. `instance`: its name, at
    most 63 bytes; "": the top instance.
    Of the function_graph tracer. `retaddr`: record where each call is made (funcgraph-retaddr).
    `no_sleep_time`: durations are those of the thread's work, without the time it slept or waited
    (nosleep-time; a system call at both ends of a call). `no_irqs`: neither calls that CPython makes of
    signal handlers nor what these call (nofuncgraph-irqs).
    Of the function tracer. `stack_trace`: record what each call was made from (func_stack_trace).
    `no_repeats`: a call that comes again and again is told once, with how often (func-no-repeats; not
    together with args).
    Errors: ValueError (a bad pattern, tracer, mode or number), OSError (the file), RuntimeError (no hook
    free).
    """

def wait_for_site() -> None:
    """Record nothing in this interpreter, whoever asks, until the `site` module's start-up work is over.

    Of no effect if that does not run now, or if nobody traces yet. RuntimeError: no hook is free.
    """

def stop(handle: int) -> None:
    """Stop tracing into that file and mark it finished. ValueError if the handle is not active."""

def status() -> dict[str, Any]:
    """What the engine holds: {"arch", "tool_id", "users": [...], "functions", "tasks", "killed"}; `killed` is
    the kill switch's message or None."""

# ---- latency tracers; funcgraph.instance.latency is over them

LATENCY_TRACERS: Final[tuple[str, ...]]  # ("loopblock", ...)

def latency_start(tracer: str, inside_kb: int = 0, handle: int = 0, /) -> None:
    """The tracer looks for its sections from now on, its maximum is 0 and nothing is kept.

    `inside_kb`: the size of the buffer for the function graph inside sections; 0: it is not recorded. Or
    `handle`, of an Instance: its buffer has that graph, if it has begun to record after this call. Errors:
    ValueError (no such tracer, or size), OSError (EBUSY: it is on already; EOPNOTSUPP: not with this CPython;
    ENOSPC: no slot for a user; EINVAL: no such instance), RuntimeError (no hook free).
    """

def latency_inside(tracer: str, /) -> bytes | None:
    """The ring-buffer file of what ran when the section that was kept last was; it has more than that at both
    ends. None: nothing was kept, or no graph recorded."""

def latency_stop(tracer: str, /) -> None:
    """No more; what was kept stays. ValueError if it is not on."""

def latency_get(tracer: str, /) -> dict[str, Any]:
    """{"is_on", "max_ns", "thresh_ns", "kept": how many sections were kept so far, "what": what a section is,
    "graph": the function whose graph is the inside of a section, or None: all functions}."""

def latency_set_max(tracer: str, ns: int, /) -> None:
    """Only sections longer than so many nanoseconds are kept from now on."""

def latency_set_thresh(tracer: str, ns: int, /) -> None:
    """Each section of at least so many nanoseconds is kept; 0: each that is the longest so far."""

def latency_section(tracer: str, /) -> dict[str, Any] | None:
    """The section that was kept last: {"latency_ns", "begin_ns", "end_ns", "task", "tid", "started_at",
    "ended_at", "events": [(time_ns, duration_ns, text), ...], "left_out"}; times as of CLOCK_MONOTONIC."""

# ---- instances

# Option -> the setting that has a tracer record it, and the option's value with which that is set.
INSTANCE_FLAGS: Final[dict[str, tuple[str, bool]]]

# Setting -> its least and greatest value.
INSTANCE_LIMITS: Final[dict[str, tuple[int, int]]]
INSTANCE_NAME_BYTES: Final[int]  # of the longest name, in UTF-8

@final
class Instance:
    """An instance of the tracer in this process's memory; funcgraph.Instance is made of it.

    Args:
        name: what its ring buffer says it is; at most 63 bytes.
        buffer_kb: size of the buffer.
        overwrite: a full buffer loses the oldest records; False: the newest.

    Errors: OSError: ENAMETOOLONG, EINVAL (the size), ENOSPC (no slot), EBUSY (another thread changes it).
    ValueError, from any method: it is closed. MemoryError.
    """

    def __new__(cls, name: str, *, buffer_kb: int = 1408, overwrite: bool = True) -> Instance: ...
    @property
    def tracer(self) -> str:
        """The name of its tracer; "nop" at first."""

    @property
    def buffer_kb(self) -> int: ...
    @property
    def tracing_on(self) -> bool: ...
    @property
    def has_unread(self) -> bool:
        """Whether a consuming copy would find records."""

    @property
    def settings(self) -> dict[str, Any]:
        """max_graph_depth, thresh_us and the settings of INSTANCE_FLAGS."""

    @property
    def max_latency_us(self) -> int: ...
    @max_latency_us.setter
    def max_latency_us(self, value: int) -> None: ...
    @property
    def handle(self) -> int:
        """The number by which the engine knows it; 0: it is closed."""

    @property
    def closed(self) -> bool: ...
    def close(self) -> None:
        """Nothing of it is left. May be called twice."""

    def set_tracer(self, name: str, /) -> None:
        """Another tracer, and an empty buffer. RuntimeError: no hook is free."""

    def set_buffer_kb(self, kb: int, /) -> None:
        """Another size of the buffer; what is recorded stays, as much as there is room for."""

    def set_filter(
        self,
        *,
        filter: Iterable[str] = (),
        notrace: Iterable[str] = (),
        graph: Iterable[str] = (),
        graph_notrace: Iterable[str] = (),
        tids: Iterable[int] | None = None,
        c_calls: bool = False,
    ) -> None:
        """Which functions and calls, all at once. ValueError: a bad pattern."""

    def set_setting(self, name: str, value: int, /) -> None:
        """Change one of `settings`. ValueError: there is none, or the value is out of range."""

    def set_tracing_on(self, on: bool, /) -> None: ...
    def set_overwrite(self, on: bool, /) -> None:
        """A full buffer loses the oldest records; False: the newest."""

    def clear(self) -> None:
        """Forget all records, and that any were lost."""

    def copy(self, path: str | PathLike[str], *, consume: bool = False) -> int:
        """Write a ring-buffer file, finished, of what is there; return bytes of records in it.

        consume: what is in it is in no later one. OSError: the file is there already, or cannot be written.
        """

    def mark(self, text: str, /) -> int:
        """Put a text into the trace; return its length."""

    def printk(self, format: str, /, *args: object) -> int:
        """Put `format % args` into the trace, as from the calling function; return its length."""

def untraced(function: Callable[..., Any], /, *args: object) -> Any:
    """Return what function(*args) returns; nothing that it calls in this thread is traced, by nobody."""

def mark(text: str, /) -> int:
    """Put a text into the recordings of this process, and into an instance named "top"; return its length."""

def trace_printk(format: str, /, *args: object) -> int:
    """Put `format % args` into the traces of this process, as from the calling function.

    Into the recordings (`funcgraph record`, `funcgraph.record`), and into the instance "top". Where nothing
    records nothing happens. The kernel's trace_printk().

        funcgraph.trace_printk("order %d has %d items", order.id, len(order.items))

    Args:
        format: a format as of the operator %.
        args: its values.

    Returns:
        The length of the text.

    Errors: TypeError, ValueError: the format does not suit the values.
    """

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
        save_regs: its callbacks may have the full frame, by FtraceRegs.get_regs(). The kernel's
            FTRACE_OPS_FL_SAVE_REGS.

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
        save_regs: bool = False,
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
    def save_regs(self) -> bool: ...
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

        From 3.12 on CPython tells of what a callback does either all tools of sys.monitoring or none. It is
        counted while no other tool is in use, and no trace or profile function set: other tools are not to
        see callbacks. What a C function as callback calls is counted on 3.11 only.
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

    Partial, for that is cheap: partial_regs() says what there is. Of use while the callback runs; after
    that everything raises RuntimeError. None of the program's code runs, and nothing in the program changes.

    Of a C function there is the called object, and its first argument if CPython tells of it (3.12 and
    later); all else raises RuntimeError.
    """

    def get_argument(self, which: int | str, /) -> Any:
        """At the entry: an argument's value, by number or by name.

        Numbers are those of the code object's variables: arguments by position, by keyword only, then *args
        (a tuple) and **kwargs (a dict). A C function's have no names. The kernel's
        ftrace_regs_get_argument().

            regs.get_argument("amount")

        Errors: IndexError, KeyError (there is none), RuntimeError (at a return; after the callback),
        TypeError.
        """

    def arguments(self) -> dict[str, Any]:
        """At the entry: all arguments by name, in the order of their numbers.

        Errors: RuntimeError (at a return; a C function; after the callback).
        """

    def get_return_value(self) -> Any:
        """At the return: what the call returned; the exception, if it ended by one.

        Before 3.12 an exception that C code raised may be told by its class. The kernel's
        ftrace_regs_get_return_value().

        Errors: RuntimeError (at an entry; CPython did not tell how the call ended; a C function; after the
        callback).
        """

    def get_instruction_pointer(self) -> InstructionPointer:
        """Where the function is: at its start, or at the instruction that it returns or raises at.

        The kernel's ftrace_regs_get_instruction_pointer().

            func, offset, line = regs.get_instruction_pointer()

        Errors: RuntimeError (a C function; a call of whose end CPython told nobody; after the callback).
        """

    def get_callable(self) -> Any:
        """The function object that was called, as it can be called again; or the C function.

        All closures of one function have one Function, and each is a callable of its own.

        Errors: RuntimeError (a call of whose end CPython told nobody; after the callback).
        """

    def get_frame_pointer(self) -> int:
        """The address of the interpreter's frame: one for each call in progress, then used again.

        Errors: as get_instruction_pointer().
        """

    def get_stack_pointer(self) -> int:
        """The address just above what lies on the frame's evaluation stack; a result counts as taken off.

        The kernel's kernel_stack_pointer().

        Errors: as get_instruction_pointer(); RuntimeError (the return of a generator on 3.12 and 3.13:
        CPython does not tell).
        """

    def query_register_offset(self, name: str, /) -> int:
        """The number of a variable's place in the frame, for get_stack_nth(). The kernel's
        ftrace_regs_query_register_offset().

            regs.get_stack_nth(regs.query_register_offset("total"))

        Errors: KeyError (the function has no such variable), TypeError; as get_instruction_pointer().
        """

    def get_stack_nth(self, n: int, /) -> Any:
        """What lies in the frame's n-th place now: arguments, other variables, cells, the evaluation stack.

        Cells are looked through. At the return, variables have the values that they have then. The kernel's
        ftrace_regs_get_kernel_stack_nth().

        Errors: IndexError (no such place), KeyError (nothing is bound there), RuntimeError (CPython did not
        tell how far the evaluation stack reaches), TypeError; as get_instruction_pointer().
        """

    def get_regs(self) -> FrameType | None:
        """The full frame, as sys._getframe() would give it to the function itself; None for a user that was
        not made with save_regs. The kernel's ftrace_get_regs().

        It may be kept, and then keeps its variables, as any frame object. On 3.11 and 3.12 what f_locals gave
        is kept until the call ends. On 3.11, at an entry, its line is the first one, or None once f_locals
        was read.

            regs.get_regs().f_locals["total"]

        Errors: as get_instruction_pointer(); MemoryError.
        """

    def partial_regs(self) -> dict[str, bool]:
        """Say what is filled: arguments, return_value, exception, instruction_pointer, frame_pointer,
        stack_pointer, callable, stack and frame (the full one).

        Errors: RuntimeError (after the callback).
        """

@final
class InstructionPointer(structseq[Any], tuple[Function | None, int, int | None]):
    """Where a function is."""

    __match_args__: Final = ("func", "offset", "line")
    @property
    def func(self) -> Function | None:
        """The function."""

    @property
    def offset(self) -> int:
        """Of the instruction in the function's code, in bytes, as dis shows it."""

    @property
    def line(self) -> int | None:
        """The instruction's line; None: it has none."""

class Fprobe:
    """Handlers at the entry and the exit of functions: what to call, and what to keep in between.

    The semantics are those of the Linux kernel's struct fprobe (Documentation/trace/fprobe.rst). Any number
    of fprobes may be on a function. Entry handlers run in the order of registration, exit handlers in
    reverse. All fprobes are one user of the function graph: functions that no fprobe is on cost nothing.

        def entry(fp, entry_ip, ret_ip, regs, data):
            data[:] = struct.pack("q", regs.get_argument("amount"))

        def exit(fp, entry_ip, ret_ip, regs, data):
            amount, = struct.unpack("q", data)
            print(entry_ip.name, amount, "->", regs.get_return_value(), "at", ret_ip.file, ret_ip.line)

        fp = funcgraph.Fprobe(entry, exit, entry_data_size=8)
        with funcgraph.registered_fprobe(fp, "shop.*"):
            serve()

    Args:
        entry_handler: called as entry_handler(fp, entry_ip, ret_ip, regs, entry_data) with this object, the
            Function, where it returns to (a ReturnAddress; None at the bottom of a thread), FtraceRegs, and a
            writable memoryview of the entry data, zeroed. A true answer: the exit handler is not called for
            this call. None: all exits are wanted.
        exit_handler: called with the same at the exit, exactly once for each entry that was not cancelled,
            also if the call ends by an exception, or is a generator that is closed. None: exits are not told.
        entry_data_size: bytes that are kept from entry to exit, for each call. With 0, or without an exit
            handler, entry_data is None.
        name: what error messages call it.
        keep_on_error: it stays enabled after a handler has raised.
        save_regs: regs.get_regs() gives the full frame.

    Either handler may also be the address of a C function with the signature in funcgraph.h, as FgraphOps
    takes them: then struct fprobe is what it gets.

    regs and entry_data are of use while the handler runs; after that regs raises RuntimeError, and
    entry_data, its slices and all other views of it ValueError. An exception that comes out of a handler goes
    to sys.unraisablehook and is counted; it never reaches the program. The fprobe is disabled then, as by
    disable_fprobe().

    Errors: ValueError (a negative size; a number that is no address), TypeError; RuntimeError (__init__ of
    one that is registered).
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Fprobe: ...
    def __init__(
        self,
        entry_handler: Callable[
            [Fprobe, Function, ReturnAddress | None, FtraceRegs, memoryview | None], object
        ]
        | int
        | None = None,
        exit_handler: Callable[
            [Fprobe, Function, ReturnAddress | None, FtraceRegs, memoryview | None], object
        ]
        | int
        | None = None,
        entry_data_size: int = 0,
        *,
        name: str = "",
        keep_on_error: bool = False,
        save_regs: bool = False,
    ) -> None: ...
    @property
    def entry_handler(self) -> Any:
        """As it was given."""

    @property
    def exit_handler(self) -> Any:
        """As it was given."""

    @property
    def entry_data_size(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def keep_on_error(self) -> bool: ...
    @property
    def save_regs(self) -> bool: ...
    @property
    def nmissed(self) -> int:
        """Calls since the registration that its handlers could not run for: made by a handler or callback
        itself, or without room for the entry data on the shadow stack."""

    @property
    def errors(self) -> int:
        """Exceptions that came out of its handlers so far."""

    @property
    def last_error(self) -> BaseException | None:
        """The latest of them."""

    @property
    def enabled(self) -> bool:
        """False after disable_fprobe(), or once a handler has raised (unless keep_on_error), until it is
        enabled or registered again."""

    @property
    def registered(self) -> bool: ...

@final
class ReturnAddress:
    """Where a probed call returns to; the kernel's ret_ip, which is an address: int(ret_ip) is that of the
    instruction, and two are equal if it is the same.

    What it tells is looked up when it is asked for. It may be kept: it goes on telling of that call.
    """

    @property
    def location(self) -> ReturnLocation:
        """All of the following. Errors: RuntimeError (CPython did not tell)."""

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
    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class KprobeMultiLink:
    """A handler that kprobe_multi() put on functions. It holds until detach(), also if nobody keeps it."""

    @property
    def handler(self) -> Any:
        """As it was given."""

    @property
    def kind(self) -> Literal["entry", "return", "session"]: ...
    @property
    def name(self) -> str: ...
    @property
    def keep_on_error(self) -> bool: ...
    @property
    def save_regs(self) -> bool: ...
    @property
    def nmissed(self) -> int:
        """Calls that the handler could not be called for, as an Fprobe's."""

    @property
    def errors(self) -> int:
        """Exceptions that came out of the handler so far."""

    @property
    def last_error(self) -> BaseException | None:
        """The latest of them."""

    @property
    def enabled(self) -> bool:
        """False once the handler has raised (unless keep_on_error)."""

    @property
    def registered(self) -> bool:
        """It was not detached."""

    def detach(self) -> None:
        """Take the handler off. When this returns, it runs no more, but for the caller's own call. Calls in
        progress get no return.

        Errors: OSError EINVAL (it was detached already).
        """

    def __enter__(self) -> KprobeMultiLink: ...
    def __exit__(self, *exception: object) -> None:
        """Detach it, if it is not."""

@final
class KprobeMultiCtx:
    """What the handler of a kprobe_multi link is told.

    It may be kept: it goes on telling of that call, but for regs.
    """

    @property
    def link(self) -> KprobeMultiLink:
        """The link that the call is for."""

    @property
    def func(self) -> Function:
        """The function that is called; the kernel's bpf_get_func_ip()."""

    @property
    def ret_ip(self) -> ReturnAddress | None:
        """Where it returns to; None at the bottom of a thread."""

    @property
    def regs(self) -> FtraceRegs:
        """Errors: RuntimeError (after the handler)."""

    @property
    def cookie(self) -> int:
        """This function's, as it was attached; 0 without cookies. The kernel's bpf_get_attach_cookie()."""

    @property
    def is_return(self) -> bool:
        """It is the function's return; the kernel's bpf_session_is_return()."""

    session_cookie: int
    """Of a session: 0 to 2**64 - 1, zero at the entry; the return finds what the entry has left. The kernel's
    bpf_session_cookie().

    Errors: AttributeError (the link is no session), RuntimeError (set after the handler), OverflowError,
    TypeError.
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
        """When the call, or its latest resume, began: nanoseconds of CLOCK_MONOTONIC; 0: only fprobes watch
        it, and they need no times."""

    @property
    def line(self) -> int:
        """The line that it is at; 0: not known."""

    @property
    def parent(self) -> ReturnLocation | None:
        """Where it returns to; None at the bottom of a thread."""

@final
class User(
    structseq[Any],
    tuple[
        str,
        Literal["python", "C", "tracer", "fprobes"],
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
    def kind(self) -> Literal["python", "C", "tracer", "fprobes"]:
        """An FgraphOps, another extension's struct fgraph_ops, a tracer that writes a trace, or the one user
        that serves all fprobes. That one is on the functions of these, whatever its filter says."""

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

def find_functions(patterns: Sequence[str], notpatterns: Sequence[str] = ()) -> list[Function]:
    """Return the functions that match one of `patterns` and none of `notpatterns`, called or not.

    A C function matches only a pattern that is its whole name.

    Errors: ValueError (a bad pattern), TypeError, RuntimeError (the interpreter is ending), MemoryError.
    """

def functions_named(names: Sequence[str]) -> dict[str, list[Function]]:
    """Return the functions, Python's and C's, of each of these whole names: none, one, or several.

    Errors: TypeError, RuntimeError (the interpreter is ending), MemoryError.
    """

def function_of(callable: object, /) -> Function:
    """Return the Function of a Python function, a method, a static or class method, a code object or a C
    function; of a Function itself.

    Errors: TypeError (it is something else), ValueError (a code object that no function has), RuntimeError
    (the interpreter is ending).
    """

def function_names(patterns: Sequence[str] | None = None) -> list[str]:
    """Return the name of each function that matches one of `patterns`; None: of all, also of C functions.

    Errors: as find_functions.
    """

# ---- fprobes

def register_fprobe(fp: Fprobe, filter: Sequence[str], notfilter: Sequence[str], /) -> None:
    """As funcgraph.register_fprobe, for sequences of patterns and with a short text for ENOENT."""

def register_fprobe_ips(fp: Fprobe, functions: Iterable[object], /) -> None:
    """Put an fprobe on these functions. The kernel's register_fprobe_ips().

        funcgraph.register_fprobe_ips(fp, [shop.checkout, shop.cart.Cart.add, len])

    Args:
        fp: the fprobe. The engine keeps a reference to it while it is registered.
        functions: Python functions, methods, static and class methods, code objects, C functions, Functions.
            One that is there twice counts once. It keeps none of them alive.

    Errors: OSError EINVAL (no function), ENOENT (a Function whose function is gone), and as register_fprobe;
    TypeError (something else), ValueError (a code object that no function has), MemoryError, RuntimeError.
    Then nothing is registered.
    """

def unregister_fprobe(fp: Fprobe, /) -> None:
    """Take an fprobe off. When this returns, none of its handlers runs any more, but for the caller's own.

    Entries that it has seen get no exit. The kernel's unregister_fprobe().

    Errors: OSError EINVAL (it is not registered), TypeError.
    """

def unregister_fprobe_async(fp: Fprobe, /) -> None:
    """The same without the wait: a handler may still be running in another thread.

    No handler begins any more. The fprobe is kept alive for as long as that takes. The kernel's
    unregister_fprobe_async().

    Errors: OSError EINVAL (it is not registered), TypeError.
    """

def enable_fprobe(fp: Fprobe, /) -> None:
    """Call the handlers of an fprobe again, also after one has raised. The kernel's enable_fprobe().

    Errors: OSError EINVAL (it is not registered), TypeError.
    """

def disable_fprobe(fp: Fprobe, /) -> None:
    """Do not call the handlers of an fprobe: it stays where it is, and costs nearly as much. A call that
    began before gets no exit handler unless it is enabled again by then. The kernel's disable_fprobe().

    Errors: OSError EINVAL (it is not registered), TypeError.
    """

def fprobe_is_registered(fp: Fprobe, /) -> bool:
    """Return whether an fprobe is on its functions. The kernel's fprobe_is_registered().

    Errors: TypeError.
    """

def fprobe_count_ips_from_filter(filter: Sequence[str], notfilter: Sequence[str], /) -> int:
    """As funcgraph.fprobe_count_ips_from_filter, for sequences of patterns and with a short text for
    ENOENT."""

def kprobe_multi_attach(
    handler: Callable[[KprobeMultiCtx], object] | int,
    functions: Iterable[object] | None,
    filter: Sequence[str],
    cookies: tuple[int, ...] | None,
    kind: str,
    name: str,
    keep_on_error: bool,
    save_regs: bool,
    /,
) -> KprobeMultiLink:
    """As funcgraph.kprobe_multi, for functions without names, and with a short text for ENOENT. `functions`
    None: those of `filter`."""

# ---- kprobes

class Kprobe:
    """A probe at a line of a function, or at an instruction: a handler that is called each time that the
    program comes there, and sees the full frame.

    The kernel's struct kprobe (Documentation/trace/kprobes.rst), with `symbol_name` and `offset`; a line
    instead of an offset is Python's own.

        def show(kprobe, regs):
            print(regs.get_local("price"), regs.locals())

        kprobe = funcgraph.Kprobe(show, "shop.cart.Cart.total", line=42)
        with funcgraph.probed(kprobe):
            serve()
        print(kprobe.hits)

    Args:
        handler: called as handler(kprobe, regs) with this object and KprobeRegs, before the place is
            executed. What it returns is of no meaning.
        symbol: the function: its whole name, "module.qualname"; or itself, a method, its code object or its
            Function. Of what is not a name nothing is kept alive. A name is looked up when the probe is
            registered.
        line: the number of a line of its file that has code in the function. It is come to each time that
            CPython begins it: a loop begins its lines anew, a line whose statement goes on behind a call does
            not begin again.
        offset: in bytes, of an instruction of the function, as `dis` shows it. 0 is the function's start. One
            of the two is needed.
        name: what kprobes() and error messages call it; "symbol:line" or "symbol+offset" if not given.
        keep_on_error: it stays enabled after the handler has raised.

    Several probes may be at one place: their handlers are called in the order of registration. On CPython
    3.12 and later what is not at a probe's place costs nothing once it has run for the first time; on 3.11
    calls of the function run as slow as under any tracer, and no other function is touched.

    An exception that comes out of the handler goes to sys.unraisablehook and is counted; it never reaches the
    program. The probe is disabled: it stays where it is, and its handler is not called any more. A handler is
    not called for what callbacks do themselves (`nmissed`).

    When the function is gone, the probe is `gone`: it stays registered until it is unregistered, and is not
    called.

    Errors: TypeError (no function, no place, two places), ValueError (a number that is no line or no offset).
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Kprobe: ...
    def __init__(
        self,
        handler: Callable[[Kprobe, KprobeRegs], object],
        symbol: str | Callable[..., Any] | CodeType | Function,
        *,
        line: int | None = None,
        offset: int | None = None,
        name: str = ...,
        keep_on_error: bool = False,
    ) -> None: ...
    @property
    def handler(self) -> Any:
        """As it was given."""

    @property
    def symbol(self) -> str:
        """The function's name."""

    @property
    def by_name(self) -> bool:
        """The function was given by its name."""

    @property
    def function(self) -> Function | None:
        """The function; None: it was given by name, and was not registered yet."""

    @property
    def line(self) -> int | None:
        """As it was given."""

    @property
    def offset(self) -> int | None:
        """As it was given, in bytes."""

    @property
    def name(self) -> str: ...
    @property
    def keep_on_error(self) -> bool: ...
    @property
    def hits(self) -> int:
        """How often the handler was called."""

    @property
    def nmissed(self) -> int:
        """How often a callback came to the place: the handler was not called. As FgraphOps.nmissed."""

    @property
    def errors(self) -> int:
        """Exceptions that came out of the handler."""

    @property
    def last_error(self) -> BaseException | None:
        """The latest of them."""

    @property
    def registered(self) -> bool: ...
    @property
    def enabled(self) -> bool:
        """False once it was disabled: by disable_kprobe(), or because its handler raised."""

    @property
    def gone(self) -> bool:
        """It is registered, and its function is gone."""

@final
class KprobeRegs:
    """The full frame at a kprobe's place: the kernel's struct pt_regs.

    Of use while the handler runs; after that everything raises RuntimeError. None of the program's code runs,
    and the program is not changed.
    """

    def get_regs(self) -> FrameType:
        """The frame itself. What is kept of it keeps its variables alive, and shows how the call went on.

        Errors: RuntimeError (in another thread than the handler's; after the handler).
        """

    def get_local(self, name: str, /) -> Any:
        """The value of a variable: an argument, a local, or one that inner or outer functions share.

        Errors: KeyError (there is none, or it is unbound here), TypeError, RuntimeError (after the handler;
        the namespace of a class body is a mapping of the program's own).
        """

    def locals(self) -> dict[str, Any]:
        """All variables that are bound, by name.

        Errors: RuntimeError (as get_local).
        """

    def get_instruction_pointer(self) -> InstructionPointer:
        """Where the program is.

        Errors: RuntimeError (after the handler).
        """

    def get_frame_pointer(self) -> int:
        """The address of the interpreter's frame: the same for all that is in one call.

        Errors: RuntimeError (after the handler).
        """

def register_kprobe_at(kprobe: Kprobe, function: Function, /) -> None:
    """What funcgraph.register_kprobe() does once it knows the function."""

def unregister_kprobe(kprobe: Kprobe, /) -> None:
    """Take a probe away; return when its handler runs no more, but for the caller itself.

    The kernel's unregister_kprobe.

    Raises:
        OSError: EINVAL: it is not registered.
    """

def enable_kprobe(kprobe: Kprobe, /) -> None:
    """Let its handler be called again. The kernel's enable_kprobe.

    Raises:
        OSError: EINVAL: it is not registered, or its function is gone.
    """

def disable_kprobe(kprobe: Kprobe, /) -> None:
    """Let its handler not be called; the probe stays where it is. The kernel's disable_kprobe.

    Raises:
        OSError: EINVAL: it is not registered, or its function is gone.
    """

def kprobes() -> list[Kprobe]:
    """All probes of this interpreter that are registered, in order of registration: the kernel's file
    kprobes/list."""

def kprobe_lines(code: CodeType, /) -> list[int]:
    """The lines of a code object that can be probed, in rising order."""

# ---- the function profiler

class ProfileBase:
    """What FunctionProfile has from the engine: counting, without the text.

    Not for use by itself: its arguments are those of FunctionProfile. As a context manager it starts, and
    stops if it was not stopped inside the block.
    """

    filter: Final[tuple[str, ...]]
    """Only these functions; empty: all."""
    notrace: Final[tuple[str, ...]]
    """Never these functions."""
    graph: Final[tuple[str, ...]]
    """Only these functions and what they call."""
    graph_notrace: Final[tuple[str, ...]]
    """Neither these functions nor what they call."""
    graph_time: Final[bool]
    """A call's time includes that of the calls it makes."""
    sleep_time: Final[bool]
    """A call's time includes that in which it did not run."""
    enabled: Final[bool]
    """It counts. The kernel's function_profile_enabled."""
    nmissed: Final[int]
    """Calls that were not counted: made by callbacks, or without memory for them."""

    def __init__(
        self,
        *,
        filter: Iterable[str] = (),
        notrace: Iterable[str] = (),
        graph: Iterable[str] = (),
        graph_notrace: Iterable[str] = (),
        graph_time: bool = True,
        sleep_time: bool = True,
    ) -> None: ...
    def start(self) -> None:
        """Count from now on, from zero.

        Errors: OSError EBUSY (it is enabled already), OSError ENOSPC (all slots of users are taken),
        RuntimeError (CPython has no hook free; the interpreter is ending), MemoryError. Then what was counted
        before is still there.
        """

    def stop(self) -> None:
        """Count no more. What was counted stays, until the next start.

        Calls in progress have counted when they began, and get no time.

        Errors: OSError EINVAL (it is not enabled).
        """

    def set_filter(self, patterns: Iterable[str], reset: bool = False) -> None:
        """Add to `filter`, or (reset) replace it; at any time.

        Errors: ValueError (a bad pattern), TypeError, MemoryError. Then nothing has changed.
        """

    def set_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `notrace`."""

    def set_graph(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `graph`."""

    def set_graph_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `graph_notrace`."""

    def figures(self, tid: int = 0, /) -> list[tuple[str, str, int, int, int, float]]:
        """(name, file, line, hit, time_ns, variance in ns^2) of each function that was called in that
        thread, or (0) in any.

        Errors: OSError ESRCH (nothing was counted in that thread, or it has ended), MemoryError.
        """

    def tids(self) -> list[int]:
        """The threads that can be asked for: something was counted in them, and they have not ended."""

    def __enter__(self) -> Self:
        """Start."""

    def __exit__(self, *ignored: object) -> None:
        """Stop, if it was not stopped inside the block. What was counted stays."""
