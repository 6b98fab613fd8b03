"""Names of C++ and Rust functions as people write them: without parameters, return types and hashes.

A mangled name may refer back to its own parts, so that each reference doubles the length: 180 characters
stand for four million. And the demangler calls itself for each level of a type. So names of objects that
another user may have written are demangled only if they are short and have few references.
"""

from __future__ import annotations

import re

from funcgraph.names import shortened

__all__ = ["readable"]

#: What link-time optimisation adds to the names of functions that are local to a file.
_LOCAL_SUFFIX = re.compile(r"(?:\.(?:lto_priv|llvm)\.\d+)+")
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
_ABI_TAG = re.compile(r"\[abi:\w+\]")
_QUALIFIERS = re.compile(r"(?: const| volatile| noexcept| &&?)+$")
_SUFFIX = re.compile(r" \((\.[\w.]+)\)$")
_THUNK = re.compile(r"(?:(?:non-virtual|virtual|covariant return|guard variable for) )*thunk to ")
_OPERATOR = re.compile(r"\boperator\b")
_LONGEST = 512  # as KSYM_NAME_LEN of the kernel
#: To a substitution, a template's argument, or what a name of Rust had before.
_REFERENCE = re.compile(r"[STB][0-9A-Za-z]*_")
#: What is demangled, in characters and references.
_MOST_TRUSTED, _MOST, _MOST_REFERENCES = 16_384, 1024, 12


def readable(name: str, *, is_trusted: bool) -> str:
    """Return the name of a function for patterns and graphs.

    Args:
        name: as the symbol has it.
        is_trusted: whether we or root have written the object.

    >>> readable("_PyEval_Vector.lto_priv.0", is_trusted=True)
    '_PyEval_Vector'
    """
    if "." in name:
        name = _LOCAL_SUFFIX.sub("", name)
    if name.startswith(("_Z", "_R", "__Z")) and _is_harmless(name, is_trusted):
        import pydemumble

        demangled = pydemumble.demangle(name)
        name = _without_types(demangled) if demangled else name
    return shortened(name, _LONGEST)


def _is_harmless(name: str, is_trusted: bool) -> bool:
    if is_trusted:
        return len(name) <= _MOST_TRUSTED
    return len(name) <= _MOST and len(_REFERENCE.findall(name)) <= _MOST_REFERENCES


def _without_types(name: str) -> str:
    """Return a demangled name without what is before and behind the name proper.

    >>> _without_types("std::ostream& ns::put<int>(std::ostream&, int const&)")
    'ns::put<int>'
    >>> _without_types("(anonymous namespace)::Less::operator()(int, int) const (.part.0)")
    '(anonymous namespace)::Less::operator().part.0'
    """
    suffix = _SUFFIX.search(name)
    if suffix:
        return _without_types(name[: suffix.start()]) + suffix[1]
    name = _QUALIFIERS.sub("", _ABI_TAG.sub("", _RUST_HASH.sub("", name)))
    if name.endswith(")"):
        name = name[: _opening(name)] or name
    thunk = _THUNK.match(name)
    begin = thunk.end() if thunk else 0
    return name[:begin] + name[begin + _type_length(name[begin:]) :]


def _opening(name: str) -> int:
    """Return where the parenthesis is that the last character closes; its length: nowhere."""
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if depth == 0:
            return at
    return len(name)


def _type_length(name: str) -> int:
    """Return how many characters a return type before the name has, with the space behind it."""
    operator = _OPERATOR.search(name)
    depth = begin = 0
    for at, character in enumerate(name[: operator.start() if operator else len(name)]):
        if character in "<({[":
            depth += 1
        elif character in ">)}]" and name[at - 1 : at + 1] != "->":
            depth -= 1
        elif character == " " and depth == 0:
            begin = at + 1
    return begin
