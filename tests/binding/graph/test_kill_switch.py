"""Once the kill switch has tripped, whatever would start tracing fails with ENODEV and the reason.

Before, all of it succeeded and did nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kill_switch import TRIP

import funcgraph

PROGRAM = """
import errno, re, sys
from funcgraph import Fprobe, Instance, Kprobe, Kretprobe
from funcgraph.instance.latency import Latency

def f(): pass
def nothing(*args): pass

def block(manager):
    with manager: pass

before = Instance("before")
kept = funcgraph.FgraphOps(nothing, nothing, filter=["__main__.f"])
funcgraph.register_ftrace_graph(kept)
assert funcgraph.killed() is None
trip_kill_switch()
reason = funcgraph.killed()
assert re.fullmatch(r"task \\d+: word 0 at \\d+ of its shadow stack leads nowhere", reason), reason

STARTS = {
    "user": lambda: funcgraph.register_ftrace_graph(funcgraph.FgraphOps(nothing, None)),
    "fprobe": lambda: funcgraph.register_fprobe(Fprobe(nothing), "*"),
    "fprobe by function": lambda: funcgraph.register_fprobe_ips(Fprobe(nothing), [f]),
    "fprobe by name": lambda: funcgraph.register_fprobe_syms(Fprobe(nothing), ["__main__.f"]),
    "kprobe": lambda: funcgraph.register_kprobe(Kprobe(nothing, f, offset=0)),
    "kretprobe": lambda: funcgraph.register_kretprobe(Kretprobe(nothing), f),
    "kprobe_multi": lambda: funcgraph.kprobe_multi(nothing, ["__main__.f"]),
    "instance": lambda: Instance("idle"),
    "instance with a tracer": lambda: Instance("busy", tracer="function_graph"),
    "tracer": lambda: setattr(before, "current_tracer", "function"),
    "tracer's file": lambda: before.files.__setitem__("current_tracer", "function"),
    "latency tracer of an instance": lambda: setattr(before, "current_tracer", "loopblock"),
    "profile of an instance": lambda: setattr(before, "function_profile_enabled", True),
    "profiler": lambda: block(funcgraph.FunctionProfile()),
    "loopblock": lambda: block(Latency("loopblock")),
    "wakeup": lambda: block(Latency("wakeup")),
    "gilwait": lambda: block(Latency("gilwait")),
    "recording": lambda: block(funcgraph.record("never.dat")),
}
for what, start in STARTS.items():
    try:
        start()
    except OSError as error:
        assert error.errno == errno.ENODEV, (what, error)
        assert reason in str(error), (what, error)
    else:
        sys.exit(f"{what} was started")
assert list(funcgraph.instances()) == ["before"]
assert funcgraph.kprobes() == []
assert f() is None
before.close()
funcgraph.unregister_ftrace_graph(kept)  # what was registered can still go
"""


def test_nothing_starts_after_the_kill_switch_has_tripped(tmp_path: Path) -> None:
    assert funcgraph.killed() is None
    done = subprocess.run(
        [sys.executable, "-c", TRIP + PROGRAM], capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("funcgraph: tracing is off for good, the program goes on: task ")
    assert list(tmp_path.iterdir()) == []


READS = """
def f(): pass

with funcgraph.Instance("one", tracer="function_graph", filter=["__main__.f"]) as one:
    f()
    assert "tracing ended" not in one.trace()
    trip_kill_switch()
    text = one.trace().splitlines()
    assert "__main__.f();" in text[-2]
    assert text[-1].endswith(f": tracing ended for good: {funcgraph.killed()}")
"""


def test_an_instance_can_be_read_after_the_kill_switch_has_tripped() -> None:
    done = subprocess.run([sys.executable, "-c", TRIP + READS], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
