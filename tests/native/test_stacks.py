"""Stacks of events on native functions: the functions in progress that are traced, native and Python ones.

Broken by hand: without the callers of native registers only the function itself was there; at a return it was
there twice when its own frame was not left out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Funcgraph
from counter import COUNTER, PROLOGUE, run_with_library
from planned import needs_plans

pytestmark = needs_plans

PROGRAM = """
    import threading
    library = load()
    def inner(n):
        return library.walk(n)
    def outer(n):
        return inner(n)
    funcgraph.dynamic_events.define("f:x/y libcounter:step{at}")
    patterns = ["__main__.outer", "__main__.inner", "walk:mod:libcounter"]
    with Instance("one", tracer="function_graph", filter=patterns) as instance:
        event = instance.events["x/y"]
        event.trigger = "hist:keys=stacktrace"
        instance.options["stacktrace"] = True
        event.enable = True
        instance.tracing_on = True
        outer(2)
        thread = threading.Thread(target=library.walk, args=(ctypes.c_long(2),))
        thread.start()
        thread.join()
        instance.tracing_on = event.enable = False
        print(event.hist)
        print("-----")
        print(instance.trace())
"""


@pytest.mark.parametrize("at", ["", "%return"])
def test_a_stack_has_the_traced_callers_of_its_own_thread(fg: Funcgraph, tmp_path: Path, at: str) -> None:
    text = PROLOGUE + PROGRAM.replace("{at}", at)
    printed = run_with_library(fg, tmp_path, ("libcounter.so", COUNTER), text)
    hist, _, trace = printed.partition("-----")
    stacks = [re.findall(r"[\w.]*\b(?:step|walk|inner|outer)\b", part) for part in hist.split("{ ")[1:]]
    assert sorted(stacks) == [
        ["libcounter.step", "libcounter.walk"],
        ["libcounter.step", "libcounter.walk", "__main__.inner", "__main__.outer"],
    ]
    recorded = re.findall(r"^ *=> (\S+)", trace, re.MULTILINE)
    assert [name.rpartition(".")[2] for name in recorded] == [
        "step",
        "walk",
        "inner",
        "outer",
        "step",
        "walk",
    ]
