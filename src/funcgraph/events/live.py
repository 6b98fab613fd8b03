"""The events of this process, and which instances record them."""

from __future__ import annotations

import os
from _thread import RLock

from funcgraph import _engine
from funcgraph.events import recording_events, static
from funcgraph.events.installer import AnyEvent, Installer
from funcgraph.events.recording_events import RecordingEvent
from funcgraph.events.redaction import redact
from funcgraph.events.registry import Registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import CodeType

    from funcgraph.definitions.definition import Definition
    from funcgraph.events.event_state import EventState

__all__ = ["declare", "define", "dynamic_events", "events", "is_dynamic", "remove", "start", "stop"]

_OPTIMIZED = 1  # inspect.CO_OPTIMIZED: the variables are slots of the frame

_installer = Installer()
_recorded: dict[int, dict[str, EventState]] = {}  # handle of such an instance -> its events with triggers
_undeclared: dict[
    int, list[tuple[RecordingEvent, Callable[[str], object], Sequence[str]]]
] = {}  # handle -> what it waits for
_declaring = RLock()  # between looking for an event and waiting for its declaration
os.register_at_fork(after_in_child=_declaring._at_fork_reinit)  # type: ignore[attr-defined]
_made: dict[int, list[Definition]] = {}  # handle of a recording's instance -> what was defined for it


def _code(symbol: str) -> CodeType | None:
    """Return the code of the functions with a name; None: there is none, or each has its own."""
    functions = _engine.functions_named([symbol])[symbol]
    codes = {function.code for function in functions}
    return codes.pop() if len(codes) == 1 else None


def _variables(symbol: str) -> list[str] | None:
    """Return the names of a function's variables; None: not known, as those of a module or a class."""
    code = _code(symbol)
    if code is None or not code.co_flags & _OPTIMIZED:
        return None
    return [*code.co_varnames, *code.co_cellvars, *code.co_freevars]


def _parameters(symbol: str) -> list[str] | None:
    """Return the names of a function's parameters; None: no one function has the name."""
    code = _code(symbol)
    if code is None:
        return None
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return list(code.co_varnames[:count])


def _redacted(definition: Definition) -> Definition:
    """Return a definition that records nothing that an instance of this process must not record."""
    words = list(_engine.redact_words().values())
    return redact(definition, words) if words else definition


dynamic_events = Registry(
    _installer,
    parameters=_parameters,
    variables=_variables,
    event_fields=static.names,
    redact=_redacted,
)
"""The definitions of this process: the kernel's files dynamic_events, kprobe_events and synthetic_events."""
os.register_at_fork(after_in_child=dynamic_events._after_fork)


def events() -> dict[tuple[str, str], AnyEvent]:
    """Return the events by group and name: the static ones, then the dynamic ones, the oldest first."""
    return _installer.everything()


def is_dynamic(group: str, name: str) -> bool:
    """Return whether a definition has this name."""
    return any((definition.group, definition.event) == (group, name) for definition in dynamic_events)


def start(handle: int, text: str, refuse: Callable[[str], object], words: Sequence[str] = ()) -> None:
    """Have an instance of a recording record an event, which is made if it does not exist.

    One that the program has not declared is recorded from its declaration on.

    Args:
        handle: the instance's.
        text: the event, as recording_events.parse() takes it.
        refuse: called with the reason if it turns out at the declaration that it cannot be recorded.
        words: the words of the recording's `--redact` options.

    Raises:
        OSError, ValueError: the event cannot be made.
    """
    request = recording_events.parse(text)
    with _declaring:
        if request.is_undeclared and request.name not in static.static_events():
            _undeclared.setdefault(handle, []).append((request, refuse, words))
            return
    _start(handle, _parse(text, words))


def declare(group: str, name: str) -> None:
    """Have the instances record a static event that wait for its declaration. Raises nothing."""
    found = []
    with _declaring:
        for handle, waiting in _undeclared.items():
            found += [(handle, *one) for one in waiting if one[0].name == (group, name)]
            waiting[:] = [one for one in waiting if one[0].name != (group, name)]
    for handle, request, refuse, words in found:
        try:
            _start(handle, _parse(request.text, words))
        except (OSError, ValueError, RuntimeError) as error:
            refuse(f"{group}:{name}: {' '.join(str(error).split())}")


def _parse(text: str, words: Sequence[str]) -> RecordingEvent:
    """Return what an event means now, without what a recording or an instance must not record."""
    everything = [*words, *_engine.redact_words().values()]
    return recording_events.parse(recording_events.redacted(text, everything) if everything else text)


def _start(handle: int, request: RecordingEvent) -> None:
    if made := define(request):
        _made.setdefault(handle, []).append(made)
    event = events()[request.name]
    if request.triggers:
        state = _state_of(handle, request.name)
        assert state is not None
        state.set_filter(request.filter)
        for text in request.triggers:
            state.write_trigger(text)
        state.set_records(True)
        return
    program = request.filter.program.pack() if request.filter else None
    event.engine.set(handle, True, program, ())


def define(request: RecordingEvent) -> Definition | None:
    """Make an event whose functions may be defined later.

    Returns:
        its definition; None: there is such a definition already, or a static event is asked for.

    Raises:
        OSError, ValueError: the event cannot be made.
    """
    own = _redacted(request.definition) if request.definition else None
    if own is None or any(definition.text == own.text for definition in dynamic_events):
        return None
    dynamic_events.define(request.text, is_pending=True)
    return own


def _state_of(handle: int, name: tuple[str, str]) -> EventState | None:
    """Return what an instance of a recording wants of an event; None: there is no such event."""
    from funcgraph.events.event_state import EventState  # with all of histograms

    recorded = _recorded.setdefault(handle, {})
    event = events().get(name)
    key = "/".join(name)
    if event is not None and key not in recorded:
        recorded[key] = EventState(
            event, handle, lambda group, event: _state_of(handle, (group, event)), recorded
        )
    return recorded.get(key)


def stop(handles: Iterable[int]) -> None:
    """Delete the events that were defined for instances of recordings, which have ended."""
    handles = list(handles)
    for handle in handles:
        _recorded.pop(handle, None)
        with _declaring:
            _undeclared.pop(handle, None)
    remove([definition for handle in handles for definition in _made.pop(handle, ())])


def remove(definitions: Iterable[Definition]) -> None:
    """Delete events by their definitions, but those that somebody uses by now, or has deleted."""
    for definition in definitions:
        words = (f"-:{definition.group}/{definition.event}", definition.target, *definition.arguments)
        try:
            dynamic_events.delete(" ".join(words))
        except OSError:
            pass  # EBUSY: an instance of the program uses it; ENOENT: the program has deleted it
