"""A callback can be the address of a C function, given as an int or by ctypes, cffi or numba."""

from __future__ import annotations

import ctypes
import gc
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import extension
import pytest

import funcgraph

HERE = Path(__file__).resolve().parent
#: The signature of both callbacks, with opaque structures.
ENTRY = "int (*)(void *, void *, void *)"
RETURN = "void (*)(void *, void *, void *)"

C_COMPILERS = [name for name in extension.available() if not name.endswith("++")]
pytestmark = pytest.mark.skipif(not C_COMPILERS, reason="no C compiler is here")


def countdown(number: int) -> int:
    return number and countdown(number - 1)


def fails() -> None:
    raise LookupError


COUNTDOWN = f"{__name__}.countdown"


class Counts(ctypes.Structure):
    """What the functions of address_callbacks.c have counted so far."""

    _fields_ = (
        ("entries", ctypes.c_uint64),
        ("ends", ctypes.c_uint64 * 3),
        ("hits", ctypes.c_uint64),
        ("deepest", ctypes.c_uint32),
        ("ticks", ctypes.c_uint64),
    )


@pytest.fixture(scope="module")
def library_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("addresses") / "libcallbacks.so"
    command = [*extension.COMPILERS[C_COMPILERS[0]], *extension.WARNINGS, "-O2", "-fPIC", "-shared"]
    command += ["-I", funcgraph.get_include(), str(HERE / "address_callbacks.c"), "-o", str(target)]
    subprocess.run(command, check=True)
    return target


@pytest.fixture
def library(library_path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path))
    ctypes.memset(ctypes.addressof(Counts.in_dll(library, "counts")), 0, ctypes.sizeof(Counts))
    return library


def counts(library: ctypes.CDLL) -> Counts:
    return Counts.in_dll(library, "counts")


# ---- native functions, for each way to get their address


def as_int(library: ctypes.CDLL, name: str) -> Any:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value


def as_ctypes(library: ctypes.CDLL, name: str) -> Any:
    return getattr(library, name)


def as_cffi(library: ctypes.CDLL, name: str) -> Any:
    ffi = pytest.importorskip("cffi", reason="cffi is not here").FFI()
    return ffi.cast(ENTRY if name == "on_entry" else RETURN, as_int(library, name))


def as_cffi_library(library: ctypes.CDLL, name: str) -> Any:
    ffi = pytest.importorskip("cffi", reason="cffi is not here").FFI()
    ffi.cdef("int on_entry(void *, void *, void *); void on_return(void *, void *, void *);")
    return ffi.addressof(ffi.dlopen(library._name), name)


@pytest.mark.parametrize("made", [as_int, as_ctypes, as_cffi, as_cffi_library])
def test_a_native_function_is_told_as_a_python_function_is(
    library: ctypes.CDLL, made: Callable[[ctypes.CDLL, str], Any]
) -> None:
    seen: list[str] = []
    python = funcgraph.FgraphOps(
        None,
        lambda trace, ops, regs: seen.append(trace.end),
        filter=[f"{__name__}.*"],
    )
    native = funcgraph.FgraphOps(
        made(library, "on_entry"),
        made(library, "on_return"),
        filter=[COUNTDOWN, f"{__name__}.fails"],
        name="native",
    )
    with funcgraph.registered(native):
        with funcgraph.registered(python):
            countdown(9)
            with pytest.raises(LookupError):
                fails()
        countdown(1)
    countdown(1)
    assert counts(library).entries == 13
    assert list(counts(library).ends) == [12, 1, 0]
    assert counts(library).deepest == 9
    assert counts(library).ticks > 0
    assert (seen.count("return"), seen.count("raise")) == (10, 1)
    assert (native.errors, native.enabled) == (0, True)


@pytest.mark.imports_much
def test_functions_that_numba_compiled_are_callbacks(library: ctypes.CDLL) -> None:
    numba = pytest.importorskip("numba", reason="numba is not here", exc_type=ImportError)
    hit = library.hit
    hit.argtypes, hit.restype = [], None
    depths = numba.carray

    @numba.cfunc("int32(CPointer(uint32), voidptr, voidptr)")
    def even_depths(trace, ops, regs):  # type: ignore[no-untyped-def]
        return 1 - depths(trace, (12,))[10] % 2  # ftrace_graph_ent.depth

    @numba.cfunc("void(voidptr, voidptr, voidptr)")
    def on_return(trace, ops, regs):  # type: ignore[no-untyped-def]
        hit()

    with funcgraph.registered(funcgraph.FgraphOps(even_depths, on_return, filter=[COUNTDOWN])):
        countdown(9)
    # The second call is at depth 1 and refused. The next call is then at depth 1 again, and so on.
    assert counts(library).hits == 1


# ---- the two functions are independent of each other


def test_one_function_can_be_native_and_the_other_python(library: ctypes.CDLL) -> None:
    returns: list[int] = []
    with funcgraph.registered(
        funcgraph.FgraphOps(
            library.on_entry,
            lambda trace, ops, regs: returns.append(trace.depth),
            filter=[COUNTDOWN],
            name="native",
        )
    ):
        countdown(2)
    assert returns == [2, 1, 0]
    return_native = funcgraph.FgraphOps(
        lambda trace, ops, regs: trace.depth < 2, library.on_return, filter=[COUNTDOWN]
    )
    with funcgraph.registered(return_native):
        countdown(5)
    assert counts(library).ends[0] == 2
    assert counts(library).entries == 3


def test_without_an_entry_function_all_returns_are_told(library: ctypes.CDLL) -> None:
    with funcgraph.registered(funcgraph.FgraphOps(None, library.on_return, filter=[COUNTDOWN])):
        countdown(4)
    assert counts(library).ends[0] == 5


# ---- C functions that run Python code


def test_what_ctypes_made_of_python_code_is_kept_and_called() -> None:
    """Broken by keeping only the address: the thunk was freed with its object."""
    calls: list[str] = []
    make_entry = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    make_return = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    ops = funcgraph.FgraphOps(
        make_entry(lambda trace, ops, regs: calls.append("entry") or 1),
        make_return(lambda trace, ops, regs: calls.append("return")),
        filter=[COUNTDOWN],
    )
    gc.collect()
    with funcgraph.registered(ops):
        countdown(1)
    assert calls == ["entry", "entry", "return", "return"]


def test_what_cffi_made_of_python_code_is_kept_and_called() -> None:
    ffi = pytest.importorskip("cffi", reason="cffi is not here").FFI()
    calls: list[str] = []
    ops = funcgraph.FgraphOps(
        ffi.callback(ENTRY, lambda trace, ops, regs: calls.append("entry") or 1),
        ffi.callback(RETURN, lambda trace, ops, regs: calls.append("return")),
        filter=[COUNTDOWN],
    )
    gc.collect()
    with funcgraph.registered(ops):
        countdown(1)
    assert calls == ["entry", "entry", "return", "return"]


# ---- values that are not functions


@pytest.mark.parametrize("address", [0, -1, 1 << 64])
def test_a_number_that_is_no_address_is_refused(address: int) -> None:
    with pytest.raises((ValueError, OverflowError), match=r"address|int"):
        funcgraph.FgraphOps(address)


def test_a_null_pointer_is_refused() -> None:
    null = ctypes.CFUNCTYPE(ctypes.c_int)(0)
    with pytest.raises(ValueError, match="NULL"):
        funcgraph.FgraphOps(null)
    with pytest.raises(ValueError, match="NULL"):
        funcgraph.FgraphOps(None, null)


@pytest.mark.parametrize("callback", [True, "on_entry", 1.5, object()])
def test_what_is_no_function_at_all_is_refused(callback: object) -> None:
    with pytest.raises(TypeError, match="address of a C function"):
        funcgraph.FgraphOps(callback)  # type: ignore[arg-type]
