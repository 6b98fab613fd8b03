"""The standard library's unittest runs the standard library's own tests of textwrap and json."""

import io
import unittest

import test.test_bisect
import test.test_heapq
import test.test_textwrap

MODULES = (test.test_textwrap, test.test_heapq, test.test_bisect)


def main():
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromModule(module) for module in MODULES)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(suite)
    assert result.wasSuccessful() and result.testsRun > 100, result
