"""The standard library's unittest runs the standard library's own tests of textwrap and json."""

import io
import os
import unittest

import test.test_bisect
import test.test_heapq
import test.test_textwrap

MODULES = (test.test_textwrap, test.test_bisect, test.test_heapq)


def main():
    modules = MODULES if os.environ.get("FUNCGRAPH_NIGHTLY") == "1" else MODULES[:2]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromModule(module) for module in modules)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    assert result.wasSuccessful() and result.testsRun > 80, result
