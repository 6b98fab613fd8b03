"""Definitions, deletions and listings as a Linux 7.2 kernel answers them: data/ has what it printed.

Each command of a transcript is given to a Registry in the same order: the same are accepted, the listings are
the same, and a refused one has the same number, message and caret, but where DIFFERENT says why not.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from fake_installer import FakeInstaller, event_fields, parameters
from transcripts import Step, answers, errors_in, lines_of, shell, written

from funcgraph.definitions import messages
from funcgraph.definitions.error_log import ErrorLog
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.messages import Message
from funcgraph.definitions.parse import parse_definition
from funcgraph.events.registry import Registry

pytestmark = pytest.mark.one_python


class Ours(NamedTuple):
    """What we do with a command that the kernel treats otherwise.

    Attributes:
        reason: why.
        message: what we say; None: we accept the command.
        offset: where our caret stands.
        instead: the command that takes its place where later ones build upon it; "": none.
    """

    reason: str
    message: Message | None = None
    offset: int = 0
    instead: str = ""


REGISTERS = "Python has no registers"
MEMORY = "Python objects are not read by address"
EXPANDED = "the kernel counts in the argument after $arg1 became 'file', which is one character shorter"
AT_THE_HIT = "which attributes an object has shows when the event is hit"
NO_VOID = "each Python function returns a value"
UPROBE = "a place in a program's file is no Python function"
FIRST_FOUND = "the kernel looks for the first place where the same text stands"
NATIVE = "a colon makes the target native: functions of an object"
FIELDS = "an event is attached to, and its filter checked, when it is installed"


#: The only rows of the transcripts that differ.
DIFFERENT = {
    "f vfs_read %rax": Ours(REGISTERS, messages.NO_REGISTER, 11),
    "f vfs_read %nosuch": Ours(REGISTERS, messages.NO_REGISTER, 11),
    "f:sym vfs_read sym=%ip:symbol": Ours(REGISTERS, messages.NO_REGISTER, 19),
    "e:ev sched/sched_switch p=%ax": Ours(REGISTERS, messages.NO_REGISTER, 26),
    "f:mod nosuchmod:foo": Ours(NATIVE),
    "f vfs_read @0xffff": Ours(MEMORY, messages.NO_MEMORY, 11, r"f vfs_read arg1=\0xffff"),
    "f vfs_read @nosuchsym": Ours(MEMORY, messages.NO_MEMORY, 11, r"f vfs_read arg1=\5"),
    "f vfs_read @+0": Ours(MEMORY, messages.NO_MEMORY, 11),
    "f vfs_read +0": Ours(MEMORY, messages.NO_MEMORY, 11),
    "f vfs_read +0(": Ours(MEMORY, messages.NO_MEMORY, 11),
    "f vfs_read +0($arg1": Ours(MEMORY, messages.NO_MEMORY, 11),
    "f vfs_read +x($arg1)": Ours(MEMORY, messages.NO_MEMORY, 11),
    "f vfs_read +0@0)": Ours(MEMORY, messages.NO_MEMORY, 11),
    "f vfs_read $comm +0($comm)": Ours(MEMORY, messages.NO_MEMORY, 17),
    "f:arr vfs_read +0($arg1):u8[4]": Ours(MEMORY, messages.NO_MEMORY, 15),
    "f:st vfs_read stk=$stack s1=$stack1 comm=$comm": Ours(MEMORY, messages.BAD_VAR, 18),
    "e:ep7 syscalls/sys_enter_read b=+0($buf):x8[4] comm=$comm cc=$COMM": Ours(
        MEMORY, messages.NO_MEMORY, 32
    ),
    "e:ev sched/sched_switch a=@0": Ours(MEMORY, messages.NO_MEMORY, 26),
    "p 0xffffffff81000000": Ours(MEMORY, messages.BAD_PROBE_ADDR, 2),
    "f vfs_read $arg1:nosuch": Ours(EXPANDED, messages.BAD_TYPE, 17),
    "f vfs_read $arg1:u64[": Ours(EXPANDED, messages.ARRAY_NO_CLOSE, 21),
    "f vfs_read $arg1:u64[]": Ours(EXPANDED, messages.BAD_ARRAY_NUM, 21),
    "f vfs_read $arg1:u64[0]": Ours(EXPANDED, messages.BAD_ARRAY_NUM, 21),
    "f vfs_read $arg1:u64[65]": Ours(EXPANDED, messages.ARRAY_TOO_BIG, 21),
    "f vfs_read $arg1:u64[3]x": Ours(EXPANDED, messages.BAD_ARRAY_SUFFIX, 23),
    "f vfs_read $arg1:b64@0/8": Ours(EXPANDED, messages.BAD_BITFIELD, 17),
    "f vfs_read $arg1:b3@0/x": Ours(EXPANDED, messages.BAD_TYPE, 17),
    "f vfs_read $arg1:string": Ours("every object has a text, or is (fault) when the event is hit"),
    "f vfs_read file->nosuch": Ours(AT_THE_HIT),
    "f vfs_read count->x": Ours(AT_THE_HIT),
    "f kfree $retval": Ours(NO_VOID),
    "f kfree%return $retval": Ours(NO_VOID),
    "e5 long long g": Ours(FIRST_FOUND, messages.SYNTH_INVALID_FIELD, 13),
    "p:up /bin/work:0x1615 a=%di s=+0(%si):ustring": Ours(UPROBE, messages.NO_MATCHING_TYPE, 0),
    "r:urp /bin/work:0x1615 r=$retval": Ours(UPROBE, messages.NO_MATCHING_TYPE, 0),
    "p /bin/work:0x1615": Ours(UPROBE, messages.NO_MATCHING_TYPE, 0),
}

#: Lines of the kernel's listings that are not ours: of the definitions above.
NOT_LISTED = re.compile(
    r"[pr]:uprobes/|f:fprobes/(?:arr|st) |e:eprobes/ep7 |p:kprobes/p_0x"
    r"|f:fprobes/vfs_read__entry vfs_read arg1=@"
)
LISTED_INSTEAD = {
    "f:fprobes/vfs_read__entry vfs_read arg1=\\0xffff",
    "f:fprobes/vfs_read__entry vfs_read arg1=\\5",
}

_FILES = {"dynamic_events", "kprobe_events", "synthetic_events"}


class Replay:
    """Gives the steps of a transcript to a registry, and compares what comes of them."""

    def __init__(self) -> None:
        self.installer = FakeInstaller()
        self.registry = Registry(self.installer, ErrorLog(lambda: 0), parameters, event_fields)
        self.refused = 0  # how many of the kernel's refusals were compared

    def write(self, step: Step) -> None:
        different = DIFFERENT.get(step.text)
        if different and different.message is None:
            parse_definition(step.text, parameters, event_fields)  # what came before may be in its way
            return
        self.registry.log.clear()
        try:
            self.registry.write(step.file, step.text, step.append)
        except ProbeError as error:
            self._compare_error(step, error, different)
        else:
            assert step.errno == 0 and different is None, step
        if different and different.instead:
            self.registry.write(step.file, different.instead)

    def _compare_error(self, step: Step, error: ProbeError, different: Ours | None) -> None:
        if different:
            assert different.message is not None
            assert (error.message, error.caret) == (different.message.text, different.offset), step
            return
        assert error.errno == step.errno, step
        logged = errors_in(self.registry.log.text().split("\n"))
        if step.errors:
            self.refused += 1
            assert logged == step.errors, step
        elif step.text.startswith(("-", "!")) or not step.append:
            assert logged == [], step

    def compare_listing(self, step: Step) -> None:
        assert step.listing is not None
        files = step.file.split()
        ours = "".join(self.registry.read(file) for file in files if file in _FILES).splitlines()
        theirs = [line for line in step.listing if not NOT_LISTED.match(line)]
        # The transcript was cut to 200 columns.
        assert [line[:200] for line in ours if line not in LISTED_INSTEAD] == theirs, step


def test_the_errors_of_fprobe_definitions() -> None:
    """Broken by any other message, number, caret, order of checks, or a listing that is not the kernel's."""
    replay = Replay()
    listings = 0
    for step in written("fprobe_definitions.txt"):
        if step.section.startswith("##### what a fresh"):
            break
        if step.listing is not None:
            replay.compare_listing(step)
            listings += 1
        elif step.file in _FILES:
            replay.write(step)
    assert (replay.refused, listings) == (78, 2)


def test_the_forms_of_probes_and_how_they_read_back() -> None:
    replay = Replay()
    listings = 0
    section = ""
    for step in written("probe_forms.txt"):
        if step.section != section:
            section = step.section
            replay.registry.clear()
        if step.listing is not None:
            replay.compare_listing(step)
            listings += 1
        else:
            replay.write(step)
    assert listings == 7


#: Where a transcript goes on with events that it does not show being made.
MADE_BEFORE = {
    "## redefinition": [
        *("e1 u64 lat; pid_t pid; int prio", "e3 s8 c", "e4 u64 x", "e6 int x"),
        "e8 u64 lat; char comm[]",
    ],
}

#: Listings that differ: the line of the transcript, and why.
LISTED_OTHERWISE = {
    ("synthetic.txt", 163): "the kernel deletes until it comes to an event in use; we do not begin",
}


@pytest.mark.parametrize(
    ("name", "refused", "listings"),
    [
        ("dynamic_events.txt", 0, 9),
        ("dynamic_events2.txt", 7, 5),
        ("synthetic.txt", 8, 6),
        ("eprobes.txt", 3, 3),
    ],
)
def test_a_session_in_a_shell(name: str, refused: int, listings: int) -> None:
    """Definitions, deletions, EBUSY, several lines in one write, made-up names, all in the kernel's order."""
    replay = Replay()
    section = ""
    compared = 0
    for step in shell(name):
        if step.section != section:
            section = step.section
            if section in MADE_BEFORE:
                replay.registry.write("synthetic_events", "\n".join(MADE_BEFORE[section]))
        in_use = re.match(r"events/(\w+/\w+)/(enable|trigger)$", step.file)
        if in_use and (step.text in ("0", "1") or "hist:" in step.text):
            is_on = step.text == "1" or step.text.startswith("hist:")
            (replay.installer.in_use.add if is_on else replay.installer.in_use.discard)(in_use[1])
        elif (name, step.line) in LISTED_OTHERWISE:
            continue
        elif step.listing is not None:
            replay.compare_listing(step)
            compared += 1
        elif step.file in _FILES:
            replay.write(step)
    assert (replay.refused, compared) == (refused, listings)


@pytest.mark.parametrize(
    ("name", "refused"),
    [("synthetic_errors.txt", 41), ("synthetic_errors_part2.txt", 6), ("eprobes_part2.txt", 18)],
)
def test_answers_to_single_commands(name: str, refused: int) -> None:
    replay = Replay()
    for step in answers(name):
        if step.errors and step.errors[0].component == "event filter parse error":
            continue  # a filter is checked when its event is installed
        replay.write(step)
        if step.listing is not None and step.text not in DIFFERENT:
            assert replay.registry.read(step.file).splitlines() == step.listing, step
        replay.registry.clear()
    assert replay.refused == refused


def test_the_table_of_differences_has_no_row_too_many() -> None:
    """Broken by a row whose command no transcript has."""
    steps = [*written("fprobe_definitions.txt"), *written("probe_forms.txt")]
    for name in ("dynamic_events.txt", "dynamic_events2.txt", "synthetic.txt", "eprobes.txt"):
        steps += shell(name)
    for name in ("synthetic_errors.txt", "synthetic_errors_part2.txt", "eprobes_part2.txt"):
        steps += answers(name)
    assert DIFFERENT.keys() - {step.text for step in steps} == set()


def test_the_log_keeps_the_last_eight_errors() -> None:
    """Ten refused commands, and the kernel's text of the log after them, times aside."""
    lines = lines_of("fprobe_definitions.txt")
    start = next(at for at, line in enumerate(lines) if line.startswith("##### what a fresh"))
    commands = [step.text for step in written("fprobe_definitions.txt") if step.line > start]
    theirs = [line for line in lines[start + 1 :] if not line.startswith("dynamic_events")]
    times_ns = iter(
        [0, 0]
        + [
            int(seconds) * 10**9 + int(rest) * 1000
            for seconds, rest in re.findall(r"\[ +(\d+)\.(\d+)\]", "\n".join(theirs))
        ]
    )
    registry = Registry(FakeInstaller(), ErrorLog(lambda: next(times_ns)))
    for command in commands:
        with pytest.raises(ProbeError):
            registry.write("dynamic_events", command)
    assert registry.log.text().splitlines() == theirs
    assert len(registry.log) == 8
    registry.log.clear()
    assert registry.log.text() == ""
