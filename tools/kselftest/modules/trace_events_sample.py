"""Stands for the kernel's samples/trace_events: a module with tracepoints, which its import hits."""

from funcgraph import trace_event

foo_bar = trace_event("sample_trace", "foo_bar", foo="string", bar="s32")
foo_bar_with_cond = trace_event("sample_trace", "foo_bar_with_cond", foo="string", bar="s32")

foo_bar("hello", 0)
foo_bar_with_cond("Some times print", 0)
