"""Names of objects and functions, as people write them in patterns."""

from __future__ import annotations

import pytest
from planned import needs_decoder

from funcgraph.native.demangle import readable
from funcgraph.native.object_name import object_name

pytestmark = pytest.mark.one_python

OBJECTS = {
    "/lib/x86_64-linux-gnu/libc.so.6": "libc",
    "/lib/libc-2.31.so": "libc",
    "/usr/lib/libpython3.13.so.1.0": "libpython3.13",
    "/usr/lib/libpython3.13t.so.1.0": "libpython3.13t",
    "/usr/bin/python3.13": "python",
    "/usr/bin/python3": "python",
    "/usr/bin/python3.13t": "python",
    "/usr/bin/perl5.36.0": "perl",
    "/usr/bin/app2": "app2",
    "/x/lib-dynload/_sqlite3.cpython-313-x86_64-linux-gnu.so": "_sqlite3",
    "/x/_sqlite3.cpython-313t-x86_64-linux-gnu.so": "_sqlite3",
    "/x/_cffi_backend.abi3.so": "_cffi_backend",
    "/x/plain.so": "plain",
    "/usr/lib/libstdc++.so.6.0.30": "libstdc++",
    "/x/numpy.libs/libscipy_openblas64_-32a4b2a6.so": "libscipy_openblas64_",
    "/lib64/ld-linux-x86-64.so.2": "ld-linux-x86-64",
    "/usr/lib/libfoo.so.1 (deleted)": "libfoo",
    "/x/libicudata.so.72.1": "libicudata",
}

FUNCTIONS = {
    "malloc": "malloc",
    "list_append.lto_priv.0": "list_append",
    "handler.llvm.1234567": "handler",
    "sysmalloc.part.0": "sysmalloc.part.0",
    "_ZN4shop4Cart3addERKNS_4ItemE": "shop::Cart::add",
    "_ZNK4shop4CartIiE3addEi": "shop::Cart<int>::add",
    "_ZN4shop5totalIlEET_S1_": "shop::total<long>",
    "_ZNSolsEi": "std::ostream::operator<<",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc": "std::operator<<<std::char_traits<char>>",
    "_ZN12_GLOBAL__N_14LessclEii": "(anonymous namespace)::Less::operator()",
    "_ZN3FooC1Ev.part.0": "Foo::Foo.part.0",
    "_ZThn8_N3Foo3barEv": "non-virtual thunk to Foo::bar",
    "_ZN3FoocvbEv": "Foo::operator bool",
    "_Znwm": "operator new",
    "_ZN3FooptEv": "Foo::operator->",
    "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad",
    "_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE": (
        "<alloc::string::String as core::fmt::Display>::fmt"
    ),
    "_RNvCs1234_7mycrate3foo": "mycrate::foo",
    "_Znot mangled": "_Znot mangled",
}


@pytest.mark.parametrize("path", OBJECTS)
def test_objects_have_no_path_version_and_suffix(path: str) -> None:
    assert object_name(path) == OBJECTS[path]


@needs_decoder
@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize("symbol", FUNCTIONS)
def test_functions_have_no_parameters_return_types_and_hashes(symbol: str, is_trusted: bool) -> None:
    assert readable(symbol, is_trusted=is_trusted) == FUNCTIONS[symbol]


@needs_decoder
def test_long_names_are_cut_as_the_kernels() -> None:
    assert len(readable("x" * 100_000, is_trusted=True)) == 512


def doubling(times: int) -> str:
    """Return a mangled name of a type that has each type before it twice."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    name = "_Z1f1AIiiE"
    for number in range(times):
        name += f"S_IS{digits[number]}_S{digits[number]}_E"
    return name


@needs_decoder
def test_names_that_double_with_each_reference_stay_as_they_are() -> None:
    assert readable(doubling(3), is_trusted=False) == "f"
    for times in (12, 30):
        assert readable(doubling(times), is_trusted=False) == doubling(times)


@needs_decoder
@pytest.mark.parametrize("is_trusted", [True, False])
def test_names_with_endless_levels_do_not_exhaust_the_stack(is_trusted: bool) -> None:
    assert len(readable(f"_Z1f{'P' * 3_000_000}i", is_trusted=is_trusted)) == 512
