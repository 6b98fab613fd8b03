"""What runs between a call and a hooked function, as compiled: no vector register changes, nothing is called.

Broken by hand: call_fast.c copied a struct without -mgeneral-regs-only (in a vector register), and called
fg_task_create(); a ring's path was made by asprintf(); capi_general.c and call_probed.c were compiled with
vector registers.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import native

pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(shutil.which("objdump") is None, reason="there is no objdump"),
]

#: What the fast path may refer to: data of this library, by name.
_DATA = re.compile(
    r"fg_(?:native_(?:holds|task|own_text|entries)|root|task_self|machine_first_return|clock|no_users)"
)
_VECTORS = re.compile(r"%(?:[xyz]mm|mm|st|k)\d|\b(?:emms|fninit|vzero\w+|f\w*xsave\w*)\b")


#: The C library's allocator, and what uses it.
_ALLOCATES = re.compile(r"(?:malloc|calloc|realloc|reallocarray|free|v?asprintf|strn?dup|qsort)")
#: Who may, before a ring is used or without a lock of it.
_MAY_ALLOCATE = {
    ("ring_file.c", "strdup"),  # the path of the folder, when a ring is opened
    ("ring_file.c", "free"),
    ("ring_buffer.c", "free"),  # the same when it is closed
    ("ring_copy.c", "qsort"),
}


def _folder(library: str, room: str) -> Path:
    folder = native.built() / "CMakeFiles" / f"{library}.dir" / "src" / room
    if not folder.is_dir():
        pytest.skip("native functions cannot be hooked on this machine")
    return folder


def _object(name: str) -> Path:
    if name.startswith("capi"):
        return _folder("fg_capi_general", "binding/capi") / f"{name}.o"
    return _folder("fg_native", "arch/native") / f"{name}.o"


def _undefined(path: Path) -> set[str]:
    return {line.split()[-1] for line in _output("nm", "-u", path).splitlines()}


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _code(path: Path) -> str:
    return _output("objdump", "-d", "--no-show-raw-insn", path)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("call_fast.c", "fg_native_enter"),
        ("call_fast.c", "fg_native_leave"),
        ("call_probed.c", "fg_native_enter_probed"),
        ("call_probed.c", "fg_native_leave_probed"),
        ("regs.c", "word"),
        ("capi_general.c", "fg_capi_regs_get_argument_double"),
    ],
)
def test_the_fast_path_uses_no_vector_registers(name: str, function: str) -> None:
    code = _code(_object(name))
    assert f"<{function}>:" in code
    assert _VECTORS.findall(code) == []


def test_registers_are_read_where_they_are() -> None:
    """Handlers on the fast path read the program's vector registers: nothing may write one."""
    code = _code(_object("x86_64/registers.c"))
    lines = [line.split("\t")[-1] for line in code.splitlines() if _VECTORS.search(line)]
    assert {re.sub(r"\d", "N", line).split()[0] for line in lines} == {"movq"}
    assert all(re.match(r"movq +%xmm[0-7],%r\w+$", line) for line in lines)
    assert len({line.split(",")[0] for line in lines}) == 8  # a compiler may have some twice


def test_the_fast_path_calls_nothing() -> None:
    """Functions with one fprobe have a fast path of their own, which calls handlers."""
    probed = {"fg_native_enter_probed", "fg_native_leave_probed"}
    undefined = _undefined(_object("call_fast.c")) - {"_GLOBAL_OFFSET_TABLE_"} - probed
    assert [name for name in undefined if not _DATA.fullmatch(name)] == []
    code = _output("objdump", "-dr", "--no-show-raw-insn", _object("call_fast.c"))
    called = re.findall(r"\b(?:call|syscall)\b.*\n.*?(\w+)(?:-0x\w+)?$", code, re.MULTILINE)
    assert set(called) <= probed


def test_the_fast_path_of_fprobes_calls_handlers() -> None:
    undefined = _undefined(_object("call_probed.c")) - {"_GLOBAL_OFFSET_TABLE_"}
    # Data; so what it calls by name is its own.
    assert undefined <= {"fg_native_entry_regs_ops", "fg_native_return_regs_ops", "fg_root"}
    called = re.findall(r"\b(?:call|syscall)\b.*", _code(_object("call_probed.c")))
    by_address = [call for call in called if "*" in call]
    assert len(by_address) == 3  # the entry, the entry with data, the exit
    assert not any(call.startswith("syscall") for call in called)


def test_its_thread_local_data_needs_no_call() -> None:
    """Only initial-exec: any other model calls __tls_get_addr, which may be hooked."""
    relocations = _output("objdump", "-r", _object("call_fast.c"))
    assert "GOTTPOFF" in relocations
    assert re.findall(r"R_X86_64_(?:TLSGD|TLSLD|GOTPC32_TLSDESC)", relocations) == []


def test_the_way_in_and_back_calls_only_the_hook() -> None:
    """Everything else in it would run with the caller's registers."""
    assert _undefined(_object("x86_64/entry.S")) - {"_GLOBAL_OFFSET_TABLE_"} == {
        "fg_native_enter",
        "fg_native_enter_slow",
        "fg_native_entries",
        "fg_native_leave",
        "fg_native_leave_slow",
        "fg_native_personality",
        "fg_native_place",
        "fg_native_place_has_users",
        "fg_x86_64_has_xsavec",
        "fg_x86_64_initial_state",
        "fg_x86_64_save_bytes",
        "fg_x86_64_save_mask",
        "fg_x86_64_saves_by_moves",
    }


def test_writers_do_not_allocate() -> None:
    """A call may be traced within malloc(), and another thread may wait for a ring's lock there."""
    objects = list(_folder("fg_engine", "engine/writer").glob("*.o"))
    allocates = {
        (path.name.removesuffix(".o"), name)
        for path in objects
        for name in _undefined(path)
        if _ALLOCATES.fullmatch(name)
    }
    assert len(objects) > 10
    assert allocates == _MAY_ALLOCATE
