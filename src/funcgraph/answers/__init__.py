"""Answers to questions about the calls of one trace: what was slow, repeated, raised."""
