"""Arguments and results of native calls (`--args`, `--retval`): what a C library was called with and what it
returned, in every reader that shows those of Python calls.

Broken by hand: a result had 8 bytes whatever it was (-22 was 0xffffffea); native functions had no names of
arguments (`--where` refused, exports had other names); words were compared as addresses that last (`expect`
failed on the next run).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Funcgraph
from planned import build, needs_decoder

import funcgraph

pytestmark = needs_decoder

LIBRARY = r"""
    typedef unsigned long u64;

    __attribute__((noinline)) int fail(int n, const void *p, u64 c, u64 d, u64 e, u64 f)
    {
        __asm__ volatile("" : : "r"(p), "r"(c), "r"(d), "r"(e), "r"(f));
        return -n;
    }
    u64 outer(u64 a, const void *p, u64 c, u64 d, u64 e, u64 f)
    {
        return (u64)fail((int)a, p, c, d, e, f) + c + d;
    }
    const void *same(const void *p) { __asm__ volatile("nop; nop; nop" : : : "memory"); return p; }
"""
#: It passes an address in the buffer.
PROGRAM = r"""
    import ctypes
    import sys

    library = ctypes.CDLL(sys.argv[1])
    u64 = ctypes.c_uint64
    library.outer.argtypes = [u64, ctypes.c_void_p, u64, u64, u64, u64]
    library.outer.restype = u64
    library.same.argtypes = [ctypes.c_void_p]
    library.same.restype = ctypes.c_void_p
    buffer = ctypes.create_string_buffer(100)
    address = ctypes.addressof(buffer) + int(sys.argv[2])

    def pay(n):
        return library.outer(n, address, 3, 2**64 - 1, 5, 2**62)
"""
MAIN = """
    pay(22)
    assert library.same(address) == address
    print(hex(address))
"""
SELECTED = ("-l", "__main__.pay", "-l", "fail:mod:libpay", "-l", "outer:mod:libpay", "-l", "same:mod:libpay")


def library(folder: Path) -> Path:
    return build(folder, LIBRARY, "-Wl,--build-id", language="c", name="libpay.so")


def record(fg: Funcgraph, *words: str, at: int = 0, program: str = PROGRAM) -> str:
    """Record the program; return the address that it passes, so many bytes behind the begin of its buffer."""
    done = fg.record("-q", *SELECTED, *words, fg.script(program + MAIN), library(fg.folder), str(at))
    assert done.returncode == 0, done.stderr  # a slow machine says that it waited for the plan
    return done.stdout.strip()


def printed(fg: Funcgraph, *words: str | Path) -> str:
    done = fg.run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def calls(fg: Funcgraph, *words: str) -> list[str]:
    """Return the report's calls, without times."""
    lines = printed(fg, "report", *words).splitlines()
    return [line.partition("|  ")[2] for line in lines if "|  " in line and not line.startswith("#")]


def arguments(address: str) -> str:
    return f"arg1=0x16, arg2={address}, arg3=0x3, arg4=0xffffffffffffffff, arg5=0x5, arg6=0x4000000000000000"


def test_the_graph_has_both_below_the_python_call(fg: Funcgraph) -> None:
    address = record(fg, "--args", "--retval")
    shown = calls(fg)
    assert shown[:-1] == [
        "__main__.pay(n=22) {",
        f"  outer [libpay]({arguments(address)}) {{",
        f"    fail [libpay]({arguments(address)}); /* ret=-22 */",
        "  } /* outer [libpay] ret=-20 */",
        "} /* __main__.pay ret=int(64 bits) */",
    ]
    assert re.fullmatch(
        rf"same \[libpay\]\(arg1={address}(, arg\d=0x\w+){{5}}\); /\* ret={address} \*/", shown[-1]
    )


def test_hexadecimal_results_are_as_the_register_has_them(fg: Funcgraph) -> None:
    record(fg, "--retval")
    shown = calls(fg, "-O", "funcgraph-retval-hex")
    assert shown[2:4] == [
        "    fail [libpay](); /* ret=0xffffffea */",
        "  } /* outer [libpay] ret=0xffffffffffffffec */",
    ]


def test_arguments_alone(fg: Funcgraph) -> None:
    address = record(fg, "--args")
    assert calls(fg)[1:4] == [
        f"  outer [libpay]({arguments(address)}) {{",
        f"    fail [libpay]({arguments(address)});",
        "  }",
    ]


def test_results_alone(fg: Funcgraph) -> None:
    record(fg, "--retval")
    assert calls(fg)[1:4] == [
        "  outer [libpay]() {",
        "    fail [libpay](); /* ret=-22 */",
        "  } /* outer [libpay] ret=-20 */",
    ]


def test_without_the_options_there_are_none(fg: Funcgraph) -> None:
    record(fg)
    assert calls(fg)[1:4] == ["  outer [libpay]() {", "    fail [libpay]();", "  }"]


def test_the_function_tracer_has_arguments(fg: Funcgraph) -> None:
    address = record(fg, "-p", "function", "--args")
    assert f"fail [libpay]({arguments(address)})\n" in printed(fg, "report")


def test_redaction_is_by_the_names_of_arguments_and_functions(fg: Funcgraph) -> None:
    record(fg, "--args", "--retval", "--redact", "arg2|fail")
    hidden = arguments("<redacted>")
    assert calls(fg)[1:4] == [
        f"  outer [libpay]({hidden}) {{",
        f"    fail [libpay]({hidden}); /* ret=<redacted> */",
        "  } /* outer [libpay] ret=-20 */",
    ]


def test_options_of_an_instance_change_while_it_runs(fg: Funcgraph) -> None:
    program = """
    import funcgraph
    with funcgraph.Instance("x", tracer="function_graph", filter=["fail:mod:libpay"]) as instance:
        for args, retval in ("00", "10", "01", "11", "00"):
            instance.files["options/funcgraph-args"] = args
            instance.files["options/funcgraph-retval"] = retval
            pay(22)
        for option in ("funcgraph-args", "funcgraph-retval"):
            instance.files[f"options/{option}"] = "1"  # the text shows what is recorded
        print(address and hex(address))
        lines = [line.partition("|  ")[2] for line in instance.trace().splitlines() if "fail" in line]
        print("\\n".join(lines))
    """
    done = fg.plain(*fg.command[:1], fg.script(PROGRAM + program), library(fg.folder), "0")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    address, *shown = done.stdout.splitlines()
    values, result = arguments(address), " /* ret=-22 */"
    assert [line.replace("fail [libpay]", "") for line in shown] == [
        "();",
        f"({values});",
        f"();{result}",
        f"({values});{result}",
        "();",
    ]


def test_where_compares_words(fg: Funcgraph) -> None:
    address = record(fg, "--args", "--retval")
    for where, names in {
        "ret == -22": ["fail"],
        "arg1 == 22 && ret < 0": ["fail", "outer"],
        f"arg1 == {address}": ["same"],
        f"ret == {address}": ["same"],
        "arg4 == -1 && arg6 > 4611686018427387903": ["fail", "outer"],
    }.items():
        shown = calls(fg, "--where", where)
        found = {found[1] for line in shown if (found := re.search(r"(\w+) \[libpay\]\(", line))}
        assert sorted(found) == names, where


def test_python_and_exports_have_numbers_by_names(fg: Funcgraph) -> None:
    address = int(record(fg, "--args", "--retval"), 16)
    expected = {"arg1": 22, "arg2": address, "arg3": 3, "arg4": -1, "arg5": 5, "arg6": 2**62}
    with funcgraph.open(fg.trace) as trace:
        call = next(call for call in trace.calls() if call.function and call.function.qualname == "fail")
        assert (call.arguments, call.result) == (expected, -22)
    printed(fg, "export", "chrome", fg.trace, "-o", "chrome.json")
    events = json.loads((fg.folder / "chrome.json").read_text())["traceEvents"]
    shown = next(event["args"] for event in events if event.get("name") == "fail [libpay]")
    assert shown == {**expected, "(result)": -22}
    assert "1 value of arg1:" in printed(fg, "values", "fail [libpay]", fg.trace)


def test_sql_has_them(fg: Funcgraph) -> None:
    pytest.importorskip("duckdb")
    address = record(fg, "--args", "--retval")
    table = printed(fg, "sql", fg.trace, "select arguments, result from calls where function like 'fail %'")
    assert re.split(r"\s{2,}", table.splitlines()[1].strip()) == [arguments(address), "-22"]


def test_a_trace_dat_has_them_and_trace_cmd_reads_it(fg: Funcgraph) -> None:
    address = record(fg, "--args", "--retval")
    shown = calls(fg)
    path = fg.folder / "trace.dat"
    printed(fg, "export", "trace-dat", fg.trace, "-o", path)
    assert calls(fg, str(path)) == shown
    assert f"arg2={address}" in shown[1]
    if shutil.which("trace-cmd") is None:
        pytest.skip("trace-cmd is not installed")
    done = subprocess.run(["trace-cmd", "report", path], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(re.findall(r"libpay\.(?:outer\(\) \{|fail\(\);|same\(\);)", done.stdout)) == 3


def test_an_expectation_has_no_word_that_another_run_would_not_have(fg: Funcgraph) -> None:
    record(fg, "--args", "--retval")
    printed(fg, "expect", "calls.txt", fg.trace, "--write")
    assert (fg.folder / "calls.txt").read_text().splitlines()[1:] == [
        "__main__.pay(n=22) = int(64 bits)",
        r"  outer*\[libpay\](...) = -20",
        r"    fail*\[libpay\](...) = -22",
        r"same*\[libpay\](...)",
    ]
    record(fg, "--args", "--retval", at=8)
    printed(fg, "expect", "calls.txt", fg.trace)


def test_calls_of_two_runs_differ_in_error_numbers_alone(fg: Funcgraph) -> None:
    record(fg, "--args", "--retval", "-o", "one.fg")
    record(fg, "--args", "--retval", "-o", "two.fg", at=8)
    printed(fg, "compare", "--at", "__main__.pay", "one.fg", "two.fg")
    other = PROGRAM.replace("outer(n,", "outer(n + 1,")
    record(fg, "--args", "--retval", "-o", "other.fg", program=other)
    differs = fg.run("compare", "--at", "__main__.pay", "one.fg", "other.fg")
    assert differs.returncode == 1, differs.stderr
    assert "returns -23" in differs.stdout
