"""pyflakes runs its own test suite (it comes in its wheel)."""

import io
import os
import unittest

import pyflakes.test.test_api
import pyflakes.test.test_dict
import pyflakes.test.test_imports
import pyflakes.test.test_other
import pyflakes.test.test_undefined_names

MODULES = (
    pyflakes.test.test_dict,
    pyflakes.test.test_undefined_names,
    pyflakes.test.test_imports,
    pyflakes.test.test_other,
)


def main():
    modules = MODULES if os.environ.get("FUNCGRAPH_NIGHTLY") == "1" else MODULES[:2]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromModule(module) for module in modules)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    assert result.wasSuccessful() and result.testsRun > 80, result
