"""What does not need the kernel's selftests themselves: their table of results, its page, the rewriting."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tools.kselftest import mapping, suite, table

pytestmark = pytest.mark.one_python


def test_each_test_that_does_not_pass_has_a_reason() -> None:
    rows = table.read()
    assert all(row.passes or row.reason for row in rows.values())
    for line in ("a.tc\tFAIL", "a.tc\tFAIL\tkernel", "a.tc\tPASS\tkernel\twhy", "a.tc\tFAIL\tluck\twhy"):
        with pytest.raises(ValueError, match=r"a\.tc"):
            table.read(line)


def test_the_page_is_what_the_table_says() -> None:
    assert table.PAGE.read_text() == table.page(table.read())


def test_the_page_begins_with_how_many_pass_and_whether_that_is_the_aim() -> None:
    passing = "".join(f"{n}.tc\tPASS\n" for n in range(table.AIM))
    others = "x.tc\tFAIL\tkernel\twhy\ny.tc\tFAIL\tdifference\twhy\n"
    first = table.page(table.read(passing + others)).splitlines()[2]
    assert first.startswith(
        "120 of 122 pass, of 121 that can. The others: 1 the kernel's alone, 1 differences."
    )
    assert "The aim, 120, is reached." in first
    first = table.page(table.read(passing.replace("PASS", "FAIL\tdifference\twhy", 3) + others)).splitlines()[
        2
    ]
    assert first.startswith("117 of 122 pass") and "not reached: 3 of the differences" in first


def test_a_result_that_is_not_the_tables_is_told() -> None:
    rows = table.read("a.tc\tPASS\nb.tc\tFAIL\tkernel\twhy\n")
    assert table.differences(rows, {"a.tc": "PASS", "b.tc": "FAIL"}) == []
    found = {"a.tc": "HANG", "b.tc": "PASS", "c.tc": "PASS"}
    assert table.differences(rows, found) == [
        "a.tc: HANG, not PASS",
        "b.tc: PASS, not FAIL",
        "c.tc: PASS, and the table does not have it",
    ]


def test_names_of_the_kernel_become_those_of_the_program(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "test.d" / "kprobe").mkdir(parents=True)
    (source / "ftracetest").write_text("TRACING_DIR=`grep tracefs /proc/mounts`\n")
    (source / "test.d" / "functions").write_text("clear_trace() {\n}\n")
    test = "read PID _ < /proc/self/stat\necho 'p vfs_read' > kprobe_events\n( echo \"forked\")\n"
    (source / "test.d" / "kprobe" / "one.tc").write_text(test + "test -d events/kprobes/p_vfs_read_0\n")
    mapping.write(source, tmp_path / "target")
    assert (tmp_path / "target" / "ftracetest").read_text() == 'TRACING_DIR="$FG_TRACING"\n'
    assert (tmp_path / "target" / "test.d" / "functions").read_text().endswith('\n. "$FG_STEPS"\n')
    assert (tmp_path / "target" / "test.d" / "kprobe" / "one.tc").read_text() == (
        "PID=$FG_PID\necho 'p kernel.vfs_read' > kprobe_events\n( program run forked)\n"
        "test -d events/kprobes/p_vfs_read_0\n"
    )


def test_a_test_may_end_what_it_started_by_sighup_also_under_nohup(tmp_path: Path) -> None:
    """Broken: two tests of instances waited for shells that ignored it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        script = "sleep 1000 & kill -HUP $!; wait; echo ended"
        with suite._output(["sh", "-c", script], tmp_path, dict(os.environ)) as text:
            assert text == "ended\n"
    finally:
        signal.signal(signal.SIGHUP, before)
