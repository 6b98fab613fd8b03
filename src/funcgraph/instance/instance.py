"""Instance: a tracer of one's own in the running program, with the kernel's file names as attributes.

The semantics are those of Documentation/trace/ftrace.rst, section "Instances".
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from errno import EEXIST, EINVAL, ENAMETOOLONG
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING

from funcgraph import _engine
from funcgraph.instance import forks, profiling
from funcgraph.instance.attributes import FileAttributes
from funcgraph.instance.control_files.access import checked_number, checked_patterns, checked_tids
from funcgraph.instance.control_files.files import Files
from funcgraph.instance.filters import release_native, set_filters
from funcgraph.instance.living import STATES
from funcgraph.instance.marker import TraceMarker, TraceMarkerRaw, TracePrintk
from funcgraph.instance.options import Options, parse_words
from funcgraph.instance.pipe import TracePipe
from funcgraph.instance.snapshot import Snapshot
from funcgraph.instance.state import State
from funcgraph.instance.tracers import stop_latency
from funcgraph.settings import check
from funcgraph.settings.table import BY_NAME, NAME_BYTES, OPTIONS, PATTERNS, SETTINGS, THREADS

if TYPE_CHECKING:
    from funcgraph.instance.commands import FunctionCommands
    from funcgraph.instance.events import Events

__all__ = ["Instance", "instances"]

_living: dict[str, Instance] = {}


def instances() -> Mapping[str, Instance]:
    """Return the living instances of this process by name, as they are now: the kernel's folder
    `instances`.

    Example:
        for name, instance in funcgraph.instances().items():
            print(name, instance.current_tracer)
    """
    return MappingProxyType(dict(_living))


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"an instance's name must be a str, not {type(name).__name__}")
    try:
        check.name(name)
    except ValueError as error:
        raise OSError(EINVAL, f"invalid instance name {name!r}: {error}") from None
    if check.is_too_long(name):
        raise OSError(ENAMETOOLONG, f"invalid instance name: must have at most {NAME_BYTES} bytes", name)


class Instance(FileAttributes):
    """An independent tracer with a buffer of its own: the kernel's `instances/NAME`.

    Any number of instances exist at the same time, and none sees another's filters, options or records. One
    whose tracer records calls is one of at most 64 users of the function graph. An instance records in this
    process alone: a fork's child has it without records. Any thread may use it. The attributes are the
    kernel's files; a change takes effect before the assignment returns.

        with funcgraph.Instance("orders", tracer="function_graph", filter=["shop.*"]) as orders:
            serve()
            print(orders.trace())

    Args:
        name: its name, which no other living instance has.
        tracer: as `current_tracer`.
        filter: as `set_ftrace_filter`; notrace, graph and graph_notrace as the attributes of those names.
        tids: as `set_ftrace_pid`.
        notrace_tids: as `set_ftrace_notrace_pid`.
        max_graph_depth: as that attribute.
        tracing_thresh: as that attribute, in us.
        value_depth: as that attribute; value_string_size and value_redact as well.
        options: as `options`: a mapping, or words like "funcgraph-args" and "nofuncgraph-cpu".
        buffer_size_kb: as that attribute.
        c_calls: C functions too, where recorded functions call them.

    Raises:
        OSError: EEXIST: another instance has that name. ENAMETOOLONG: the name has more than 63 bytes.
            EINVAL: a value that is not allowed; the text says which ones are. ENOSPC: the tracer records
            calls, and all slots for users are taken. ENOMEM.
        RuntimeError: no hook is free.
    """

    name: str
    """Its name."""
    options: Options
    """All options by name: options["funcgraph-args"] = True. An option of another tracer takes effect once
    that tracer is the current one. OSError EINVAL: no option has that name; the text lists the names."""
    files: Files
    """The kernel's files as text, in the kernel's syntax: files["set_ftrace_filter"] = "shop.* cart.*"."""
    trace_marker: TraceMarker
    """Texts of the program into this trace: trace_marker.write(text)."""
    trace_marker_raw: TraceMarkerRaw
    """Data of the program into this trace: trace_marker_raw.write(id.to_bytes(4, "little") + data)."""
    trace_printk: TracePrintk
    """trace_printk(format, *args): puts `format % args` into this trace, as from the calling function."""

    def __init__(
        self,
        name: str,
        *,
        tracer: str = "nop",
        filter: str | Iterable[str] = (),
        notrace: str | Iterable[str] = (),
        graph: str | Iterable[str] = (),
        graph_notrace: str | Iterable[str] = (),
        tids: Iterable[int] = (),
        notrace_tids: Iterable[int] = (),
        max_graph_depth: int = 0,
        tracing_thresh: int = 0,
        value_depth: int = 0,
        value_string_size: int = 0,
        value_redact: str = "",
        options: Mapping[str, bool] | str | Iterable[str] = (),
        buffer_size_kb: int = 1408,
        c_calls: bool = False,
    ) -> None:
        keywords: dict[str, object] = locals()
        _check_name(name)
        self.name = name
        size_kb = checked_number(BY_NAME["buffer_kb"], buffer_size_kb, "buffer_size_kb")
        self._state = State(name, size_kb, bool(c_calls))
        if _living.setdefault(name, self) is not self:
            self._state.engine.close()
            raise OSError(EEXIST, "an instance of that name exists", name)
        STATES[name] = self._state
        self.options = Options(self._state)
        self.files = Files(self._state)
        self.trace_marker = TraceMarker(self._state.engine.mark)
        self.trace_marker_raw = TraceMarkerRaw(self._state.engine.mark_raw)
        self.trace_printk = self._state.engine.printk
        try:
            given = [(one, keywords[one.keyword]) for one in SETTINGS if one.keyword]
            set_filters(
                self._state,
                {one.name: checked_patterns(value, one.file) for one, value in given if one.kind == PATTERNS},
                {one.name: checked_tids(one, value, one.file) for one, value in given if one.kind == THREADS},
            )
            self.max_graph_depth = max_graph_depth
            self.tracing_thresh = tracing_thresh
            self.value_redact = value_redact
            self.value_string_size = value_string_size
            self.value_depth = value_depth
            if not isinstance(options, Mapping):
                options = parse_words("options", options, OPTIONS)
            self.options.update(options)
            self.current_tracer = tracer
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Instance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the instance; pipes that are still open end."""
        with self._state.lock:
            self._state.pipes.clear()
            self.close()

    def __repr__(self) -> str:
        if self.closed:
            return f"<Instance {self.name!r}, closed>"
        return f"<Instance {self.name!r}, {self._state.engine.tracer}>"

    def _repr_html_(self) -> str | None:
        from funcgraph.html_repr import trace_html  # only now: a notebook calls this

        with self._state.lock:
            if self.closed:
                return None
            data = self._state.trace_bytes()
        return _engine.untraced(trace_html, data, self.name, repr(self))

    def close(self) -> None:
        """Remove the instance with its buffer: it no longer traces. May be called twice.

        Raises:
            OSError: EBUSY: its trace_pipe is open.
        """
        with self._state.lock:
            self._state.check_no_pipe()
            stop_latency(self._state)
            profiling.set_enabled(self._state, False)
            if self._state.commands:
                self._state.commands.close()
            self._state.engine.close()
            release_native(self._state)
            if _living.get(self.name) is self:
                del _living[self.name], STATES[self.name]
            forks.watch()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._state.engine.closed

    def trace_stat(self, tid: int | None = None) -> str:
        """Return what the function profiler counted: the text of the kernel's trace_stat/functionN.

            i.function_profile_enabled = True
            work()
            print(i.trace_stat())

        Functions whose calls take less than tracing_thresh on average are left out.

        Args:
            tid: only calls in this thread (threading.get_native_id()); None: in all.

        Raises:
            OSError: ESRCH: nothing was counted in that thread, or it has ended.
        """
        return profiling.trace_stat(self._state, self.tracing_thresh, tid)

    @property
    def events(self) -> Events:
        """The events of this process, and what this instance does with each: the kernel's folder `events`."""
        from funcgraph.instance.events import Events

        return Events(self._state)

    @property
    def function_commands(self) -> FunctionCommands:
        """What calls of functions do here: the function commands of the kernel's set_ftrace_filter.

        i.function_commands.add("shop.retry:traceon:3")
        """
        from funcgraph.instance.commands import commands_of

        return commands_of(self._state)

    def clear(self) -> None:
        """Empty the buffer, as writing to the kernel's file `trace` does."""
        self._state.clear()

    def trace(self) -> str:
        """Return what the buffer holds as text: the kernel's `trace`. The buffer stays; recording goes on.

        The layout is the kernel's for the current tracer, by the instance's options. With a latency tracer
        it is what that tracer found.

        Raises:
            OSError: there is no room for the files in memory that reading needs.
            ValueError: the instance is closed.
        """
        return self._state.trace()

    def trace_pipe(self, *, blocking: bool = True) -> TracePipe:
        """Return an iterator over the lines as they come. No later read has what it returned.

        While it is open the instance can neither be closed nor get another tracer (EBUSY). It closes at
        its end, by close(), and when nobody refers to it.

            with i.trace_pipe() as pipe:
                for line in pipe:
                    print(line, end="")

        pipe.read() returns all lines that there are at once, as bytes.

        Args:
            blocking: wait for records when there are none; False: end then.
        """
        return TracePipe(self._state, blocking)

    def snapshot(self) -> Snapshot:
        """Return what the buffer holds now, to look at later. The buffer stays.

        Raises:
            OSError: there is no room for it.
            ValueError: the instance is closed.
        """
        with self._state.lock:
            return Snapshot(self._state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what the buffer holds to a trace; NAME.dat: as a trace.dat, which trace-cmd reads too.

        Raises:
            OSError: the file cannot be written.
            ValueError: the instance is closed.
        """
        with self._state.lock:
            self._state.write_trace(os.fspath(path))


def _after_fork() -> None:
    """Runs in a fork's child, which has none of its parent's other threads."""
    for instance in _living.values():
        instance._state.after_fork()
    forks.after_fork()


os.register_at_fork(after_in_child=_after_fork)
