"""`funcgraph report`: additions to the kernel's layout for Python, tasks, bad input, and the output."""

from __future__ import annotations

import os
import pty
import random
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tracefile import CLOSE, IRQ, RAISE, RESUME, RETURN, START, SUSPEND, Trace, value, values, word

from funcgraph.tracedata import TraceError, TraceFile, parse_options, report_options

pytestmark = pytest.mark.one_python

Command = Callable[..., Any]
HEADER = (
    "# tracer: function_graph\n#\n"
    "#  DURATION                  FUNCTION CALLS\n"
    "#   |   |                     |   |   |   |\n"
)


def text(trace: Trace, tmp_path: Path, options: str = "", **settings: Any) -> str:
    """Return the report without its header."""
    path = trace.save(tmp_path / "trace.dat")
    out = b"".join(TraceFile(path).report(parse_options(options.split()), **settings)).decode()
    return "".join(out.splitlines(keepends=True)[4:])


def fib_trace() -> Trace:
    trace = Trace([("__main__", "fib", "fib.py", 3, 0, ["n"])])
    main = trace.task(69, "work")
    main.enter(1_000, 0, 0, args=values(3))
    main.enter(2_000, 0, 1, args=values(2))
    main.enter(3_000, 0, 2, args=values(1))
    main.leave(3_500, 0, 2, calltime=3_000, result=values(1))
    main.enter(4_000, 0, 2, args=values(0))
    main.leave(4_250, 0, 2, calltime=4_000, result=values(0))
    main.leave(20_000, 0, 1, calltime=2_000, result=values(1))
    main.leave(1_501_000, 0, 0, calltime=1_000, result=values(1))
    return trace


def test_arguments_and_results(command: Command, tmp_path: Path) -> None:
    path = fib_trace().save(tmp_path / "trace.dat")
    assert command("report", "-i", path).out == HEADER + (
        "              |  __main__.fib(n=3) {\n"
        "              |    __main__.fib(n=2) {\n"
        "  0.500 us    |      __main__.fib(n=1); /* ret=1 */\n"
        "  0.250 us    |      __main__.fib(n=0); /* ret=0 */\n"
        "+ 18.000 us   |    } /* __main__.fib ret=1 */\n"
        "# 1500.000 us |  } /* __main__.fib ret=1 */\n"
    )


@pytest.mark.parametrize("name", ["report", "summary"])
def test_the_trace_may_stand_alone(command: Command, tmp_path: Path, name: str) -> None:
    """As with trace-cmd, -i is optional. Two files are refused: one of them would be silently ignored."""
    path = fib_trace().save(tmp_path / "some.dat")
    assert command(name, path).out == command(name, "-i", path).out
    ran = command(name, path, "-i", path)
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "not allowed with" in ran.err


def test_arguments_and_results_are_left_out_on_demand(tmp_path: Path) -> None:
    assert text(fib_trace(), tmp_path, "nofuncgraph-args nofuncgraph-retval nofuncgraph-duration") == (
        "__main__.fib() {\n  __main__.fib() {\n    __main__.fib();\n    __main__.fib();\n  }\n}\n"
    )


def test_the_name_at_the_end_goes_before_the_result(tmp_path: Path) -> None:
    assert text(fib_trace(), tmp_path, "funcgraph-tail").endswith("  } /* __main__.fib ret=1 */\n")
    assert text(fib_trace(), tmp_path, "nofuncgraph-retval").endswith("  }\n")


def test_retval_hex(tmp_path: Path) -> None:
    trace = Trace(["m.f"])
    task = trace.task(1)
    for time, result in enumerate((255, -255, True, 2**40)):
        task.enter(100 * time, 0, 0, args=values(17))
        task.leave(100 * time + 10, 0, 0, calltime=100 * time, result=values(result))
    assert text(trace, tmp_path, "funcgraph-retval-hex nofuncgraph-duration") == (
        "m.f(17); /* ret=0xff */\nm.f(17); /* ret=-0xff */\n"
        "m.f(17); /* ret=True */\nm.f(17); /* ret=0x10000000000 */\n"
    )


def test_where_a_call_was_made(tmp_path: Path) -> None:
    native = ("libm.so", "sin", "", 0xD0, 64, [])
    trace = Trace(["m.f", "app.main", native, ("", "start", "", 0x20, 64, [])])
    task = trace.task(1)
    task.enter(1_000, 0, 0, caller=(1, 12), args=values(5))
    task.enter(1_100, 0, 1, caller=(2, 0x4F))
    task.leave(1_200, 0, 1, calltime=1_100, result=values(None))
    task.enter(1_300, 2, 1, caller=(3, 0x1F))
    task.leave(1_400, 2, 1, calltime=1_300)
    task.leave(2_000, 0, 0, calltime=1_000, result=values(3))
    task.enter(3_000, 0, 0, caller=(None, 0))
    assert text(trace, tmp_path, "nofuncgraph-duration") == (
        "m.f(5) { /* <-app.main:12 */\n"
        "  m.f(); /* <-sin+0x4f/0xd0 [libm.so] ret=None */\n"
        "  sin [libm.so](); /* <-start+0x1f/0x20 */\n"
        "} /* m.f ret=3 */\n"
        "m.f() {\n"
    )
    assert "<-" not in text(trace, tmp_path, "nofuncgraph-retaddr")


def test_how_calls_end_and_resume(tmp_path: Path) -> None:
    trace = Trace(["m.gen", "m.f"])
    task = trace.task(1)
    task.enter(1_000, 0, 0)
    task.leave(2_000, 0, 0, calltime=1_000, kind=SUSPEND, start=1_000, result=values(7))
    task.enter(3_000, 0, 0, kind=RESUME, start=1_000)
    task.enter(3_100, 1, 1)
    task.leave(3_200, 1, 1, calltime=3_100, kind=RAISE, result=values(ValueError))
    task.leave(4_000, 0, 0, calltime=3_000, kind=SUSPEND, start=1_000)
    task.enter(5_000, 0, 0, kind=RESUME, start=1_000)
    task.leave(5_500, 0, 0, calltime=5_000, kind=CLOSE, start=1_000)
    task.enter(6_000, 1, 0)
    task.enter(6_100, 0, 1)
    task.leave(6_200, 0, 1, calltime=6_100, kind=SUSPEND, start=6_100)
    task.leave(7_000, 1, 0, calltime=6_000, kind=RAISE)
    task.leave(8_000, 0, 0, calltime=8_000, kind=CLOSE, start=6_100)
    assert text(trace, tmp_path) == (
        "  1.000 us    |  m.gen(); /* suspended ret=7 */\n"
        "              |  m.gen() { /* resumed */\n"
        "  0.100 us    |    m.f(); /* raised ValueError */\n"
        "  1.000 us    |  } /* suspended */\n"
        "  0.500 us    |  m.gen(); /* resumed closed */\n"
        "              |  m.f() {\n"
        "  0.100 us    |    m.gen(); /* suspended */\n"
        "  1.000 us    |  } /* raised */\n"
        "  0.000 us    |  } /* m.gen closed */\n"
    )


def test_losses_waits_and_overruns_stand_where_they_happened(tmp_path: Path) -> None:
    trace = Trace(["m.f", "m.g"])
    task = trace.task(7, "work")
    task.enter(1_000, 0, 0)
    task.enter(2_000, 1, 1)
    task.wait(3_000, 1_234_567)
    task.overrun(3_500, 17)
    task.message(3_600, b"half \x1b[31m way\n")
    task.leave(4_000, 1, 1, calltime=2_000)
    task.leave(5_000, 0, 0, calltime=1_000, lost=813)
    lines = (
        "              |  m.f() {\n"
        "              |    m.g() {\n"
        "# 1234.567 us |      /* waited for the recorder */\n"
        "              |      /* 17 calls not traced so far: the shadow stack was full */\n"
        "              |      /* half \\x1b[31m way */\n"
        "  2.000 us    |    }\n"
        "{LOST}\n"
        "  4.000 us    |  }\n"
    )
    assert text(trace, tmp_path) == lines.replace("{LOST}", "TASK:work-7 [LOST 813 EVENTS]")
    assert "\nCPU:0 [LOST 813 EVENTS]\n" in text(trace, tmp_path, "funcgraph-cpu")


def test_an_entry_whose_exit_was_lost_is_not_a_leaf(tmp_path: Path) -> None:
    trace = Trace(["m.f"])
    task = trace.task(7, "work")
    task.enter(1_000, 0, 0)
    task.leave(5_000, 0, 0, calltime=4_000, lost=2)
    assert text(trace, tmp_path) == (
        "              |  m.f() {\nTASK:work-7 [LOST 2 EVENTS]\n  1.000 us    |  }\n"
    )


def two_tasks() -> Trace:
    trace = Trace(["m.f", "m.g"])
    one, two = trace.task(7, "one"), trace.task(8, "two")
    one.enter(1_000, 0, 0)
    two.enter(2_000, 1, 0)
    two.leave(3_000, 1, 0, calltime=2_000)
    one.enter(3_500, 1, 1)
    one.leave(3_600, 1, 1, calltime=3_500)
    one.leave(4_000, 0, 0, calltime=1_000)
    return trace


def test_tasks_are_merged_by_time_and_named(tmp_path: Path) -> None:
    assert text(two_tasks(), tmp_path) == (
        "    one-7      |               |  m.f() {\n"
        "    two-8      |   1.000 us    |  m.g();\n"
        "    one-7      |   0.100 us    |    m.g();\n"
        "    one-7      |   3.000 us    |  }\n"
    )


def test_a_switch_is_shown_where_no_line_says_its_task(tmp_path: Path) -> None:
    rule = " ------------------------------------------\n"
    assert text(two_tasks(), tmp_path, "nofuncgraph-proc") == (
        "              |  m.f() {\n"
        f"{rule}     one-7      =>     two-8     \n{rule}\n"
        "  1.000 us    |  m.g();\n"
        f"{rule}     two-8      =>     one-7     \n{rule}\n"
        "  0.100 us    |    m.g();\n"
        "  3.000 us    |  }\n"
    )


def test_a_reused_lane_shows_the_switch(tmp_path: Path) -> None:
    trace = Trace(["m.f"])
    for tid in (7, 8):
        task = trace.task(tid, f"t{tid}", lane=0)
        task.enter(tid * 1_000, 0, 0)
        task.leave(tid * 1_000 + 500, 0, 0, calltime=tid * 1_000)
    assert text(trace, tmp_path, "funcgraph-cpu nofuncgraph-proc") == (
        " 0)   0.500 us    |  m.f();\n"
        " ------------------------------------------\n"
        " 0)      t7-7      =>      t8-8     \n"
        " ------------------------------------------\n\n"
        " 0)   0.500 us    |  m.f();\n"
    )


@pytest.mark.parametrize("expected", ["8", "two", "t*"])
def test_one_task(command: Command, tmp_path: Path, expected: str) -> None:
    path = two_tasks().save(tmp_path / "trace.dat")
    assert command("report", "-i", path, "--task", expected).out == HEADER + "  1.000 us    |  m.g();\n"


def test_an_unknown_task(command: Command, tmp_path: Path) -> None:
    path = two_tasks().save(tmp_path / "trace.dat")
    ran = command("report", "-i", path, "--task", "three")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(f"{path}: no task 'three'; it has: one (7), two (8)\n")


def test_a_task_that_the_description_lacks_is_shown_without_a_name(tmp_path: Path) -> None:
    trace = two_tasks()
    del trace.tasks[1]
    assert "   <...>-8     |   1.000 us    |  m.g();\n" in text(trace, tmp_path, "funcgraph-proc")


def test_the_function_tracers_layout(tmp_path: Path) -> None:
    trace = Trace([("m", "f", "m.py", 1, 0, ["a"]), "m.main"], tracer="function", lost=5)
    task = trace.task(69, "work")
    task.function(153_985_946_400, 1, None)
    task.function(153_985_961_500, 0, 1, values(1))
    out = b"".join(TraceFile(trace.save(tmp_path / "trace.dat")).report()).decode()
    assert out == (
        "# tracer: function\n"
        "#\n"
        "# entries-in-buffer/entries-written: 2/7   #P:1\n"
        "#\n"
        "#           TASK-PID     CPU#     TIMESTAMP  FUNCTION\n"
        "#              | |         |         |         |\n"
        "            work-69      [000]    153.985946: m.main\n"
        "            work-69      [000]    153.985962: m.f(a=1) <-m.main\n"
    )


def test_stacks_and_repeats(tmp_path: Path) -> None:
    def trace(tracer: str) -> Trace:
        trace = Trace(["m.f", "m.main"], tracer=tracer)
        task = trace.task(69, "work")
        task.function(153_985_946_400, 0, 1)
        task.stack(153_985_946_400, [0, 1, 99])
        task.repeats(153_985_999_000, 0, 1, 3, 153_985_961_500)
        return trace

    out = b"".join(TraceFile(trace("function").save(tmp_path / "trace.dat")).report()).decode()
    assert out.splitlines()[6:] == [
        "            work-69      [000]    153.985946: m.f <-m.main",
        "            work-69      [000]    153.985946: <stack trace>",
        " => m.f",
        " => m.main",
        " => <unknown>",
        "            work-69      [000]    153.985999: m.f <-m.main (repeats: 3, last_ts:   153.985962)",
    ]
    assert text(trace("function_graph"), tmp_path, "nofuncgraph-duration") == (
        "/* m.f <-m.main */\n"
        "/* <stack trace>\n => m.f\n => m.main\n => <unknown> */\n"
        "/* m.f <-m.main (repeats: 3, last_ts:   153.985962) */\n"
    )


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        (values(None, True, False), "None, True, False"),
        (
            values(0, -1, 127, 128, 2**63 - 1, -(2**63)),
            "0, -1, 127, 128, 9223372036854775807, -9223372036854775808",
        ),
        (values(2**69, -(2**69)), "int(70 bits), -int(70 bits)"),
        (
            values(0.5, -0.0, 1e16, 1e15, 1e-5, 0.1 + 0.2),
            "0.5, -0.0, 1e+16, 1000000000000000.0, 1e-05, 0.30000000000000004",
        ),
        (values(float("inf"), float("-inf"), float("nan")), "inf, -inf, nan"),
        (values("abc", "it's", "\"'", "a\\b\n\x1b"), """'abc', "it's", '"\\'', 'a\\\\b\\n\\x1b'"""),
        (values("grün", "\u202e", "\ud800"), "'grün', '\\u202e', '\\ud800'"),
        (values("x" * 60, "ü" * 60), f"'{'x' * 48}'...(60), '{'ü' * 24}'...(60)"),
        (values("x" * 47 + "ü"), f"'{'x' * 47}'...(48)"),
        (values(b"ab\xc3\xbc\0'", b"x" * 99), f"b\"ab\\xc3\\xbc\\x00'\", b'{'x' * 48}'...(99)"),
        (values([1, 2], (), {}), "list(2), tuple(0), dict(0)"),
        (values(object()), "<object at 0x7f00deadbeef>"),
        (b"\x0c" + value(1) + b"\x0d", "<unbound>, 1, ..."),
        (word(8, 0xFF110000008C1E80) + word(8, 2**64 - 2), "0xff110000008c1e80, 0xfffffffffffffffe"),
        (values(1) + b"\0" + values(2), "1"),
        (values(1) + b"\x08\xff", "1"),
        (values(1) + b"\xee", "1"),
    ],
)
def test_values_read_like_python(recorded: bytes, shown: str, tmp_path: Path) -> None:
    trace = Trace(["m.f"])
    trace.task(1).enter(1, 0, 0, args=recorded)
    assert text(trace, tmp_path, "nofuncgraph-duration") == f"m.f({shown}) {{\n"


@pytest.mark.parametrize(
    ("size", "bits", "shown", "in_hex"),
    [
        (8, 0, "0x0", "0x0"),
        (8, 2**64 - 4095, "-4095", "0xfffffffffffff001"),
        (8, 2**64 - 4096, "0xfffffffffffff000", "0xfffffffffffff000"),
        (4, 2**64 - 2, "-2", "0xfffffffe"),
        (4, 2**32 - 2, "-2", "0xfffffffe"),
        (1, 0x1FF, "-1", "0xff"),
        (0, 5, "0x5", "0x5"),
    ],
)
def test_a_machine_word_is_the_number_of_an_error_or_in_base_16(
    size: int, bits: int, shown: str, in_hex: str, tmp_path: Path
) -> None:
    trace = Trace(["m.f"])
    task = trace.task(1)
    task.enter(1, 0, 0)
    task.leave(2, 0, 0, calltime=1, result=word(size, bits))
    assert text(trace, tmp_path, "nofuncgraph-duration") == f"m.f(); /* ret={shown} */\n"
    both = "nofuncgraph-duration funcgraph-retval-hex"
    assert text(trace, tmp_path, both) == f"m.f(); /* ret={in_hex} */\n"


def test_floats_print_as_repr(tmp_path: Path) -> None:
    pick = random.Random(2)
    floats = [struct.unpack("<d", pick.randbytes(8))[0] for _ in range(300)]
    floats += (
        [pick.uniform(-1e6, 1e6) for _ in range(300)]
        + [10.0**e for e in range(-20, 25)]
        + [5e-324, 1.7976931348623157e308]
    )
    trace = Trace(["m.f"])
    task = trace.task(1)
    for time, number in enumerate(floats):
        task.enter(time, 0, 0, args=values(number))
    lines = text(trace, tmp_path, "nofuncgraph-duration").splitlines()
    assert lines == [f"m.f({number!r}) {{" for number in floats]


def test_argument_names_and_stars(tmp_path: Path) -> None:
    trace = Trace([("m", "f", "m.py", 1, 48, ["a", "b", "args", "kw"]), ("m", "g", "m.py", 1, 16, ["args"])])
    task = trace.task(1)
    task.enter(1, 0, 0, args=values(1, 2, (3,), {}))
    task.enter(2, 1, 1, args=values(()))
    task.enter(3, 0, 2, args=values(1) + b"\x0d")
    assert text(trace, tmp_path, "nofuncgraph-duration") == (
        "m.f(a=1, b=2, *args=tuple(1), **kw=dict(0)) {\n  m.g(*args=tuple(0)) {\n    m.f(a=1, ...) {\n"
    )


def test_names_cannot_harm_a_terminal(tmp_path: Path) -> None:
    trace = Trace([("m", "\x1b]0;title\x07", "m.py", 1, 0, [])])
    trace.task(1, "t\x1b[31m").enter(1, 0, 0, lost=1)
    out = text(trace, tmp_path, "funcgraph-proc")
    assert "\x1b" not in out
    assert "m.\\x1b]0;title\\x07()" in out


def test_a_function_the_trace_does_not_name(tmp_path: Path) -> None:
    trace = Trace(["m.f"])
    trace.task(1).enter(1, 5, 0)
    assert text(trace, tmp_path, "nofuncgraph-duration") == "<unknown>() {\n"


def test_color_marks_names_comments_and_long_durations(tmp_path: Path) -> None:
    out = text(fib_trace(), tmp_path, color=True)
    assert out.splitlines()[-1] == "\x1b[33m# 1500.000 us \x1b[0m|  }\x1b[2m /* __main__.fib ret=1 */\x1b[0m"
    assert "|      \x1b[36m__main__.fib\x1b[0m(n=1);\x1b[2m /* ret=1 */\x1b[0m\n" in out


def test_every_option_is_in_the_help(command: Command, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command("report", "--help-all")
    help_text = capfd.readouterr().out
    assert len(report_options()) >= 10
    assert [option.name for option in report_options() if f"  {option.name} " not in help_text] == []


def test_every_option_can_be_turned_on_and_off(command: Command, tmp_path: Path) -> None:
    trace = fib_trace()
    task = trace.tasks[0]
    task.enter(2_000_000, 0, 0, caller=(0, 7))  # a call whose result was not recorded
    task.enter(2_000_100, 0, 1, kind=START | IRQ)
    task.leave(2_000_200, 0, 1, calltime=2_000_100, kind=RETURN | IRQ)
    task.leave(2_000_300, 0, 0, calltime=2_000_000)
    task.function(2_000_400, 0, 0, line=7)
    path = trace.save(tmp_path / "trace.dat")
    for option in report_options():
        on = command("report", "-i", path, "-O", option.name)
        off = command("report", "-i", path, "-O", option.name, "-O", f"no{option.name}")
        assert (on.status, off.status) == (0, 0)
        assert on.out != off.out, option.name


def test_an_unknown_option_says_which_there_are(command: Command) -> None:
    ran = command("report", "-O", "funcgraph-cups")
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "invalid option 'funcgraph-cups': must be one of funcgraph-cpu, funcgraph-overhead, " in ran.err


# Bad input


def test_missing_unreadable_and_foreign_files(command: Command, tmp_path: Path) -> None:
    def reason(path: Path) -> str:
        for name in ("report", "summary"):
            ran = command(name, "-i", path)
            assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
        _, found, what = ran.err.rstrip("\n").partition(f"{path}: ")
        assert found
        return str(what)

    file = tmp_path / "x.dat"
    assert reason(file) == "No such file or directory"
    assert reason(tmp_path) == "Is a directory"
    os.mkfifo(tmp_path / "fifo")
    assert reason(tmp_path / "fifo") == "not a regular file"
    file.write_bytes(b"")
    assert reason(file) == "the file is empty"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    assert reason(file) == "not a trace.dat file"
    for version in (2, 255):
        file.write_bytes(b"FGTRACE" + bytes([version]) + bytes(100))
        assert reason(file) == f"a .fg file of version {version}: this funcgraph reads version 1"
    file.write_bytes(b"FGTRACE\0" + bytes(100))
    assert reason(file) == "not a trace.dat file"
    file.write_bytes(b"\x17\x08\x44tracing8\0\0\x08\0\x10\0\0zstd\0")
    assert (
        reason(file)
        == "not recorded by funcgraph: it is a trace.dat of version 8, funcgraph reads versions 6 and 7"
    )
    file.write_bytes(b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0lzma\0" + b"1\0" + bytes(8))
    assert reason(file) == "compressed with 'lzma', which funcgraph does not know"
    file.write_bytes(b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\0\0" + bytes(8))
    assert reason(file) == "damaged or truncated: it has no buffer"
    file.write_bytes(b"\x17\x08\x44tracing6\0\x01\x08\0\0\x10\0")
    assert reason(file).startswith("funcgraph cannot read it: it has big-endian order")


@pytest.mark.usefixtures("each_format")
def test_a_file_cut_off_anywhere_is_told_from_a_whole_one(tmp_path: Path) -> None:
    whole = fib_trace().to_bytes()
    path = tmp_path / "trace.dat"
    for size in [*range(400), *range(400, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(TraceError) as caught:
            TraceFile(path)
        assert "\n" not in str(caught.value)
    path.write_bytes(whole)
    TraceFile(path)


def test_a_damaged_description(tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"version": 2},
        {"functions": 5},
        {"functions": [["m", "f"]]},
        {"functions": [["m", "f", "m.py", -1, 0, []]]},
        {"tasks": [{}]},
        {"tasks": [{"lane": 2**40, "pid": 1, "tid": 1, "name": "x"}]},
        {"lost": "many"},
    ]
    for meta in bad:
        trace = Trace(["m.f"])
        trace.meta = meta
        path = trace.save(tmp_path / "trace.dat")
        with pytest.raises(TraceError, match=r"damaged|version"):
            TraceFile(path)


@pytest.mark.usefixtures("each_format")
def test_damage_in_the_middle_ends_the_report_after_the_lines_before_it(
    command: Command, tmp_path: Path
) -> None:
    trace = fib_trace()
    task = trace.tasks[0]
    task.add(2_000_000, struct.pack("<HBBi", 10, 0, 0, 69) + bytes(4), lost=1)  # too short for an exit
    path = trace.save(tmp_path / "trace.dat")
    ran = command("report", "-i", path)
    assert ran.status == 2
    assert "# 1500.000 us |  } /* __main__.fib ret=1 */\n" in ran.out
    assert f"{path}: damaged: " in ran.err
    assert command("summary", "-i", path).status == 2


def read_all(path: Path) -> str:
    """Read the whole trace; return the error that stopped reading, or an empty string."""
    try:
        file = TraceFile(path)
        file.summary()
        for _ in file.report():
            pass
    except TraceError as error:
        return str(error)
    return ""


@pytest.mark.usefixtures("each_format")
def test_random_damage_never_does_more_than_end_in_an_error(tmp_path: Path) -> None:
    pick = random.Random(1)
    trace = two_tasks()
    for time in range(5_000, 400_000, 700):
        trace.tasks[0].enter(time, 0, time % 5, args=values("abc", 1.5, [1]))
        trace.tasks[1].leave(time, 1, time % 5, calltime=time - 50, start=time - 100, kind=time % 4)
    whole = trace.to_bytes()
    path = tmp_path / "trace.dat"
    errors = set()
    for _ in range(600):
        damaged = bytearray(whole)
        for _ in range(pick.randrange(1, 12)):
            damaged[pick.randrange(len(damaged))] = pick.choice((0, 255, pick.randrange(256)))
        path.write_bytes(damaged)
        errors.add(read_all(path))
    assert len(errors) > 20  # the damages cause many different errors
    assert not any("\n" in error for error in errors)


# Output

MANY = 40_000


def many_calls(tmp_path: Path) -> Path:
    trace = Trace(["m.f"])
    task = trace.task(1)
    for time in range(0, MANY * 100, 100):
        task.enter(time, 0, 0)
        task.leave(time + 50, 0, 0, calltime=time)
    return trace.save(tmp_path / "trace.dat")


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    path = many_calls(tmp_path)
    shell = f"{sys.executable} -m funcgraph report -i {path} | head -5"
    ran = subprocess.run(shell, shell=True, capture_output=True, text=True)
    assert ran.stderr == ""
    assert ran.stdout.count("\n") == 5


def on_terminal(words: list[str], env: dict[str, str]) -> str:
    """Run funcgraph with a terminal as its standard output; return what it wrote."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "funcgraph", *words], stdout=secondary, env={**os.environ, **env}
    )
    os.close(secondary)
    written = b""
    while True:
        try:
            piece = os.read(primary, 65536)
        except OSError:  # EIO: the last writer has closed
            break
        written += piece
    os.close(primary)
    assert process.wait() == 0
    return written.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_and_a_pager(tmp_path: Path) -> None:
    path = str(fib_trace().save(tmp_path / "trace.dat"))
    words = ["report", "-i", path]
    term = {"TERM": "xterm", "NO_COLOR": ""}
    assert "\x1b[36m__main__.fib" in on_terminal(words, {**term, "PAGER": "cat"})
    assert on_terminal(words, {**term, "PAGER": "sed s/^/paged:/"}).startswith("paged:# tracer")
    assert not on_terminal([*words, "--no-pager"], {**term, "PAGER": "sed s/^/paged:/"}).startswith("paged:")
    assert "\x1b" not in on_terminal(words, {"TERM": "xterm", "NO_COLOR": "1", "PAGER": "cat"})
    assert "\x1b" not in on_terminal([*words, "--color", "never"], {**term, "PAGER": "cat"})


def test_a_pager_that_is_left_early_is_no_error(tmp_path: Path) -> None:
    out = on_terminal(["report", "-i", str(many_calls(tmp_path))], {"TERM": "dumb", "PAGER": "head -2"})
    assert out == "# tracer: function_graph\n#\n"


def test_the_default_file(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    fib_trace().save(tmp_path / "trace.dat")
    assert command("report").out.startswith(HEADER)


@pytest.mark.usefixtures("each_format")
def test_memory_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from funcgraph.cli import main; main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )

    def peak_kib(repeats: int, name: str) -> int:
        trace = Trace(["m.f"])
        task = trace.task(1)
        for time in range(0, 400_000, 100):
            task.enter(time, 0, 0)
            task.leave(time + 50, 0, 0, calltime=time)
        task.lane.flush()
        task.lane.pages *= repeats
        path = trace.save(tmp_path / "trace.dat")
        words = [sys.executable, "-c", program, name, "-i", str(path)]
        ran = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
        return int(ran.stderr)

    for name in ("report", "summary"):
        assert peak_kib(200, name) < peak_kib(2, name) + 4096  # 62 MiB of trace against 0.6 MiB


def test_calls_for_signals_can_be_left_out(tmp_path: Path) -> None:
    """Fails if a handler with a lost end hides all that follows, or one without a start is shown."""
    trace = Trace(["m.work", "m.handler", "m.leaf"])
    task, other = trace.task(1), trace.task(2, lane=0)
    at = 0

    def call(of: Any, func: int, depth: int, *, begins: bool, irq: int = 0, lost: int = 0) -> None:
        nonlocal at
        at += 1000
        if begins:
            of.enter(at, func, depth, kind=START | irq, lost=lost)
        else:
            of.leave(at, func, depth, calltime=at - 500, kind=RETURN | irq, lost=lost)

    call(task, 0, 0, begins=True)
    call(task, 1, 1, begins=True, irq=IRQ)
    call(task, 2, 2, begins=True)
    call(task, 2, 2, begins=False)
    call(other, 2, 1, begins=True)  # another task on the same lane
    call(other, 2, 1, begins=False)
    call(task, 2, 2, begins=True)
    call(task, 2, 2, begins=False)
    call(task, 1, 1, begins=True)  # the handler's end is lost; this is a plain call of its function
    call(task, 1, 1, begins=False)
    call(task, 1, 1, begins=False, irq=IRQ)  # the beginning was lost
    call(task, 0, 0, begins=False)
    path = trace.save(tmp_path / "trace.dat")

    def shown(options: str) -> list[str]:
        lines = b"".join(TraceFile(path).report(parse_options(options.split()))).decode().splitlines()[4:]
        return [line.split(" | ")[-1].rstrip() for line in lines]

    assert shown("funcgraph-proc nofuncgraph-duration nofuncgraph-irqs") == [
        "m.work() {", "  m.leaf();", "  m.handler();", "}",
    ]  # fmt: skip
    assert shown("funcgraph-proc nofuncgraph-duration") == [
        "m.work() {", "==========>", "  m.handler() {", "    m.leaf();", "  m.leaf();", "    m.leaf();",
        "  m.handler();", "  } /* m.handler */", "<==========", "}",
    ]  # fmt: skip
