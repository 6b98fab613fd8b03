"""The table of dynamic events: what dynamic_events, kprobe_events and synthetic_events list and change.

It holds the definitions and their order; an Installer, which knows the engine, makes events of them.
Documentation/trace/fprobetrace.rst, kprobetrace.rst, histogram.rst ("Synthetic Events").
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable, Collection, Iterator, Sequence
from errno import E2BIG, EADDRNOTAVAIL, EEXIST, EILSEQ, EINVAL, ENODEV, ENOENT
from typing import Any, NamedTuple, Protocol

from funcgraph.definitions import messages
from funcgraph.definitions.command import BLANKS, split_words, without_comment
from funcgraph.definitions.definition import Definition, EventFields, Parameters, Variables
from funcgraph.definitions.error_log import ErrorLog
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.messages import Message
from funcgraph.definitions.parse import command_of, parse_definition
from funcgraph.definitions.synthetic_definition import GROUP, SyntheticDefinition, parse_synthetic
from funcgraph.definitions.typed import Event, line_of
from funcgraph.definitions.warnings import Doubt, warnings_of
from funcgraph.events.files import FILES
from funcgraph.events.redaction import RedactionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["AnyDefinition", "Installer", "Registry"]

AnyDefinition = Definition | SyntheticDefinition

#: Kinds that may be several probes of one event, as long as all are of the same kind.
_FAMILIES = {"f": "ft", "t": "ft", "p": "pr", "r": "pr", "e": "", "s": ""}


class Installer(Protocol):
    """Makes events of definitions: the part of dynamic events that knows the engine.

    The registry calls it with its lock held, one call at a time.
    """

    def install(self, definition: AnyDefinition, *, is_pending: bool = False) -> Any:
        """Make an event, or add a probe to the event of this group and name; return a handle of this probe.

        Args:
            definition: what to make.
            is_pending: its function may be defined later.

        Raises:
            OSError: ENOENT: there is no such function; EILSEQ: no instruction begins at this offset; EINVAL:
                the function has no code at this line; EADDRNOTAVAIL: several functions have this name;
                ENODEV: the event to attach to does not exist; E2BIG: the fields do not fit into an event; any
                other: what else failed. The registry turns it into the kernel's error, and its text into the
                hint. A ProbeError, such as for the filter of an event probe, stays as it is. Nothing is
                installed then.
        """
        ...

    def remove(self, handle: Any) -> None:
        """Remove what install() made; the event goes with its last probe."""
        ...

    def is_busy(self, handle: Any) -> bool:
        """Return whether this probe's event is in use: enabled, with a trigger, or named in an action."""
        ...


class _Entry(NamedTuple):
    definition: AnyDefinition
    handle: Any

    @property
    def name(self) -> tuple[str, str]:
        return self.definition.group, self.definition.event

    @property
    def is_synthetic(self) -> bool:
        return self.definition.kind == "s"


class Registry:
    """The dynamic events of a process, oldest first.

        registry.write("dynamic_events", "f:shop/order shop.place user.name:string")
        print(registry.read("dynamic_events"), end="")
        registry.write("dynamic_events", "-:shop/order")

    Args:
        installer: makes events of definitions.
        log: where refused commands are logged.
        parameters: knows the parameters of functions, as in parse_definition().
        event_fields: knows the fields of the events that are not dynamic, as in parse_definition().
        variables: knows all variables of functions: what a probe within one can read.
        lock: held during each change; it must be recursive. None: a lock of its own.
        redact: returns a definition that records no value which is redacted; it may raise RedactionError.
    """

    def __init__(
        self,
        installer: Installer,
        log: ErrorLog | None = None,
        parameters: Parameters | None = None,
        event_fields: EventFields | None = None,
        variables: Variables | None = None,
        lock: AbstractContextManager[Any] | None = None,
        redact: Callable[[Definition], Definition] | None = None,
    ) -> None:
        self._installer = installer
        self._parameters = parameters
        self._static_fields = event_fields
        self._variables = variables
        self._redact = redact
        self._has_own_lock = lock is None
        self._lock = RLock() if lock is None else lock
        self._entries: list[_Entry] = []
        self.log = ErrorLog() if log is None else log

    def _after_fork(self) -> None:
        """Make the lock again in a fork's child: the thread that holds it may be one of the parent's.

        A lock that was given to the registry is its owner's.
        """
        if self._has_own_lock:
            self._lock = RLock()

    def __iter__(self) -> Iterator[AnyDefinition]:
        return iter([entry.definition for entry in self._entries])

    def __len__(self) -> int:
        return len(self._entries)

    def read(self, file: str = "dynamic_events") -> str:
        """Return what a file lists: a line for each definition of its kinds.

        Args:
            file: one of FILES.
        """
        definitions = [definition for definition in self if definition.kind in FILES[file]]
        return "".join(f"{_listed(definition, file)}\n" for definition in definitions)

    def write(self, file: str, text: str, append: bool = True) -> None:
        """Do what the lines of a text say: `echo TEXT >> FILE`.

        A line defines an event, or deletes some: `-:[GROUP/][EVENT] [TARGET [ARGUMENTS]]`, in
        synthetic_events `!EVENT`. `#` begins a comment. A line that is refused is logged, and the others are
        done all the same.

        Args:
            file: one of FILES.
            text: the lines.
            append: False: delete all events of the file first, as opening it with `>` does.

        Raises:
            ProbeError: the error of the first line that was refused. EBUSY with append=False: nothing was
                done.
        """
        with self._lock:
            if not append:
                self.clear(file)
            refused = []
            for line in text.split("\n"):
                command = without_comment(line).lstrip(BLANKS)
                if not command:
                    continue
                try:
                    self._run(file, command)
                except ProbeError as error:
                    self.log.add_error(error)
                    refused.append(error)
            if refused:
                raise refused[0]

    def define(self, event: str | Event, *, is_pending: bool = False) -> AnyDefinition:
        """Make the event that a line of dynamic_events defines, and return its definition.

        Args:
            event: the line, or the object that stands for it.
            is_pending: the function may be defined later.

        Raises:
            ProbeError: the line defines none, or the event cannot be made. It is logged.
            TypeError: it is neither.

        Warns:
            RuntimeWarning: it reads a variable that the function does not have. That is logged, too.
        """
        line = line_of(event)
        with self._lock:
            try:
                definition = parse_definition(line, self._parameters, self._event_fields)
                for doubt in () if is_pending else self._warnings(line, definition):
                    doubt.warn()
                return self._add(line, definition, is_pending)
            except ProbeError as error:
                self.log.add_error(error)
                raise

    def delete(self, line: str, file: str = "dynamic_events") -> None:
        """Delete the events that a line names: `-:[GROUP/][EVENT] [TARGET [ARGUMENTS]]`, or `!KIND:...`.

        Args:
            line: the line.
            file: only events of this file's kinds are deleted.

        Raises:
            ProbeError: EINVAL: it names none; ENOENT: there is no such event; EBUSY: one of the events is in
                use. Then none is deleted.
        """
        words = split_words(line)
        # "!kind:name" is the kernel's other form: what stands before the colon does not matter.
        name = words[0].partition(":")[2] if words and words[0].startswith(("-:", "!")) else ""
        if not name:
            raise ProbeError(messages.BAD_DELETION, "", line)
        group, slash, event = name.rpartition("/")
        with self._lock:
            self._delete(
                [
                    entry
                    for entry in self._of(file)
                    if event in ("", entry.definition.event)
                    and (not slash or group == entry.definition.group)
                    and _is_meant(entry.definition, words[1:])
                ],
                line,
            )

    def clear(self, file: str = "dynamic_events") -> None:
        """Delete all events of a file.

        Raises:
            ProbeError: EBUSY: one of them is in use. Then none is deleted.
        """
        with self._lock:
            if entries := self._of(file):
                self._delete(entries, f"> {file}")

    def _of(self, file: str) -> list[_Entry]:
        return [entry for entry in self._entries if entry.definition.kind in FILES[file]]

    def _run(self, file: str, command: str) -> None:
        if file == "synthetic_events":
            if command.startswith("!"):
                self._delete_synthetic(command)
            else:
                self._add(command, parse_synthetic(command))
        elif command[0] == "-" or (command[0] == "!" and file == "dynamic_events"):
            self.delete(command, file)
        elif command[0] in FILES[file]:
            self._add_of(file, command)
        elif file == "dynamic_events":
            parse_definition(command)  # it raises the error
        else:
            raise ProbeError(messages.WRONG_FILE, "", command, hint=f"{file} takes 'p' and 'r'.")

    def _add_of(self, file: str, command: str) -> None:
        try:
            definition = parse_definition(command, self._parameters, self._event_fields)
        except ProbeError as error:
            if error.message == messages.NO_MATCHING_TYPE.text and file != "dynamic_events":
                raise ProbeError(messages.WRONG_FILE, "", command, hint="It names no function.") from error
            raise
        self._add(command, definition)

    def _delete_synthetic(self, command: str) -> None:
        """Delete the synthetic event of `!EVENT`; what follows the name does not matter."""
        name = "".join(split_words(command[1:])[:1]) if command[1:2] not in BLANKS else ""
        events = self._of("synthetic_events")
        self._delete([entry for entry in events if entry.definition.event == name], command)

    def _event_fields(self, group: str, event: str) -> Sequence[str] | None:
        """Return the fields of an event that another may be attached to: a static or a synthetic one."""
        for definition in self:
            if isinstance(definition, SyntheticDefinition) and (GROUP, definition.event) == (group, event):
                return [field.name for field in definition.fields]
        return None if self._static_fields is None else self._static_fields(group, event)

    def _add(self, line: str, definition: AnyDefinition, is_pending: bool = False) -> AnyDefinition:
        if isinstance(definition, Definition):
            definition = self._redacted(line, definition)
            self._check_new(line, definition)
        elif self._is_taken(definition):
            at = len(line) - len(line.removeprefix("s:").removeprefix(f"{GROUP}/"))
            raise ProbeError(messages.SYNTH_EVENT_EXISTS, "synthetic_events", line, at)
        try:
            handle = self._installer.install(definition, is_pending=is_pending)
        except ProbeError:
            raise
        except OSError as error:
            raise _refused(line, definition, error) from error
        self._entries.append(_Entry(definition, handle))
        for doubt in self._warnings(line, definition):
            doubt.log(self.log)
        return definition

    def _redacted(self, line: str, definition: Definition) -> Definition:
        try:
            return self._redact(definition) if self._redact else definition
        except RedactionError as error:
            raise command_of(line).error(messages.REDACTED, error.argument + 2, hint=str(error)) from None

    def _warnings(self, line: str, definition: AnyDefinition) -> list[Doubt]:
        if self._variables is None or not isinstance(definition, Definition):
            return []
        return warnings_of(line, definition, self._variables)

    def _is_taken(self, definition: AnyDefinition) -> bool:
        group, event = definition.group, definition.event
        if any(entry.name == (group, event) for entry in self._entries):
            return True
        return self._static_fields is not None and self._static_fields(group, event) is not None

    def _check_new(self, line: str, new: Definition) -> None:
        """Check that an event's name is free, or that the event takes one more probe.

        Raises:
            ProbeError: it does not. The kernel's number is EINVAL for function events, EEXIST for the others.
        """
        probes = [
            entry.definition
            for entry in self._entries
            if entry.name == (new.group, new.event) and entry.definition.kind in _FAMILIES[new.kind]
        ]
        command = command_of(line)
        errno = EINVAL if new.kind in "ft" else EEXIST
        if not probes:
            if self._is_taken(new):
                raise command.error(messages.EVENT_EXIST, errno=errno)
            return
        first = probes[0]
        assert isinstance(first, Definition)
        if (first.kind, first.is_return) != (new.kind, new.is_return):
            raise command.error(messages.DIFF_PROBE_TYPE, errno=errno, hint=first.text)
        word = _different_argument(new, first)
        if word:
            raise command.error(messages.DIFF_ARG_TYPE, word, errno=errno, hint=first.text)
        if any(_is_same_probe(probe, new) for probe in probes):
            raise command.error(messages.SAME_PROBE, errno=errno)

    def _delete(self, entries: Collection[_Entry], line: str) -> None:
        if not entries:
            raise ProbeError(messages.NO_SUCH_EVENT, "", line)
        leaving = {id(entry) for entry in entries}
        staying = [entry for entry in self._entries if id(entry) not in leaving]
        for entry in entries:
            if self._is_in_use(entry, staying):
                raise ProbeError(messages.IN_USE, "", line, hint=f"In use: {'/'.join(entry.name)}")
        # Newest first: an event probe is newer than the synthetic event that it is on.
        for entry in reversed(list(entries)):
            self._installer.remove(entry.handle)
            self._entries = [other for other in self._entries if other is not entry]

    def _is_in_use(self, entry: _Entry, staying: Collection[_Entry]) -> bool:
        """Return whether an entry may not be deleted, if some others stay.

        One of several probes of an event may go while the event is in use, the last may not.
        """
        if entry.is_synthetic and any(_is_on(other.definition, entry.name) for other in staying):
            return True
        is_last = not any(other.name == entry.name for other in staying)
        return is_last and self._installer.is_busy(entry.handle)


def _listed(definition: AnyDefinition, file: str) -> str:
    if isinstance(definition, SyntheticDefinition) and file == "synthetic_events":
        return definition.synthetic_text
    return definition.text


def _is_on(definition: AnyDefinition, name: tuple[str, str]) -> bool:
    """Return whether a definition is attached to the event of this name."""
    return isinstance(definition, Definition) and definition.kind in "te" and definition.base == name


def _is_meant(definition: AnyDefinition, words: Sequence[str]) -> bool:
    """Return whether a definition has the target and the first arguments that follow `-:NAME`."""
    if isinstance(definition, SyntheticDefinition) or not words:
        return True
    target, *arguments = words
    if definition.kind in "te":
        target = target.replace("/", ".")
    own = definition.target.replace("/", ".") if definition.kind in "te" else definition.target
    return target == own and tuple(arguments) == definition.arguments[: len(arguments)]


def _is_same_probe(one: AnyDefinition, new: Definition) -> bool:
    """Return whether two definitions of an event are the same, however they name the function."""
    return isinstance(one, Definition) and one._replace(module="").text == new._replace(module="").text


def _different_argument(new: Definition, first: Definition) -> int:
    """Return the number of the word where a probe's arguments differ from those of its event; 0: nowhere."""
    few = min(len(new.fields), len(first.fields))
    if len(new.fields) != len(first.fields):
        return few + 2
    for at, (field, other) in enumerate(zip(new.fields, first.fields, strict=True)):
        if (field.name, field.type, field.count) != (other.name, other.type, other.count):
            return at + 2
    return 0


_REFUSALS: dict[int, Message] = {
    ENOENT: messages.BAD_PROBE_ADDR,
    EADDRNOTAVAIL: messages.NON_UNIQ_SYMBOL,
    EILSEQ: messages.BAD_INSN_BNDRY,
    ENODEV: messages.BAD_ATTACH_EVENT,
}


def _refused(line: str, definition: AnyDefinition, error: OSError) -> ProbeError:
    """Return the error of a definition that the installer refused, as the kernel has it."""
    hint = error.strerror or str(error)
    number = error.errno or EINVAL
    if isinstance(definition, SyntheticDefinition):
        return ProbeError(messages.FAIL_REG_PROBE, "synthetic_events", line, errno=number, hint=hint)
    message = _REFUSALS.get(number)
    word, errno = 1, None
    if number == EEXIST:
        message, word = messages.EVENT_EXIST, 0
    elif number == EINVAL and definition.place is not None and definition.place[0] == "line":
        message = messages.BAD_LINE
    elif number == E2BIG:  # the fields do not fit
        return command_of(line).error(messages.TOO_MANY_ARGS, 2, hint=hint)
    elif message is None:
        message, errno = messages.FAIL_REG_PROBE, number
    if definition.kind in "ft":
        errno = EINVAL
    return command_of(line).error(message, word, errno=errno, hint=hint)
