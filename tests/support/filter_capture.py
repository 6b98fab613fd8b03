"""What a Linux kernel printed about event filters (tests/events/data), as rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from event_image import Field

DATA = Path(__file__).parents[1] / "events/data"

_LONG = re.compile(r"\(a quoted string of |\d spaces$|terms joined|times [(!]")
_ERROR = re.compile(r"(?:-1 (E\w+) |\[ *[\d.]+\]) ?event filter parse error: error: (.*)")
_COMMAND = "  Command: "

_TASK = [Field("comm", "char", 16), Field("pid", "s32"), Field("prio", "s32")]

#: The fields of the kernel's events in these texts, with the types that they would have here.
EVENTS = {
    "sched_waking": [*_TASK, Field("target_cpu", "s32")],
    "sched_process_exit": [*_TASK, Field("group_dead", "bool")],
    "sched_switch": [
        *(Field(f"prev_{field.name}", field.type, field.count) for field in _TASK),
        Field("prev_state", "s64"),
        *(Field(f"next_{field.name}", field.type, field.count) for field in _TASK),
    ],
    "sys_enter_read": [Field(name, "u64") for name in ("fd", "buf", "count")],
    "sys_enter_openat": [Field("dfd", "u64"), Field("filename", "string"), Field("flags", "u64")],
    "hrtimer_expire_entry": [Field("hrtimer", "x64"), Field("now", "s64"), Field("function", "symbol")],
    "kmalloc": [Field("call_site", "symbol"), Field("ptr", "x64"), Field("bytes_req", "u64")],
}


@dataclass(frozen=True)
class Row:
    """One filter that was written.

    Attributes:
        where: file and line.
        event: the event.
        text: the filter.
        message: why it was refused; "" if it was accepted.
        errno: the error's name; "" if the text does not have it.
        caret: its position in the filter.
        events: how many events then passed; None if that was not counted.
    """

    where: str
    event: str
    text: str
    message: str = ""
    errno: str = ""
    caret: int = 0
    events: int | None = None


def rows() -> list[Row]:
    """Return every filter of the texts, but those of which a text has only a description."""
    return [row for file in sorted(DATA.glob("*filters*.txt")) for row in _rows_of(file)]


def _event_of(line: str, event: str) -> str:
    """Return the event of the section that a line begins, or the event until then."""
    if line.startswith("#") and "EVENT" not in line:
        found = [name for name in EVENTS if f"/{name}" in line]
        return found[0] if found else event
    written = re.search(r"> events/\w+/(\w+)/filter", line)
    return written[1] if written and written[1] in EVENTS else event


def _rows_of(file: Path) -> Iterator[Row]:
    lines = file.read_text().splitlines()
    event = "sched_switch" if file.name == "error_log_filters.txt" else "sched_waking"
    for i, line in enumerate(lines):
        event = _event_of(line, event)
        where = f"{file.stem}:{i + 1}"
        error = _ERROR.match(line)
        if error:
            text = lines[i + 1].removeprefix(_COMMAND)
            caret = lines[i + 2].index("^") - len(_COMMAND)
            yield Row(where, event, text, error[2], error[1] or "", caret)
        elif line.startswith("> ") and not _LONG.search(line):
            counted = re.match(r"  (\d+) events", lines[i + 1])
            yield Row(where, event, line[2:], events=int(counted[1]) if counted else None)


@dataclass(frozen=True)
class LongRow:
    """A filter that the texts only describe: what it was, and why it was refused, or ""."""

    text: str
    refused: bool
    message: str


def long_rows() -> list[LongRow]:
    """Return the filters of which a text has only a description: they are long."""
    lines = (DATA / "filters_errors2.txt").read_text().splitlines()
    found = []
    for i, line in enumerate(lines):
        if not (line.startswith("> ") and _LONG.search(line)):
            continue
        number = int(re.findall(r"\d+", line.removeprefix("> pid == 1"))[0])
        message = next((after for after in lines[i + 1 : i + 5] if after.startswith("parse_error: ")), "")
        is_refused = lines[i + 1].startswith("  -1 ")
        found.append(LongRow(_long(line, number), is_refused, message.removeprefix("parse_error: ")))
    return found


def _long(line: str, n: int) -> str:
    if "quoted" in line:
        return f'comm == "{"a" * n}"'
    if "spaces" in line:
        return "pid == 1" + " " * n + "\n"
    if "terms" in line:
        return "||".join(f"pid=={i}" for i in range(n))
    return "(" * n + "pid == 1" + ")" * n if "( and )" in line else "!" * n + "(pid == 1)"
