"""The files that list dynamic events. Traced processes import this module without the rest of the room."""

__all__ = ["FILES"]

#: Each file, and the kinds of events that it has.
FILES = {"dynamic_events": "fprtes", "kprobe_events": "pr", "synthetic_events": "s"}
