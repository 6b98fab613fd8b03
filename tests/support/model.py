"""A small, slow model of the function graph: which callbacks the engine must make. test_model.py compares the
engine with it, test_model_cpython.py the package in CPython.

The model has no words, bitmaps, locks or published lists. A frame is an object, and a user that left has
`here` False.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

MAX_USERS = 64
FPROBES = 100  #: fprobe i appears in events as user FPROBES + i


class Kind(IntEnum):
    """The kind of a callback."""

    ENTRY = 0
    RETURN = 1
    SUSPEND = 2
    RESUME = 3


class End(IntEnum):
    """How a call ended."""

    RETURN = 0
    RAISE = 1
    CLOSE = 2


class Set(IntEnum):
    """The sets of patterns of a user: enum fgraph_filter_set."""

    FILTER = 0
    NOTRACE = 1
    GRAPH = 2
    GRAPH_NOTRACE = 3


class Part(IntEnum):
    """What a frame is for a user."""

    OWN = 0  #: the user saw the entry and wants the return
    HIDES = 1  #: the user sees neither the call nor anything below it
    ROOT = 2  #: the user does not see the call itself, but calls below it


@dataclass(frozen=True)
class Event:
    """One callback of a user.

    Attributes:
        token: the number that the entry put into its reserved data; 0: no data.
        parent: the token in the data of the user's own enclosing call; 0: there is none.
        grandparent: the token of the call around that one.
        var: the task variable, which each callback increments.
    """

    kind: Kind
    user: int
    func: int
    depth: int
    end: int
    token: int
    parent: int
    grandparent: int
    var: int


def glob_matches(glob: str, name: str) -> bool:
    """Match one of the kernel's globs (without escapes): `*`, `?`, `[a-z]`, `[!a-z]`."""
    pattern = ""
    for piece in re.findall(r"\[!?[^]]+\]|.", glob):
        if piece[0] == "[" and len(piece) > 1:
            pattern += piece.replace("[!", "[^")
        else:
            pattern += {"*": ".*", "?": "."}.get(piece, re.escape(piece))
    return re.fullmatch(pattern, name) is not None


@dataclass
class Place:
    """A user's counters in one task."""

    depth: int = 0  #: own frames in progress
    hiding: int = 0  #: frames in progress that hide what is below them
    rooted: int = 0  #: silent roots in progress
    var: int = 0

    def count(self, part: Part, by: int) -> None:
        """Count a frame that begins (by = 1) or stops (by = -1) being in progress in this task."""
        if part is Part.OWN:
            self.depth += by
        elif part is Part.HIDES:
            self.hiding += by
        else:
            self.rooted += by


@dataclass
class Registration:
    """A user, from its registration to its unregistration. Registering it again makes another
    Registration."""

    user: int
    slot: int
    sets: tuple[list[str], list[str], list[str], list[str]]  #: by Set
    tids: frozenset[int] | None
    refused: frozenset[int]
    has_data: bool
    has_object: bool
    here: bool = True
    places: dict[int, Place] = field(default_factory=dict)  #: by task

    def at(self, task: int) -> Place:
        return self.places.setdefault(task, Place())

    def has(self, which: Set, name: str) -> bool:
        return any(glob_matches(glob, name) for glob in self.sets[which])

    def shows(self, name: str) -> bool:
        """Return True if the filter selects the function itself."""
        return (not self.sets[Set.FILTER] or self.has(Set.FILTER, name)) and not self.has(Set.NOTRACE, name)

    def is_attached(self, name: str) -> bool:
        return self.shows(name) or self.has(Set.GRAPH, name) or self.has(Set.GRAPH_NOTRACE, name)

    def part_of(self, name: str, task: int, tid: int) -> Part | None:
        """Return a new call's part for this user; OWN means that its entry function runs."""
        place = self.at(task)
        is_inside = place.depth > 0 or place.rooted > 0
        if (self.tids is not None and tid not in self.tids) or place.hiding:
            return None
        if self.has(Set.GRAPH_NOTRACE, name):
            return Part.HIDES
        is_root = self.has(Set.GRAPH, name)
        if self.sets[Set.GRAPH] and not is_root and not is_inside:
            return None
        if self.shows(name):
            return Part.OWN
        return Part.ROOT if is_root and not is_inside else None


@dataclass
class Fprobe:
    """An fprobe, from its registration to its unregistration."""

    number: int
    filter: str
    notfilter: str
    refused: frozenset[int]
    has_data: bool
    has_exit: bool
    enabled: bool = True
    here: bool = True

    def is_on(self, name: str) -> bool:
        return glob_matches(self.filter, name) and not glob_matches(self.notfilter, name)


@dataclass
class Fprobes(Registration):
    """The single user that serves all fprobes, while there is at least one."""

    all: list[Fprobe] = field(default_factory=list)  #: in order of registration

    def is_attached(self, name: str) -> bool:
        return any(fprobe.is_on(name) for fprobe in self.all)

    def part_of(self, name: str, task: int, tid: int) -> Part | None:
        return Part.OWN if self.is_attached(name) else None


@dataclass
class Frame:
    """A call in progress: its part for each user and the user's token, in the order of registration."""

    func: int
    call: int
    parts: list[tuple[Registration, Part, int]] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)
    fprobes: list[tuple[Fprobe, int]] = field(default_factory=list)  #: those that want the exit; their tokens

    def here(self) -> list[tuple[Registration, Part, int]]:
        """Return the parts of users that are still registered."""
        return [part for part in self.parts if part[0].here]

    def token_of(self, user: Registration) -> int | None:
        """Return the user's token if the frame is its own, else None; 0: it has no data."""
        for other, part, token in self.parts:
            if other is user and part is Part.OWN:
                return token if user.has_data else 0
        return None


class Model:
    """Users, tasks with their stacks, and suspended calls.

    Args:
        names: the name of each function; events have the index.
        free_slots: the free slots, in the order in which they will be used.
        tokens: the number of entries before.
        reports_suspends: users have suspend and resume functions.
    """

    def __init__(
        self, names: list[str], free_slots: deque[int], tokens: int = 0, reports_suspends: bool = True
    ) -> None:
        self.names = names
        self.free_slots = free_slots
        self.tokens = tokens
        self.reports_suspends = reports_suspends
        self.users: dict[int, Registration] = {}  #: in order of registration
        self.stacks: dict[int, list[Frame]] = {}
        self.tids: dict[int, int] = {}
        self.suspended: dict[int, Frame] = {}  #: by call
        self.to_reap: set[int] = set()  #: tasks that may have frames that nobody is left for
        self.lingering: set[int] = set()  #: objects of frames that went without anybody left for them
        self.events: list[Event] = []

    # ---- users

    def register(
        self,
        user: int,
        sets: Sequence[Sequence[str]],
        tids: Iterable[int] | None,
        refused: Iterable[int],
        has_data: bool,
        has_object: bool,
    ) -> bool:
        """Register a user; False if it is registered already or there is no free slot."""
        if user in self.users or not self.free_slots:
            return False
        include, notrace, graph, graph_notrace = map(list, sets)
        self.users[user] = Registration(
            user,
            self.free_slots.popleft(),
            (include, notrace, graph, graph_notrace),
            None if tids is None else frozenset(tids),
            frozenset(refused),
            has_data,
            has_object,
        )
        return True

    def unregister(self, user: int) -> bool:
        """Unregister a user; False if it is not registered."""
        registration = self.users.pop(user, None)
        if registration is None:
            return False
        registration.here = False
        self.free_slots.append(registration.slot)
        for call in [call for call, frame in self.suspended.items() if not frame.here()]:
            self.lingering.update(self.suspended.pop(call).objects)
        self.to_reap = set(self.stacks)
        return True

    def edit_filter(self, user: int, which: Set, patterns: Sequence[str], reset: bool) -> None:
        """Change a user's filter for new calls. The user still sees the returns of calls in progress."""
        if user in self.users:
            chosen = self.users[user].sets[which]
            chosen[:] = [*([] if reset else chosen), *patterns]

    def set_tids(self, user: int, tids: Iterable[int] | None) -> None:
        """Change the threads in which a user wants calls."""
        if user in self.users:
            self.users[user].tids = None if tids is None else frozenset(tids)

    # ---- fprobes

    def register_fprobe(
        self, number: int, filter: str, notfilter: str, refused: Iterable[int], has_data: bool, has_exit: bool
    ) -> bool | None:
        """Register an fprobe; False if it is registered already, None if it matches no function."""
        shared = self._shared()
        if shared is not None and any(fprobe.number == number for fprobe in shared.all):
            return False
        new = Fprobe(number, filter, notfilter, frozenset(refused), has_data, has_exit)
        if not any(new.is_on(name) for name in self.names):
            return None
        if shared is None:
            slot = self.free_slots.popleft()
            shared = Fprobes(FPROBES, slot, ([], [], [], []), None, frozenset(), False, False)
            self.users[FPROBES] = shared
        shared.all.append(new)
        return True

    def unregister_fprobe(self, number: int) -> bool:
        """Unregister an fprobe; False if it is not registered."""
        shared = self._shared()
        for fprobe in shared.all if shared is not None else ():
            if fprobe.number == number:
                fprobe.here = False
        if shared is None or all(fprobe.here for fprobe in shared.all):
            return False
        shared.all = [fprobe for fprobe in shared.all if fprobe.here]
        if not shared.all:
            self.unregister(FPROBES)
        return True

    def enable_fprobe(self, number: int, enabled: bool) -> bool:
        """Enable or disable an fprobe; False if it is not registered."""
        shared = self._shared()
        for fprobe in shared.all if shared is not None else ():
            if fprobe.number == number:
                fprobe.enabled = enabled
                return True
        return False

    def _shared(self) -> Fprobes | None:
        shared = self.users.get(FPROBES)
        return shared if isinstance(shared, Fprobes) else None

    # ---- calls

    def enter(self, task: int, func: int, call: int) -> None:
        """Begin a call."""
        if any(user.is_attached(self.names[func]) for user in self.users.values()):
            self._reap(task)
        frame = Frame(func, call)
        for user in self.users.values():
            part = user.part_of(self.names[func], task, self.tids[task])
            if part is None or (part is Part.OWN and not self._enter_user(user, task, frame)):
                continue
            user.at(task).count(part, 1)
            frame.parts.append((user, part, self.tokens))
        if frame.parts:
            self.stacks[task].append(frame)

    def end(self, task: int, call: int, end: End) -> None:
        """End a call by return or exception. Nothing happens if it began before it was traced."""
        if self._bring_to_top(task, call):
            self._end_top(task, end)

    def suspend(self, task: int, call: int) -> None:
        """Suspend a call: a generator yields."""
        if not self._bring_to_top(task, call):
            return
        frame = self.stacks[task].pop()
        for user, part, token in sorted(frame.here(), key=lambda item: item[0].slot):
            user.at(task).count(part, -1)
            if part is Part.OWN and self._reports_suspends(user):
                self._log(Kind.SUSPEND, user, task, frame.func, token if user.has_data else 0)
        self.suspended[call] = frame

    def resume(self, task: int, call: int) -> bool:
        """Resume a suspended call, perhaps in another task; False if there is no such call."""
        frame = self.suspended.pop(call, None)
        if frame is None:
            return False
        for user, part, _ in sorted(frame.here(), key=lambda item: item[0].slot):
            if part is Part.OWN and self._reports_suspends(user):
                self._log(Kind.RESUME, user, task, frame.func, 0)
            user.at(task).count(part, 1)
        self.stacks[task].append(frame)
        return True

    def close(self, task: int, call: int) -> None:
        """Close a suspended call, as close() or the garbage collector does."""
        if self.resume(task, call):
            self._end_top(task, End.CLOSE)

    # ---- tasks

    def begin_task(self, task: int, tid: int) -> None:
        """Start a thread."""
        self.stacks[task] = []
        self.tids[task] = tid

    def end_task(self, task: int) -> None:
        """End a thread and all its calls."""
        while self.stacks[task]:
            self._end_top(task, End.CLOSE)
        del self.stacks[task], self.tids[task]
        for user in self.users.values():
            user.places.pop(task, None)

    # ---- objects

    def objects(self) -> tuple[set[int], set[int]]:
        """Return the objects that must be alive, and those that may be alive.

        A frame keeps its objects until it is removed. That is at the call's end. If all users that want the
        return have left, the engine may remove the frame earlier. At the latest it does so when the thread
        ends or, after another user has left, when the thread enters a function.
        """
        must: set[int] = set()
        may = set(self.lingering)
        for frame in (
            *self.suspended.values(),
            *(frame for stack in self.stacks.values() for frame in stack),
        ):
            may.update(frame.objects)
            if frame.here():
                must.update(frame.objects)
        return must, may

    # ---- how it works

    def _reports_suspends(self, user: Registration) -> bool:
        return self.reports_suspends and not isinstance(user, Fprobes)

    def _enter_user(self, user: Registration, task: int, frame: Frame) -> bool:
        """Call a user's entry function; True if the user wants the return."""
        if isinstance(user, Fprobes):
            return self._enter_fprobes(user, frame)
        self.tokens += 1
        self._log(Kind.ENTRY, user, task, frame.func, self.tokens)
        wants = frame.func not in user.refused
        if user.has_object and wants:
            frame.objects.append(self.tokens)
        return wants

    def _enter_fprobes(self, shared: Fprobes, frame: Frame) -> bool:
        for fprobe in shared.all:
            if not (fprobe.enabled and fprobe.is_on(self.names[frame.func])):
                continue
            self.tokens += 1
            self._log_fprobe(Kind.ENTRY, fprobe, frame.func, self.tokens)
            if fprobe.has_exit and frame.func not in fprobe.refused:
                frame.fprobes.append((fprobe, self.tokens))
        return bool(frame.fprobes)

    def _log_fprobe_returns(self, frame: Frame) -> None:
        for fprobe, token in reversed(frame.fprobes):
            if fprobe.here and fprobe.enabled:
                self._log_fprobe(Kind.RETURN, fprobe, frame.func, token if fprobe.has_data else 0)

    def _log_fprobe(self, kind: Kind, fprobe: Fprobe, func: int, token: int) -> None:
        self.events.append(Event(kind, FPROBES + fprobe.number, func, 0, 0, token, 0, 0, 0))

    def _reap(self, task: int) -> None:
        """Remove the newest frames whose users have all left."""
        stack = self.stacks[task]
        while task in self.to_reap and stack and not stack[-1].here():
            self.lingering.update(stack.pop().objects)
        self.to_reap.discard(task)

    def _bring_to_top(self, task: int, call: int) -> bool:
        """Make the call's frame the newest: close those above it, or resume it if no resume was reported."""
        stack = self.stacks[task]
        if any(frame.call == call for frame in stack):
            while stack[-1].call != call:
                self._end_top(task, End.CLOSE)
            return True
        return self.resume(task, call)

    def _end_top(self, task: int, end: End) -> None:
        frame = self.stacks[task].pop()
        if not frame.here():
            self.lingering.update(frame.objects)
        for user, part, token in reversed(frame.here()):
            user.at(task).count(part, -1)
            if isinstance(user, Fprobes):
                self._log_fprobe_returns(frame)
            elif part is Part.OWN:
                self._log(Kind.RETURN, user, task, frame.func, token if user.has_data else 0, end)

    def _log(
        self, kind: Kind, user: Registration, task: int, func: int, token: int, end: End = End.RETURN
    ) -> None:
        """Append a user's event of a frame that is not yet, or no longer, on the stack."""
        place = user.at(task)
        own = [frame.token_of(user) for frame in reversed(self.stacks[task])]
        parent, grandparent, *_ = [*(token for token in own if token is not None), 0, 0]
        event = Event(kind, user.user, func, place.depth, int(end), token, parent, grandparent, place.var)
        self.events.append(event)
        place.var += 1
