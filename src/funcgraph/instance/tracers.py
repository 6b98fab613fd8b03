"""The current tracer of an instance: the engine's tracers, and the latency tracers."""

from __future__ import annotations

from funcgraph import _engine
from funcgraph.instance.filters import check_native, set_filters
from funcgraph.instance.latency_instance import InstanceLatency
from funcgraph.instance.state import State
from funcgraph.settings.table import OPTIONS

__all__ = [
    "apply_options",
    "available_tracers",
    "current_tracer",
    "restart_latency",
    "set_tracer",
    "stop_latency",
]

# The settings that trace options turn on.
_RECORDED = tuple(dict.fromkeys(option.records[0] for option in OPTIONS.values() if option.records))


def available_tracers() -> tuple[str, ...]:
    """Return the names of the tracers."""
    return (*_engine.TRACERS, *_engine.LATENCY_TRACERS)


def current_tracer(state: State) -> str:
    """Return the name of the instance's tracer."""
    return state.latency.tracer if state.latency else state.engine.tracer


def set_tracer(state: State, name: str) -> None:
    """Change the tracer, which empties the buffer; the same tracer again changes nothing.

    The caller holds the lock. If the tracer cannot start, the instance has "nop".

    Raises:
        OSError: EBUSY: a trace_pipe is open, or another instance has that latency tracer. EOPNOTSUPP: the
            latency tracer does not work with this CPython. ENOSPC: all slots for users are taken.
        RuntimeError: no hook is free.
    """
    if name == current_tracer(state):
        return
    state.check_no_pipe()
    stop_latency(state)
    if name in _engine.LATENCY_TRACERS:
        _start_latency(state, name)
    else:
        _set_engine_tracer(state, name)


def apply_options(state: State, tracer: str) -> None:
    """Have the engine record what the options of `tracer` ask for, and those of no other tracer."""
    switches = dict.fromkeys(_RECORDED, False)
    for option in OPTIONS.values():
        if option.records and option.tracer in ("", tracer):
            setting, value = option.records
            switches[setting] |= state.options[option.name] is value
    settings = state.engine.settings
    for setting, on in switches.items():
        if settings[setting] != on:
            state.engine.set_setting(setting, on)


def restart_latency(state: State) -> None:
    """Start the latency tracer again, if there is one, as the kernel does when `display-graph` changes."""
    if state.latency:
        name = state.latency.tracer
        stop_latency(state)
        _start_latency(state, name)


def stop_latency(state: State) -> None:
    """Stop the latency tracer, if there is one; the tracer is then "nop"."""
    if state.latency is None:
        return
    latency, state.latency = state.latency, None
    latency.stop()
    _set_engine_tracer(state, "nop")
    state.engine.set_setting("thresh_us", latency.thresh_us)
    set_filters(state)


def _set_engine_tracer(state: State, name: str) -> None:
    former = state.engine.tracer
    apply_options(state, name)
    try:
        state.engine.set_tracer(name)
        try:
            check_native(state.patterns)
        except OSError:
            state.engine.set_tracer(former)
            raise
    finally:
        apply_options(state, state.engine.tracer)


def _start_latency(state: State, name: str) -> None:
    """Start a latency tracer, then the recording inside its sections, as _engine.latency_start needs."""
    _set_engine_tracer(state, "nop")
    display_graph = state.options["display-graph"]
    state.latency = InstanceLatency(
        name, state.engine, int(state.engine.settings["thresh_us"]), display_graph
    )
    try:
        state.engine.set_setting("thresh_us", 0)  # the threshold is for sections, not for calls
        if display_graph:
            set_filters(state)
            _set_engine_tracer(state, "function_graph")
    except BaseException:
        stop_latency(state)
        raise
