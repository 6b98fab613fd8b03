"""Differences between CPython builds that tests must know."""

from __future__ import annotations

import sys
import sysconfig

import pytest

HAS_GIL = not sysconfig.get_config_var("Py_GIL_DISABLED")

#: After the first thread has started, free-threaded 3.13 makes functions and classes immortal. None of them
#: is ever freed, not even the code that ran a module or a class body. Functions that only a running frame or
#: a frozen object refers to cannot be found.
functions_go = pytest.mark.skipif(
    not HAS_GIL and sys.version_info < (3, 14), reason="CPython 3.13t makes functions immortal"
)

#: The beginning of a program that counts its objects: has free-threaded 3.13 free functions as others do.
#: CPython has this for its own tests, and some distributions leave it out.
FREES_FUNCTIONS = """
try: __import__("_testinternalcapi").suppress_immortalization(True)
except (ImportError, AttributeError): pass
"""


def needs_gil(reason: str) -> pytest.MarkDecorator:
    """Return the mark of tests for which docs/reference/compatibility.md says why they need a GIL."""
    return pytest.mark.skipif(not HAS_GIL, reason=f"without the GIL: {reason}")
