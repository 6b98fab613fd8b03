"""CPython 3.11: other threads can read the frames of a traced thread at each instruction, as faulthandler's
watchdog does without the GIL. See src/arch/cpython/backend/cframe.h.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType

import extension
import pytest

import funcgraph

pytestmark = [
    pytest.mark.skipif(sys.version_info >= (3, 12), reason="3.12 and later have no frame evaluator"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="steps by the processor's trap flag"),
    pytest.mark.skipif("gcc" not in extension.available(), reason="no C compiler is here"),
]

HERE = Path(__file__).resolve().parent
#: Calls of `called` while stepping.
NR_CALLS = 3


def called(number: int) -> int:
    return number + 1


def not_traced(number: int) -> int:
    return number + 1


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    folder = tmp_path_factory.mktemp("steps")
    return extension.load(
        extension.compile_extension(folder, "frame_steps", [HERE / "frame_steps.c"]), "frame_steps"
    )


@pytest.fixture
def step_through(steps: ModuleType) -> Callable[[Callable[[int], int]], dict[str, int]]:
    poison = steps.poison

    def through(function: Callable[[int], int]) -> dict[str, int]:
        def calls() -> None:
            for number in range(NR_CALLS):
                poison()
                function(number)

        calls()  # CPython has specialised it, and funcgraph has met the functions
        counts: dict[str, int] = steps.step(calls)
        assert counts["steps"] > 1000
        # into calls(), into and out of each call, out of calls()
        assert counts["changes"] >= 2 + 2 * NR_CALLS
        return counts

    return through


@pytest.fixture
def window(steps: ModuleType, step_through: Callable[..., dict[str, int]]) -> None:
    """Skip unless this CPython publishes a cframe before its frame: one that does not has nothing to mend."""
    steps.set_evaluator(True)
    try:
        unreadable = step_through(called)["unreadable"]
    finally:
        steps.set_evaluator(False)
    if not unreadable:
        pytest.skip("the frame is always readable here")
    assert unreadable >= NR_CALLS


def callback(*args: object) -> bool:
    return True


@contextmanager
def graph_callbacks() -> Iterator[None]:
    ops = funcgraph.FgraphOps(callback, callback, filter=[f"{__name__}.called"])
    funcgraph.register_ftrace_graph(ops)
    try:
        yield
    finally:
        funcgraph.unregister_ftrace_graph(ops)


def recording() -> AbstractContextManager[object]:
    return funcgraph.Instance("readers", tracer="function_graph", filter=[f"{__name__}.called"])


def kprobe() -> AbstractContextManager[object]:
    return funcgraph.probed(funcgraph.Kprobe(callback, called, offset=0))


@pytest.mark.parametrize("trace", [graph_callbacks, recording, kprobe])
@pytest.mark.parametrize("function", [called, not_traced])
def test_frames_are_readable_at_each_instruction_of_a_call(
    window: None,
    step_through: Callable[[Callable[[int], int]], dict[str, int]],
    trace: Callable[[], AbstractContextManager[object]],
    function: Callable[[int], int],
) -> None:
    with trace():
        counts = step_through(function)
    assert counts["unreadable"] == 0
    assert counts["unknown"] == 0
