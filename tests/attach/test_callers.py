"""A program that is attached to has callers that began long before: stacks name them."""

from __future__ import annotations

import re
import time

from running import Running

from funcgraph.attach.serving import attach
from funcgraph.control.client import connect

_PROGRAM = """
import threading, time
def inner():
    time.sleep(0.001)
def red():
    while True:
        inner()
def blue():
    while True:
        inner()
for colour in red, blue:
    threading.Thread(target=colour, daemon=True).start()
ready()
while True:
    time.sleep(1000)
"""


def test_a_histogram_by_stack_has_a_row_for_each_caller() -> None:
    with Running(_PROGRAM) as program:
        attach(program.pid)
        with connect(program.pid) as process:
            process.write_text("kprobe_events", "p:shop/inner __main__.inner")
            process.write_text("events/shop/inner/trigger", "hist:keys=common_stacktrace")
            text, until = "", time.monotonic() + 60
            while not ("__main__.red" in text and "__main__.blue" in text) and time.monotonic() < until:
                text = process.read_text("events/shop/inner/hist")
        rows = re.findall(r"\{ common_stacktrace:\n((?:.*\n)*?)\} hitcount:", text)
        assert len(rows) == 2, text
        for row in rows:
            functions = row.split()
            assert functions[0] == "__main__.inner"
            assert functions[1] in ("__main__.red", "__main__.blue")
            assert functions[2:] == [
                "threading.Thread.run",
                "threading.Thread._bootstrap_inner",
                "threading.Thread._bootstrap",
            ]
        assert program.end() == (7, "", "")
