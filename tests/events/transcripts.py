"""The transcripts of a Linux 7.2 kernel in data/, as steps: what was written where, and what came of it.

Three forms are in use there:

- `FILE: write("TEXT\\n", N) = RESULT`, below it error_log, each line behind `   E| `;
- `$ COMMAND` of a shell, below it what it printed, or `  -1 EXXX (...)` and error_log;
- `-1 EXXX  ERROR` with the refused command in the error itself, or `> TEXT` and what came of it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(__file__).resolve().parent / "data"

_WRITE = re.compile(r'^(\w+): write\("(.*)\\n", \d+\) = (-?\w+)(?: \(.*\))?$')
_REFUSED = re.compile(r"^-1 (\w+)  (.*?): error: (.*)$")
_MINUS_ONE = re.compile(r"^  -1 (\w+)\b")
_ERROR = re.compile(r"^\[ *\d+\.\d{6}\] (.*?): error: (.*)$")
_COMMAND = "  Command: "


@dataclass
class Error:
    """One error as error_log has it."""

    component: str
    message: str
    command: str
    offset: int


@dataclass
class Step:
    """A write and what came of it, or a listing."""

    line: int  # in the transcript
    file: str  # "dynamic_events"; "" for a shell command that is no write
    text: str = ""
    append: bool = True
    errno: int = 0
    errors: list[Error] = field(default_factory=list)
    listing: list[str] | None = None  # what the files hold after it
    command: str = ""  # of a shell, if it is none of these
    section: str = ""


def lines_of(name: str) -> list[str]:
    return (DATA / name).read_text().rstrip("\n").split("\n")


def errors_in(lines: list[str]) -> list[Error]:
    """Return the errors of a piece of error_log."""
    errors = []
    for at, line in enumerate(lines):
        if found := _ERROR.match(line):
            command = lines[at + 1].removeprefix(_COMMAND)
            assert lines[at + 1].startswith(_COMMAND) and lines[at + 2].strip() == "^", line
            errors.append(Error(found[1], found[2], command, lines[at + 2].index("^") - len(_COMMAND)))
    return errors


def _end(lines: list[str], at: int, belongs: Callable[[str], bool]) -> int:
    """Return where the lines from `at` on end that belong together."""
    while at < len(lines) and belongs(lines[at]):
        at += 1
    return at


def written(name: str) -> Iterator[Step]:
    """Yield the steps of a transcript of the first form."""
    lines = lines_of(name)
    section = ""
    for at, line in enumerate(lines):
        if line.startswith("##### "):
            section = line
        elif line.startswith("--- "):
            end = next(
                (n for n in range(at + 1, len(lines)) if not re.match(r"[a-z]\d*:", lines[n])), len(lines)
            )
            yield Step(at + 1, line[4:], listing=lines[at + 1 : end], section=section)
        elif found := _WRITE.match(line):
            end = _end(lines, at + 1, lambda text: text.startswith("   E| "))
            logged = [text.removeprefix("   E| ") for text in lines[at + 1 : end]]
            number = getattr(errno, found[3][1:]) if found[3].startswith("-") else 0
            # The text was written without O_APPEND only where it is nothing but a newline.
            step = Step(at + 1, found[1], found[2], found[2] != "", number, errors_in(logged))
            step.section = section
            yield step


def shell(name: str) -> Iterator[Step]:
    """Yield the steps of a transcript of the second form: writes and `cat`; of all else only the command."""
    lines = lines_of(name)
    section = ""
    for at, line in enumerate(lines):
        if line.startswith("## "):
            section = line
        if not line.startswith("$ "):
            continue
        end = _end(lines, at + 1, lambda text: re.match(r"\$ |## ", text) is None)
        printed = [text for text in lines[at + 1 : end] if text]
        yield from _commands(at + 1, section, line[2:], printed)


def _commands(at: int, section: str, line: str, printed: list[str]) -> Iterator[Step]:
    refused = next((found[1] for text in printed if (found := _MINUS_ONE.match(text))), "")
    if any("Device or resource busy" in text for text in printed):
        refused = "EBUSY"
    if any("Invalid argument" in text and text.startswith("sh: ") for text in printed):
        refused = "EINVAL"
    output = [text for text in printed if not text.startswith(("sh: ", "  -1 ", "ls: "))]
    commands = re.split(r"; (?=(?:[^']*'[^']*')*[^']*$)", line)
    number = getattr(errno, refused) if refused else 0
    for command in commands:
        is_last = command is commands[-1]
        if found := re.match(r"^(?:echo|printf) '(.*)' (>>?) (\S+)$", command):
            text = found[1].replace("\\n", "\n") if command.startswith("printf") else found[1]
            errors = errors_in(output) if is_last else []
            yield Step(at, found[3], text, found[2] == ">>", number, errors, section=section)
        elif found := re.match(r"^: > (\S+)$", command):
            yield Step(at, found[1], "", False, number, section=section)
        elif found := re.match(r"^cat (\S+)(?: \S+)*$", command):
            if all(name.endswith("_events") for name in command.split()[1:]):
                known = (": ", "echo ", "cat error_log", "ls ")  # what these print looks like no definition
                others = [c for c in commands if c is not command and not c.startswith(known)]
                listing = (
                    [text for text in output if re.match(r"[a-z]\w*[:\t]", text)] if not others else None
                )
                yield Step(at, command.removeprefix("cat "), listing=listing, section=section)
        else:
            yield Step(at, "", command=command, section=section)


def answers(name: str) -> Iterator[Step]:
    """Yield the steps of a transcript of the third form, but those whose lines are cut."""
    lines = lines_of(name)
    section, file = "", "synthetic_events"
    for at, line in enumerate(lines):
        if line.startswith("## "):
            section = line
            if "dynamic_events" in line or "errors" in line:
                file = "dynamic_events"
        if section == "## long":
            continue
        if found := _REFUSED.match(line):
            command = lines[at + 1].removeprefix(_COMMAND)
            offset = lines[at + 2].index("^") - len(_COMMAND)
            number = getattr(errno, found[1])
            yield Step(
                at + 1,
                file,
                command,
                True,
                number,
                [Error(found[2], found[3], command, offset)],
                section=section,
            )
        elif line.startswith("> "):
            accepted = lines[at + 1].partition("accepted: ")[2]
            refused = _MINUS_ONE.match(lines[at + 1])
            number = getattr(errno, refused[1].rstrip(",")) if refused else 0
            listing = None if refused else [accepted]
            yield Step(at + 1, file, line[2:], True, number, listing=listing, section=section)
