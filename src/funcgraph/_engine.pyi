"""The engine inside a traced process. Importing this imports nothing else."""

import threading
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from types import CodeType, FrameType
from typing import Any, Final, Literal, NoReturn, Self, TypeVar, final

from _typeshed import structseq

_T = TypeVar("_T")

MODES: Final[tuple[str, ...]]  # ("wait", "drop", "overwrite")
TRACERS: Final[tuple[str, ...]]  # ("function_graph", "function", "nop", ...)

def check_pattern(pattern: str) -> None:
    """Raise ValueError, with column and reason, if `pattern` is not a valid filter pattern."""

def glob_match(glob: str, text: str, /) -> bool:
    """Return whether a glob matches all of a text: the one way in which patterns are matched.

    Args:
        glob: `*`, `?`, `[a-z]`, `[!a-z]` and `\\x`, as in the kernel's patterns. A `[` without its `]` stands
            for itself.

    Raises: ValueError (a NUL in one of them), UnicodeEncodeError (a lone surrogate).
    """

def redacts(words: str, name: str, /) -> bool:
    """Return whether a value of a name is not recorded with these words, as `redact` of start() takes them.

    Raises: ValueError (the words are none, or a NUL), UnicodeEncodeError (a lone surrogate).
    """

def redact_words() -> dict[int, str]:
    """Return the words of each instance of this interpreter that leaves values out, by its handle."""

def _doctor_assumption(name: str) -> None:
    """For tests: from now on what the engine assumes about CPython under this name does not hold.

    Raises: ValueError (there is no assumption of that name).
    """

def start(
    directory: str,
    *,
    tracer: str = "function_graph",
    filter: Sequence[str] = (),
    notrace: Sequence[str] = (),
    graph: Sequence[str] = (),
    notrace_tids: Iterable[int] | None = None,
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
    values: int = 0,
    string_size: int = 0,
    redact: str = "",
    retaddr: bool = False,
    places: bool = False,
    stack_trace: bool = False,
    event_stack: bool = False,
    no_repeats: bool = False,
    no_sleep_time: bool = False,
    no_irqs: bool = False,
    no_brief: bool = False,
) -> int:
    """Create a ring-buffer file named PID.N.ring in `directory`, and record into it. Return a handle.

    In wait mode a writer that finds the buffer full waits as long as some process holds a lock (an exclusive
    fcntl record lock on the whole file) on `directory`/lock. Without such a process it drops the record.
    After a fork the child makes a file of its own at its first record.

    Args:
        directory: the session's directory.
        tracer: one of TRACERS.
        filter, notrace, graph: patterns, as for FgraphOps.
        notrace_tids: no calls in these threads, by native id; None: in all.
        max_graph_depth: record calls down to this depth only; 0: no limit.
        thresh_us: record only calls that take at least this many microseconds; 0: all calls.
        args, retval: record arguments, and return values.
        c_calls: record C functions too that the recorded functions call.
        buffer_kb: size of the buffer, in KiB.
        mode: one of MODES: what a writer does when the buffer is full.
        follow_fork: also record forked children.
        after_site: record nothing before the `site` module's start-up work is over.
        instance: name of the instance, at most 63 bytes; "": the top instance.
        values: with args, retval: record so many levels of the values' parts.
        string_size: bytes that are kept of a text; 0: 48, with values 256.
        redact: words with "|" between them: values whose names have one in them are left out.
        retaddr: function_graph only: record where each call is made (funcgraph-retaddr).
        no_sleep_time: function_graph only: leave the time in which the thread slept or waited out of
            durations (nosleep-time). This costs a system call at the entry and the return of each call.
        no_irqs: function_graph only: leave out calls that CPython makes of signal handlers, and what those
            call (nofuncgraph-irqs).
        no_brief: with c_calls: none of the C functions that take little time at each call (nobrief-calls).
        places: function only: record the line at which the caller made each call (sym-offset).
        stack_trace: function only: record the callers of each call (func_stack_trace).
        event_stack: record the callers of each event (stacktrace).
        no_repeats: function only: record a repeated call once, with a count (func-no-repeats). Not together
            with args.

    Raises: ValueError (a bad pattern, tracer, mode or number), OSError (the file), RuntimeError (CPython has
    no hook free; the interpreter is ending).
    """

def wait_for_site() -> None:
    """Record nothing in this interpreter, for any user, before the `site` module's start-up work is over.

    Has no effect unless that work is in progress, and functions are traced already.

    Raises: RuntimeError (CPython has no hook free).
    """

def stop(handle: int) -> None:
    """Stop recording into that file, and mark the file finished.

    Raises: ValueError (no active recording has this handle).
    """

def capabilities() -> dict[str, bool]:
    """Return what can be reported of a program in this Python: name -> whether it can.

    It depends on CPython's version and build, and never changes in a process. The names:

    - c_arguments: the first argument of a C function's call, if passed by position.
    - exact_nmissed: nmissed counts every call that a callback made.
    - other_threads: the calls in progress of other threads can be read.
    - free_kprobes: a kprobe costs nothing at other places of its function.
    - free_unselected: functions that no user selected cost nothing.

    docs/reference/compatibility.md says which Python can what. `fgraph_capability()` is the same in C, and
    `funcgraph status` prints it.

    Example:
        if funcgraph.capabilities()["other_threads"]:
            frames = funcgraph.get_ret_stack(task=thread)
    """

def capability_meanings() -> dict[str, str]:
    """Return what each name of capabilities() means, in a line."""

def killed() -> str | None:
    """Return why tracing has ended for good in this process; None: it has not.

    A broken invariant trips the kill switch: all tracing stops, one warning is printed, and the program goes
    on. From then on whatever would start tracing fails with OSError ENODEV, whose text has the reason.

    Example:
        if funcgraph.killed():
            log.warning("no traces any more: %s", funcgraph.killed())

    The kernel fails so after ftrace_kill().
    """

def status() -> dict[str, Any]:
    """Return the state of the engine: {"arch", "tool_id", "users": [...], "functions", "tasks", "overrun",
    "killed"}. `killed` is the message of the kill switch, or None."""

# ---- latency tracers, which funcgraph.instance.latency uses

LATENCY_TRACERS: Final[tuple[str, ...]]  # ("loopblock", ...)

def latency_start(
    tracer: str, inside_kb: int = 0, inside: int = 0, instance: int = 0, slowest_call: bool = True, /
) -> None:
    """Enable a latency tracer. Its maximum is 0, and no section is kept.

    Args:
        inside_kb: size of a buffer that records the function graph inside sections, in KiB; 0: none.
        inside: the handle of an Instance that records that graph instead. It must start to record after this
            call.
        instance: the handle of an Instance or a recording that gets a text for each section that is kept; 0:
            none.
        slowest_call: look for the slowest call of sections, if the tracer does.

    Raises: ValueError (no such tracer; the size), OSError EBUSY (enabled already), EOPNOTSUPP (not possible
    with this CPython), ENOSPC (all slots for users are taken), EINVAL (no such instance), RuntimeError
    (CPython has no hook free).
    """

def latency_inside(tracer: str, /) -> bytes | None:
    """Return the ring-buffer file with the graph of the section kept last. It extends beyond both ends of
    the section. None: no section was kept, or no graph recorded."""

def latency_stop(tracer: str, /) -> None:
    """Disable a latency tracer; the section that it kept stays.

    Raises: ValueError (not enabled).
    """

def latency_get(tracer: str, /) -> dict[str, Any]:
    """Return {"is_on", "max_ns", "thresh_ns", "nr_sections": how many were kept so far, "what": the meaning
    of a section, "graph": the function whose graph is recorded inside sections, or None: all functions}."""

def latency_set_max(tracer: str, ns: int, /) -> None:
    """Keep only sections longer than `ns`."""

def latency_set_thresh(tracer: str, ns: int, /) -> None:
    """Keep each section of at least `ns`; 0: keep each that is the longest so far."""

def latency_section(tracer: str, /) -> dict[str, Any] | None:
    """Return the section kept last: {"latency_ns", "begin_ns", "end_ns", "task", "tid", "started_at",
    "ended_at", "slowest_call", "slowest_ns", "events": [(time_ns, duration_ns, text), ...], "left_out"};
    times of CLOCK_MONOTONIC."""

# ---- instances

# Trace option -> the setting with which a tracer records it, and the option's value that sets it.
INSTANCE_FLAGS: Final[dict[str, tuple[str, bool]]]

# Setting -> its minimum and maximum.
INSTANCE_LIMITS: Final[dict[str, tuple[int, int]]]
INSTANCE_NAME_BYTES: Final[int]  # the longest name, in UTF-8

@final
class Event:
    """A kind of event with its probes. funcgraph.events makes them.

    Args:
        system, name: its names, which go into traces. Nobody checks that they are given once.
        fields: (name, type, count, source, steps) of each field: funcgraph.definitions.field.Field.
        is_return: hits are at the return of functions; False: at the entry.
        limits: of an event that other events make: the most bytes of the text that each field is, 0: no
            limit. Its fields have no source and no steps; an array is of symbols, for a stack. None: probes
            hit it.
        is_static: hits are at no function: nothing stands before the fields.
        is_native: its probes are on native functions, and read words: sources are ("arg", N), ("retval",),
            ("reg", N), ("stack", N), ("sp",), ("comm",), ("symbol",) and ("imm", INT or TEXT), steps are
            ("deref", OFFSET) and at the end ("bits", FIRST | N << 8).

    Raises: ValueError: it is closed, or the fields are none. OSError: E2BIG: the fields take too much room.
    MemoryError.
    """

    def __new__(
        cls,
        system: str,
        name: str,
        fields: Sequence[tuple[Any, ...]],
        *,
        is_return: bool = False,
        limits: tuple[int, ...] | None = None,
        is_static: bool = False,
        is_native: bool = False,
    ) -> Event: ...
    @property
    def number(self) -> int:
        """Its number in this process, from 1."""

    @property
    def used(self) -> bool:
        """Whether an instance wants something of it, a trigger makes it, or an event on it is used."""

    @property
    def is_base(self) -> bool:
        """Whether an event on its fields is used."""

    @property
    def layout(self) -> str:
        """TYPE NAME COUNT OFFSET of each field in its image, joined by ";"."""

    @property
    def fields_at(self) -> int:
        """Where the fields begin in its image, in bytes."""

    @property
    def faults(self) -> int:
        """How many fields could not be read."""

    @property
    def nmissed(self) -> int:
        """How many calls its probes missed; of an event that others make, how often it would have made
        itself, or was at the end of too long a chain."""

    def add_probe(
        self, functions: Sequence[str], fields: Sequence[tuple[Any, ...]], is_pending: bool, /
    ) -> None:
        """Hit the event at functions that match these patterns, now and later.

        Raises: OSError: ENOENT: no function matches, unless is_pending; EEXIST: the event's fields have other
        names or types. RuntimeError: no hook is free.
        """

    def add_static_probe(self, index: int, fields: Sequence[tuple[Any, ...]], /) -> None:
        """Hit the event at the hits of a static event, whose values are ("arg", N).

        Args:
            index: the static event's, in static_events().

        Raises: OSError: ENOENT: there is none with this index; EEXIST: as add_probe(); EOPNOTSUPP: this
        Python does not tell.
        """

    def add_place(self, function: str, line: int, offset: int, fields: Sequence[tuple[Any, ...]], /) -> None:
        """Hit the event at a place in the functions with this name that have the place, now and later.

        Args:
            function: "module.qualname".
            line: the line; 0: the place is at the offset.
            offset: of an instruction, in bytes.
            fields: as those of the event.

        Raises: OSError: EEXIST: the event's fields have other names or types. RuntimeError: no hook is free.
        """

    def probe_counts(self) -> list[tuple[int, int]]:
        """Return hits and missed hits of each probe, the oldest first."""

    def remove_probe(self, index: int, /) -> None:
        """Remove the probe that was added as this one, from 0. OSError ENOENT: there is none."""

    def set(
        self,
        handle: int,
        records: bool,
        filter: bytes | None,
        triggers: tuple[Trigger, ...],
        switch: EventSwitch | None = None,
        /,
    ) -> None:
        """Say what an instance wants of it: to record all hits or those that a filter's program accepts, and
        what all hits do besides. With a switch, hits are recorded while that is on. It replaces what the
        instance wanted before.

        Raises: OSError: EINVAL: no such instance, or no program for its fields; ENOSPC: no free slot; EBUSY:
        another thread changes the instance. RuntimeError: no hook is free. ValueError: it is closed.
        """

    def set_base(self, event: Event, values: tuple[Any, ...], filter: bytes | None, /) -> None:
        """Have the hits of another event make this one, which others make, while it is used.

        Args:
            event: the other one.
            values: for each field a hist_plan.Term of the other event's hits, or a text.
            filter: a filter's program for the other event's fields, or None.

        Raises: ValueError: it is on another one already, probes hit it, or a value is none.
        """

    def trigger(
        self,
        name: str,
        count: int,
        filter: bytes | None,
        plan: tuple[Any, ...] | None,
        target: EventSwitch | Event | None,
        links: tuple[Trigger | None, tuple[Any, ...], tuple[Any, ...]] | None,
        /,
    ) -> Trigger:
        """Make a trigger for its hits.

        Args:
            name: the trigger's.
            count: how often it acts; -1: at each hit.
            filter: a filter's program, or None.
            plan: of a "hist": hist_plan.Plan.
            target: of an "enable_event" the switch that it turns; of an "enable_hist" the event; else None.
            links: of a "hist": whose table it counts in, or None for one of its own; the variables of others
                 that it takes, each (Trigger, index); its actions, each (index of what must be due or -1,
                 the Event that it makes or None, the terms of that event's fields, whether it takes a
                 snapshot).

        Raises: ValueError: no such trigger, no plan for its fields. OSError: EINVAL: no such program or plan;
        EEXIST: the rows of the table are made otherwise.
        """

    def is_recorded(self, handle: int, /) -> bool: ...
    def close(self) -> None:
        """Remove it with its probes. A second call does nothing."""

class Trigger:
    """What an event does at its hits. Event.trigger() makes them; an Event keeps those that it has.

    Raises: ValueError, of what is about a histogram: it has none.
    """

    @property
    def left(self) -> int:
        """How often it still acts; -1: without limit."""

    @property
    def paused(self) -> bool:
        """Whether its histogram is paused."""

    def pause(self, on: bool, /) -> None:
        """Have its histogram count no hits, or count them again."""

    def clear(self) -> None:
        """Forget all hits of its histogram."""

    def snapshot(self) -> tuple[bytes, int]:
        """Return the rows of its histogram, which hist_rows.py decodes, and how many hits were dropped."""

    def taken(self) -> bytes | None:
        """Return what hit its action snapshot() took the last one at, for hist_rows.py; None: at none."""

class EventSwitch:
    """Whether an instance records the hits of an event. Triggers may turn it."""

    def __new__(cls) -> EventSwitch: ...
    @property
    def on(self) -> bool: ...
    @on.setter
    def on(self, value: bool) -> None: ...

class FuncCommand:
    """What calls of functions do in an instance.

    Args:
        handle: the instance's.
        functions: the functions.
        actions: what each of them does; all of one kind.

    Raises: OSError: EINVAL: no such instance, or no functions; ENOENT: one is gone; ENOSPC: no free slot;
    EBUSY: another thread changes the instance. RuntimeError: no hook is free. MemoryError.
    """

    def __new__(
        cls, handle: int, functions: Sequence[Function], actions: tuple[Trigger, ...]
    ) -> FuncCommand: ...
    def close(self) -> None:
        """Take it off its functions. A second call does nothing."""

def set_print_dump(function: Callable[[int, int], object], /) -> bool:
    """Have function(handle, tid) print the trace of an instance that a command dumps; tid 0: of all threads.

    The main thread calls it. Only the first function is kept. Return True if this is the main interpreter:
    others print nothing.
    """

def take_dump() -> tuple[int, int] | None:
    """Return (handle, tid) of a dump that a command of a native function wants printed, or None."""

def wait_for_dump() -> None:
    """Wait until take_dump() has something, or a signal comes. Releases the GIL."""

def command_action(name: str, count: int, target: EventSwitch | None, /) -> Trigger:
    """Make an action for a FuncCommand. Raises: ValueError: no such command, or not with that target."""

class Instance:
    """An instance in this process's memory. funcgraph.Instance wraps it.

    Args:
        name: the name in its ring buffer; at most 63 bytes.
        buffer_kb: the size of the buffer.
        overwrite: a full buffer loses the oldest records; False: the newest.

    Raises: OSError: ENAMETOOLONG, EINVAL (the size), ENOSPC (no free slot), EBUSY (another thread is changing
    it). ValueError, from any method: it is closed. MemoryError.
    """

    def __new__(cls, name: str, *, buffer_kb: int = 1408, overwrite: bool = True) -> Instance: ...
    @property
    def tracer(self) -> str:
        """The name of its tracer; initially "nop"."""

    @property
    def buffer_kb(self) -> int: ...
    @property
    def tracing_on(self) -> bool: ...
    @property
    def has_unread(self) -> bool:
        """Whether a consuming copy would find records."""

    @property
    def written_bytes(self) -> int:
        """How many bytes of records were written that no consumer had.

        They are those that a consuming copy would find, and those overwritten since the last clear().
        """

    @property
    def wakes(self) -> int:
        """How often it has woken its readers, modulo 2**32: what wait() compares with."""

    def wait(self, wakes: int, timeout_s: float, /) -> bool:
        """Wait, without the interpreter lock, until `wakes` is another number or there are records.

        Readers are woken by the first record while one waits, by a consuming copy, by a pause, by close().

        Args:
            wakes: as it was before the caller last looked for records.
            timeout_s: for how many seconds at most.

        Returns:
            Whether the caller should look again; False: the time is over, or a signal was handled.
        """

    @property
    def has_snapshot(self) -> bool:
        """Whether it has memory for snapshots."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of INSTANCE_FLAGS, max_graph_depth, thresh_us, values, string_size and redact."""

    @property
    def max_latency_us(self) -> int: ...
    @max_latency_us.setter
    def max_latency_us(self, value: int) -> None: ...
    @property
    def handle(self) -> int:
        """The engine's number for it; 0: it is closed."""

    @property
    def closed(self) -> bool: ...
    def close(self) -> None:
        """Free the instance and its buffer. A second call does nothing."""

    def set_tracer(self, name: str, /) -> None:
        """Set the tracer, and empty the buffer.

        Raises: ValueError (no such tracer), RuntimeError (no free hook).
        """

    def set_buffer_kb(self, kb: int, /) -> None:
        """Set the buffer's size. It keeps its records, as many as fit."""

    def set_filter(
        self,
        *,
        filter: Iterable[str] = (),
        notrace: Iterable[str] = (),
        graph: Iterable[str] = (),
        graph_notrace: Iterable[str] = (),
        tids: Iterable[int] | None = None,
        notrace_tids: Iterable[int] | None = None,
        c_calls: bool = False,
    ) -> None:
        """Replace the whole filter. The arguments are as for FgraphOps.

        Args:
            notrace_tids: no calls in these threads; None: no such threads.
            c_calls: C functions too.

        Raises: ValueError (an invalid pattern), TypeError.
        """

    def set_event_tids(self, only: Iterable[int] | None, never: Iterable[int] | None, /) -> None:
        """See only hits of events in these threads, and none in those; None: in all, in none.

        Raises: OSError: EINVAL: the instance is closed; EBUSY: another thread changes it. ValueError,
        TypeError: no thread ids. MemoryError.
        """

    def set_setting(self, name: str, value: int | str, /) -> None:
        """Change one of `settings`.

        Raises: ValueError (an unknown setting; a value out of range).
        """

    def set_tracing_on(self, on: bool, /) -> None: ...
    def set_overwrite(self, on: bool, /) -> None:
        """A full buffer loses the oldest records; False: the newest."""

    def clear(self) -> None:
        """Discard all records, and the count of lost ones."""

    def copy(self, path: str | PathLike[str] | int, *, consume: bool = False) -> int:
        """Write the buffer's records into a finished ring-buffer file; return their size in bytes.

        Args:
            path: the file, which must not exist; or the descriptor of an empty file.
            consume: remove the records from the buffer.

        Raises: OSError (the file exists; it cannot be written).
        """

    def copy_snapshot(self, path: str | PathLike[str] | int, /) -> int:
        """Write the snapshot's records as copy() does those of the buffer.

        Raises: OSError (as copy(); ENOENT: there is no memory for snapshots).
        """

    def write_snapshot(self, number: int, /) -> None:
        """Do what a number asks for: 0 frees the snapshot, 1 takes one, any other empties it.

        Raises: MemoryError.
        """

    def mark(self, text: str, /) -> int:
        """Write a text into the trace; return its length."""

    def mark_raw(self, data: bytes, /) -> int:
        """Write an id of 4 bytes and data into the trace; return how many bytes those are.

        Raises: OSError: EINVAL: less than 4 bytes or more than 992. TypeError: no bytes. MemoryError.
        """

    def printk(self, format: str, /, *args: object) -> int:
        """Write `format % args` into the trace, as from the calling function; return its length."""

def untraced(function: Callable[..., _T], /, *args: object) -> _T:
    """Call function(*args) and return its result. No user sees what it calls in this thread."""

def apart(function: Callable[..., _T], /, *args: object) -> _T:
    """Call function(*args) as no part of the program, in a thread of ours; return its result.

    No user sees what it calls, no trace, profile or trace function of another tool either, and the thread
    gets no shadow stack. The function may wait for locks.
    """

def native_hide_thread() -> None:
    """Never trace native calls of this thread from now on: it is not the program's. Not there on machines
    whose native functions cannot be hooked.
    """

def native_meet(plan: str, name: str, patterns: Sequence[str], /) -> int:
    """Make records of a loaded object's functions that patterns with ":mod:" select; return how many match.

    Those that have users are hooked. Not there on machines whose native functions cannot be hooked.

    Args:
        plan: the path of its plan.
        name: of the object.

    Raises: OSError: EOPNOTSUPP: native functions, or those of this object, cannot be hooked. MemoryError.
    """

def native_matching(patterns: Sequence[str], /) -> list[Function]:
    """Return the native functions with a record that patterns with ":mod:" select.

    Not there on machines whose native functions cannot be hooked. Raises: ValueError: an invalid pattern.
    """

def native_functions() -> list[tuple[str, str, bool, str | None]]:
    """Return object, name, whether it is hooked, and else why not, of each native function with a record."""

def native_registers() -> tuple[list[str], int]:
    """Return the names of the registers that events of native functions can have, by number."""

def native_run(argv: tuple[bytes, ...], environ: tuple[bytes, ...], limit_s: float, /) -> int:
    """Run a program; return its exit status. The process gets no SIGCHLD, and its own waits do not see it.

    Raises: TimeoutError: it did not end within limit_s seconds, and was killed.
    """

def watch_threads(function: Callable[[int, int], object] | None, /) -> None:
    """Call function(parent_tid, tid) when a thread of the module threading begins, and (0, tid) when it ends.

    The function runs in that thread, apart(). None: it is no longer called.

    Raises: OSError: EOPNOTSUPP: this Python has no call hooks, or threading is not imported.
    """

def mark(text: str, /) -> int:
    """Write a text into the recordings of this process and the instance "top"; return its length."""

def static_events() -> list[tuple[str, str, str, bool]]:
    """Return system, name and values of each static event: FG_STATIC_EVENTS of static_event.h, then those
    that the program has declared, which have True.
    """

@final
class TraceEvent:
    """An event that the program has declared with `trace_event()`. A call hits it.

        paid(3, "ann")
        paid(amount=3, user="ann")

    The arguments are the fields, all of them, in their order or by name. While nobody wants the event, a call
    compares the names of its arguments and reads one word. A wrong call raises TypeError as that of a Python
    function does, whether the event is enabled or not: a recording changes nothing of what a program does.
    The call returns None.

    The values are read in C, so no code of the program runs. A value that does not fit its field's type, such
    as 300 for a "u8" or a str for an int, is a fault in the record, "(fault)", and raises nothing.

    Where the arguments are expensive to make, ask first, as with the kernel's trace_foo_enabled():

        if paid.enabled:
            paid(amount=order.total(), user=order.user.name)

    The kernel's trace_foo() of a TRACE_EVENT(foo, ...): include/linux/tracepoint.h.
    """

    def __call__(self, *args: object, **kwargs: object) -> None: ...
    @property
    def group(self) -> str:
        """The event's group."""

    @property
    def name(self) -> str:
        """Its name in the group."""

    @property
    def __name__(self) -> str: ...
    @property
    def fields(self) -> dict[str, str]:
        """The type of each field by its name, in their order."""

    @property
    def enabled(self) -> bool:
        """Whether a call has any effect now: an instance, a trigger or another event wants it."""

def trace_event(group: str, name: str, fields: tuple[tuple[Any, ...], ...], /) -> TraceEvent:
    """Declare a static event, or find it. funcgraph.trace_event() checks the names.

    Args:
        group, name: its names.
        fields: as those of Event, each ("arg", N).

    Raises: ValueError: a type is none. OSError: EEXIST: it has other fields; EPERM: the group is CPython's;
    E2BIG: the fields take too much room.
    """

def function_name(id: int, /) -> str | None:
    """Return the name of the function with this id, "module.qualname"; None: there is none."""

def trace_printk(format: str, /, *args: object) -> int:
    """Write `format % args` into the traces of this process, as from the calling function.

    The text goes into the recordings (`funcgraph record`, `funcgraph.record`) and into the instance "top". If
    nothing records, nothing happens. The kernel's trace_printk().

        funcgraph.trace_printk("order %d has %d items", order.id, len(order.items))

    Args:
        format: a format string of the operator %.
        args: its values.

    Returns:
        The length of the text.

    Raises: TypeError, ValueError: the format does not fit the values.
    """

# ---- the function graph

class FgraphOps:
    """A user of the function graph: callbacks for the entry and the return of the functions of its filter.

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
        entryfunc: called as entryfunc(trace, ops, regs) with a GraphEnt, this object and FtraceRegs. If it
            returns a true value, the user wants the return. None: it wants all returns.
        retfunc: called as retfunc(trace, ops, regs) with a GraphRet, exactly once for each entry that wanted
            the return: also if the call ends with an exception, or is a generator that is closed. May be
            None.
        filter: patterns of functions, as "module.qualname" with *, ? and [...], or ":mod:NAME". Empty: all
            functions.
        notrace: never these functions.
        graph: only these functions and all that they call, in the same thread.
        graph_notrace: neither these functions nor anything that they call.
        tids: only calls in these threads, by native id (threading.get_native_id()). None: all threads.
        name: its name in users() and in error messages.
        keep_on_error: the user stays enabled after a callback has raised.
        save_regs: callbacks can get the full frame with FtraceRegs.get_regs(). The kernel's
            FTRACE_OPS_FL_SAVE_REGS.

    Either function may also be the address of a C function with the signature in funcgraph.h, as an int, a
    ctypes function pointer, a numba cfunc or a cffi function pointer. The engine then calls it without any
    Python in between. It must stay valid while the user is registered.

    If a callback raises, the exception goes to sys.unraisablehook and is counted; it never reaches the
    program. The user is disabled: it keeps its slot, but its callbacks are not called any longer. Calls made
    by a callback are not traced. A signal handler that runs during a callback belongs to the program: its
    calls are traced, and the program gets its exceptions.

    Raises: ValueError (an invalid pattern, with its column; a number that is no address or no thread id),
    TypeError, RuntimeError (__init__ of a registered object).
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
        """As passed to the constructor."""

    @property
    def retfunc(self) -> Any:
        """As passed to the constructor."""

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
        """Add patterns to `filter`, or replace it.

        It may be called at any time, from any thread, also in a callback. It takes effect when it returns,
        also for functions that are defined later. The kernel's ftrace_set_filter().

            ops.set_filter(["shop.cart.*"])

        Args:
            patterns: as for the constructor.
            reset: replace the existing patterns.

        Raises: ValueError (an invalid pattern), TypeError, MemoryError. Then nothing has changed.
        """

    def set_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `notrace`."""

    def set_graph(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `graph`. It does not affect callees of calls in progress: a function's callees are
        traced from its next call on."""

    def set_graph_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `graph_notrace`."""

    def set_tids(self, tids: Iterable[int] | None, /) -> None:
        """Restrict the user to calls in these threads (native ids); None: all threads.

        Raises: ValueError (no native id), TypeError, MemoryError. Then nothing has changed.
        """

    def reserve_data(self, size_bytes: int, /) -> memoryview | None:
        """Reserve zeroed bytes in the entry function, which retfunc finds at this call's return.

        They are on the thread's shadow stack until the call ends. The view is valid until the callback ends;
        after that it, its slices and all other views of it raise ValueError. The kernel's
        fgraph_reserve_data().

            ops.reserve_data(8)[:] = struct.pack("q", amount)

        Args:
            size_bytes: 1 to 256.

        Returns:
            A writable view of bytes; None if the shadow stack has no room, or if this entry has already
            reserved data.

        Raises: ValueError (the size), RuntimeError (not in this user's entry function).
        """

    def retrieve_data(self) -> memoryview | None:
        """Return, in the return function, the data reserved at this call's entry, or None. The kernel's
        fgraph_retrieve_data().

        Raises: RuntimeError (not in this user's return function).
        """

    def retrieve_parent_data(self, depth: int, /) -> memoryview | None:
        """Return, in a callback, the data of an enclosing call. `depth` counts this user's own calls; 0 is
        this call.

        That call's return function finds what is written to it. The kernel's fgraph_retrieve_parent_data().

        Returns:
            None: there is no such call, or it has no data.

        Raises: ValueError (depth is negative), RuntimeError (not in a callback of this user).
        """

    def reserve_object(self, obj: object, /) -> bool:
        """Reserve an object in the entry function, which retfunc finds at this call's return.

        The engine holds a reference until the call has ended, and the return function has run. If the user is
        unregistered before that, the reference goes as soon as no user waits for the return of this call or
        of a newer one in its thread: in the unregistering thread, and for suspended calls, before
        unregister_ftrace_graph() returns; in another thread at its next traced call or at its end, which may
        be after the call's end.

        Returns:
            False: the shadow stack has no room, or this entry has already reserved an object.

        Raises: RuntimeError (not in this user's entry function).
        """

    def retrieve_object(self) -> Any:
        """Return, in the return function, the object reserved at this call's entry, or None.

        Raises: RuntimeError (not in this user's return function).
        """

    task_var: int
    """This user's 64-bit word (0 to 2**64 - 1) in the calling thread, in callbacks and outside of them. It is
    zero in a new thread, and after each registration. The kernel's fgraph_get_task_var().

    Raises: RuntimeError (not registered), OverflowError, TypeError.
    """

    @property
    def nmissed(self) -> int:
        """Calls of its functions, since its registration, that were not traced because a callback made them.

        From 3.12 on CPython reports a callback's calls to all tools of sys.monitoring or to none. Other tools
        must not see callbacks, so calls are counted only while no other tool is in use and no trace or
        profile function is set. Calls made by a callback in C are counted on 3.11 only.
        """

    @property
    def errors(self) -> int:
        """Number of exceptions that its callbacks have raised."""

    @property
    def last_error(self) -> BaseException | None:
        """The latest of these exceptions."""

    @property
    def enabled(self) -> bool:
        """False after a callback has raised (unless keep_on_error), until the next registration."""

    @property
    def registered(self) -> bool: ...
    @property
    def slot(self) -> int | None:
        """Its slot in the table of users, or None."""

    @property
    def generation(self) -> int | None:
        """The number of its registration in this process, or None. It distinguishes owners of one slot."""

@final
class GraphEnt:
    """A call, as an entry function gets it; the kernel's struct ftrace_graph_ent.

    It may be kept, and continues to describe this call.
    """

    @property
    def func(self) -> Function:
        """The function that is called."""

    @property
    def depth(self) -> int:
        """Number of this user's own calls in progress around this one, in this thread."""

    @property
    def parent(self) -> ReturnLocation | None:
        """The place that the call will return to; None for a thread's outermost call."""

    @property
    def calltime_ns(self) -> int:
        """When the call, or its latest resume, began: nanoseconds of CLOCK_MONOTONIC
        (time.monotonic_ns())."""

    @property
    def start_ns(self) -> int:
        """When the call first began: earlier than calltime_ns for a generator that was suspended."""

@final
class GraphRet:
    """A call, as a return function gets it; the kernel's struct ftrace_graph_ret.

    It may be kept, and continues to describe this call.
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
        """When the call ended: nanoseconds of CLOCK_MONOTONIC."""

    @property
    def overrun(self) -> int:
        """Number of calls of this thread that were not traced because its shadow stack was full."""

    @property
    def end(self) -> Literal["return", "raise", "close"]:
        """How the call ended: "return"; "raise": an exception left it; "close": it was suspended and then
        closed or collected, or CPython did not report its end."""

@final
class Function:
    """A traceable function; the kernel's dyn_ftrace. Each function has one such object, so it can be compared
    and used as a key.

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
        """Its code object; None: the code was freed, or the function is implemented in C."""

@final
class FtraceRegs:
    """Arguments, result and place of a call; the kernel's struct ftrace_regs.

    It is partial, which is cheap: available() says what it has. It is valid while the callback runs;
    after that every method raises RuntimeError. It runs no code of the program, and changes nothing in it.

    For a C function it has the called object and, if CPython reports it (3.12 and later), the first argument;
    everything else raises RuntimeError.
    """

    def get_argument(self, which: int | str, /) -> Any:
        """Return an argument at the entry, by number or by name.

        Numbers are those of the code object's variables: positional arguments, keyword-only arguments, *args
        (a tuple), **kwargs (a dict). Arguments of C functions have no names. The kernel's
        ftrace_regs_get_argument().

            regs.get_argument("amount")

        Raises: IndexError, KeyError (no such argument), RuntimeError (at a return; after the callback),
        TypeError.
        """

    def arguments(self) -> dict[str, Any]:
        """Return all arguments at the entry, by name, in the order of their numbers.

        Raises: RuntimeError (at a return; a C function; after the callback).
        """

    def get_return_value(self) -> Any:
        """Return the call's result at its return; if an exception ended it, the exception.

        Before 3.12 this may be just the class of an exception that C code raised. The kernel's
        ftrace_regs_get_return_value().

        Raises: RuntimeError (at an entry; CPython did not report the call's end; a C function; after the
        callback).
        """

    def get_instruction_pointer(self) -> InstructionPointer:
        """Return the place in the function: its start, or the instruction at which it returns or raises.

        The kernel's ftrace_regs_get_instruction_pointer().

            func, offset, line = regs.get_instruction_pointer()

        Raises: RuntimeError (a C function; CPython did not report the call's end; after the callback).
        """

    def get_callable(self) -> Any:
        """Return the function object that was called, or the C function. It can be called again.

        All closures of one function share one Function, but each is a callable of its own.

        Raises: RuntimeError (CPython did not report the call's end; after the callback).
        """

    def get_frame_pointer(self) -> int:
        """Return the address of the interpreter's frame. It is unique among calls in progress, then reused.

        Raises: as get_instruction_pointer().
        """

    def get_stack_pointer(self) -> int:
        """Return the address just above the frame's evaluation stack, without a result.

        The kernel's kernel_stack_pointer().

        Raises: as get_instruction_pointer(); RuntimeError (the return of a generator on 3.12 and 3.13, where
        CPython does not provide it).
        """

    def query_register_offset(self, name: str, /) -> int:
        """Return the index of a variable in the frame, for get_stack_nth(). The kernel's
        ftrace_regs_query_register_offset().

            regs.get_stack_nth(regs.query_register_offset("total"))

        Raises: KeyError (the function has no such variable), TypeError; as get_instruction_pointer().
        """

    def get_stack_nth(self, n: int, /) -> Any:
        """Return the current value at an index of the frame: arguments, other variables, cells, stack.

        A cell gives its contents. At the return, variables have their values of that time. The kernel's
        ftrace_regs_get_kernel_stack_nth().

        Raises: IndexError (no such index), KeyError (the variable is unbound), RuntimeError (CPython does not
        provide the depth of the evaluation stack), TypeError; as get_instruction_pointer().
        """

    def get_regs(self) -> FrameType | None:
        """Return the full frame, as sys._getframe() returns it in the function itself; None if the user was
        created without save_regs. The kernel's ftrace_get_regs().

        Like any frame object it may be kept, and then keeps its variables alive. On 3.11 and 3.12 the dict of
        f_locals is kept until the call ends. On 3.11, at an entry, its line is the first one, or None after
        f_locals was read.

            regs.get_regs().f_locals["total"]

        From 3.13 on f_locals is no copy (PEP 667): it reads the variables as the program left them, and
        **writing to it changes the program's variables**. That is the one way in which a callback can change
        the program; all other values here are only read. A copy, dict(frame.f_locals), changes nothing.
        Before 3.13 f_locals is a copy already, and what is written to it is lost.

        Raises: as get_instruction_pointer(); MemoryError.
        """

    def partial_regs(self) -> PartialRegs:
        """Return a copy for code that takes the regs of a kprobe, made from what is known here.

        It has the arguments at an entry and the result at a return, and never claims to have the full frame.
        The kernel's ftrace_partial_regs().

            def check(kprobe, regs):               # written for a kprobe
                print(regs.get_local("amount"))

            def entry(trace, ops, regs):
                check(None, regs.partial_regs())

        Raises: RuntimeError (after the callback), MemoryError.
        """

    def fill_perf_regs(self, max_stack: int = 127) -> PerfSample:
        """Return a sample as a profiler takes one: registers, and the stack of Python functions.

        The kernel's ftrace_fill_perf_regs() and perf's callchain.

            sample = regs.fill_perf_regs()
            print(";".join(place.name for place in reversed(sample.callchain)))

        Args:
            max_stack: how many places `callchain` has at most.

        Raises: ValueError (max_stack is negative), RuntimeError (after the callback).
        """

    def available(self) -> dict[str, bool]:
        """Return which parts are available: arguments, return_value, exception, instruction_pointer,
        frame_pointer, stack_pointer, callable, stack and frame (the full frame).

        Raises: RuntimeError (after the callback).
        """

@final
class PartialRegs:
    """What FtraceRegs know of a call, with the methods of KprobeRegs: for code that takes a register set, the
    kernel's struct pt_regs. FtraceRegs.partial_regs() makes it.

    It is a copy: it may be kept, and then keeps the values alive.
    """

    @property
    def partial(self) -> Literal[True]:
        """True: these are not the full regs. KprobeRegs have False."""

    def get_local(self, name: str, /) -> Any:
        """Return the value of an argument, at an entry.

        Raises: KeyError (no such argument, it is unbound, or these are the regs of a return), TypeError.
        """

    def locals(self) -> dict[str, Any]:
        """Return all bound arguments at an entry, by name; of a return, nothing."""

    def get_return_value(self) -> Any:
        """Return the result at a return, or the exception that ended the call.

        Raises: RuntimeError (at an entry; CPython does not provide it).
        """

    def get_instruction_pointer(self) -> InstructionPointer:
        """Return the place in the function.

        Raises: RuntimeError (a C function; CPython did not report the call's end).
        """

    def get_frame_pointer(self) -> int:
        """Return the address of the interpreter's frame. Raises: as get_instruction_pointer()."""

    def get_stack_pointer(self) -> int:
        """Return the address just above the frame's evaluation stack. Raises: as
        FtraceRegs.get_stack_pointer()."""

    def get_regs(self) -> NoReturn:
        """Raise RuntimeError: partial regs have no frame object."""

@final
class PerfSample(structseq[Any], tuple[int, int, int, int, tuple[ReturnLocation, ...]]):
    """A sample of a call. The addresses are 0 for a C function, and if CPython did not report the end."""

    __match_args__: Final = ("ip", "sp", "fp", "flags", "callchain")
    @property
    def ip(self) -> int:
        """Address of the instruction, in the bytecode."""

    @property
    def sp(self) -> int:
        """Address just above the frame's evaluation stack; 0: not known."""

    @property
    def fp(self) -> int:
        """Address of the interpreter's frame."""

    @property
    def flags(self) -> int:
        """The flags of the code: co_flags, as inspect.CO_GENERATOR."""

    @property
    def callchain(self) -> tuple[ReturnLocation, ...]:
        """The place of the call, then those of its callers outwards. A C function has no place: its caller
        comes first."""

@final
class InstructionPointer(structseq[Any], tuple[Function | None, int, int | None]):
    """A place in a function."""

    __match_args__: Final = ("func", "offset", "line")
    @property
    def func(self) -> Function | None:
        """The function."""

    @property
    def offset(self) -> int:
        """Offset of the instruction in the function's code, in bytes, as dis shows it."""

    @property
    def line(self) -> int | None:
        """The instruction's line; None: it has none."""

class Fprobe:
    """Handlers at the entry and the exit of functions, with data from entry to exit.

    The semantics are those of the Linux kernel's struct fprobe (Documentation/trace/fprobe.rst). A function
    can have any number of fprobes. Entry handlers run in the order of registration, exit handlers in reverse.
    All fprobes are one user of the function graph: functions without an fprobe cost nothing.

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
            Function, the place it returns to (a ReturnAddress; None for a thread's outermost call),
            FtraceRegs, and a writable memoryview of the zeroed entry data. If it returns a true value, the
            exit handler is not called for this call. None: every call gets its exit.
        exit_handler: called with the same arguments at the exit, exactly once for each entry that was not
            cancelled: also if the call ends with an exception, or is a generator that is closed. May be None.
        entry_data_size: number of bytes kept from entry to exit, for each call, at most 120. With 0, or
            without an exit handler, entry_data is None.
        name: its name in error messages.
        keep_on_error: the fprobe stays enabled after a handler has raised.
        save_regs: regs.get_regs() returns the full frame.

    Either handler may also be the address of a C function with the signature in funcgraph.h, in the forms
    that FgraphOps accepts. It gets the struct fprobe.

    regs and entry_data are valid while the handler runs; after that regs raises RuntimeError, and entry_data,
    its slices and all other views of it raise ValueError. If a handler raises, the exception goes to
    sys.unraisablehook and is counted; it never reaches the program. The fprobe is disabled then, as by
    disable_fprobe().

    Raises: ValueError (a negative size; a number that is no address), TypeError; RuntimeError (__init__ of
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
        """As passed to the constructor."""

    @property
    def exit_handler(self) -> Any:
        """As passed to the constructor."""

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
        """Number of calls since the registration for which its handlers could not run: a handler or callback
        made the call, or the shadow stack had no room for the entry data."""

    @property
    def errors(self) -> int:
        """Number of exceptions that its handlers have raised."""

    @property
    def last_error(self) -> BaseException | None:
        """The latest of these exceptions."""

    @property
    def enabled(self) -> bool:
        """False after disable_fprobe(), or after a handler has raised (unless keep_on_error), until it is
        enabled or registered again."""

    @property
    def registered(self) -> bool: ...

@final
class ReturnAddress:
    """The place that a probed call returns to; the kernel's ret_ip, which is an address. int(ret_ip) is the
    address of the instruction; equal addresses compare equal.

    Attributes are looked up when they are read. It may be kept, and continues to describe this call.
    """

    @property
    def location(self) -> ReturnLocation:
        """All of the following. Raises: RuntimeError (CPython does not provide it)."""

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
    """A handler that kprobe_multi() attached to functions, until detach(), even without a reference to it."""

    @property
    def handler(self) -> Any:
        """As passed to the constructor."""

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
        """Number of calls for which the handler could not run, as Fprobe.nmissed."""

    @property
    def errors(self) -> int:
        """Number of exceptions that the handler has raised."""

    @property
    def last_error(self) -> BaseException | None:
        """The latest of these exceptions."""

    @property
    def enabled(self) -> bool:
        """False after the handler has raised (unless keep_on_error)."""

    @property
    def registered(self) -> bool:
        """True until it is detached."""

    def detach(self) -> None:
        """Detach the handler. After this has returned, it is not running, except if the handler itself is the
        caller. Calls in progress get no return.

        Raises: OSError EINVAL (it is detached already).
        """

    def __enter__(self) -> KprobeMultiLink: ...
    def __exit__(self, *exception: object) -> None:
        """Detach it, unless it is detached already."""

@final
class KprobeMultiCtx:
    """A call, as the handler of a kprobe_multi link gets it.

    It may be kept, and continues to describe this call, except for regs.
    """

    @property
    def link(self) -> KprobeMultiLink:
        """The link whose handler runs."""

    @property
    def func(self) -> Function:
        """The called function; the kernel's bpf_get_func_ip()."""

    @property
    def ret_ip(self) -> ReturnAddress | None:
        """The place that it returns to; None for a thread's outermost call."""

    @property
    def regs(self) -> FtraceRegs:
        """Raises: RuntimeError (after the handler)."""

    @property
    def cookie(self) -> int:
        """The function's cookie; 0 without cookies. The kernel's bpf_get_attach_cookie()."""

    @property
    def is_return(self) -> bool:
        """True at the function's return; the kernel's bpf_session_is_return()."""

    session_cookie: int
    """In a session, a number (0 to 2**64 - 1) that the entry leaves to the return. It is zero at the entry.
    The kernel's bpf_session_cookie().

    Raises: AttributeError (the link is not a session), RuntimeError (set after the handler), OverflowError,
    TypeError.
    """

@final
class ReturnLocation(structseq[Any], tuple[str, str, str, str, int, CodeType]):
    """The place that a call returns to."""

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
        """When the call, or its latest resume, began: nanoseconds of CLOCK_MONOTONIC; 0: only fprobes, which
        need no times, watch it."""

    @property
    def line(self) -> int:
        """Its current line; 0: not known."""

    @property
    def parent(self) -> ReturnLocation | None:
        """The place that it returns to; None for a thread's outermost call."""

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
    """A registered user, at the time of users()."""

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
        """An FgraphOps, another extension's struct fgraph_ops, a tracer that writes a trace, or the single
        user of all fprobes. The latter watches the fprobes' functions, whatever its filter says."""

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
    """Register a user: its callbacks are called for new calls, until it is unregistered.

    The engine holds a reference to it meanwhile. The kernel's register_ftrace_graph().

        funcgraph.register_ftrace_graph(ops)

    Raises: OSError EBUSY (it is registered already), OSError ENOSPC (all slots are in use; the message names
    the users), OSError EOPNOTSUPP (a pattern names an object, whose functions are native: their calls can
    have no Python callbacks), RuntimeError (CPython has no free hook; the interpreter is ending), TypeError,
    MemoryError.
    """

def unregister_ftrace_graph(ops: FgraphOps, /) -> None:
    """Unregister a user. After this has returned, no callback of it is running, except if that callback is
    the caller.

    Calls in progress get no return. The kernel's unregister_ftrace_graph().

    Raises: OSError EINVAL (it is not registered), TypeError.
    """

def users() -> list[User]:
    """Return the users that are registered in this interpreter, in the order of their slots."""

def get_ret_stack(idx: int = 0, task: int | threading.Thread | None = None) -> list[RetFrame]:
    """Return a thread's traced calls in progress, newest first.

    The kernel's ftrace_graph_get_ret_stack(), with which unwinders find hooked returns.

        for frame in funcgraph.get_ret_stack():
            print(frame.func.name, frame.line)

    Args:
        idx: skip this many of the newest calls.
        task: a native thread id (threading.get_native_id()) or a threading.Thread; None: the caller's thread.
            For another thread the result is a snapshot, as that of sys._current_frames().

    Raises: ValueError (idx is negative; no thread id), TypeError, RuntimeError (another thread in a
    free-threaded build, where its stack can change at any moment).
    """

def find_functions(patterns: Sequence[str], notpatterns: Sequence[str] = ()) -> list[Function]:
    """Return the functions that match one of `patterns` and none of `notpatterns`, called or not.

    A C function matches only a pattern that is its whole name.

    Raises: ValueError (an invalid pattern), TypeError, RuntimeError (the interpreter is ending), MemoryError.
    """

def functions_named(names: Sequence[str]) -> dict[str, list[Function]]:
    """Return the Python and C functions with each of these whole names: none, one, or several.

    Raises: TypeError, RuntimeError (the interpreter is ending), MemoryError.
    """

def function_of(callable: object, /) -> Function:
    """Return the Function of a Python function, a method, a static or class method, a code object, a C
    function or a Function.

    Raises: TypeError (anything else), ValueError (a code object that no function has), RuntimeError (the
    interpreter is ending).
    """

def function_names(patterns: Sequence[str] | None = None) -> list[str]:
    """Return the names of functions that match one of `patterns`; None: of all functions, also in C.

    Raises: as find_functions().
    """

# ---- fprobes

def register_fprobe(fp: Fprobe, filter: Sequence[str], notfilter: Sequence[str], /) -> None:
    """As funcgraph.register_fprobe(), but with sequences of patterns and a short message for ENOENT."""

def register_fprobe_ips(fp: Fprobe, functions: Iterable[object], /) -> None:
    """Register an fprobe for these functions. The kernel's register_fprobe_ips().

        funcgraph.register_fprobe_ips(fp, [shop.checkout, shop.cart.Cart.add, len])

    Args:
        fp: the fprobe. The engine holds a reference to it while it is registered.
        functions: Python functions, methods, static and class methods, code objects, C functions, Functions.
            Duplicates count once. None of them is kept alive.

    Raises: OSError EINVAL (no function), ENOENT (a Function whose function was freed), and as
    register_fprobe(); TypeError (anything else), ValueError (a code object that no function has),
    MemoryError, RuntimeError. Then nothing is registered.
    """

def unregister_fprobe(fp: Fprobe, /) -> None:
    """Unregister an fprobe. After this has returned, none of its handlers is running, except if that handler
    is the caller.

    Calls in progress get no exit. The kernel's unregister_fprobe().

    Raises: OSError EINVAL (it is not registered), TypeError.
    """

def unregister_fprobe_async(fp: Fprobe, /) -> None:
    """Unregister an fprobe without waiting: a handler may still be running in another thread.

    No handler begins after this has returned. The engine keeps the fprobe alive as long as needed. The
    kernel's unregister_fprobe_async().

    Raises: OSError EINVAL (it is not registered), TypeError.
    """

def enable_fprobe(fp: Fprobe, /) -> None:
    """Enable an fprobe, also after a handler has raised. The kernel's enable_fprobe().

    Raises: OSError EINVAL (it is not registered), TypeError.
    """

def disable_fprobe(fp: Fprobe, /) -> None:
    """Disable an fprobe: its handlers are not called, but it stays registered, and costs nearly as much. A
    call in progress gets its exit handler only if the fprobe is enabled again by then. The kernel's
    disable_fprobe().

    Raises: OSError EINVAL (it is not registered), TypeError.
    """

def fprobe_is_registered(fp: Fprobe, /) -> bool:
    """Return whether an fprobe is registered. The kernel's fprobe_is_registered().

    Raises: TypeError.
    """

def fprobe_count_ips_from_filter(filter: Sequence[str], notfilter: Sequence[str], /) -> int:
    """As funcgraph.fprobe_count_ips_from_filter(), but with sequences of patterns and a short message for
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
    """As funcgraph.kprobe_multi(), but without names of functions and with a short message for ENOENT.
    `functions` None: those that match `filter`."""

# ---- kprobes

class Kprobe:
    """A probe at a line or an instruction of a function. Its handler is called each time that the program
    reaches the place, and sees the full frame.

    The kernel's struct kprobe (Documentation/trace/kprobes.rst), with `symbol_name` and `offset`. A line
    instead of an offset is an addition for Python.

        def show(kprobe, regs):
            print(regs.get_local("price"), regs.locals())

        kprobe = funcgraph.Kprobe(show, "shop.cart.Cart.total", line=42)
        with funcgraph.probed(kprobe):
            serve()
        print(kprobe.hits)

    Args:
        handler: called as handler(kprobe, regs) with this object and KprobeRegs, before the program executes
            the place. Its result is ignored.
        symbol: the function: its whole name, "module.qualname"; or the function itself, a method, its code
            object or its Function, none of which is kept alive. A name is looked up at registration.
        line: the number of a line of its file that has code in the function. The program reaches it each time
            that CPython begins the line: in each iteration of a loop, but not when a statement continues
            after a call.
        offset: the offset in bytes of an instruction of the function, as `dis` shows it. 0 is the function's
            start. Either `line` or `offset` is required.
        name: its name in kprobes() and in error messages; default "symbol:line" or "symbol+offset".
        keep_on_error: the probe stays enabled after the handler has raised.

    A place can have several probes; their handlers are called in the order of registration. On CPython 3.12
    and later, places without a probe cost nothing after their first execution. On 3.11 calls of the function
    run as slowly as under any trace function; other functions are not affected.

    If the handler raises, the exception goes to sys.unraisablehook and is counted; it never reaches the
    program. The probe is disabled: it stays registered, but its handler is not called. Places that callbacks
    themselves reach do not call the handler (`nmissed`).

    When the function is freed, the probe is `gone`: it stays registered, and is never called.

    Raises: TypeError (no function, no place, two places), ValueError (an invalid line or offset).
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
        """As passed to the constructor."""

    @property
    def symbol(self) -> str:
        """The function's name."""

    @property
    def by_name(self) -> bool:
        """True if the function was given by its name."""

    @property
    def function(self) -> Function | None:
        """The function; None: it was given by name, and the probe was not registered yet."""

    @property
    def line(self) -> int | None:
        """As passed to the constructor."""

    @property
    def offset(self) -> int | None:
        """As it was given, in bytes."""

    @property
    def name(self) -> str: ...
    @property
    def keep_on_error(self) -> bool: ...
    @property
    def hits(self) -> int:
        """Number of calls of the handler."""

    @property
    def nmissed(self) -> int:
        """How often a callback reached the place; the handler was not called. As FgraphOps.nmissed."""

    @property
    def errors(self) -> int:
        """Number of exceptions that the handler has raised."""

    @property
    def last_error(self) -> BaseException | None:
        """The latest of these exceptions."""

    @property
    def registered(self) -> bool: ...
    @property
    def enabled(self) -> bool:
        """False after disable_kprobe(), or after its handler has raised."""

    @property
    def gone(self) -> bool:
        """True if it is registered and its function was freed."""

@final
class KprobeRegs:
    """The full frame at a kprobe's place: the kernel's struct pt_regs.

    It is valid while the handler runs; after that every method raises RuntimeError. It runs no code of the
    program, and does not change the program. (A frame object that get_regs() returns can: see
    FtraceRegs.get_regs().)
    """

    @property
    def partial(self) -> Literal[False]:
        """False: these are the full regs. PartialRegs have True."""

    def get_regs(self) -> FrameType:
        """Return the frame object. If it is kept, it keeps its variables alive, and follows the call.

        Raises: RuntimeError (in another thread than the handler's; after the handler).
        """

    def get_local(self, name: str, /) -> Any:
        """Return the value of a variable: an argument, a local, or one shared with inner or outer functions.

        Raises: KeyError (no such variable, or it is unbound), TypeError, RuntimeError (after the handler; the
        namespace of a class body is a mapping that the program defines).
        """

    def locals(self) -> dict[str, Any]:
        """Return all bound variables, by name.

        Raises: RuntimeError (as get_local).
        """

    def get_instruction_pointer(self) -> InstructionPointer:
        """Return the probe's place.

        Raises: RuntimeError (after the handler).
        """

    def get_frame_pointer(self) -> int:
        """Return the address of the interpreter's frame: the same within one call.

        Raises: RuntimeError (after the handler).
        """

def register_kprobe_at(kprobe: Kprobe, function: Function, /) -> None:
    """Register a kprobe whose function is known; for funcgraph.register_kprobe()."""

def check_kprobe_at(kprobe: Kprobe, function: Function, /) -> None:
    """Raise the OSError that register_kprobe_at() would, if the function does not have the kprobe's place."""

def unregister_kprobe(kprobe: Kprobe, /) -> None:
    """Unregister a kprobe. After this has returned, its handler is not running, except if it is the caller.

    The kernel's unregister_kprobe().

    Raises:
        OSError: EINVAL: it is not registered.
    """

def enable_kprobe(kprobe: Kprobe, /) -> None:
    """Enable a kprobe: its handler is called again. The kernel's enable_kprobe().

    Raises:
        OSError: EINVAL: it is not registered, or its function is gone.
    """

def disable_kprobe(kprobe: Kprobe, /) -> None:
    """Disable a kprobe: its handler is not called, but it stays registered. The kernel's disable_kprobe().

    Raises:
        OSError: EINVAL: it is not registered, or its function is gone.
    """

def kprobes() -> list[Kprobe]:
    """Return the registered kprobes of this interpreter, in the order of registration: the kernel's file
    kprobes/list."""

def kprobe_lines(code: CodeType, /) -> list[int]:
    """Return the lines of a code object that can have a kprobe, in ascending order."""

# ---- the function profiler

class ProfileBase:
    """The base class of FunctionProfile: it counts, but prints no text.

    Use FunctionProfile, which has the same arguments. As a context manager it starts, and stops unless it was
    stopped inside the block.
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
    """A call's time includes that of its callees."""
    sleep_time: Final[bool]
    """A call's time includes time in which it did not run."""
    enabled: Final[bool]
    """True while it counts. The kernel's function_profile_enabled."""
    nmissed: Final[int]
    """Number of calls that were not counted: callbacks made them, or there was no memory."""

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
        """Start to count, from zero.

        Raises: OSError EBUSY (it is enabled already), OSError ENOSPC (all slots are in use), RuntimeError
        (CPython has no free hook; the interpreter is ending), MemoryError. Then the earlier counts remain.
        """

    def stop(self) -> None:
        """Stop counting. The counts stay until the next start.

        Calls in progress are counted, but get no time.

        Raises: OSError EINVAL (it is not enabled).
        """

    def set_filter(self, patterns: Iterable[str], reset: bool = False) -> None:
        """Add patterns to `filter`, or (reset) replace it. It may be called at any time.

        Raises: ValueError (an invalid pattern), TypeError, MemoryError. Then nothing has changed.
        """

    def set_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `notrace`."""

    def set_graph(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `graph`."""

    def set_graph_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """The same for `graph_notrace`."""

    def figures(self, tid: int = 0, /) -> list[tuple[str, str, int, int, int, float]]:
        """Return (name, file, line, hit, time_ns, variance in ns^2) of each function called in a thread, or
        (0) in all threads.

        Raises: OSError ESRCH (nothing was counted in that thread, or it has ended), MemoryError.
        """

    def tids(self) -> list[int]:
        """Return the threads that have counts and have not ended."""

    def __enter__(self) -> Self:
        """Start."""

    def __exit__(self, *ignored: object) -> None:
        """Stop, unless it was stopped inside the block. The counts stay."""
