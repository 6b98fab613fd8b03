"""What one instance wants of one event: whether its hits are recorded, which, and what else they do."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from funcgraph import _engine
from funcgraph.events import hist, trigger
from funcgraph.events.hist_links import InstanceHists, LiveTrigger
from funcgraph.events.hist_rows import decode_rows, decode_taken
from funcgraph.events.hist_text import Names, hist_file, hist_text
from funcgraph.events.redaction import RedactionError, check_event
from funcgraph.events.trigger import Trigger, TriggerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from funcgraph.events.filter import Filter
    from funcgraph.events.installer import AnyEvent

__all__ = ["EventState"]

_NONE = (
    "# Available triggers:\n"
    "# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist\n"
)


class EventState:
    """What an instance wants of an event. Whoever changes it holds the instance's lock.

    Args:
        event: the event.
        handle: the instance's, in the engine.
        find: returns what the instance wants of the event of a group and name; None: there is none.
        all: what the instance wants of each event, by "GROUP/EVENT".
    """

    def __init__(
        self,
        event: AnyEvent,
        handle: int,
        find: Callable[[str, str], EventState | None],
        all: Mapping[str, EventState],
    ) -> None:
        self.event = event
        self._handle = handle
        self._find = find
        self._others = InstanceHists(all, find)
        self.switch = _engine.EventSwitch()
        self._nr_holds = 0
        self.filter: Filter | None = None
        self._triggers: list[LiveTrigger] = []
        self._hidden: list[LiveTrigger] = []  # histograms that keep fields for actions of other events

    @property
    def histograms(self) -> list[LiveTrigger]:
        """Its histograms, in the order in which they were set."""
        return [one for one in self._triggers if one.request.hist]

    @property
    def users(self) -> list[LiveTrigger]:
        """All its triggers."""
        return [*self._triggers, *self._hidden]

    def set_records(self, on: bool) -> None:
        """Have the instance record its hits, or not.

        Raises:
            OSError: EINVAL: the instance is closed. ENOSPC: all slots for users are taken. EBUSY: another
                thread changes the instance.
            RuntimeError: no hook is free.
            MemoryError.
        """
        self._check_switched("enable")
        before, self.switch.on = self.switch.on, on
        try:
            self._apply(self.filter, self._triggers)
        except BaseException:
            self.switch.on = before
            raise

    @property
    def is_soft(self) -> bool:
        """Whether triggers or commands have to do with it: the `*` in the kernel's file `enable`."""
        return bool(self._triggers) or self._nr_holds > 0

    def hold(self) -> None:
        """Have the event ready: a trigger or a command may start recording it. Raises: as set_records()."""
        self._check_switched("enable")
        self._nr_holds += 1
        try:
            self._apply(self.filter, self._triggers)
        except BaseException:
            self._nr_holds -= 1
            raise

    def release(self) -> None:
        """Undo hold(). The event is recorded afterwards as it is now. Raises: as set_records()."""
        self._nr_holds -= 1
        self._apply(self.filter, self._triggers)

    def acted_on(self, kind: str) -> _engine.EventSwitch | _engine.Event:
        """Return what a trigger of a kind acts on that names this event."""
        return self.switch if kind == "event" else self.event.engine

    def set_filter(self, filter: Filter | None) -> None:
        """Choose which hits are recorded; None: all. Raises: as set_records()."""
        self._check_switched("filter")
        self._apply(filter, self._triggers)

    def _check_switched(self, file: str) -> None:
        """Refuse what the kernel's events of the group ftrace do not have: EACCES."""
        if not self.event.is_switched:
            name = f"{self.event.group}/{self.event.name}"
            raise PermissionError(
                errno.EACCES, f"it has no {file}: each text that is written is recorded", name
            )

    def _apply(self, filter: Filter | None, triggers: list[LiveTrigger]) -> None:
        program = filter.program.pack() if filter else None
        is_ready = self.switch.on or self._nr_holds > 0
        engines = tuple(one.engine for one in (*self._hidden, *triggers))
        if is_ready or engines:
            self._check_words(_engine.redact_words().get(self._handle, ""))
        self.event.engine.set(self._handle, is_ready, program, engines, self.switch if is_ready else None)
        self.filter, self._triggers = filter, triggers

    @property
    def is_used(self) -> bool:
        """Whether the instance wants anything of it."""
        return self.switch.on or self._nr_holds > 0 or bool(self.users)

    def _check_words(self, words: str) -> None:
        """Refuse an event that records what the instance must not record: EPERM."""
        try:
            if words:
                check_event(self.event, words)
        except RedactionError as error:
            raise PermissionError(errno.EPERM, str(error)) from None

    def hide(self, hidden: list[LiveTrigger]) -> None:
        """Choose the histograms that keep fields for others. Raises: as set_records()."""
        before, self._hidden = self._hidden, hidden
        try:
            self._apply(self.filter, self._triggers)
        except BaseException:
            self._hidden = before
            raise

    @property
    def hidden(self) -> list[LiveTrigger]:
        """The histograms that keep fields for others."""
        return list(self._hidden)

    # ---- triggers

    def trigger_text(self) -> str:
        """Return what the file `trigger` holds: the newest first, histograms behind them in their order."""
        lines = [one.text() for one in self._triggers]
        return "".join(f"{line}\n" for line in lines) or _NONE

    def remove_histograms(self) -> None:
        """Take all histograms away but those whose variables are used. Raises: as set_records()."""
        self._remove_each(
            [one for one in self._triggers if one.request.hist and not self._others.is_used(one)]
        )

    def write_trigger(self, text: str) -> bool:
        """Add a trigger; with `!` before it, take it away: `echo TEXT >> trigger`.

        Returns:
            False: there was none to take away.

        Raises:
            TriggerError, HistError, FilterError: it is none. TriggerError EEXIST: the event has one of that
                kind; EBUSY: others use a variable of the histogram that is to go.
            OSError: as set_records().
        """
        if text.startswith("!"):
            return self._remove(text[1:])
        self._add(text)
        return True

    def _add(self, text: str) -> None:
        request = self._parse(text)
        if request.hist and request.hist.control and self._control(request.hist, text):
            return
        self._check_new(request, text)
        target = self._target_of(request)
        made = self._others.make(request, self.event, text, target)
        if target:
            target.hold()
        try:
            triggers = [*self._triggers, made] if request.hist else [made, *self._triggers]
            self._apply(self.filter, triggers)
        except BaseException:
            self._others.forget(made)
            raise

    def _target_of(self, request: Trigger) -> EventState | None:
        if request.target is None:
            return None
        found = self._find(*request.target)
        if found is None:
            raise TriggerError(errno.EINVAL, f"{request.kind}: no such event: {':'.join(request.target)}")
        return found

    def _parse(self, text: str) -> Trigger:
        event = self.event
        fields, names = event.fields, event.filter_fields
        return trigger.parse(text, event.group, event.name, fields, names, self._others)

    def _check_new(self, request: Trigger, text: str) -> None:
        for one in self._triggers:
            if request.hist and one.request.hist and request.hist.is_same(one.request.hist):
                raise hist.already_exists(request.hist, text)
            if not request.hist and one.request.key == request.key:
                raise TriggerError(errno.EEXIST, f"the event has a trigger of that kind: {one.text()}")

    def _control(self, spec: hist.HistSpec, text: str) -> bool:
        """Do what `:pause`, `:cont` or `:clear` asks of a histogram; return whether there is one."""
        found = self._hist_like(spec)
        if found is None:
            if spec.control != "pause":
                raise hist.nonexistent(spec, text)
            return False
        if spec.control == "clear":
            found.engine.clear()
        else:
            found.engine.pause(spec.control == "pause")
        return True

    def _hist_like(self, spec: hist.HistSpec) -> LiveTrigger | None:
        return next(
            (one for one in self._triggers if one.request.hist and one.request.hist.is_same(spec)), None
        )

    def _remove(self, text: str) -> bool:
        """Take a trigger away; return whether there was one."""
        is_meant = self._removal(text)
        leaving = [one for one in self._triggers if is_meant(one)]
        for one in leaving:
            if self._others.is_used(one):
                raise TriggerError(errno.EBUSY, f"a variable of the histogram is used: {one.text()}")
        self._remove_each(leaving)
        return bool(leaving)

    def _remove_each(self, leaving: list[LiveTrigger]) -> None:
        if not leaving:
            return
        self._apply(self.filter, [one for one in self._triggers if one not in leaving])
        for one in leaving:
            self._others.forget(one)

    def _removal(self, text: str) -> Callable[[LiveTrigger], bool]:
        """Return which triggers a text takes away: count and filter matter only of a histogram."""
        key = trigger.key_of(text)
        if key.target and self._find(*key.target) is None:
            raise TriggerError(errno.EINVAL, f"no such event: {':'.join(key.target)}")
        if key.kind != "hist":
            return lambda one: one.request.key == key
        spec = self._parse(text).hist
        assert spec is not None
        return lambda one: one.request.hist is not None and one.request.hist.is_same(spec)

    # ---- histograms

    def hist_text(self, names: Names) -> str:
        """Return what the file `hist` holds: each histogram as it is now.

        Args:
            names: of functions and so on.
        """
        texts = []
        for one in self._triggers:
            if one.request.hist is None:
                continue
            rows, dropped = one.engine.snapshot()
            decoded = decode_rows(one.request.hist, rows)
            last = one.engine.taken()
            texts.append(
                hist_text(
                    one.request.hist,
                    decoded,
                    dropped,
                    is_paused=one.engine.paused,
                    names=names,
                    taken=decode_taken(one.request.hist, last) if last else None,
                )
            )
        return hist_file(texts)
