"""The kernel's files as attributes of an instance: one property for each file that holds a value.

What each takes is in funcgraph.settings.table, how its value is kept in access.py; here are its type and
its documentation. tests/settings/ compares the three.
"""

from __future__ import annotations

from collections.abc import Iterable

from funcgraph.instance.control_files.access import get, put
from funcgraph.instance.state import State

__all__ = ["FileAttributes"]


class FileAttributes:
    """The part of funcgraph.Instance that has the kernel's files. A change takes effect before it
    returns."""

    _state: State

    def _flag(self, file: str) -> bool:
        return bool(get(self._state, file))

    def _number(self, file: str) -> int:
        value = get(self._state, file)
        assert isinstance(value, int)
        return int(value)

    def _name(self, file: str) -> str:
        return str(get(self._state, file))

    def _names(self, file: str) -> tuple[str, ...]:
        value = get(self._state, file)
        assert isinstance(value, (tuple, list))
        return tuple(map(str, value))

    def _tids(self, file: str) -> tuple[int, ...]:
        value = get(self._state, file)
        assert isinstance(value, tuple)
        return tuple(map(int, value))

    @property
    def available_tracers(self) -> tuple[str, ...]:
        """The names of the tracers."""
        return self._names("available_tracers")

    @property
    def current_tracer(self) -> str:
        """The tracer that records: "nop" records no calls.

        Setting another one empties the buffer. If a tracer cannot start, the instance has "nop". The latency
        tracers ("loopblock", "wakeup", "gilwait") look for the longest wait, tracing_max_latency. trace() is
        then what they found, with the function graph inside it if the option display-graph is on.

        Raises:
            OSError: EINVAL: no such tracer. EBUSY: trace_pipe is open, or another instance has that latency
            tracer. EOPNOTSUPP: it does not work with this CPython. ENOSPC: all slots for users are taken
            ("nop" takes none). ENOMEM.
            RuntimeError: no hook is free.
        """
        return self._name("current_tracer")

    @current_tracer.setter
    def current_tracer(self, name: str) -> None:
        put(self._state, "current_tracer", name)

    @property
    def tracing_on(self) -> bool:
        """Whether it records. Once False is set nothing more is recorded; the buffer stays."""
        return self._flag("tracing_on")

    @tracing_on.setter
    def tracing_on(self, on: bool) -> None:
        put(self._state, "tracing_on", on)

    @property
    def set_ftrace_filter(self) -> tuple[str, ...]:
        """Patterns of functions to trace: "module.qualname" with *, ? and [...], or ":mod:NAME". Empty: all.

        This and the next three take any iterable of patterns, or a text with white space between patterns. A
        function that is defined later is matched when it is first called.

            i.set_ftrace_filter = ["shop.*", "cart.Cart.add"]
            i.set_ftrace_filter += ("pay.*",)

        Raises:
            OSError: EINVAL: an invalid pattern; the text says why, and in which column.
        """
        return self._names("set_ftrace_filter")

    @set_ftrace_filter.setter
    def set_ftrace_filter(self, patterns: str | Iterable[str]) -> None:
        put(self._state, "set_ftrace_filter", patterns)

    @property
    def set_ftrace_notrace(self) -> tuple[str, ...]:
        """Patterns of functions that are never traced."""
        return self._names("set_ftrace_notrace")

    @set_ftrace_notrace.setter
    def set_ftrace_notrace(self, patterns: str | Iterable[str]) -> None:
        put(self._state, "set_ftrace_notrace", patterns)

    @property
    def set_graph_function(self) -> tuple[str, ...]:
        """Patterns of functions to trace together with what they call; nothing else is traced. Empty: all."""
        return self._names("set_graph_function")

    @set_graph_function.setter
    def set_graph_function(self, patterns: str | Iterable[str]) -> None:
        put(self._state, "set_graph_function", patterns)

    @property
    def set_graph_notrace(self) -> tuple[str, ...]:
        """Patterns of functions that are not traced, nor what they call."""
        return self._names("set_graph_notrace")

    @set_graph_notrace.setter
    def set_graph_notrace(self, patterns: str | Iterable[str]) -> None:
        put(self._state, "set_graph_notrace", patterns)

    @property
    def set_ftrace_pid(self) -> tuple[int, ...]:
        """The threads to trace, by native id (threading.get_native_id()). Empty: all.

        Raises:
            OSError: EINVAL: a value that is no thread id.
        """
        return self._tids("set_ftrace_pid")

    @set_ftrace_pid.setter
    def set_ftrace_pid(self, tids: Iterable[int]) -> None:
        put(self._state, "set_ftrace_pid", tids)

    @property
    def set_ftrace_notrace_pid(self) -> tuple[int, ...]:
        """The threads that are not traced, by native id, also if set_ftrace_pid has them. Empty: none.

        Raises:
            OSError: EINVAL: a value that is no thread id.
        """
        return self._tids("set_ftrace_notrace_pid")

    @set_ftrace_notrace_pid.setter
    def set_ftrace_notrace_pid(self, tids: Iterable[int]) -> None:
        put(self._state, "set_ftrace_notrace_pid", tids)

    @property
    def set_event_pid(self) -> tuple[int, ...]:
        """The threads whose events the instance sees, by native id (threading.get_native_id()). Empty: all.

        In other threads its events are neither recorded, nor do their triggers act. Texts of trace_marker
        come from all threads.

        Raises:
            OSError: EINVAL: a value that is no thread id.
        """
        return self._tids("set_event_pid")

    @set_event_pid.setter
    def set_event_pid(self, tids: Iterable[int]) -> None:
        put(self._state, "set_event_pid", tids)

    @property
    def set_event_notrace_pid(self) -> tuple[int, ...]:
        """The threads whose events the instance does not see, also if set_event_pid has them. Empty: none.

        Raises:
            OSError: EINVAL: a value that is no thread id.
        """
        return self._tids("set_event_notrace_pid")

    @set_event_notrace_pid.setter
    def set_event_notrace_pid(self, tids: Iterable[int]) -> None:
        put(self._state, "set_event_notrace_pid", tids)

    @property
    def max_graph_depth(self) -> int:
        """How many levels of calls are traced, from the outermost; 0: all.

        Raises:
            OSError: EINVAL: not a whole number from 0 to 262143.
        """
        return self._number("max_graph_depth")

    @max_graph_depth.setter
    def max_graph_depth(self, depth: int) -> None:
        put(self._state, "max_graph_depth", depth)

    @property
    def tracing_thresh(self) -> int:
        """The least duration of a call to record, in us; 0: all. A latency tracer keeps each section of at
        least that length; 0: only one that is longer than all before.

        Raises:
            OSError: EINVAL: not a whole number from 0 to 2**40.
        """
        return self._number("tracing_thresh")

    @tracing_thresh.setter
    def tracing_thresh(self, thresh_us: int) -> None:
        put(self._state, "tracing_thresh", thresh_us)

    @property
    def value_depth(self) -> int:
        """How many levels of parts (items, attributes) of arguments, results and exceptions are recorded.

        0: none. Setting another number turns the options funcgraph-args and funcgraph-retval on, too.

        Raises:
            OSError: EINVAL: not a whole number from 0 to 8.
        """
        return self._number("value_depth")

    @value_depth.setter
    def value_depth(self, depth: int) -> None:
        put(self._state, "value_depth", depth)

    @property
    def value_string_size(self) -> int:
        """How many bytes are kept of each text in a value; 0: 48, or 256 if value_depth is not 0.

        Raises:
            OSError: EINVAL: not a whole number from 0 to 960.
        """
        return self._number("value_string_size")

    @value_string_size.setter
    def value_string_size(self, size: int) -> None:
        put(self._state, "value_string_size", size)

    @property
    def value_redact(self) -> str:
        """Words with "|" between them: values whose names have one of them in it are not recorded. "": none.

        Names are those of arguments, attributes, keys of dicts, and of functions for their results; case does
        not matter. A word with `*`, `?` or `[` is a glob over the whole name.

        Raises:
            OSError: EINVAL: an empty word, or more than 255 bytes.
        """
        return self._name("value_redact")

    @value_redact.setter
    def value_redact(self, words: str) -> None:
        put(self._state, "value_redact", words)

    @property
    def tracing_max_latency(self) -> int:
        """The longest time that a latency tracer has seen, in us. Setting 0 lets it start again."""
        return self._number("tracing_max_latency")

    @tracing_max_latency.setter
    def tracing_max_latency(self, latency_us: int) -> None:
        put(self._state, "tracing_max_latency", latency_us)

    @property
    def trace_clock(self) -> str:
        """The clock of the trace's times: "mono", "boot", "mono_raw" or "tai".

        "local", "global" and "perf" are other names for "mono". "uptime", "x86-tsc" and "counter" count
        hundredths of a second, cycles and events; durations stay times. The clock applies when the buffer is
        read; setting it leaves the buffer as it is.

        Raises:
            OSError: EINVAL: no such clock.
        """
        return self._name("trace_clock")

    @trace_clock.setter
    def trace_clock(self, clock: str) -> None:
        put(self._state, "trace_clock", clock)

    @property
    def trace_options(self) -> list[str]:
        """The options of every tracer and those of the current one, with "no" before those that are off.

        Setting it changes the options that are named and no others: i.trace_options = "nofuncgraph-cpu".
        `options` has those of the other tracers too.

        Raises:
            OSError: EINVAL: a word that names none of these options; the text lists them.
        """
        return list(self._names("trace_options"))

    @trace_options.setter
    def trace_options(self, words: str | Iterable[str]) -> None:
        put(self._state, "trace_options", words)

    @property
    def buffer_size_kb(self) -> int:
        """The size of the buffer, which all threads share, in KiB.

        Setting another size keeps what is recorded. If the new buffer has too little room, the oldest
        records go, or without the option overwrite the newest, and are counted as lost.

        Raises:
            OSError: EINVAL: not a whole number from 32 to 2**30. ENOMEM: too little memory; nothing has
            changed.
        """
        return self._number("buffer_size_kb")

    @buffer_size_kb.setter
    def buffer_size_kb(self, size_kb: int) -> None:
        put(self._state, "buffer_size_kb", size_kb)

    @property
    def buffer_total_size_kb(self) -> int:
        """The size of the buffer in KiB. The kernel adds up the buffers of its CPUs; here there is one."""
        return self._number("buffer_total_size_kb")

    @property
    def function_profile_enabled(self) -> bool:
        """Whether the function profiler counts the calls of the functions that the filters select.

        It counts with any tracer, also "nop", and without the buffer. Enabled, it starts from zero;
        disabled, trace_stat() keeps what it counted. It reads the options graph-time and sleep-time when
        it is enabled; it ignores set_ftrace_pid, as trace_stat() tells threads apart.

        Raises:
            OSError: EINVAL: neither True nor False. ENOSPC: all slots for users are taken.
            RuntimeError: no hook is free.
        """
        return self._flag("function_profile_enabled")

    @function_profile_enabled.setter
    def function_profile_enabled(self, on: bool) -> None:
        put(self._state, "function_profile_enabled", on)
