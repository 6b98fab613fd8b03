"""funcgraph.tracedata imports a module when one of its names is used: a traced program waits for that."""

from __future__ import annotations

import subprocess
import sys

import pytest

from funcgraph import tracedata

pytestmark = pytest.mark.one_python


def test_each_public_name_is_there() -> None:
    assert set(tracedata._LAZY) == set(tracedata.__all__) <= set(dir(tracedata))
    for name, module in tracedata._LAZY.items():
        value = getattr(tracedata, name)
        assert value is getattr(sys.modules[f"funcgraph.tracedata.{module}"], name)
        assert name not in tracedata._LAZY.values()  # an import of the module would set the name to it
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = tracedata.Nothing  # type: ignore[attr-defined]


def test_reading_a_trace_as_text_imports_no_more_than_it_needs() -> None:
    code = """
import sys
import funcgraph
with funcgraph.Instance("one") as instance:
    instance.trace()
print(*sorted(name for name in sys.modules if name.startswith("funcgraph.tracedata")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = ("", ".description", ".large_json", ".option_words", ".trace_file")
    assert done.stdout.split() == [f"funcgraph.tracedata{name}" for name in names]
