"""Runs CPython's test.test_monitoring while funcgraph uses one tool id.

The test asserts, before and after each of its cases, that no id has events. It takes three ids, one of
which may be funcgraph's. Here the test takes a free id instead, and funcgraph's id looks unused to it.
Nothing else is changed.
"""

import sys
import unittest

import test.test_monitoring

import funcgraph._engine

monitoring = sys.monitoring
own = funcgraph._engine.status()["tool_id"]
all_events, get_events = monitoring._all_events, monitoring.get_events


def other_events():
    others = {event: bits & ~(1 << own) for event, bits in all_events().items()}
    return {event: bits for event, bits in others.items() if bits}


if own >= 0:
    monitoring._all_events = other_events
    monitoring.get_events = lambda tool: 0 if tool == own else get_events(tool)
    assert own == test.test_monitoring.TEST_TOOL3
    test.test_monitoring.TEST_TOOL3 = 5

unittest.main(test.test_monitoring, argv=["test_monitoring", "-v"])
