"""A trace with names that are hard to show, and viewers that run in process, without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tracefile import RAISE, Trace, values

US = 1000
BEGIN = 10**9
HOSTILE = "[bold]x[/bold]<b>\x1b]0;x\x07\u202e\udc80"
LONG = "a_name_of_" + "many_" * 60 + "characters"
FUNCTIONS = [
    ("app", "main", "/nowhere/app.py", 1, 0, []),
    ("app", HOSTILE, "/nowhere/app.py", 5, 0, ["value"]),
    ("app", LONG, "/nowhere/app.py", 9, 0, []),
    ("app", "\u5e83\u3044" * 30, "/nowhere/app.py", 12, 0, []),
]
MAIN, EVIL, MANY, WIDE = range(4)
ROUNDS = 40
#: Keys that begin what takes its time.
_LONG = ("1", "2", "3", "4", "enter", "d", "G")


def trace_of(path: Path) -> Path:
    """Write a trace of two threads. `main` calls EVIL again and again, which calls MANY and WIDE; the last
    one raises."""
    trace = Trace(FUNCTIONS)
    for number, name in enumerate(("main", HOSTILE)):
        task, now = trace.task(100 + number, name, pid=100), BEGIN + number
        task.enter(now, MAIN, 0)
        for place in range(ROUNDS):
            now += US
            begin = now
            task.enter(now, EVIL, 1, args=values(f"[red]{place}\x1b"), caller=(MAIN, 3))
            for function in (MANY, WIDE):
                task.enter(now + US, function, 2)
                task.leave(now + 3 * US, function, 2, calltime=now + US)
                now += 3 * US
            now += US
            last = place == ROUNDS - 1
            end = {"kind": RAISE, "result": values(KeyError)} if last else {"result": values(7)}
            task.leave(now, EVIL, 1, calltime=begin, **end)
        task.leave(now + US, MAIN, 0, calltime=BEGIN + number)
    return trace.save(path)


def lines_of(app: Any) -> list[str]:
    """Return what a viewer shows, line by line."""
    tabs, status = app.query_one("#tabs"), app.query_one("#status")
    pane = app.pane
    rows = [
        tabs.render_line(0),
        *(pane.render_line(y) for y in range(pane.size.height)),
        status.render_line(0),
    ]
    return [row.text.rstrip() for row in rows]


async def settle(app: Any, pilot: Any) -> None:
    """Wait until everything that a key has begun is done."""
    for _ in range(2):
        await pilot.pause()
        await app.workers.wait_for_complete()
    await pilot.pause()


def screens(app: Any, size: tuple[int, int], *steps: Sequence[str]) -> list[list[str]]:
    """Run a viewer; return what it shows after each step, which is keys; what begins with a blank is
    typed letter by letter."""

    async def run() -> list[list[str]]:
        shown = []
        async with app.run_test(size=size) as pilot:
            await settle(app, pilot)
            for step in steps:
                for word in step:
                    await pilot.press(*(word[1:] if word.startswith(" ") else [word]))
                    if word in _LONG:
                        await settle(app, pilot)
                await settle(app, pilot)
                shown.append(lines_of(app))
        return shown

    return asyncio.run(run())
