"""The verbs on processes that run: over their control sockets, from another process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from progress import wait_for_progress

from steering.conftest import Run, Shops, Verb

pytestmark = pytest.mark.one_python


def test_start_stop_show_extract_and_reset(fg: Any, shop: Shops, run: Run) -> None:
    child = shop()
    on = ("-P", child.pid)
    run("start", *on, "-l", "shop.*", "--args", *wait_for_progress(child.pid))
    run("stop", *on)
    text = run("show", *on)
    assert "shop.pay(amount=" in text
    assert "Tracing is disabled" in run("settings", *on)
    assert run("extract", *on, "-o", "found.fg") == "found.fg\n"
    calls = fg.calls(fg.folder / "found.fg")
    assert calls["shop.pay"] == text.count("shop.pay(amount=") and calls["shop.price"] == calls["shop.pay"]
    run("extract", *on, "-o", "found.dat")
    assert fg.calls(fg.folder / "found.dat") == calls
    run("reset", *on)
    assert "shop" not in run("show", *on) and "Tracer" not in run("settings", *on)


def test_a_snapshot_is_extracted(fg: Any, shop: Shops, run: Run, in_process: Verb) -> None:
    child = shop()
    on = ("-P", child.pid)
    run("start", *on, "-l", "shop.pay", *wait_for_progress(child.pid))
    assert in_process("extract", *on, "-s").returncode == 2  # none was taken
    run("snapshot", *on, "-s")
    run("extract", *on, "-s", "-o", "snap.fg")
    assert fg.calls(fg.folder / "snap.fg")["shop.pay"] == run("snapshot", *on).count("shop.pay();") > 0


def test_a_name_pattern_finds_the_processes(shop: Shops, run: Run) -> None:
    child = shop()
    assert run("show", "-P", f"^{sys.executable} -B shop.p[y]$", "--tracing_on").endswith("1\n")
    assert run("show", "-P", child.pid, "--tracing_on") == "1\n"


def test_without_p_all_with_a_socket_are_meant(shop: Shops, in_process: Verb) -> None:
    """Processes of others are among them, and may end meanwhile, which is said."""
    pids = sorted(shop().pid for _ in range(2))
    done = in_process("show", "--tracing_on")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done
    assert [f"{pid}: 1" for pid in pids] == [line for line in lines if int(line.partition(":")[0]) in pids]


def test_what_is_asked_of_a_process_that_ended_is_said(shop: Shops, run: Run, in_process: Verb) -> None:
    child, other = shop(), shop()
    child.kill()
    child.wait()
    done = in_process("stop", "-P", child.pid, "-P", other.pid)
    assert (done.returncode, done.stderr) == (1, f"funcgraph: process {child.pid}: has ended\n")
    assert run("show", "-P", other.pid, "--tracing_on") == "0\n"
    done = in_process("stop", "-P", child.pid)
    assert done.returncode == 2


def test_a_bad_value_is_one_line_and_changes_nothing(shop: Shops, run: Run, in_process: Verb) -> None:
    child = shop()
    before = run("settings", "-P", child.pid, "-o")
    done = in_process("start", "-P", child.pid, "-l", "shop.*", "-B", "mine", "-l", "x", "-p", "nonsense")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "-p nonsense" in done.stderr
    assert run("settings", "-P", child.pid, "-o") == before
    assert "mine" not in run("list", "-P", child.pid, "-B")


def test_output_that_cannot_be_written_is_told(
    shop: Shops, run: Run, in_process: Verb, tmp_path: Path
) -> None:
    child = shop()
    run("start", "-P", child.pid, "-l", "shop.*", *wait_for_progress(child.pid))
    done = in_process("extract", "-P", child.pid, "-o", str(tmp_path / "no" / "x.fg"))
    assert done.returncode == 2 and os.fspath(tmp_path / "no") in done.stderr
