"""What is left out of the kernel's sessions with triggers and function commands."""

from __future__ import annotations

# Sections that are about what Python has not, with the reason.
LEFT_OUT = {
    "the target is in a module that goes away": "modules",
    "reading a field in the filter of a trigger: post triggers see the record": "the kernel's own stack",
    "an instance with triggers is removed": "folders",
    "traceoff in an instance stops only the instance": "folders; a test below is about it",
    "in an instance": "folders",
    "stacktrace at work (nop tracer)": "a file of /proc",
}
# Lines of others, with the reason.
LINES_LEFT_OUT = {
    ("triggers_lifetime.txt", 21): "the kernel frees the trigger later; here the event is free at once",
    ("function_commands.txt", 181): "the state after lines of the other form",
}
