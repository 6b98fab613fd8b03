"""Gets and sets the value of each file of an instance.

The properties of Instance use `get` and `put`, and so does Instance.files for its texts. The table of
settings says which values a file takes. A number or a flag of the engine needs nothing but its entry there. A
file whose value is kept elsewhere has a getter and a setter below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from errno import EINVAL
from typing import Any

from funcgraph import _engine
from funcgraph.instance import profiling
from funcgraph.instance.filters import set_event_tids, set_filters
from funcgraph.instance.options import current_options, option_words, parse_words, set_options
from funcgraph.instance.state import State
from funcgraph.instance.tracers import available_tracers, current_tracer, set_tracer
from funcgraph.settings import check
from funcgraph.settings.table import (
    BY_FILE,
    CHOICE,
    FLAG,
    NUMBER,
    PATTERNS,
    THREADS,
    WORDS,
    Setting,
)

__all__ = ["available_clocks", "checked", "get", "put"]


def get(state: State, file: str) -> Any:
    """Return the value of a file of BY_FILE; that of a list is a tuple."""
    setting = BY_FILE[file]
    if getter := _GETTERS.get(file):
        return getter(state)
    if setting.kind in (PATTERNS, THREADS):
        return state.filters[setting.name]
    return state.engine.settings[setting.name]


def put(state: State, file: str, value: Any) -> None:
    """Set the value of a file of BY_FILE.

    Raises:
        OSError: EINVAL: the file does not take the value; the text says which values it takes. EBUSY: another
            thread holds the instance's lock. Others: see the setter.
    """
    setting = BY_FILE[file]
    if setting.kind == WORDS:
        settled: Any = parse_words(file, value, current_options(state))
    else:
        settled = checked(setting, value, file)
    with state.lock:
        if file in _SETTERS:
            _SETTERS[file](state, settled)
        elif setting.kind in (PATTERNS, THREADS):
            set_filters(state, **{setting.name: settled})
        else:
            state.engine.set_setting(setting.name, settled)


def checked(setting: Setting, value: Any, what: str) -> Any:
    """Return a value as the setters take it.

    Args:
        setting: one of any kind but WORDS.
        value: the value as given.
        what: the name of the setting, for the error.

    Raises:
        OSError: EINVAL: the setting cannot have that value; the text says which values it can have.
    """
    try:
        return _CHECKS[setting.kind](setting, value)
    except ValueError as error:
        raise OSError(EINVAL, f"invalid {what} {value!r}: {error}") from None


def available_clocks() -> tuple[str, ...]:
    """Return the names of the clocks."""
    clocks: tuple[str, ...] = _engine.untraced(_clocks)
    return clocks


def _clocks() -> tuple[str, ...]:
    from funcgraph import _tracedata

    return _tracedata.CLOCKS


def _check_choice(setting: Setting, value: object) -> str:
    return check.one_of(value, available_tracers() if setting.name == "tracer" else available_clocks())


def _check_patterns(setting: Setting, value: str | Iterable[str]) -> tuple[str, ...]:
    return check.pattern_list(value, _engine.check_pattern)


def _check_threads(setting: Setting, value: Iterable[int]) -> tuple[int, ...]:
    return tuple(check.number(setting, tid) for tid in value)


_CHECKS: dict[str, Callable[[Setting, Any], Any]] = {
    FLAG: lambda setting, value: check.flag(value),
    NUMBER: check.number,
    CHOICE: _check_choice,
    PATTERNS: _check_patterns,
    THREADS: _check_threads,
}


def _get_thresh(state: State) -> int:
    return state.latency.thresh_us if state.latency else int(state.engine.settings["thresh_us"])


def _set_thresh(state: State, thresh_us: int) -> None:
    if state.latency:
        state.latency.thresh_us = thresh_us
    else:
        state.engine.set_setting("thresh_us", thresh_us)


def _get_max_latency(state: State) -> int:
    return state.latency.max_latency_us if state.latency else state.engine.max_latency_us


def _set_max_latency(state: State, latency_us: int) -> None:
    if state.latency:
        state.latency.max_latency_us = latency_us
    else:
        state.engine.max_latency_us = latency_us


def _set_clock(state: State, clock: str) -> None:
    state.clock = clock


_GETTERS: dict[str, Callable[[State], Any]] = {
    "current_tracer": current_tracer,
    "available_tracers": lambda state: available_tracers(),
    "tracing_on": lambda state: state.engine.tracing_on,
    "set_event_pid": lambda state: state.event_tids["set_event_pid"],
    "set_event_notrace_pid": lambda state: state.event_tids["set_event_notrace_pid"],
    "tracing_thresh": _get_thresh,
    "tracing_max_latency": _get_max_latency,
    "trace_clock": lambda state: state.clock,
    "trace_options": lambda state: option_words(current_options(state)),
    "buffer_size_kb": lambda state: state.engine.buffer_kb,
    "buffer_total_size_kb": lambda state: state.engine.buffer_kb,
    "function_profile_enabled": profiling.is_enabled,
}

_SETTERS: dict[str, Callable[[State, Any], object]] = {
    "current_tracer": set_tracer,
    "tracing_on": lambda state, on: state.engine.set_tracing_on(on),
    "set_event_pid": lambda state, tids: set_event_tids(state, set_event_pid=tids),
    "set_event_notrace_pid": lambda state, tids: set_event_tids(state, set_event_notrace_pid=tids),
    "tracing_thresh": _set_thresh,
    "tracing_max_latency": _set_max_latency,
    "trace_clock": _set_clock,
    "trace_options": set_options,
    "buffer_size_kb": lambda state, size_kb: state.engine.set_buffer_kb(size_kb),
    "function_profile_enabled": profiling.set_enabled,
}
