"""What the triggers of an instance have to do with each other: variables, tables with a name, actions.

A histogram takes variables of other events' histograms, counts in the table of another one, and generates
synthetic events. Here the names in its text become the engine's objects.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from funcgraph.definitions.synthetic_definition import GROUP
from funcgraph.events import hist
from funcgraph.events.event_field import EventField
from funcgraph.events.hist_plan import Reference, compile_hist
from funcgraph.events.hist_spec import Expression, HistSpec, SortKey, Variable, field_of
from funcgraph.events.trigger import UNLIMITED, Trigger, TriggerError

if TYPE_CHECKING:
    from funcgraph import _engine
    from funcgraph.events.installer import AnyEvent

__all__ = ["InstanceHists", "LiveTrigger"]

_MAX_REFERENCES = 16

Links = tuple["_engine.Trigger | None", tuple[Any, ...], tuple[Any, ...]]


class Target(Protocol):
    """What an instance wants of an event (event_state.EventState), as far as triggers of others act on it."""

    def acted_on(self, kind: str) -> _engine.EventSwitch | _engine.Event: ...
    def release(self) -> None: ...


class LiveTrigger:
    """A trigger that an event has in an instance.

    Attributes:
        request: as it was asked for.
        engine: the engine's half.
        uses: the histograms whose variables it takes.
        target: what it acts on, or None. That is held while an event has the trigger.
    """

    __slots__ = ("engine", "request", "target", "uses")

    def __init__(
        self,
        request: Trigger,
        event: AnyEvent,
        links: Links | None = None,
        uses: Sequence[LiveTrigger] = (),
        target: Target | None = None,
    ) -> None:
        self.request = request
        self.uses = tuple(uses)
        self.target = target
        program = request.filter.program.pack() if request.filter else None
        plan = compile_hist(request.hist).plan if request.hist else None
        self.engine: _engine.Trigger = event.engine.trigger(
            request.kind,
            request.times,
            program,
            plan,
            target.acted_on(request.key.kind) if target else None,
            links,
        )
        if request.hist and request.hist.control == "pause":
            self.engine.pause(True)

    def text(self) -> str:
        """Return how it reads back now."""
        is_paused = self.request.hist is not None and self.engine.paused
        return self.request.text(self.engine.left, is_paused)


class HistOwner(Protocol):
    """What an instance wants of an event (event_state.EventState), as far as its histograms go."""

    @property
    def event(self) -> AnyEvent: ...
    @property
    def histograms(self) -> list[LiveTrigger]: ...
    @property
    def users(self) -> list[LiveTrigger]: ...
    @property
    def hidden(self) -> list[LiveTrigger]: ...
    def hide(self, hidden: list[LiveTrigger]) -> None: ...


class InstanceHists:
    """The histograms of an instance: hist_spec.Others. Whoever uses it holds the instance's lock.

    Args:
        all: what the instance wants of each event that it has something to do with, by "GROUP/EVENT".
        find: returns the same for a group and name; None: there is no such event.
    """

    def __init__(self, all: Mapping[str, HistOwner], find: Callable[[str, str], HistOwner | None]) -> None:
        self._all = all
        self._find_owner = find

    # ---- what the parser asks

    def event_fields(self, system: str, event: str) -> Sequence[EventField] | None:
        """Return the fields of an event; None: there is no such event."""
        found = self._find_owner(system, event)
        return found.event.fields if found else None

    def synthetic_fields(self, event: str) -> Sequence[EventField] | None:
        """Return the fields of a synthetic event; None: there is no such event."""
        return self.event_fields(GROUP, event)

    def variables(self) -> Mapping[tuple[str, str], Mapping[str, Expression]]:
        """Return what the variables of all histograms are set to, by (system, event) and name."""
        found: dict[tuple[str, str], dict[str, Expression]] = {}
        for owner in self._existing():
            for spec in _specs(owner):
                names = found.setdefault((spec.system, spec.event), {})
                for variable in spec.variables:
                    names.setdefault(variable.name, variable.value)
        return found

    # ---- making and removing

    def make(self, request: Trigger, event: AnyEvent, text: str, target: Target | None = None) -> LiveTrigger:
        """Make the trigger of an event.

        Args:
            request: what it is to be.
            event: the event.
            text: as it was written.
            target: what it acts on, if it names an event.

        Raises:
            HistError: a table of that name has other keys, values or variables.
            TriggerError: what it refers to is not there. EBUSY: the instance has an action snapshot().
        """
        spec = request.hist
        if spec is None:
            return LiveTrigger(request, event, target=target)
        shared = self._named(spec.name)
        if shared is not None:
            other = shared.request.hist
            assert other is not None
            if not spec.shares_with(other):
                raise hist.named_differs(spec, text)
            spec = spec._replace(size=other.size)
        self._check_snapshots(spec)
        compiled = compile_hist(spec)
        if len(compiled.references) > _MAX_REFERENCES:
            raise TriggerError(errno.EINVAL, f"at most {_MAX_REFERENCES} variables of other histograms")
        hidden = self._keep_fields(spec, compiled.references)
        try:
            found = [self._find(reference, hidden) for reference in compiled.references]
            actions = tuple(
                (action.tracked, self._synthetic(action.synthetic), action.values, action.is_snapshot)
                for action in compiled.actions
            )
            links = shared.engine if shared else None, tuple((one.engine, at) for one, at in found), actions
            return LiveTrigger(request._replace(hist=spec), event, links, [one for one, _ in found])
        except BaseException as error:
            self._drop_fields(hidden)
            if isinstance(error, OSError) and error.errno == errno.EEXIST and shared:
                raise hist.named_differs(spec, text) from None
            raise

    def forget(self, one: LiveTrigger) -> None:
        """Undo what make() did for a trigger that no event has any longer."""
        if one.target:
            one.target.release()
        self._drop_fields([used for used in one.uses if not self.is_used(used)])

    def is_used(self, one: LiveTrigger) -> bool:
        """Return whether another trigger of the instance uses a variable of this one."""
        return any(one in user.uses for owner in self._existing() for user in owner.users)

    # ---- names

    def _existing(self) -> Iterator[HistOwner]:
        return (owner for owner in list(self._all.values()) if owner.event.has_probes)

    def _owner_of(self, system: str, event: str) -> HistOwner | None:
        return next(
            (one for one in self._existing() if (one.event.group, one.event.name) == (system, event)), None
        )

    def _named(self, name: str) -> LiveTrigger | None:
        everything = (one for owner in self._existing() for one in owner.histograms)
        return next(
            (one for one in everything if name and one.request.hist and one.request.hist.name == name), None
        )

    def _synthetic(self, name: str) -> _engine.Event | None:
        if not name:
            return None
        found = self._find_owner(GROUP, name)
        if found is None:  # another thread has just deleted it
            raise TriggerError(errno.ENOENT, f"no such synthetic event: {name!r}")
        return found.event.engine

    def _check_snapshots(self, spec: HistSpec) -> None:
        """An instance has one action snapshot(), as in the kernel."""
        others = (other.nr_snapshots for owner in self._existing() for other in _specs(owner))
        if spec.nr_snapshots and spec.nr_snapshots + sum(others) > 1:
            raise TriggerError(errno.EBUSY, "an instance has one action snapshot() of a histogram")

    def _find(self, reference: Reference, hidden: Sequence[LiveTrigger]) -> tuple[LiveTrigger, int]:
        """Return the histogram that has a variable, and which of its variables that is."""
        owner = self._owner_of(reference.system, reference.event)
        ones = hidden if reference.is_field else owner.histograms if owner else ()
        for one in ones:
            assert one.request.hist is not None
            spec = one.request.hist
            names = [variable.name for variable in spec.variables]
            if (spec.system, spec.event) == reference[:2] and reference.name in names:
                return one, names.index(reference.name)
        raise TriggerError(errno.EINVAL, f"no histogram has the variable {reference.name!r}")

    # ---- fields of the event in onmatch(): a histogram of its own keeps them, with the keys of the event's

    def _keep_fields(self, spec: HistSpec, references: Sequence[Reference]) -> list[LiveTrigger]:
        """Make the histograms that keep what the references need; return them.

        Raises:
            TriggerError EINVAL: the event has no histogram with as many keys. OSError.
        """
        made: list[LiveTrigger] = []
        places = dict.fromkeys(reference[:2] for reference in references if reference.is_field)
        try:
            for system, event in places:
                names = [one.name for one in references if one.is_field and one[:2] == (system, event)]
                owner = self._owner_of(system, event)
                pattern = self._matching(owner, len(spec.keys)) if owner else None
                if owner is None or pattern is None:
                    raise TriggerError(errno.EINVAL, "Matching event histogram not found")
                one = LiveTrigger(_keeping(pattern.request, owner.event, names), owner.event, (None, (), ()))
                owner.hide([*owner.hidden, one])
                made.append(one)
        except BaseException:
            self._drop_fields(made)
            raise
        return made

    def _matching(self, owner: HistOwner, nr_keys: int) -> LiveTrigger | None:
        specs = ((one, one.request.hist) for one in owner.histograms)
        return next((one for one, spec in specs if spec and len(spec.keys) == nr_keys), None)

    def _drop_fields(self, ones: Sequence[LiveTrigger]) -> None:
        for owner in self._existing():
            hidden = owner.hidden
            staying = [one for one in hidden if one not in ones]
            if len(staying) < len(hidden):
                owner.hide(staying)


def _specs(owner: HistOwner) -> Iterator[HistSpec]:
    return (one.request.hist for one in owner.histograms if one.request.hist)


def _keeping(pattern: Trigger, event: AnyEvent, names: Sequence[str]) -> Trigger:
    """Return a histogram with the keys and the filter of another one, whose variables are fields."""
    spec = pattern.hist
    assert spec is not None
    fields = {field.name: field for field in reversed(event.fields)}
    variables = tuple(Variable(name, field_of(fields[name])) for name in names)
    fields_spec = spec._replace(
        name="",
        values=(),
        variables=variables,
        sort=(SortKey("hitcount", 0, False, "hitcount"),),
        actions=(),
        has_hitcount=True,
        control="",
    )
    return Trigger("hist", UNLIMITED, pattern.filter, fields_spec)
