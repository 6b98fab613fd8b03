"""Instance: a tracer of one's own in the running program, with the kernel's file names as attributes.

The semantics are those of Documentation/trace/ftrace.rst, section "Instances".
"""

from __future__ import annotations

import os
from _thread import RLock
from collections.abc import Callable, Iterable, Iterator, Mapping
from errno import EBUSY, EEXIST, EINVAL, ENAMETOOLONG
from time import sleep
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any
from weakref import finalize

from funcgraph import _engine
from funcgraph.instance.latency_instance import InstanceLatency
from funcgraph.instance.marker import TraceMarker
from funcgraph.instance.options import (
    EXCLUSIVE,
    Options,
    initial_options,
    not_allowed,
    option_words,
    parse_words,
    tracer_of,
)
from funcgraph.session.options import LIMITS

if TYPE_CHECKING:
    from funcgraph.instance.profile import FunctionProfile

__all__ = ["Instance", "Snapshot", "TracePipe", "instances"]

NAME_BYTES = 63
LOCK_TIMEOUT_S = 10.0
POLL_S = 0.02  # how often a pipe that waits looks for records

# What instances never trace: their own functions, which the program calls while they run.
_OWN = ("funcgraph.instance.*",)

_living: dict[str, Instance] = {}


def instances() -> Mapping[str, Instance]:
    """Return the living instances of this process by name, as they are now: the kernel's folder `instances`.

    Example:
        for name, instance in funcgraph.instances().items():
            print(name, instance.current_tracer)
    """
    return MappingProxyType(dict(_living))


def _refuse(what: str, why: object) -> OSError:
    return OSError(EINVAL, f"{what}: {why}")


def _number(what: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _refuse(what, f"{value!r} is not allowed; a whole number from {least} to {most} is")
    return value


def _patterns(what: str, value: str | Iterable[str]) -> tuple[str, ...]:
    """Return patterns as a tuple: out of any iterable, or of a text with blanks between them."""
    patterns = tuple(value.split() if isinstance(value, str) else value)
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise _refuse(what, f"a pattern is a str, not {type(pattern).__name__}")
        try:
            _engine.check_pattern(pattern)
        except ValueError as error:
            raise _refuse(what, error) from None
    return patterns


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"an instance's name is a str, not {type(name).__name__}")
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        raise _refuse("instance", f"{name!r} is no name; one has no '/' and is neither empty nor a dot")
    if len(name.encode("utf-8", "surrogatepass")) > NAME_BYTES:
        raise OSError(ENAMETOOLONG, f"instance: a name has at most {NAME_BYTES} bytes", name)


class _Lock:
    """What changes an instance, or reads it, comes one after the other.

    Raises:
        OSError: EBUSY: another thread has it for very long. It may be waiting for us: a change waits for
            callbacks that run, and we may be called from one.
    """

    __slots__ = ("_rlock",)

    def __init__(self) -> None:
        self._rlock = RLock()

    def __enter__(self) -> None:
        if not self._rlock.acquire(timeout=LOCK_TIMEOUT_S):
            raise OSError(EBUSY, "the instance is busy: another thread changes or reads it")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._rlock.release()


class Instance:
    """An independent tracer with a buffer of its own: the kernel's `instances/NAME`.

    Any number of them run at the same time (up to 64 users of the function graph), and none sees another's
    filters, options or records. An instance records in this process alone: a fork's child has it without
    records. It may be used from any thread. The attributes are the kernel's files; a change counts from when
    it returns.

        with funcgraph.Instance("orders", tracer="function_graph", filter=["shop.*"]) as orders:
            serve()
            print(orders.trace())

    Args:
        name: its name, which no other living instance has.
        tracer: as `current_tracer`.
        filter: as `set_ftrace_filter`; notrace, graph and graph_notrace as the attributes of those names.
        tids: as `set_ftrace_pid`.
        max_graph_depth: as that attribute.
        tracing_thresh: as that attribute, in us.
        options: as `options`: a mapping, or words like "funcgraph-args" and "nofuncgraph-cpu".
        buffer_size_kb: as that attribute.
        c_calls: C functions too, where recorded functions call them.

    Raises:
        OSError: EEXIST: there is one of that name. ENAMETOOLONG: more than 63 bytes. EINVAL: a value that is
            not allowed; the text says which are. ENOSPC: all slots for users are taken. ENOMEM.
        RuntimeError: no hook is free.
    """

    name: str
    """Its name."""
    options: Options
    """All options by name: options["funcgraph-args"] = True. Those of other tracers than the current one
    count when these are. OSError EINVAL: there is no such option; the text names those that there are."""
    trace_marker: TraceMarker
    """Texts of the program into this trace: trace_marker.write(text)."""
    trace_printk: Callable[..., int]
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
        max_graph_depth: int = 0,
        tracing_thresh: int = 0,
        options: Mapping[str, bool] | str | Iterable[str] = (),
        buffer_size_kb: int = 1408,
        c_calls: bool = False,
    ) -> None:
        _check_name(name)
        self.name = name
        self._lock = _Lock()
        self._pipes: set[int] = set()  # id of each that is open
        self._clock = "mono"
        self._latency: InstanceLatency | None = None
        self._profile: FunctionProfile | None = None
        self._sets: dict[str, tuple[Any, ...]] = {}
        self._engine = _engine.Instance(name, buffer_kb=_buffer_kb(buffer_size_kb))
        if _living.setdefault(name, self) is not self:
            self._engine.close()
            raise OSError(EEXIST, "an instance of that name is there already", name)
        self.trace_marker = TraceMarker(self._engine.mark)
        self.trace_printk = self._engine.printk
        try:
            values: dict[str, bool] = _engine.untraced(initial_options)
            self.options = Options(self, values)
            self._c_calls = bool(c_calls)
            self._set_filters(
                filter=_patterns("set_ftrace_filter", filter),
                notrace=_patterns("set_ftrace_notrace", notrace),
                graph=_patterns("set_graph_function", graph),
                graph_notrace=_patterns("set_graph_notrace", graph_notrace),
                tids=_thread_ids(tids),
            )
            self.max_graph_depth = max_graph_depth
            self.tracing_thresh = tracing_thresh
            if isinstance(options, Mapping):
                self.options.update(options)
            else:
                self._set_options(parse_words("options", options, values))
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
        with self._lock:
            self._pipes.clear()
            self.close()

    def __repr__(self) -> str:
        if self._engine.closed:
            return f"<Instance {self.name!r}, closed>"
        return f"<Instance {self.name!r}, {self._engine.tracer}>"

    # ---- its life

    def close(self) -> None:
        """Remove the instance: it traces nothing any more, and its buffer is gone. May be called twice.

        Raises:
            OSError: EBUSY: a pipe of it is open.
        """
        with self._lock:
            self._check_no_pipe()
            self._stop_latency()
            self._stop_profile()
            self._engine.close()
            if _living.get(self.name) is self:
                del _living[self.name]

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._engine.closed

    def _check_no_pipe(self) -> None:
        if self._pipes:
            raise OSError(EBUSY, "the instance is busy: its trace_pipe is open", self.name)

    # ---- the tracer

    @property
    def available_tracers(self) -> tuple[str, ...]:
        """The tracers that there are."""
        return (*_engine.TRACERS, *_engine.LATENCY_TRACERS)

    @property
    def current_tracer(self) -> str:
        """The tracer that records: "nop" records no calls.

        Setting another one empties the buffer. If a tracer refuses to start there is "nop". The latency
        tracers ("loopblock", "wakeup", "gilwait") look for the longest time that something waited,
        tracing_max_latency; trace() is what they found, with the function graph inside it if the option
        display-graph is on.

        Raises:
            OSError: EINVAL: no such tracer. EBUSY: trace_pipe is open; or another instance has that latency
            tracer. EOPNOTSUPP: it does not work with this CPython.
            RuntimeError: no hook is free.
        """
        return self._latency.tracer if self._latency else self._engine.tracer

    @current_tracer.setter
    def current_tracer(self, name: str) -> None:
        if name not in self.available_tracers:
            raise not_allowed("current_tracer", name, self.available_tracers)
        with self._lock:
            if name == self.current_tracer:
                return
            self._check_no_pipe()
            self._stop_latency()
            if name in _engine.LATENCY_TRACERS:
                self._start_latency(name)
            else:
                self._set_engine_tracer(name)

    def _set_engine_tracer(self, name: str) -> None:
        self._apply_flags(name)
        try:
            self._engine.set_tracer(name)
        finally:
            self._apply_flags(self._engine.tracer)

    def _start_latency(self, name: str) -> None:
        """Turn a latency tracer on, and then the recording of what runs inside its sections, in this order
        (_engine.latency_start)."""
        self._set_engine_tracer("nop")
        display_graph = self.options["display-graph"]
        thresh_us = self.tracing_thresh
        self._latency = InstanceLatency(name, self._engine, thresh_us, display_graph)
        try:
            self._engine.set_setting("thresh_us", 0)  # it is about sections, not calls
            if display_graph:
                self._set_filters()
                self._set_engine_tracer("function_graph")
        except BaseException:
            self._stop_latency()
            raise

    def _stop_latency(self) -> None:
        if self._latency is None:
            return
        latency, self._latency = self._latency, None
        latency.stop()
        self._set_engine_tracer("nop")
        self._engine.set_setting("thresh_us", latency.thresh_us)
        self._set_filters()

    @property
    def tracing_on(self) -> bool:
        """Whether it records. Off: when the assignment returns nothing more is recorded; the buffer stays."""
        return self._engine.tracing_on

    @tracing_on.setter
    def tracing_on(self, on: bool) -> None:
        if on not in (0, 1):
            raise not_allowed("tracing_on", on, ("0", "1"))
        with self._lock:
            self._engine.set_tracing_on(bool(on))

    # ---- the function profiler

    @property
    def function_profile_enabled(self) -> bool:
        """Whether the function profiler counts the calls of the functions that the filters are for.

        It does so with any tracer, also "nop", and without the buffer. Turned on, it begins from zero; turned
        off, trace_stat() keeps what it counted. The options graph-time and sleep-time are read when it is
        turned on; set_ftrace_pid is not: trace_stat() tells threads apart.

        Raises:
            OSError: EINVAL: neither True nor False. ENOSPC: all slots of users are taken.
            RuntimeError: no hook is free.
        """
        return self._profile is not None and self._profile.enabled

    @function_profile_enabled.setter
    def function_profile_enabled(self, on: bool) -> None:
        if on not in (0, 1):
            raise not_allowed("function_profile_enabled", on, ("0", "1"))
        with self._lock:
            if on and not self.function_profile_enabled:
                self._start_profile()
            elif not on:
                self._stop_profile()

    def _start_profile(self) -> None:
        profile = _engine.untraced(_profiler).FunctionProfile(
            **_profiled(self._sets),
            graph_time=self.options["graph-time"],
            sleep_time=self.options["sleep-time"],
        )
        profile.start()
        self._profile = profile

    def _stop_profile(self) -> None:
        if self.function_profile_enabled:
            assert self._profile is not None
            self._profile.stop()

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
        profile = self._profile
        if profile is None:
            empty: str = _engine.untraced(_profiler).stat_text(())
            return empty
        profile.thresh_us = self.tracing_thresh
        text: str = _engine.untraced(profile.trace_stat, tid)
        return text

    # ---- filters

    def _set_filters(self, **sets: tuple[Any, ...]) -> None:
        """Change some of the filters, all at once."""
        with self._lock:
            new = {**self._sets, **sets}
            self._engine.set_filter(
                filter=new["filter"],
                notrace=new["notrace"] + _OWN,
                graph=new["graph"] or (self._latency.graph if self._latency else ()),
                graph_notrace=new["graph_notrace"],
                tids=new["tids"] or None,
                c_calls=self._c_calls,
            )
            self._sets = new
            for name, patterns in _profiled(new).items():
                if self._profile and getattr(self._profile, name) != patterns:
                    getattr(self._profile, f"set_{name}")(patterns, reset=True)

    @property
    def set_ftrace_filter(self) -> tuple[str, ...]:
        """Only these functions: patterns: "module.qualname" with *, ? and [...], or ":mod:NAME". Empty: all.

        This and the next three take any iterable of patterns, or a text with blanks between them. Functions
        that are not there yet are found when they come.

            i.set_ftrace_filter = ["shop.*", "cart.Cart.add"]
            i.set_ftrace_filter += ("pay.*",)

        Raises:
            OSError: EINVAL: a pattern that is none; the text says why, and in which column.
        """
        return self._sets["filter"]

    @set_ftrace_filter.setter
    def set_ftrace_filter(self, patterns: str | Iterable[str]) -> None:
        self._set_filters(filter=_patterns("set_ftrace_filter", patterns))

    @property
    def set_ftrace_notrace(self) -> tuple[str, ...]:
        """Never these functions."""
        return self._sets["notrace"]

    @set_ftrace_notrace.setter
    def set_ftrace_notrace(self, patterns: str | Iterable[str]) -> None:
        self._set_filters(notrace=_patterns("set_ftrace_notrace", patterns))

    @property
    def set_graph_function(self) -> tuple[str, ...]:
        """Only these functions and what they call."""
        return self._sets["graph"]

    @set_graph_function.setter
    def set_graph_function(self, patterns: str | Iterable[str]) -> None:
        self._set_filters(graph=_patterns("set_graph_function", patterns))

    @property
    def set_graph_notrace(self) -> tuple[str, ...]:
        """Neither these functions nor what they call."""
        return self._sets["graph_notrace"]

    @set_graph_notrace.setter
    def set_graph_notrace(self, patterns: str | Iterable[str]) -> None:
        self._set_filters(graph_notrace=_patterns("set_graph_notrace", patterns))

    @property
    def set_ftrace_pid(self) -> tuple[int, ...]:
        """Only calls in these threads, by native id (threading.get_native_id()). Empty: in all.

        Raises:
            OSError: EINVAL: what is no thread id.
        """
        return self._sets["tids"]

    @set_ftrace_pid.setter
    def set_ftrace_pid(self, tids: Iterable[int]) -> None:
        self._set_filters(tids=_thread_ids(tids))

    # ---- settings

    def _set_setting(self, what: str, name: str, value: object) -> None:
        number = _number(what, value, *LIMITS[name])
        with self._lock:
            self._engine.set_setting(name, number)

    @property
    def max_graph_depth(self) -> int:
        """Only so many levels of calls; 0: all.

        Raises:
            OSError: EINVAL: not from 0 to 262143.
        """
        return int(self._engine.settings["max_graph_depth"])

    @max_graph_depth.setter
    def max_graph_depth(self, depth: int) -> None:
        self._set_setting("max_graph_depth", "max_graph_depth", depth)

    @property
    def tracing_thresh(self) -> int:
        """Only calls that took at least so many us; 0: all. Of a latency tracer each section that took so
        long is kept; 0: each that is the longest.

        Raises:
            OSError: EINVAL: not from 0 to 2**40.
        """
        return self._latency.thresh_us if self._latency else int(self._engine.settings["thresh_us"])

    @tracing_thresh.setter
    def tracing_thresh(self, thresh_us: int) -> None:
        with self._lock:
            if self._latency:
                self._latency.thresh_us = _number("tracing_thresh", thresh_us, *LIMITS["thresh_us"])
            else:
                self._set_setting("tracing_thresh", "thresh_us", thresh_us)

    @property
    def tracing_max_latency(self) -> int:
        """The longest time that a latency tracer has seen, in us. Setting it to 0 lets it begin anew."""
        return self._latency.max_latency_us if self._latency else self._engine.max_latency_us

    @tracing_max_latency.setter
    def tracing_max_latency(self, latency_us: int) -> None:
        latency_us = _number("tracing_max_latency", latency_us, *LIMITS["thresh_us"])
        with self._lock:
            if self._latency:
                self._latency.max_latency_us = latency_us
            else:
                self._engine.max_latency_us = latency_us

    @property
    def trace_clock(self) -> str:
        """The clock that times are on when the buffer is read: "mono", "boot", "mono_raw" or "tai"; "local"
        and "global" are other names for "mono". Setting it leaves the buffer as it is.

        Raises:
            OSError: EINVAL: another one.
        """
        return self._clock

    @trace_clock.setter
    def trace_clock(self, clock: str) -> None:
        clocks = _engine.untraced(_clocks)
        if clock not in clocks:
            raise not_allowed("trace_clock", clock, clocks)
        self._clock = clock

    def _set_options(self, chosen: Mapping[str, bool]) -> None:
        """Change options that there are."""
        with self._lock:
            if all({**self.options._values, **chosen}[option] for option in EXCLUSIVE):
                raise OSError(EINVAL, f"options: {' and '.join(EXCLUSIVE)} cannot be on together")
            if "overwrite" in chosen:
                self._engine.set_overwrite(chosen["overwrite"])
            self.options._values.update(chosen)
            self._apply_flags(self._engine.tracer)
            if "display-graph" in chosen and self._latency:  # begins anew, as in the kernel
                name = self._latency.tracer
                self._stop_latency()
                self._start_latency(name)

    def _apply_flags(self, tracer: str) -> None:
        """Have the engine record what the options of this tracer say; those of others wait for theirs."""
        wanted = dict.fromkeys((setting for setting, _ in _engine.INSTANCE_FLAGS.values()), False)
        for option, (setting, value) in _engine.INSTANCE_FLAGS.items():
            wanted[setting] |= tracer_of(option) in ("", tracer) and self.options._values[option] is value
        settings = self._engine.settings
        for setting, on in wanted.items():
            if settings[setting] != on:
                self._engine.set_setting(setting, on)

    @property
    def trace_options(self) -> list[str]:
        """The buffer's options and those of the current tracer, with `no` before what is off.

        Setting it changes the options that are named and no others: i.trace_options = "nofuncgraph-cpu".
        `options` has those of the other tracers too.

        Raises:
            OSError: EINVAL: no option, or one of another tracer; the text names those that are allowed.
        """
        return option_words(self._current_options())

    @trace_options.setter
    def trace_options(self, words: str | Iterable[str]) -> None:
        self._set_options(parse_words("trace_options", words, self._current_options()))

    def _current_options(self) -> dict[str, bool]:
        allowed = ("", self._engine.tracer)
        return {name: on for name, on in self.options._values.items() if tracer_of(name) in allowed}

    # ---- the buffer

    @property
    def buffer_size_kb(self) -> int:
        """The size of the buffer, in KiB, of all threads together.

        With another size, what is recorded stays; if there is no room for all of it the oldest goes, or the
        youngest without the option overwrite, and is counted as lost.

        Raises:
            OSError: EINVAL: not from 32 to 2**30. ENOMEM: so much is not there; then all is as it was.
        """
        return self._engine.buffer_kb

    @buffer_size_kb.setter
    def buffer_size_kb(self, size_kb: int) -> None:
        size_kb = _buffer_kb(size_kb)
        with self._lock:
            self._engine.set_buffer_kb(size_kb)

    def clear(self) -> None:
        """Empty the buffer: what writing nothing to the kernel's file `trace` does."""
        with self._lock:
            self._engine.clear()

    # ---- reading

    def _read(self, *, consume: bool) -> str:
        """Return the buffer's text; the caller has the lock."""
        text: str = _engine.untraced(_read_text, self, consume)
        return text

    def trace(self) -> str:
        """Return what is in the buffer as text: the kernel's `trace`. It stays there, and recording goes on.

        The layout is the kernel's for the current tracer, by the instance's options. Of a latency tracer it
        is what was found.

        Raises:
            OSError: there is no room for the temporary files that it takes.
            ValueError: the instance is closed.
        """
        with self._lock:
            return self._latency.report() if self._latency else self._read(consume=False)

    def trace_pipe(self, *, blocking: bool = True) -> TracePipe:
        """Return an iterator over the lines as they come: what it returns is not read again, by nobody.

        While it is open the instance cannot be closed, nor have another tracer (EBUSY); it is
        closed at its end, by close(), and when nobody holds it any more.

            with i.trace_pipe() as pipe:
                for line in pipe:
                    print(line, end="")

        Args:
            blocking: wait for records when there are none; False: that is the end.
        """
        return TracePipe(self, blocking)

    def snapshot(self) -> Snapshot:
        """Return what is in the buffer now, to be looked at later. It stays in the buffer, too.

        Raises:
            OSError: there is no room for it.
            ValueError: the instance is closed.
        """
        with self._lock:
            return Snapshot(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what is in the buffer to a trace.dat file, which `funcgraph report` and trace-cmd read.

        Raises:
            OSError: it cannot be written.
            ValueError: the instance is closed.
        """
        with self._lock:
            _engine.untraced(_write, self, os.fspath(path))


def _reading() -> Any:
    """Import what reading takes: only when somebody reads."""
    from funcgraph.instance import reading

    return reading


def _profiled(sets: Mapping[str, tuple[Any, ...]]) -> dict[str, tuple[Any, ...]]:
    """Return the patterns of an instance's sets as the function profiler has them."""
    patterns = {name: sets[name] for name in ("filter", "notrace", "graph", "graph_notrace")}
    patterns["notrace"] += _OWN
    return patterns


def _profiler() -> Any:
    """Import the function profiler: only when somebody turns it on."""
    from funcgraph.instance import profile

    return profile


def _clocks() -> tuple[str, ...]:
    from funcgraph import _tracedata

    return _tracedata.CLOCKS


def _read_text(i: Instance, consume: bool) -> str:
    text: str = _reading().read_text(i._engine, i.name, i.options._values, consume=consume, clock=i._clock)
    return text


def _write(i: Instance, path: str) -> None:
    reading = _reading()
    meta = reading.describe(i._engine.tracer, i.name)
    reading.write_trace(i._engine, path, meta, consume=False, clock=i._clock)


def _buffer_kb(size_kb: object) -> int:
    return _number("buffer_size_kb", size_kb, *LIMITS["buffer_kb"])


def _thread_ids(tids: Iterable[int]) -> tuple[int, ...]:
    return tuple(_number("set_ftrace_pid", tid, 1, 2**31 - 1) for tid in tids)


class TracePipe:
    """The lines of a trace as they come, each with its end: the kernel's `trace_pipe`.

    Instance.trace_pipe() makes it.
    """

    def __init__(self, instance: Instance, blocking: bool) -> None:
        self._instance = instance
        self._blocking = blocking
        self._lines: list[str] = []  # the next one last
        self._is_open = True
        with instance._lock:
            if instance.closed:
                raise ValueError("the instance is closed")
            instance._pipes.add(id(self))

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self._lines:
            if not self._is_open or self._instance.closed:
                raise StopIteration
            if not self._fill():
                if not self._blocking:
                    self.close()
                    raise StopIteration
                sleep(POLL_S)
        return self._lines.pop()

    def _fill(self) -> bool:
        """Read what is there now; False: nothing."""
        instance = self._instance
        with instance._lock:
            if instance.closed or not instance._engine.has_unread:
                return False
            text = instance._read(consume=True)
        self._lines = _engine.untraced(_reading).without_header(text)
        self._lines.reverse()
        return True

    def close(self) -> None:
        """Let go of the instance; lines that were read and not returned yet are lost. May be called twice."""
        # Without the lock: nobody knows where and when the last one who holds a pipe lets go of it.
        self._instance._pipes.discard(id(self))
        self._is_open = False
        self._lines = []

    def __enter__(self) -> TracePipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_is_open", False):
            self.close()


class Snapshot:
    """What was in an instance's buffer at one moment. Instance.snapshot() makes it.

    It is kept in a file in memory (or where temporary files lie), until close() or until nobody holds it.

    Attributes:
        name: the instance's name.
        tracer: its tracer at that moment.
    """

    def __init__(self, instance: Instance) -> None:
        reading = _engine.untraced(_reading)
        self.name = instance.name
        self.tracer = instance._engine.tracer
        self._options = dict(instance.options._values)
        self._folder: str = _engine.untraced(reading.make_folder)
        self._removal = finalize(self, _engine.untraced, reading.remove_folder, self._folder)
        try:
            _engine.untraced(_write, instance, f"{self._folder}/trace.dat")
        except BaseException:
            self.close()
            raise

    def trace(self) -> str:
        """Return its text, as Instance.trace() did at that moment.

        Raises:
            OSError: it is closed (ENOENT).
        """
        reading = _engine.untraced(_reading)
        text: str = _engine.untraced(reading.text_of, f"{self._folder}/trace.dat", self.tracer, self._options)
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a trace.dat file.

        Raises:
            OSError: it cannot be written, or is closed (ENOENT).
        """
        reading = _engine.untraced(_reading)
        _engine.untraced(reading.copy_file, f"{self._folder}/trace.dat", os.fspath(path))

    def close(self) -> None:
        """Remove it. May be called twice."""
        self._removal()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _after_fork() -> None:
    """In a fork's child: threads that held a lock or a pipe are not there."""
    for instance in _living.values():
        instance._lock = _Lock()
        instance._pipes.clear()


os.register_at_fork(after_in_child=_after_fork)
