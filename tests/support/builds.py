"""What differs between builds of CPython in ways that tests have to know."""

from __future__ import annotations

import sys
import sysconfig

import pytest

HAS_GIL = not sysconfig.get_config_var("Py_GIL_DISABLED")

#: Once a thread has started, 3.13 without the GIL makes functions and classes immortal: none goes, also not
#: those that ran a module or made a class; what only a running frame or a frozen object refers to cannot be
#: found.
functions_go = pytest.mark.skipif(
    not HAS_GIL and sys.version_info < (3, 14), reason="CPython 3.13t makes functions immortal"
)
