"""Latency tracers of a recording and of the variable FUNCGRAPH: what they find is in the trace."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph import _engine
from funcgraph.instance.latency import Latency
from funcgraph.tracedata import description

# Not imported here: wakeup refuses to run beside it.
needs_uvloop = pytest.mark.skipif(not find_spec("uvloop"), reason="uvloop is not installed")

# A callback that blocks the loop for longer than anything before it took, on any machine.
APP = """
    import asyncio, os, sys, time
    begin = time.monotonic()

    def blocks():
        time.sleep(max(0.02, 2 * (time.monotonic() - begin)))

    def then():
        {then}

    async def main():
        asyncio.get_running_loop().call_soon(blocks)
        asyncio.get_running_loop().call_soon(then)
        await asyncio.sleep(0.001)

    asyncio.run(main())
"""


def longest(text: str, tracer: str = "loopblock") -> tuple[int, str, str]:
    """Return the longest section that a report has: its length in us, where it started and where it ended."""
    sections = re.findall(rf"{tracer}: latency: (\d+) us, started at: ([^ ,]+).*?, ended at: ([^ ]+)", text)
    return max((int(length), started, ended) for length, started, ended in sections)


def test_a_recording_has_each_longest_section_and_who_blocked(fg: Funcgraph) -> None:
    result = fg.record("-p", "loopblock", fg.script(APP.format(then="pass")))
    assert result.returncode == 0
    text = fg.run("report").stdout
    assert text.startswith("# tracer: loopblock\n")
    length, started, ended = longest(text)
    assert (length >= 20_000, started, ended) == (True, "__main__.blocks", "__main__.blocks")
    assert re.search(r"slowest call: time\.sleep <-__main__\.blocks:\d+ \(\d+ us\)", text), text
    lengths = [int(length) for length in re.findall(r"latency: (\d+) us", text)]
    assert lengths == sorted(lengths)  # without a threshold only longer ones are kept, as in the kernel


def test_several_at_once_in_instances_of_their_own(fg: Funcgraph) -> None:
    calls = ["-B", "calls", "-l", "__main__.blocks"]
    words = ["-B", "block", "-p", "loopblock", "-B", "wait", "-p", "wakeup", *calls]
    assert fg.record(*words, fg.script(APP.format(then="pass"))).returncode == 0
    assert longest(fg.run("report", "-B", "block").stdout)[1] == "__main__.blocks"
    waits = fg.run("report", "-B", "wait").stdout
    assert longest(waits, "wakeup")[0] >= 20_000
    assert "__main__.blocks" in waits
    assert "loopblock" not in waits
    assert "latency" not in fg.run("report", "-B", "calls").stdout
    assert fg.run("report", "-B", "calls").stdout.count("__main__.blocks();") == 1


@pytest.mark.one_python
def test_a_threshold_and_a_recording_without_a_section(fg: Funcgraph) -> None:
    result = fg.record("-p", "loopblock", "--thresh", "3600000000", fg.script(APP.format(then="pass")))
    assert result.returncode == 0
    assert "the top instance: loopblock found no section of 3600000000 us or more\n" in result.stderr
    assert fg.run("report").stdout.count("latency:") == 0
    fg.record("-p", "loopblock", "--thresh", "15000", fg.script(APP.format(then="blocks()")))
    lengths = [int(length) for length in re.findall(r"latency: (\d+) us", fg.run("report").stdout)]
    assert len(lengths) >= 2
    assert min(lengths) >= 15_000


@pytest.mark.one_python
def test_two_instances_with_the_same_latency_tracer_are_refused(fg: Funcgraph) -> None:
    result = fg.record("-p", "gilwait", "-B", "two", "-p", "gilwait", "-c", "pass")
    assert result.returncode == 2
    reason = "-p gilwait: another instance has it: a process has one of each latency tracer"
    assert result.stderr == f"funcgraph: {reason}\n"


@pytest.mark.one_python
def test_sections_of_a_program_that_is_killed_and_of_its_children(fg: Funcgraph) -> None:
    """Fails if a section is written at the program's end, or if a fork's child writes into no ring."""
    die = "os.kill(os.getpid(), 9)"
    then = f"os.fork() or (time.sleep(4 * (time.monotonic() - begin)), {die}); os.wait(); {die}"
    result = fg.record("-p", "loopblock", fg.script(APP.format(then="pass") + f"    {then}\n"))
    assert result.returncode == -9
    assert longest(fg.run("report").stdout)[1] == "__main__.blocks"
    fork = "os.fork() and os._exit(os.wait()[1]); asyncio.run(main()); " + die
    fg.record("-p", "loopblock", fg.script(APP.format(then="pass") + f"    {fork}\n"))
    text = fg.run("report").stdout
    tids = set(re.findall(r"^ *\S+-(\d+) .*started at: __main__.blocks", text, re.MULTILINE))
    assert len(tids) == 2


def blocks_longest(begin_s: float) -> None:
    """Have a loop sleep for so long that nothing since a time took as long, however busy the machine is."""

    async def main() -> None:
        asyncio.get_running_loop().call_soon(time.sleep, max(0.03, 2 * (time.monotonic() - begin_s)))
        await asyncio.sleep(0.001)

    asyncio.run(main())


def blocked(text: str) -> set[str]:
    """Return what a report's sections were started at."""
    return set(re.findall(r"loopblock: latency: \d+ us, started at: ([^ ,]+)", text))


def test_a_block_of_a_program(fg: Funcgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fg.folder)
    for _ in range(2):  # the first one has stopped the tracer
        with funcgraph.record("block.dat", tracer="loopblock", thresh_us=20_000):
            blocks_longest(time.monotonic())
        assert not _engine.latency_get("loopblock")["is_on"]
        assert "time.sleep" in blocked(fg.run("report", "-i", "block.dat").stdout)
    with Latency("loopblock"), pytest.raises(OSError, match="already enabled") as caught:
        funcgraph.record("block.dat", tracer="loopblock").__enter__()
    assert caught.value.errno == errno.EBUSY
    assert funcgraph.users() == []


def test_an_instance_keeps_its_sections_as_texts_too(fg: Funcgraph) -> None:
    begin_s = time.monotonic()
    with funcgraph.Instance("one", tracer="loopblock") as one:
        blocks_longest(begin_s)
        with one.trace_pipe(blocking=False) as pipe:
            assert "time.sleep" in blocked("".join(pipe))
        assert one.trace().startswith("# tracer: loopblock\n")
        assert one.tracing_max_latency >= 30_000


def test_the_variable_starts_them_and_writes_what_they_found(fg: Funcgraph) -> None:
    code = (
        APP.format(then="pass")
        + """
    import funcgraph
    for name, instance in funcgraph.instances().items():
        print(name, instance.current_tracer, "__main__.blocks" in instance.trace())
    """
    )
    words = (
        "ftrace=loopblock ftrace_dump_on_exit=boot.dat tracing_thresh=15000 trace_instance=w ftrace=wakeup"
    )
    result = fg.plain(sys.executable, fg.script(code), env={**os.environ, "FUNCGRAPH": words})
    assert (result.stderr, result.stdout) == ("", "top loopblock True\nw wakeup True\n")
    text = fg.run("report", "-i", "boot.dat").stdout
    assert text.startswith("# tracer: loopblock\n")
    assert longest(text)[1] == "__main__.blocks"


@pytest.mark.one_python
def test_the_report_knows_all_latency_tracers() -> None:
    assert set(_engine.LATENCY_TRACERS) < set(description.FLAT_TRACERS)


# ---- uvloop

UVLOOP = """
    import asyncio, time
    {before}
    from funcgraph.instance.latency import Latency

    def blocks(seconds):
        time.sleep(seconds)

    async def waits(seconds):
        await asyncio.sleep(0.001)
        time.sleep(seconds)
        await asyncio.sleep(0.001)

    class Echo(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport
        def data_received(self, data):
            time.sleep(0.1)
            self.transport.write(data)

    async def task():
        await asyncio.create_task(waits(0.1))

    async def soon():
        asyncio.get_running_loop().call_soon(blocks, 0.1)
        await asyncio.sleep(0.001)

    async def timer():
        asyncio.get_running_loop().call_later(0.001, blocks, 0.1)
        await asyncio.sleep(0.01)

    async def protocol():
        server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"x")
        await reader.read(1)
        writer.close()
        server.close()

    for program in task, soon, timer, protocol:
        with Latency("loopblock", thresh_us=90_000) as latency:
            import uvloop
            uvloop.run(program())
        section = latency.section
        print(program.__name__, section and section.started_at.partition(" (")[0])
    {after}
"""
HEARD = """\
task __main__.waits
soon __main__.blocks
timer __main__.blocks
protocol a callback of a transport of uvloop
"""


@needs_uvloop
def test_loopblock_hears_uvloops_callbacks_and_wakeup_refuses_it(fg: Funcgraph) -> None:
    after = """
    try:
        Latency("wakeup").__enter__()
    except OSError as error:
        print(error.errno, "uvloop is imported" in error.strerror)

    async def asyncios():
        with Latency("wakeup"):
            print("asyncio's")
    asyncio.run(asyncios())
    """
    result = fg.plain(sys.executable, fg.script(UVLOOP.format(before="import uvloop", after=after)))
    assert (result.returncode, result.stdout) == (0, f"{HEARD}{errno.EOPNOTSUPP} True\nasyncio's\n"), (
        result.stderr
    )


@needs_uvloop
def test_loopblock_hears_uvloop_when_it_is_imported_later(fg: Funcgraph, tmp_path: Path) -> None:
    program = UVLOOP.format(before="", after="").replace("import uvloop\n", "pass\n")
    code = f"""{program.partition("    for program")[0]}
    async def main():
        await soon()
    import uvloop
    uvloop.run(main())
    """
    assert fg.record("-p", "loopblock", fg.script(code)).returncode == 0
    assert longest(fg.run("report").stdout)[1] == "__main__.blocks"
