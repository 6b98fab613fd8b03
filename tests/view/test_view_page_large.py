"""What a person does in the page with a trace of 50 million events: nightly, as it takes minutes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from view.servers import Server

pytestmark = [
    pytest.mark.skipif(not os.environ.get("FUNCGRAPH_NIGHTLY"), reason="records 50 million events: nightly"),
    pytest.mark.one_python,
]
PROGRAM = Path(__file__).parents[2] / "benchmarks" / "programs" / "many_calls.py"
ROUNDS, EVENTS = 192_000, 50_000_000
MOST_MIB = 200


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("large")
    command = [sys.executable, "-m", "funcgraph", "record", "-q", "-o", "t.fg", str(PROGRAM), str(ROUNDS)]
    subprocess.run(command, check=True, timeout=1200, cwd=folder)
    server = Server(folder, ("t.fg",), env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")})
    yield server
    server.end()


@pytest.fixture(scope="module")
def address(large: Server) -> str:
    return large.address


def test_all_of_it_is_seen_down_to_one_call(large: Server, opened: Callable[..., Any]) -> None:
    assert large.ask("lanes")["lanes"]
    assert large.ask("traces")["traces"][0]["events"] >= EVENTS
    view = opened()
    view.screenshot("50-million")
    view.find("f7")
    begin, end = view.part()
    assert end - begin < 10**9
    assert "call" in view.page.inner_text(".call-head")
    view.screenshot("50-million-call")
    view.press("]")
    view.press("r")
    for tab in ("flame", "table", "tree", "butterfly", "text"):
        view.page.click(f"#tab-{tab}")
        view.loaded()
    view.screenshot("50-million-text")
    status = Path(f"/proc/{large.process.pid}/status").read_text()
    assert int(status.split("VmHWM:")[1].split()[0]) / 1024 <= MOST_MIB, "the server never holds a trace"
