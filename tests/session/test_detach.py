"""Recordings of a running process, and detaching, leave nothing behind and disturb nothing, however often."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import Funcgraph
from loaded_server import Clients, Server, serving
from recorder_steps import STEPS
from recorders import Recorder, recorders
from sizes import ATTACH_CYCLES

from funcgraph.control.client import NotServedError, connect


def held(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name not in ("mappings", "objects", *ENDS_LATE)}


class Cycles:
    """Recordings of one server, one after the other."""

    def __init__(self, fg: Funcgraph, server: Server, recorder: Recorder) -> None:
        self._fg = fg
        self._server = server
        self._recorder = recorder

    @property
    def errors(self) -> str:
        """What the latest recording wrote to standard error."""
        return self._recorder.errors

    def record(self, *words: str, die_at: str = "") -> int:
        trace = f"{self._fg.folder}/{die_at or 'trace'}.fg"
        for left in self._fg.folder.glob("*.part"):
            left.unlink()
        options = ["-q", "-P", str(self._server.pid), "-b", "256", "-o", trace, *words]
        command = ["record", *options, "--", "sleep", "0.01"]
        return self._recorder.run(self._fg.folder, self._fg.env, *command, die_at=die_at)

    def records(self, *words: str) -> bool:
        """Record, and return whether that ended as it must: with a trace; or without one, as nothing was
        called in so short a time: where the server gets no processor."""
        return self.record(*words) == 0 or "was called; no trace was written" in self.errors

    def grow_nothing(self, cycle: Callable[[int], None], cycles: int) -> None:
        """Run cycles while clients check each answer, and compare what the server holds after some and after
        all. The first ones load modules, and have each thread make what it keeps.
        """
        state = self._server.state()
        pristine = {name: state[name] for name in GIVEN_BACK}
        with self._server.under_load() as clients:
            before = self._state_after(cycle, cycles // 2, clients)
            after = self._state_after(cycle, cycles, clients)
        assert held(after) == held(before)
        assert all(after[name] <= before[name] for name in ENDS_LATE)  # `pristine` says how many are right
        assert after["mappings"] <= before["mappings"] + 4  # the program's own allocator may map more
        # Less than one for each cycle, beside what threads and connections happen to hold at the moment.
        assert after["objects"] < before["objects"] + AT_A_MOMENT + cycles
        assert self._server.state_like(pristine) == pristine

    def _state_after(self, cycle: Callable[[int], None], cycles: int, clients: Clients) -> dict[str, Any]:
        for number in range(cycles):
            cycle(number)
            clients.wait_for(2)
        # A process may notice late that a recorder was killed; the next recording cleans up after it.
        assert self.records(), self.errors
        return self._server.state()


AT_A_MOMENT = 40
#: A connection that has ended may still have its thread when the first state is read.
ENDS_LATE = ("threads", "descriptors")
GIVEN_BACK = ("tools", "evaluator", "threads", "descriptors", "environment", "carriers")


@pytest.fixture
def cycles(fg: Funcgraph) -> Iterator[Cycles]:
    with serving(fg.folder) as server, recorders() as recorder:
        yield Cycles(fg, server, recorder)


def test_recordings_of_a_loaded_server_leave_nothing(fg: Funcgraph, cycles: Cycles) -> None:
    options = (
        ["-l", "__main__.*", "--args"],
        ["-p", "function", "--children"],
        ["-g", "*.answer", "-B", "b", "-l", "*.steps"],
    )

    def cycle(number: int) -> None:
        assert cycles.records(*options[number % len(options)]), cycles.errors

    cycles.grow_nothing(cycle, ATTACH_CYCLES)
    assert fg.sessions() == []


def test_attach_record_detach_of_a_server_that_never_heard_of_it_leaves_nothing(fg: Funcgraph) -> None:
    with serving(fg.folder, control=False) as server, recorders() as recorder:
        cycles = Cycles(fg, server, recorder)

        def cycle(number: int) -> None:
            assert cycles.records("-l", "__main__.*", "--args"), recorder.errors

        cycles.grow_nothing(cycle, ATTACH_CYCLES)
        with pytest.raises(NotServedError):
            connect(server.pid)
        assert server.line("threads").exchange("extra") == "1"  # funcgraph has one, whatever was done


def test_killed_recorders_leave_nothing_in_the_process(cycles: Cycles) -> None:
    steps = list(STEPS)

    def cycle(number: int) -> None:
        assert cycles.record("-l", "__main__.*", die_at=steps[number % len(steps)]) == -signal.SIGKILL

    cycles.grow_nothing(cycle, max(len(steps), ATTACH_CYCLES))


def test_a_preforking_server_survives_recorders_that_come_and_are_killed(fg: Funcgraph) -> None:
    begin = 3 * sys.version_info.minor  # the versions of CPython together have each step
    steps = [*STEPS][begin % len(STEPS) :] + [*STEPS][: begin % len(STEPS)]
    with serving(fg.folder, workers=2) as server, recorders() as recorder:
        cycles = Cycles(fg, server, recorder)
        with server.under_load(8, 2) as clients:
            for number in range(ATTACH_CYCLES):
                die_at = steps[number // 2 % len(steps)] if number % 2 else ""
                words = ("--children", "-l", "__main__.*")
                if die_at:
                    assert cycles.record(*words, die_at=die_at) == -signal.SIGKILL, recorder.errors
                else:
                    assert cycles.records(*words), recorder.errors
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
