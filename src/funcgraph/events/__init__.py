"""Events: their definitions, filters, triggers and histograms, as texts in the kernel's syntax.

Traced processes load this room once somebody defines an event, so its modules import little.
"""
