"""Calls, put together from events: columns, trees, the index, selections, comparisons."""
