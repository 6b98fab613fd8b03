"""Recordings of a running process, and detaching, leave nothing behind and disturb nothing, however often."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from asking import Server, serving
from conftest import Funcgraph
from recorder_steps import STEPS
from sizes import ATTACH_CYCLES

from funcgraph.control.client import NotServedError, connect

RECORDER = Path(__file__).with_name("recorder_steps.py")
Record = Callable[..., int]


def environment(fg: Funcgraph) -> dict[str, str]:
    return {**fg.env, "FUNCGRAPH": "control"}


@contextmanager
def recorder(fg: Funcgraph) -> Iterator[Record]:
    """Yield a function that runs `funcgraph record WORDS` and returns its status."""
    process = subprocess.Popen(
        [sys.executable, str(RECORDER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=fg.folder,
        env=fg.env,
    )
    assert process.stdin is not None and process.stdout is not None

    def record(*words: str, die_at: str = "") -> int:
        print(json.dumps({"words": ["record", *words], "die_at": die_at}), file=process.stdin, flush=True)
        assert process.stdout is not None
        return int(process.stdout.readline())

    try:
        yield record
    finally:
        process.stdin.close()
        process.wait()


def cycles_grow_nothing(server: Server, cycle: Callable[[int], None], cycles: int) -> None:
    """Run cycles while clients check each answer, and compare what the server holds after some and after all.

    The first cycles load modules, and have each thread make what it keeps.
    """
    with server.asked() as clients:
        for number in range(cycles // 2):
            cycle(number)
            clients.wait_for(2)
        before = server.state()
        for number in range(cycles):
            cycle(number)
            clients.wait_for(2)
        after = server.state()
    assert held(after) == held(before)
    assert after["mappings"] <= before["mappings"] + 4  # the program's own allocator may map more
    assert after["objects"] < before["objects"] + cycles  # less than one for each cycle


def held(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name not in ("mappings", "objects")}


def test_recordings_of_a_loaded_server_leave_nothing(fg: Funcgraph) -> None:
    options = (
        ["-l", "__main__.*", "--args"],
        ["-p", "function"],
        ["-g", "*.answer", "-B", "b", "-p", "function"],
    )
    with serving(fg.folder, environment(fg)) as server, recorder(fg) as record:

        def cycle(number: int) -> None:
            words = ["-q", "-P", str(server.pid), "-b", "256", *options[number % 3]]
            assert record(*words, "--", "sleep", "0.01") == 0

        cycles_grow_nothing(server, cycle, ATTACH_CYCLES)
        assert fg.sessions() == []


def test_killed_recorders_leave_nothing_in_the_process(fg: Funcgraph) -> None:
    steps = list(STEPS)
    with serving(fg.folder, environment(fg)) as server, recorder(fg) as record:

        def cycle(number: int) -> None:
            words = ["-q", "-P", str(server.pid), "-b", "64", "-o", f"{number}.fg", "-l", "__main__.*"]
            assert record(*words, "--", "sleep", "0.01", die_at=steps[number % len(steps)]) == -9
            # The next one finds the process as the first one did.
            assert record(*words, "-o", "whole.fg", "--", "sleep", "0.01") == 0
            for left in fg.folder.glob("*.part"):
                left.unlink()

        cycles_grow_nothing(server, cycle, max(len(steps), ATTACH_CYCLES))


def test_a_preforking_server_survives_recorders_that_come_and_are_killed(fg: Funcgraph) -> None:
    steps = list(STEPS)
    with serving(fg.folder, environment(fg), workers=2) as server, recorder(fg) as record:
        with server.asked(8, 2) as clients:
            for number in range(ATTACH_CYCLES):
                die_at = steps[number % len(steps)] if number % 2 else ""
                words = ["-q", "-P", str(server.pid), "--children", "-b", "64", "-o", f"{number}.fg"]
                status = record(*words, "-l", "__main__.*", "--", "sleep", "0.01", die_at=die_at)
                assert status == (-9 if die_at else 0)
                clients.wait_for(2)
        assert len(server.workers) == 2


def test_detach_takes_back_what_clients_made_and_leaves_what_the_program_made(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import sys
        import funcgraph

        def step(): pass

        own = funcgraph.Instance("own", tracer="function", filter=["__main__.step"])
        from funcgraph.control.serving import serve
        serve()
        print("ready", flush=True)
        sys.stdin.readline()
        step()
        print(sorted(funcgraph.instances()), own.trace().count("step"), list(funcgraph.dynamic_events))
        """
    )
    process = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=fg.env
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with connect(process.pid) as client:
        client.mkdir("instances/theirs")
        client.write_text("instances/theirs/current_tracer", "function_graph")
        client.write_text("current_tracer", "function")
        client.write_text("dynamic_events", "f:their/step __main__.step", append=True)
        client.write_text("instances/theirs/events/their/step/enable", "1")
        client.call("detach")
    with pytest.raises(NotServedError):
        connect(process.pid)
    out, _ = process.communicate("go\n", timeout=60)
    assert out == "['own'] 1 []\n"
