"""The name of an object in patterns and graphs: without path, version and suffix."""

from __future__ import annotations

import re

__all__ = ["object_name"]

_SUFFIX = re.compile(r"(?:\.(?:cpython|pypy)[\w-]*|\.abi3t?)?\.so(?:\.[\w.]+)?$")
#: What auditwheel puts into the names of libraries that a wheel brings along.
_OF_A_WHEEL = re.compile(r"(?:-[0-9a-f]{8})+$")
_DASH_VERSION = re.compile(r"-\d+(?:\.\d+)+$")
#: Of programs: python3.13t, perl5.36.0; a single number at the end of another name may be a part of it.
_PROGRAM_VERSION = re.compile(r"(?<=[a-z])-?\d+(?:\.\d+)+[a-z]*$|(?<=^python)\d[a-z]*$")


def object_name(path: str) -> str:
    """Return the name of an object.

    >>> object_name("/lib/x86_64-linux-gnu/libc.so.6")
    'libc'
    >>> object_name("/usr/lib/python3.13/lib-dynload/_sqlite3.cpython-313-x86_64-linux-gnu.so")
    '_sqlite3'
    >>> object_name("/usr/lib/libpython3.13.so.1.0"), object_name("/usr/bin/python3.13")
    ('libpython3.13', 'python')
    """
    file = path.removesuffix(" (deleted)").rpartition("/")[2]
    name = _SUFFIX.sub("", file)
    if name == file:
        return _PROGRAM_VERSION.sub("", file) or file
    return _DASH_VERSION.sub("", _OF_A_WHEEL.sub("", name)) or file
