"""What runs between a call and a hooked function, as compiled: no vector register changes, nothing is called.

Broken by hand: call_fast.c copied a struct without -mgeneral-regs-only (in a vector register), and called
fg_task_create().
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
    r"fg_(?:native_(?:holds|own_text|entries)|root|task_self|machine_first_return|clock|no_users)"
)
_VECTORS = re.compile(r"%(?:[xyz]mm|mm|st|k)\d|\b(?:emms|fninit|vzero\w+|f\w*xsave\w*)\b")


def _object(name: str) -> Path:
    folder = native.built() / "CMakeFiles" / "fg_native.dir" / "src" / "arch" / "native"
    if not folder.is_dir():
        pytest.skip("native functions cannot be hooked on this machine")
    return folder / f"{name}.o"


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_fast_path_uses_no_vector_registers() -> None:
    code = _output("objdump", "-d", "--no-show-raw-insn", _object("call_fast.c"))
    assert "<fg_native_enter>:" in code and "<fg_native_leave>:" in code
    assert _VECTORS.findall(code) == []


def test_the_fast_path_calls_nothing() -> None:
    undefined = [line.split()[-1] for line in _output("nm", "-u", _object("call_fast.c")).splitlines()]
    assert [name for name in undefined if not _DATA.fullmatch(name) and name != "_GLOBAL_OFFSET_TABLE_"] == []
    code = _output("objdump", "-d", "--no-show-raw-insn", _object("call_fast.c"))
    assert re.findall(r"\b(?:call|syscall)\b.*", code) == []


def test_its_thread_local_data_needs_no_call() -> None:
    """Only initial-exec: any other model calls __tls_get_addr, which may be hooked."""
    relocations = _output("objdump", "-r", _object("call_fast.c"))
    assert "GOTTPOFF" in relocations
    assert re.findall(r"R_X86_64_(?:TLSGD|TLSLD|GOTPC32_TLSDESC)", relocations) == []


def test_the_way_in_and_back_calls_only_the_hook() -> None:
    """Everything else in it would run with the caller's registers."""
    undefined = {line.split()[-1] for line in _output("nm", "-u", _object("x86_64/entry.S")).splitlines()}
    assert undefined - {"_GLOBAL_OFFSET_TABLE_"} == {
        "fg_native_enter",
        "fg_native_enter_slow",
        "fg_native_entries",
        "fg_native_leave",
        "fg_native_leave_slow",
        "fg_native_personality",
        "fg_x86_64_has_xsavec",
        "fg_x86_64_save_bytes",
        "fg_x86_64_save_mask",
    }
