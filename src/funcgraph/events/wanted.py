"""What one instance wants of one event: whether its hits are recorded, which, and what else they do."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, TypeAlias

from funcgraph.events import hist, trigger
from funcgraph.events.hist_plan import compile_plan
from funcgraph.events.hist_rows import decode_rows
from funcgraph.events.hist_text import Names, hist_file, hist_text
from funcgraph.events.trigger import Trigger, TriggerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from funcgraph import _engine
    from funcgraph.events.filter import Filter
    from funcgraph.events.install_t import LiveStaticEvent
    from funcgraph.events.installer import LiveEvent

    AnyEvent: TypeAlias = LiveEvent | LiveStaticEvent

__all__ = ["Wanted"]

_NONE = (
    "# Available triggers:\n"
    "# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist\n"
)


class _LiveTrigger:
    """A trigger that an event has in an instance."""

    __slots__ = ("asked", "engine")

    def __init__(self, asked: Trigger, event: AnyEvent) -> None:
        self.asked = asked
        program = asked.filter.program.pack() if asked.filter else None
        plan = compile_plan(asked.hist) if asked.hist else None
        self.engine: _engine.Trigger = event.engine.trigger(asked.kind, asked.times, program, plan)
        if asked.hist and asked.hist.control == "pause":
            self.engine.pause(True)

    def text(self) -> str:
        is_paused = self.asked.hist is not None and self.engine.paused
        return self.asked.text(self.engine.left, is_paused)


class Wanted:
    """What an instance wants of an event. Whoever changes it holds the instance's lock.

    Args:
        event: the event.
        handle: the instance's, in the engine.
    """

    def __init__(self, event: AnyEvent, handle: int) -> None:
        self.event = event
        self._handle = handle
        self.records = False
        self.filter: Filter | None = None
        self._triggers: list[_LiveTrigger] = []

    def set_records(self, on: bool) -> None:
        """Have the instance record its hits, or not.

        Raises:
            OSError: EINVAL: the instance is closed. ENOSPC: all slots for users are taken. EBUSY: another
                thread changes the instance.
            RuntimeError: no hook is free.
            MemoryError.
        """
        self._check_switched("enable")
        self._apply(on, self.filter, self._triggers)

    def set_filter(self, filter: Filter | None) -> None:
        """Choose which hits are recorded; None: all. Raises: as set_records()."""
        self._check_switched("filter")
        self._apply(self.records, filter, self._triggers)

    def _check_switched(self, file: str) -> None:
        """Refuse what the kernel's events of the group ftrace do not have: EACCES."""
        if not self.event.is_switched:
            name = f"{self.event.group}/{self.event.name}"
            raise PermissionError(
                errno.EACCES, f"it has no {file}: each text that is written is recorded", name
            )

    def _apply(self, records: bool, filter: Filter | None, triggers: list[_LiveTrigger]) -> None:
        program = filter.program.pack() if filter else None
        if records or triggers:
            self.event.prepare()
        self.event.engine.set(self._handle, records, program, tuple(one.engine for one in triggers))
        self.records, self.filter, self._triggers = records, filter, triggers

    # ---- triggers

    def trigger_text(self) -> str:
        """Return what the file `trigger` holds: the newest first, histograms behind them in their order."""
        lines = [one.text() for one in self._triggers]
        return "".join(f"{line}\n" for line in lines) or _NONE

    @property
    def has_triggers(self) -> bool:
        """Whether there are any."""
        return bool(self._triggers)

    def remove_histograms(self) -> None:
        """Take all histograms away. Raises: as set_records()."""
        staying = [one for one in self._triggers if one.asked.hist is None]
        if len(staying) < len(self._triggers):
            self._apply(self.records, self.filter, staying)

    def write_trigger(self, text: str) -> None:
        """Add a trigger; with `!` before it, take it away: `echo TEXT >> trigger`.

        Raises:
            TriggerError, HistError, FilterError: it is none. TriggerError EEXIST: the event has one of that
                kind.
            OSError: as set_records().
        """
        if text.startswith("!"):
            self._remove(text[1:])
            return
        event = self.event
        asked = trigger.parse(text, event.group, event.name, event.fields, event.filter_fields)
        if asked.hist and asked.hist.control and self._control(asked.hist, text):
            return
        self._check_new(asked, text)
        made = _LiveTrigger(asked, event)
        triggers = [*self._triggers, made] if asked.hist else [made, *self._triggers]
        self._apply(self.records, self.filter, triggers)

    def _check_new(self, asked: Trigger, text: str) -> None:
        for one in self._triggers:
            if asked.hist and one.asked.hist and asked.hist.is_same(one.asked.hist):
                raise hist.already_exists(asked.hist, text)
            if not asked.hist and trigger.KINDS[one.asked.kind] == trigger.KINDS[asked.kind]:
                raise TriggerError(errno.EEXIST, f"the event has a trigger of that kind: {one.text()}")

    def _control(self, spec: hist.HistSpec, text: str) -> bool:
        """Do what `:pause`, `:cont` or `:clear` asks of a histogram; return whether there is one."""
        found = self._find_hist(spec)
        if found is None:
            if spec.control != "pause":
                raise hist.nonexistent(spec, text)
            return False
        if spec.control == "clear":
            found.engine.clear()
        else:
            found.engine.pause(spec.control == "pause")
        return True

    def _find_hist(self, spec: hist.HistSpec) -> _LiveTrigger | None:
        return next((one for one in self._triggers if one.asked.hist and one.asked.hist.is_same(spec)), None)

    def _remove(self, text: str) -> None:
        """Take a trigger away. Removing what is not there succeeds, as in the kernel."""
        is_meant = self._removal(text)
        staying = [one for one in self._triggers if not is_meant(one)]
        if len(staying) < len(self._triggers):
            self._apply(self.records, self.filter, staying)

    def _removal(self, text: str) -> Callable[[_LiveTrigger], bool]:
        """Return which triggers a text takes away: count and filter matter only of a histogram."""
        key = trigger.key_of(text)
        if key != "hist":
            return lambda one: trigger.KINDS[one.asked.kind] == key
        event = self.event
        spec = trigger.parse(text, event.group, event.name, event.fields, event.filter_fields).hist
        assert spec is not None
        return lambda one: one.asked.hist is not None and one.asked.hist.is_same(spec)

    # ---- histograms

    def hist_text(self, names: Names) -> str:
        """Return what the file `hist` holds: each histogram as it is now.

        Args:
            names: of functions and so on.
        """
        texts = []
        for one in self._triggers:
            if one.asked.hist is None:
                continue
            rows, dropped = one.engine.snapshot()
            decoded = decode_rows(one.asked.hist, rows)
            is_paused = one.engine.paused
            texts.append(hist_text(one.asked.hist, decoded, dropped, is_paused=is_paused, names=names))
        return hist_file(texts)
