"""What `start`, `set` and the like ask of an instance, as writes to its files.

Which file a setting is, and how its value is written, follows from the table of settings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from funcgraph.settings import check
from funcgraph.settings.table import (
    BY_NAME,
    ENDS_HAVE_NO_ARGUMENTS,
    FLAG,
    OPTIONS,
    SETTINGS,
    WORDS,
    Setting,
)
from funcgraph.steering import events
from funcgraph.steering.changes import Changes
from funcgraph.steering.folder import InstanceFolder, Process

__all__ = ["STEERED", "InstanceRequest", "InvalidSettingError", "Value", "apply", "begin"]

#: The value of a setting; a list of PATTERNS, THREADS and WORDS.
Value: TypeAlias = str | int | list[str | int]


def _has_option(setting: Setting) -> bool:
    return any(option.records and option.records[0] == setting.name for option in OPTIONS.values())


#: The settings that have a flag, and a file or a trace option that can be written while the program runs.
STEERED: tuple[Setting, ...] = tuple(
    setting
    for setting in SETTINGS
    if setting.flag and ((setting.file and "w" in setting.access) or _has_option(setting))
)


class InvalidSettingError(ValueError):
    """A value that the instance cannot have.

    Args:
        setting: what it was for.
        reason: what would be right.
    """

    def __init__(self, setting: Setting, value: object, reason: str) -> None:
        super().__init__(f"{setting.flag} {value}: {reason}")


@dataclass
class InstanceRequest:
    """What is requested of one instance.

    Attributes:
        name: its name; "": the top one.
        settings: name -> value, of those of STEERED that were given.
        events: the events, in the order given.
        is_removed: `-v -B NAME`: the instance is to go.
    """

    name: str = ""
    settings: dict[str, Value] = field(default_factory=dict)
    events: list[events.EventRequest] = field(default_factory=list)
    is_removed: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing is requested."""
        return not self.settings and not self.events

    def items(self, name: str) -> list[str]:
        """Return the items of a setting that is a list; none if it was not given."""
        return _items(self.settings.get(name, []))


def apply(process: Process, request: InstanceRequest, changes: Changes) -> None:
    """Make the instance what is requested, and leave everything else of it: trace-cmd's `set`.

    Raises:
        InvalidSettingError, events.NoEventError: the process cannot have that.
        OSError: as its files.
    """
    folder = process.instance(request.name)
    if request.is_removed:
        folder.remove()
        return
    changes.make(folder)
    _check_together(request.settings)
    given = [setting for setting in STEERED if setting.name in request.settings]
    # The tracer comes last, so that its first records are filtered already.
    for setting in sorted(given, key=lambda setting: setting.name == "tracer"):
        _put(folder, setting, request.settings, changes)
    for event in request.events:
        events.configure(folder, event, changes)


def _check_together(values: Mapping[str, Value]) -> None:
    if values.get("args") and values.get("thresh_us") and values.get("tracer") in (None, "function_graph"):
        raise InvalidSettingError(BY_NAME["thresh_us"], values["thresh_us"], ENDS_HAVE_NO_ARGUMENTS)


def begin(process: Process, request: InstanceRequest, changes: Changes) -> None:
    """Start an instance afresh: what ran in it is stopped, what is requested is set, its buffer is emptied,
    and it records. trace-cmd's `start`. Filters and options that are not given stay.

    Raises: as apply().
    """
    folder = process.instance(request.name)
    changes.make(folder)
    changes.write(folder, "tracing_on", "0")
    changes.write(folder, "set_event", "")
    changes.write(folder, "set_ftrace_pid", "")
    changes.write(folder, "current_tracer", "nop")
    apply(process, request, changes)
    folder.write("trace", "")
    folder.write("tracing_on", "1")


def _put(folder: InstanceFolder, setting: Setting, values: Mapping[str, Value], changes: Changes) -> None:
    value = values[setting.name]
    try:
        if setting.kind == WORDS:
            for name, is_on in _option_words(folder, _items(value)):
                changes.write(folder, f"options/{name}", f"{is_on:d}")
        elif setting.kind == FLAG and not setting.file:
            tracer = str(values.get("tracer") or folder.value("current_tracer"))
            for name, is_on in _options_of(setting, tracer):
                changes.write(folder, f"options/{name}", f"{is_on:d}")
        else:
            changes.write(folder, setting.file, _text(setting, value))
    except ValueError as error:
        raise InvalidSettingError(setting, _shown(value), str(error)) from None
    except OSError as error:
        error.filename = f"{setting.flag} {_shown(value)}"
        raise


def _items(value: Value) -> list[str]:
    return list(map(str, value)) if isinstance(value, list) else [str(value)]


def _shown(value: Value) -> str:
    return " ".join(_items(value))


def _text(setting: Setting, value: Value) -> str:
    """Return what to write to a setting's file."""
    return f"{bool(value):d}" if setting.kind == FLAG else _shown(value)


def _option_words(folder: InstanceFolder, words: Sequence[str]) -> list[tuple[str, bool]]:
    """Return the options that `-O` names, and whether each goes on."""
    known = folder.names("options")
    return [check.option_word(word, known) for word in words]


def _options_of(setting: Setting, tracer: str) -> list[tuple[str, bool]]:
    """Return the trace options that a flag stands for: those of the tracer, or if it has none all."""
    named = [option for option in OPTIONS.values() if option.records and option.records[0] == setting.name]
    chosen = [option for option in named if option.tracer in ("", tracer)] or named
    return [(option.name, bool(option.records and option.records[1])) for option in chosen]
