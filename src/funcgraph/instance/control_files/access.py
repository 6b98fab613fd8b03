"""Gets and sets the value of each file of an instance.

The properties of Instance use `get` and `put`, and so do the files that hold the values (value_files.py). The
table of settings says which values a file takes. A number or a flag of the engine needs nothing but its entry
there. A file whose value is kept elsewhere has a getter and a setter below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from errno import EBUSY, EINVAL
from typing import TypeVar

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
    TEXT,
    THREADS,
    WORDS,
    Setting,
)

__all__ = [
    "available_clocks",
    "checked_number",
    "checked_patterns",
    "checked_tids",
    "get",
    "get_thresh",
    "put",
]

_T = TypeVar("_T")


def get(state: State, file: str) -> object:
    """Return the value of a file of BY_FILE; that of a list is a tuple."""
    setting = BY_FILE[file]
    if getter := _GETTERS.get(file):
        return getter(state)
    if setting.kind == PATTERNS:
        return state.patterns[setting.name]
    if setting.kind == THREADS:
        return state.tids[setting.name]
    value: object = state.engine.settings[setting.name]
    return value


def put(state: State, file: str, value: object) -> None:
    """Set the value of a file of BY_FILE.

    Raises:
        OSError: EINVAL: the file does not take the value; the text says which values it takes. EBUSY: another
            thread holds the instance's lock. Others: see the setter.
    """
    setting = BY_FILE[file]
    _PUTTERS[setting.kind](state, setting, value)


# ---- checks: a value as the setters take it


def _checked(what: str, value: object, check_value: Callable[[], _T]) -> _T:
    """Return what a check returns, with its error as that of a setting.

    Raises:
        OSError: EINVAL: the setting cannot have that value; the text says which values it can have.
    """
    try:
        return check_value()
    except ValueError as error:
        raise OSError(EINVAL, f"invalid {what} {value!r}: {error}") from None


def checked_number(setting: Setting, value: object, what: str) -> int:
    """Return a number. Raises OSError EINVAL, in which `what` names the setting."""
    return _checked(what, value, lambda: check.number(setting, value))


def checked_patterns(value: object, what: str) -> tuple[str, ...]:
    """Return patterns. Raises OSError EINVAL; TypeError: neither a text nor an iterable."""
    items = value if isinstance(value, str) else _items(value)
    return _checked(what, value, lambda: check.pattern_list(items, _engine.check_pattern))


def checked_tids(setting: Setting, value: object, what: str) -> tuple[int, ...]:
    """Return thread ids. Raises OSError EINVAL; TypeError: no iterable."""
    items = _items(value)
    return _checked(what, value, lambda: tuple(check.number(setting, tid) for tid in items))


def _items(value: object) -> Iterable[object]:
    if not isinstance(value, Iterable):
        raise TypeError(f"{type(value).__name__!r} object is not iterable")
    return value


def available_clocks() -> tuple[str, ...]:
    """Return the names of the clocks."""
    return _engine.untraced(_clocks)


def _clocks() -> tuple[str, ...]:
    from funcgraph import _tracedata

    return _tracedata.CLOCKS


def get_thresh(state: State) -> int:
    """Return tracing_thresh, in microseconds."""
    return state.latency.thresh_us if state.latency else int(state.engine.settings["thresh_us"])


def _set_thresh(state: State, thresh_us: int) -> None:
    if state.latency:
        state.latency.thresh_us = thresh_us
    else:
        state.engine.set_setting("thresh_us", thresh_us)


def _set_value_depth(state: State, depth: int) -> None:
    """Parts are parts of arguments and results. The function tracer counts repeats without arguments."""
    state.engine.set_setting("values", depth)
    if depth:
        args = not state.options["func-no-repeats"]
        set_options(state, {"funcgraph-args": True, "funcgraph-retval": True, "func-args": args})


def _get_max_latency(state: State) -> int:
    return state.latency.max_latency_us if state.latency else state.engine.max_latency_us


def _set_max_latency(state: State, latency_us: int) -> None:
    if state.latency:
        state.latency.max_latency_us = latency_us
    else:
        state.engine.max_latency_us = latency_us


def _set_clock(state: State, clock: str) -> None:
    state.clock = clock


# ---- setters, by the kind of a file's value


def _put_flag(state: State, setting: Setting, value: object) -> None:
    on = _checked(setting.file, value, lambda: check.flag(value))
    with state.lock:
        _FLAGS.get(setting.file, _set_engine(setting))(state, on)


def _put_number(state: State, setting: Setting, value: object) -> None:
    number = checked_number(setting, value, setting.file)
    with state.lock:
        _NUMBERS.get(setting.file, _set_engine(setting))(state, number)


def _put_choice(state: State, setting: Setting, value: object) -> None:
    allowed = available_tracers() if setting.name == "tracer" else available_clocks()
    name = _checked(setting.file, value, lambda: check.one_of(value, allowed))
    with state.lock:
        _CHOICES[setting.file](state, name)


def _put_text(state: State, setting: Setting, value: object) -> None:
    text = _checked(setting.file, value, lambda: check.redact(value))
    with state.lock:
        if text and state.event_states:
            _check_events(state, setting.file, text)
        state.engine.set_setting(setting.name, text)


def _check_events(state: State, file: str, words: str) -> None:
    """Refuse words that name a value which the instance records in an event: EBUSY."""
    from funcgraph.events.redaction import RedactionError, check_event  # loaded when an event is used

    for event in [one.event for one in state.event_states.values() if one.is_used and one.event.has_probes]:
        try:
            check_event(event, words)
        except RedactionError as error:
            raise OSError(EBUSY, f"invalid {file} {words!r}: {error}") from None


def _put_patterns(state: State, setting: Setting, value: object) -> None:
    patterns = checked_patterns(value, setting.file)
    with state.lock:
        set_filters(state, patterns={setting.name: patterns})


def _put_tids(state: State, setting: Setting, value: object) -> None:
    tids = checked_tids(setting, value, setting.file)
    with state.lock:
        if setting.file in state.event_tids:
            set_event_tids(state, **{setting.file: tids})
        else:
            set_filters(state, tids={setting.name: tids})


def _put_words(state: State, setting: Setting, value: object) -> None:
    words = value if isinstance(value, str) else _items(value)
    options = parse_words(setting.file, words, current_options(state))
    with state.lock:
        set_options(state, options)


def _set_engine(setting: Setting) -> Callable[[State, int], None]:
    """Return the setter of a value that the engine keeps."""
    return lambda state, value: state.engine.set_setting(setting.name, value)


_GETTERS: dict[str, Callable[[State], object]] = {
    "current_tracer": current_tracer,
    "available_tracers": lambda state: available_tracers(),
    "tracing_on": lambda state: state.engine.tracing_on,
    "set_event_pid": lambda state: state.event_tids["set_event_pid"],
    "set_event_notrace_pid": lambda state: state.event_tids["set_event_notrace_pid"],
    "tracing_thresh": get_thresh,
    "tracing_max_latency": _get_max_latency,
    "trace_clock": lambda state: state.clock,
    "trace_options": lambda state: option_words(current_options(state)),
    "buffer_size_kb": lambda state: state.engine.buffer_kb,
    "buffer_total_size_kb": lambda state: state.engine.buffer_kb,
    "function_profile_enabled": profiling.is_enabled,
}

_FLAGS: dict[str, Callable[[State, bool], None]] = {
    "tracing_on": lambda state, on: state.engine.set_tracing_on(on),
    "function_profile_enabled": profiling.set_enabled,
}
_NUMBERS: dict[str, Callable[[State, int], None]] = {
    "tracing_thresh": _set_thresh,
    "value_depth": _set_value_depth,
    "tracing_max_latency": _set_max_latency,
    "buffer_size_kb": lambda state, size_kb: state.engine.set_buffer_kb(size_kb),
}
_CHOICES: dict[str, Callable[[State, str], None]] = {"current_tracer": set_tracer, "trace_clock": _set_clock}

_PUTTERS: dict[str, Callable[[State, Setting, object], None]] = {
    FLAG: _put_flag,
    NUMBER: _put_number,
    CHOICE: _put_choice,
    TEXT: _put_text,
    PATTERNS: _put_patterns,
    THREADS: _put_tids,
    WORDS: _put_words,
}
