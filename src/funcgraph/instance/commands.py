"""Function commands of an instance: what calls of functions do in it, whichever tracer it has.

Documentation/trace/ftrace.rst, "Filter commands"; the kernel has them in its file set_ftrace_filter:
`FUNCTION:COMMAND[:COUNT]`, `FUNCTION:enable_event:GROUP:EVENT[:COUNT]`. Ours are those of modules and of
native functions: `FUNCTION:mod:NAME:COMMAND[:COUNT]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from errno import EINVAL, ENODEV
from typing import TYPE_CHECKING, NamedTuple

from funcgraph import _engine
from funcgraph.events.trigger import UNLIMITED, TriggerError, count_of
from funcgraph.instance.command_words import COMMANDS, EVENT_COMMANDS, split_command
from funcgraph.instance.events import find_event_state

if TYPE_CHECKING:
    from funcgraph.events.event_state import EventState
    from funcgraph.instance.state import State

__all__ = ["COMMANDS", "FunctionCommand", "FunctionCommands", "commands_of"]

# These take no count, as in the kernel: one dump, and one of a thread at each call.
_FIXED = {"dump": 1, "cpudump": UNLIMITED}
_GLOB = frozenset("*?[")
_OF_MODULE = ":mod:"
# Of native functions (hooking.py): new objects are looked at for those of all commands so far.
_OWNER = "function commands"
# How counts read back.
_UNLIMITED_TEXT, _COUNT_TEXT = "unlimited", "count="


# A function, and its name in commands.
_Named = tuple[str, _engine.Function]


class FunctionCommand(NamedTuple):
    """A command that a function has.

    Attributes:
        function: the function's name; "NAME:mod:OBJECT" of a native function.
        command: one of COMMANDS.
        left: how often it still acts; -1: without limit.
        event: "GROUP/EVENT" of an enable_event or disable_event; else "".
    """

    function: str
    command: str
    left: int
    event: str

    def __str__(self) -> str:
        count = _UNLIMITED_TEXT if self.left == UNLIMITED else f"{_COUNT_TEXT}{self.left}"
        return ":".join(word for word in (self.function, self.command, *self.event.split("/"), count) if word)


class _CommandRequest(NamedTuple):
    """A command as it was written."""

    functions: str
    command: str
    event: tuple[str, str] | None
    times: int
    is_counted: bool
    # Python functions that are meant by their module
    members: frozenset[str]

    @property
    def kind(self) -> tuple[str, bool]:
        """The kernel's kinds: a command with a count is another than one without."""
        return self.command, self.is_counted and self.command not in _FIXED


class _Action(NamedTuple):
    """What one function does."""

    function: _engine.Function
    name: str
    request: _CommandRequest
    engine: _engine.Trigger

    def is_as(self, request: _CommandRequest) -> bool:
        """Return whether a command is the same, but for its functions and its count."""
        return (self.request.kind, self.request.event) == (request.kind, request.event)


class _Command:
    """Actions of one kind, with the engine's command that has them at the calls of their functions."""

    def __init__(self, handle: int, actions: list[_Action], target: EventState | None) -> None:
        self.actions = actions
        self.target = target
        self.engine = _attach(handle, actions)


def _attach(handle: int, actions: list[_Action]) -> _engine.FuncCommand:
    functions = [action.function for action in actions]
    return _engine.FuncCommand(handle, functions, tuple(action.engine for action in actions))


class FunctionCommands:
    """The function commands of an instance: Instance.function_commands.

        i.function_commands.add("shop.retry:traceon:3")
        i.function_commands.add("shop.fail:snapshot:1")
        for command in i.function_commands:
            print(command.function, command.command, command.left)
        i.function_commands.remove("shop.retry:traceon:0")

    A command is `FUNCTION:traceon`, `traceoff`, `snapshot`, `stacktrace`, `dump`, `cpudump`,
    `enable_event:GROUP:EVENT` or `disable_event:GROUP:EVENT`, each but the dumps with `[:COUNT]` behind it.
    FUNCTION may be a glob: it stands for the functions that exist now, and each has a count of its own.
    `FUNCTION:mod:NAME` are those of a module, or native functions of an object: `malloc:mod:libc:traceoff`.
    Iterating gives the newest kind first. docs/reference/events-triggers.md says what each does.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._commands: list[_Command] = []  # the newest first

    def __iter__(self) -> Iterator[FunctionCommand]:
        for command in self._commands:
            for action in command.actions:
                own = action.request
                left = _FIXED.get(own.command, action.engine.left)
                yield FunctionCommand(action.name, own.command, left, "/".join(own.event or ()))

    def __len__(self) -> int:
        return sum(len(command.actions) for command in self._commands)

    def __repr__(self) -> str:
        return f"<function commands of instance {self._state.name!r}: {', '.join(map(str, self)) or 'none'}>"

    def text(self) -> str:
        """Return the lines that set_ftrace_filter has behind its patterns."""
        return "".join(f"{command}\n" for command in self)

    def check(self, word: str) -> None:
        """Raise what add(), or remove() of what follows a `!`, would raise for a word that is wrong."""
        if not word.startswith("!"):
            self._functions(self._parse(word))
        elif not self._having(self._parse(word[1:], removes=True)):
            raise OSError(ENODEV, f"invalid set_ftrace_filter {word!r}: that command is not set")

    def add(self, command: str) -> None:
        """Have the calls of functions do something.

        A function that has this command already keeps it with its count.

        Args:
            command: the functions and what they do.

        Raises:
            OSError: EINVAL: it is no command; no function has the name; there is no such event. ENOSPC: all
                slots for users are taken. EBUSY: another thread changes the instance. EOPNOTSUPP: native
                functions of that object cannot be hooked, or cannot have that command.
            RuntimeError: no hook is free.
        """
        request = self._parse(command)
        functions = self._functions(request)
        with self._state.lock:
            taken = {action.name for one in self._commands for action in one.actions if action.is_as(request)}
            self._add(request, [(name, function) for name, function in functions if name not in taken])

    def _add(self, request: _CommandRequest, functions: list[_Named]) -> None:
        if not functions:
            return
        target = find_event_state(self._state, *request.event) if request.event else None
        if request.command in _FIXED:
            from funcgraph.instance import dump  # with what reading needs: not in the program's work

            dump.prepare(self._state, are_native=any(_OF_MODULE in name for name, _ in functions))
        switch = target.switch if target else None
        times = _FIXED.get(request.command, request.times)
        actions = [
            _Action(function, name, request, _engine.command_action(request.command, times, switch))
            for name, function in functions
        ]
        if target:
            target.hold()
        try:
            made = _Command(self._state.engine.handle, actions, target)
        except BaseException:
            if target:
                target.release()
            raise
        self._commands.insert(self._place_of(request), made)

    def _place_of(self, request: _CommandRequest) -> int:
        """The kernel lists commands of one kind together: those of the newest kind first."""
        kinds = [one.actions[0].request.kind for one in self._commands]
        return kinds.index(request.kind) if request.kind in kinds else 0

    def remove(self, command: str) -> None:
        """Take a command from functions.

        Args:
            command: as for add(), or as the command reads back: `count=N`, `unlimited`. With a count,
                whichever it is, the commands that have one are meant; without one those that have none.
                That is so in the kernel.

        Raises:
            OSError: ENODEV: no function has it. EINVAL: it is no command.
        """
        with self._state.lock:
            self.check(f"!{command}")
            request = self._parse(command, removes=True)
            for one in self._having(request):
                self._take(one, request)

    def _having(self, request: _CommandRequest) -> list[_Command]:
        return [one for one in self._commands if any(_is_meant(action, request) for action in one.actions)]

    def _take(self, command: _Command, request: _CommandRequest) -> None:
        """Take actions from a command; the others keep their counts."""
        command.engine.close()
        command.actions = [action for action in command.actions if not _is_meant(action, request)]
        if command.actions:
            command.engine = _attach(self._state.engine.handle, command.actions)
            return
        self._commands.remove(command)
        if command.target:
            command.target.release()

    def close(self) -> None:
        """Take all commands from their functions. The instance ends: what they held of it goes with it."""
        for command in self._commands:
            command.engine.close()
            if command.actions[0].request.command in _FIXED:
                from funcgraph.instance import dump

                dump.forget(self._state)
        self._commands.clear()

    def _parse(self, word: str, removes: bool = False) -> _CommandRequest:
        functions, rest = split_command(word) or (word, "")
        command, colon, rest = rest.partition(":")
        if not functions or command not in COMMANDS:
            allowed = ", ".join(COMMANDS)
            raise _invalid(word, f"must be FUNCTION:COMMAND[:COUNT] with one of the commands {allowed}")
        event = None
        if command in EVENT_COMMANDS:
            group, _, rest = rest.partition(":")
            name, colon, rest = rest.partition(":")
            event = (group, name)
            if find_event_state(self._state, *event) is None:
                raise _invalid(word, f"no such event: {group}:{name}")
        if removes:  # also what a command reads back
            rest = "" if rest == _UNLIMITED_TEXT else rest.removeprefix(_COUNT_TEXT) or rest
            colon = rest
        try:
            times = count_of(rest)
        except TriggerError as error:
            raise _invalid(word, str(error.args[-1])) from None
        members = _engine.untraced(_members, functions) if removes else frozenset()
        return _CommandRequest(functions, command, event, times, bool(colon), members)

    def _functions(self, request: _CommandRequest) -> list[_Named]:
        found = _engine.untraced(_matching, request.functions) + _native(request.functions)
        if not found:
            raise _invalid(request.functions, "no function has that name")
        return found


def commands_of(state: State) -> FunctionCommands:
    """Return the function commands of an instance."""
    if not isinstance(state.commands, FunctionCommands):
        state.commands = FunctionCommands(state)
    return state.commands


def _is_meant(action: _Action, request: _CommandRequest) -> bool:
    return action.is_as(request) and (
        action.name in request.members or _engine.glob_match(request.functions, action.name)
    )


def _matching(pattern: str) -> list[_Named]:
    """Return the Python and C functions that exist and match."""
    names = _names(pattern) if _GLOB & set(pattern) or _OF_MODULE in pattern else [pattern]
    by_name = _engine.functions_named(names)
    return [(name, function) for name in names for function in by_name[name]]


def _members(pattern: str) -> frozenset[str]:
    """Return the names of the functions that a pattern means by their module."""
    return frozenset(_names(pattern) if _OF_MODULE in pattern else ())


def _names(pattern: str) -> list[str]:
    from funcgraph.fgraph import available_filter_functions

    try:
        return available_filter_functions(pattern)
    except ValueError as error:
        raise _invalid(pattern, str(error)) from None


def _native(pattern: str) -> list[_Named]:
    """Return the native functions that match, hooked as soon as they have users."""
    if _OF_MODULE not in pattern:
        return []
    from funcgraph.native.hooking import select

    return [
        (f"{function.qualname}{_OF_MODULE}{function.module}", function)
        for function in select(_OWNER, [pattern])
    ]


def _invalid(word: str, reason: str) -> OSError:
    return OSError(EINVAL, f"invalid set_ftrace_filter {word!r}: {reason}")
